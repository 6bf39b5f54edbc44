/**
 * Long campaigns of the crash tests: `npm run crash -- [options]`.
 *
 * Exit codes: 0 nothing was lost, 1 a promise was broken, 2 the command line is wrong.
 */
import { parseArgs } from 'node:util'
import { UsageError } from '../../../bench/harness/options.js'
import { campaigns, Failure, type Campaign } from './campaigns.js'

const usage = `usage: npm run crash -- [--kind KIND] [--minutes N] [--seed S] [--rounds N]

options
  --kind KIND   power-cut: images of every place and random chains, in memory;
                faults: every call of the file system fails;
                kill: a loading process is killed, on real files;
                background: flushes, compactions, snapshots, closes and so on that
                overlap, inline and on threads, on real files;
                buffers: held calls from buffers that are used again;
                runtimes: two runtimes on one directory, of this Node and those that
                CELLAR_OTHER_RUNTIMES names (paths of node, bun, deno);
                moved: the directory of an open database is moved, others take its path;
                damage: every bit and every length of log and manifest, on real files;
                memory: large values and open scans, in a process of its own;
                all (default): all in turn
  --minutes N   how long; default 1
  --seed S      seed of the first round; the next rounds count up; default 1
  --rounds N    end after N rounds of each kind, for reproducing one
  --help        this text
`

interface Settings {
  readonly kinds: readonly string[]
  readonly milliseconds: number
  readonly seed: number
  readonly rounds: number
}

function numberOf(name: string, text: string, min: number): number {
  const number = Number(text)
  if (text === '' || !Number.isFinite(number) || number < min) {
    throw new UsageError(`--${name} must be a number of at least ${min}, not '${text}'`)
  }
  return number
}

function settingsOf(args: readonly string[]): Settings | undefined {
  let values
  try {
    values = parseArgs({
      args: [...args],
      options: {
        kind: { type: 'string', default: 'all' },
        minutes: { type: 'string', default: '1' },
        seed: { type: 'string', default: '1' },
        rounds: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
  if (values.help) return undefined
  if (values.kind !== 'all' && !Object.hasOwn(campaigns, values.kind)) {
    throw new UsageError(`there is no kind ${values.kind}`)
  }
  return {
    kinds: values.kind === 'all' ? Object.keys(campaigns) : [values.kind],
    milliseconds: numberOf('minutes', values.minutes, 0) * 60_000,
    seed: Math.floor(numberOf('seed', values.seed, 0)),
    rounds: values.rounds === undefined ? Infinity : numberOf('rounds', values.rounds, 1),
  }
}

/** One line that is overwritten on a terminal, and comes now and then elsewhere. */
class Progress {
  private readonly started = performance.now()
  private shown = 0

  show(kind: string, seed: number, campaign: Campaign, last = false): void {
    const now = performance.now()
    const terminal = process.stderr.isTTY
    if (!last && now - this.shown < (terminal ? 200 : 10_000)) return
    this.shown = now
    const seconds = (now - this.started) / 1000
    const counts = Object.entries(campaign.counts)
      .map(([name, count]) => {
        const rate = /^(rounds|images|runs)$/.test(name)
          ? ` (${(count / seconds).toFixed(1)}/s)`
          : ''
        return `${name} ${Math.round(count)}${rate}`
      })
      .join(', ')
    const line = `${kind}, seed ${seed}, ${seconds.toFixed(0)} s: ${counts}`
    process.stderr.write(
      terminal && !last ? `\r\x1b[K${line}` : `${terminal ? '\r\x1b[K' : ''}${line}\n`,
    )
  }
}

async function runKind(kind: string, settings: Settings, milliseconds: number): Promise<boolean> {
  const campaign = campaigns[kind]()
  const progress = new Progress()
  const deadline = Date.now() + milliseconds
  let seed = settings.seed
  try {
    for (let round = 0; round < settings.rounds && Date.now() < deadline; round++, seed++) {
      await campaign.round(seed)
      progress.show(kind, seed, campaign)
    }
    return true
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
    const origin = error instanceof Failure ? `${error.origin}\n` : ''
    process.stdout.write(
      `\nFAILED ${kind}, seed ${seed}\n${origin}${message}\n` +
        `again: npm run crash -- --kind ${kind} --seed ${seed} --rounds 1\n`,
    )
    return false
  } finally {
    progress.show(kind, seed - 1, campaign, true)
    campaign.end()
  }
}

async function main(args: readonly string[]): Promise<number> {
  const settings = settingsOf(args)
  if (settings === undefined) {
    process.stdout.write(usage)
    return 0
  }
  let kept = true
  for (const kind of settings.kinds) {
    kept = (await runKind(kind, settings, settings.milliseconds / settings.kinds.length)) && kept
  }
  if (kept) process.stdout.write('nothing acknowledged was lost\n')
  return kept ? 0 : 1
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    if (error instanceof UsageError) process.stderr.write(`${error.message}\n\n${usage}`)
    else console.error(error)
    process.exitCode = error instanceof UsageError ? 2 : 1
  },
)
