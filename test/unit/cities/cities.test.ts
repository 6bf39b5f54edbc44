/**
 * The job of `npm start`, run as its users run it: in a process of its own, on a part of the
 * cities.
 *
 * @runs campaign
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import t from 'tap'
import { Database } from '../../../src/entries/index.js'
import { lengthOf } from '../../helpers/length.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20260)
const main = fileURLToPath(new URL('../../../bench/cities/main.js', import.meta.url))
const cityCount = 1000
const kills = lengthOf('CELLAR_CITIES_KILLS', 1, 2)
const limit = ['--limit', String(cityCount)]

interface Outcome {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly output: string
  readonly errors: string
}

/** Runs the job; `onOutput` sees all output so far whenever there is more, and may kill it. */
function run(
  words: readonly string[],
  onOutput: (output: string, kill: (signal: NodeJS.Signals) => void) => void = () => {},
): Promise<Outcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [main, ...words], {
      stdio: 'pipe',
      env: childEnvironment,
    })
    let output = ''
    let errors = ''
    child.stdout.on('data', (chunk: Buffer) => {
      output += chunk.toString()
      onOutput(output, (signal) => child.kill(signal))
    })
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
    child.on('error', reject)
    child.on('close', (code, signal) => resolve({ code, signal, output, errors }))
  })
}

/** Numbers of [0, 1) from a seed. */
function randomNumbers(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Cells that a run says it has verified; NaN if it does not end with the line that says so. */
function verifiedCells(output: string): number {
  const match = /\nverified ([\d,]+) cells of 1,000 cities: OK\n\nShown were /.exec(output)
  return Number(match?.[1].replaceAll(',', '') ?? NaN)
}

void t.test('a second run goes on with the data of the first', async (t) => {
  const directory = t.testdir()
  const first = await run(['--directory', directory, ...limit])
  t.equal(first.code, 0, first.errors)
  const firstCells = verifiedCells(first.output)
  t.ok(firstCells > 6 * cityCount, `${firstCells} cells`)
  t.match(first.output, 'load: round 1, 1,000 cities')

  const second = await run(['--directory', directory, ...limit, '--rounds', '3', '--native-free'])
  t.equal(second.code, 0, second.errors)
  t.match(second.output, 'found the cities of 1 earlier round: this run goes on with round 2')
  t.equal(verifiedCells(second.output), firstCells + 2 * cityCount, 'three versions per city')
  t.match(second.output, 'LZ4: native-free')

  const fresh = await run(['--directory', directory, ...limit, '--reset'])
  t.equal(fresh.code, 0, fresh.errors)
  t.equal(verifiedCells(fresh.output), firstCells)
})

void t.test(`a load killed at any moment is picked up by the next run, seed ${seed}`, async (t) => {
  const directory = t.testdir()
  const random = randomNumbers(seed)
  const words = ['--directory', directory, ...limit, '--batch', '7', '--executor', 'inline']
  let continued = 0
  for (let kill = 0; kill < kills; kill++) {
    // Killed a little after the first line of progress that reaches this far.
    const tenth = 1 + Math.floor(random() * 8)
    const delayMilliseconds = random() * 10
    const line = new RegExp(`: (${tenth}|[${tenth}-9])0 %`)
    let timer: NodeJS.Timeout | undefined
    const killed = await run(words, (output, send) => {
      if (timer === undefined && line.test(output)) {
        timer = setTimeout(() => send('SIGKILL'), delayMilliseconds)
      }
    })
    clearTimeout(timer)
    t.equal(killed.signal, 'SIGKILL', killed.errors)
    if (killed.output.includes('this one continues round')) continued++
  }
  const last = await run(words)
  if (last.output.includes('this one continues round')) continued++
  t.equal(last.code, 0, last.errors)
  t.ok(verifiedCells(last.output) > 6 * cityCount)
  t.ok(continued > 0, 'at least one kill fell into a load')
})

void t.test('an interrupted load closes the database and can be continued', async (t) => {
  const directory = t.testdir()
  const words = ['--directory', directory, ...limit, '--batch', '7']
  let sent = false
  const interrupted = await run(words, (output, send) => {
    if (!sent && output.includes(': 20 %')) {
      sent = true
      send('SIGINT')
    }
  })
  t.equal(interrupted.code, 130, interrupted.errors)
  t.match(interrupted.output, 'interrupted and closed; run the same command again')
  const next = await run(words)
  t.equal(next.code, 0, next.errors)
  t.match(next.output, /this one continues round 1 at city \d+ of 1000/)
})

void t.test('a cell that does not belong is found and named', async (t) => {
  const directory = t.testdir()
  const words = ['--directory', directory, '--limit', '50']
  t.equal((await run(words)).code, 0)
  const database = await Database.open(directory, { createIfMissing: false })
  const table = database.table('cities')
  const [first] = await table.scan({ limit: 1 }).nextBatch(1)
  await table.put({ row: first.row!, cells: { 'stat:stray': 'x' }, timestamp: 7 })
  await database.close()
  const { code, output, errors } = await run(words)
  t.equal(code, 1)
  t.match(errors, `row ${String(first.row)}: found Put stat:stray @7 = 78, expected nothing`)
  t.notMatch(output, 'OK')
})

void t.test('help is printed when asked for', async (t) => {
  const { code, output } = await run(['--help'])
  t.equal(code, 0)
  t.match(output, '--native-free')
})

void t.test('wrong options end with the usage and code 2', async (t) => {
  for (const words of [['--nonsense'], ['--limit', '0'], ['--executor', 'thread'], ['word']]) {
    const { code, output, errors } = await run(words)
    t.equal(code, 2, words.join(' '))
    t.equal(output, '')
    t.match(errors, 'Usage: npm start -- [options]')
  }
})
