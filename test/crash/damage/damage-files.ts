/** The damage test on real files that another process left, closed or killed. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { NodeFileSystem } from '../../../src/storage/fs/node-fs.js'
import type { Stop } from './damage-oracle.js'
import { DamageTest, type Loaded } from './damage-runner.js'
import { childEnvironment } from '../../helpers/child-environment.js'

const program = new URL('./damage-child.js', import.meta.url).pathname
const stops: readonly Stop[] = ['closed', 'killed', 'machine stopped']

/**
 * One bit of every byte of log and manifest; of eight rounds in a row, which harm databases of one
 * kind, each has another bit, and the first has every length too. Throws what went wrong.
 */
export async function damageRound(round: number): Promise<DamageTest['counts']> {
  const seed = Math.floor(round / 8)
  const stop = stops[seed % stops.length]
  const home = mkdtempSync(join(tmpdir(), 'cellar-damage-'))
  const directory = join(home, 'db')
  try {
    const loaded = await leave(directory, seed, stop)
    for (const name of readdirSync(directory)) {
      if (name.startsWith('LOCK')) rmSync(join(directory, name))
    }
    const test = new DamageTest(new NodeFileSystem(), directory, stop, loaded)
    const room = (at: number): boolean => at < 64 || at % 1021 === 0
    await test.run({ bitsOf: () => [round % 8], lengths: round % 8 === 0, room })
    return test.counts
  } finally {
    rmSync(home, { recursive: true, force: true })
  }
}

/** Lets a process fill the database and end. */
async function leave(directory: string, seed: number, stop: Stop): Promise<Loaded> {
  const steps = String(2 + (seed % 5))
  const child = spawn(process.execPath, [program, directory, String(seed), steps, stop], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: childEnvironment,
  })
  const ended = once(child, 'close')
  const lines = createInterface({ input: child.stdout })
  const [line] = (await Promise.race([once(lines, 'line'), ended])) as [unknown]
  child.kill('SIGKILL')
  await ended
  if (typeof line !== 'string') throw new Error(`the process that fills ended with ${String(line)}`)
  return JSON.parse(line) as Loaded
}
