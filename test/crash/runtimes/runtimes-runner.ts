/**
 * One database directory and several runtimes: exactly one of two openers gets it, and nothing that
 * was acknowledged to one is lost by the other.
 *
 * The other runtimes are the programs that the environment variable `CELLAR_OTHER_RUNTIMES` names,
 * with the system's delimiter of paths between them: `node` of other versions, `bun`, `deno`.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { createInterface, type Interface } from 'node:readline'
import { Database } from '../../../src/entries/index.js'

const program = new URL('./runtime-child.js', import.meta.url).pathname

/** A program that can run JavaScript. */
export interface Runtime {
  readonly name: string
  readonly path: string
  /** What stands before the name of the script. */
  readonly flags: readonly string[]
}

/** The runtime of this process. */
export const thisRuntime: Runtime = {
  name: `Node ${process.versions.node}`,
  path: process.execPath,
  flags: [],
}

/**
 * This runtime in namespaces of its own, as in a container that shares the directory; undefined
 * where they cannot be made.
 */
export function containedRuntime(): Runtime | undefined {
  const flags = ['--net', '--pid', '--fork', '--kill-child', '--mount-proc', process.execPath]
  const { status } = spawnSync('unshare', [...flags, '--version'])
  if (status !== 0) return undefined
  return { name: `Node ${process.versions.node} in a container`, path: 'unshare', flags }
}

/** Those that the environment names; throws if one cannot be started. */
export function otherRuntimes(): Runtime[] {
  const paths = (process.env['CELLAR_OTHER_RUNTIMES'] ?? '').split(delimiter)
  return paths.filter((path) => path !== '').map(runtimeAt)
}

/** The runtime that a program is, by its own words; throws if it does not start. */
export function runtimeAt(path: string): Runtime {
  const { stdout, error } = spawnSync(path, ['--version'], { encoding: 'utf8' })
  if (error !== undefined) throw error
  const [first] = stdout.trim().split('\n')
  if (first.startsWith('v')) return { name: `Node ${first.slice(1)}`, path, flags: [] }
  if (first.startsWith('deno')) {
    return { name: `Deno ${first.split(' ')[1]}`, path, flags: ['run', '-A', '--no-lock'] }
  }
  return { name: `Bun ${first}`, path, flags: [] }
}

/** A running `runtime-child.js`. */
class RuntimeChild {
  readonly runtime: Runtime
  private readonly child: ChildProcess
  private readonly lines: AsyncIterator<string>
  private readonly reader: Interface
  private readonly closed: Promise<unknown>

  constructor(runtime: Runtime, directory: string, mark: string) {
    this.runtime = runtime
    this.child = spawn(runtime.path, [...runtime.flags, program, directory, mark], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { ...process.env, NODE_OPTIONS: '' },
    })
    this.closed = once(this.child, 'close')
    this.reader = createInterface({ input: this.child.stdout! })
    this.lines = this.reader[Symbol.asyncIterator]()
  }

  /** What the program says next. */
  async answer(): Promise<string> {
    const next = await this.lines.next()
    return next.done === true ? 'nothing' : next.value
  }

  /** Puts rows; returns how many are acknowledged in all. */
  async write(count: number): Promise<number> {
    this.child.stdin!.write(`write ${count}\n`)
    const answer = await this.answer()
    if (!answer.startsWith('written ')) throw new Error(`${this.runtime.name} said ${answer}`)
    return Number(answer.split(' ')[1])
  }

  async close(): Promise<void> {
    this.child.stdin!.write('close\n')
    const answer = await this.answer()
    if (answer !== 'closed') throw new Error(`${this.runtime.name} said ${answer}`)
    await this.ended()
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.ended()
  }

  private async ended(): Promise<void> {
    // Its output ends with the last process that has it, which matters behind `unshare`.
    await this.closed
    this.reader.close()
  }
}

/** One directory on which runtimes meet, round after round. */
export class RuntimesTest {
  readonly counts = { rounds: 0, opened: 0, refused: 0, kills: 0, rows: 0 }
  private readonly home = mkdtempSync(join(tmpdir(), 'cellar-runtimes-'))
  private readonly directory = join(this.home, 'db')
  /** Acknowledged rows of each runtime. */
  private readonly acknowledged = new Map<string, number>()

  /** Two start at the same time; throws if not exactly one gets the directory, or a row is lost. */
  async round(first: Runtime, second: Runtime, random: () => number): Promise<void> {
    const starters = random() < 0.5 ? [first, second] : [second, first]
    const children = starters.map(
      (runtime) => new RuntimeChild(runtime, this.directory, markOf(runtime)),
    )
    try {
      const answers = await Promise.all(children.map((child) => child.answer()))
      if ([...answers].sort().join() !== 'ERR_LOCKED,open') {
        const names = starters.map(({ name }) => name).join(' and ')
        throw new Error(`${names} together on one directory said: ${answers.join(' and ')}`)
      }
      const owner = children[answers.indexOf('open')]
      this.counts.opened++
      this.counts.refused++
      await this.use(owner, random)
      // Whoever comes next has to find it free.
      const next = new RuntimeChild(starters[answers.indexOf('ERR_LOCKED')], this.directory, 'next')
      children.push(next)
      const answer = await next.answer()
      if (answer !== 'open') {
        throw new Error(`${next.runtime.name} behind ${owner.runtime.name} said ${answer}`)
      }
      this.counts.opened++
      await next.close()
    } finally {
      for (const child of children) await child.kill()
    }
    await this.checkRows()
    this.counts.rounds++
  }

  /** Removes the directory. */
  remove(): void {
    rmSync(this.home, { recursive: true, force: true })
  }

  private async use(owner: RuntimeChild, random: () => number): Promise<void> {
    const mark = markOf(owner.runtime)
    this.acknowledged.set(mark, await owner.write(1 + Math.floor(random() * 30)))
    // A third opener comes while the owner is busy.
    const third = new RuntimeChild(thisRuntime, this.directory, 'third')
    const answer = await third.answer()
    await third.kill()
    if (answer !== 'ERR_LOCKED') throw new Error(`beside ${owner.runtime.name}: ${answer}`)
    this.counts.refused++
    if (random() < 0.5) {
      await owner.close()
    } else {
      await owner.kill()
      this.counts.kills++
    }
  }

  private async checkRows(): Promise<void> {
    const database = await Database.open(this.directory, { executor: 'inline' })
    try {
      let rows = 0
      for (const [mark, count] of this.acknowledged) {
        const found = [...database.table('t').scanSync({ prefix: `${mark}-` })].length
        if (found < count) throw new Error(`of ${count} rows of ${mark} ${found} are there`)
        rows += count
      }
      this.counts.rows = rows
    } finally {
      await database.close()
    }
  }
}

function markOf({ name }: Runtime): string {
  return name.replace(/\W/g, '_')
}
