/**
 * Judges what a database recovers: the state must be the state after some prefix of the history
 * that holds everything acknowledged, and the database must work on from there.
 */
import { createHash } from 'node:crypto'
import { ManualClock } from '../../src/base/clock.js'
import { Database } from '../../src/entries/index.js'
import type { FileSystem } from '../../src/entries/index.js'
import { closingStatementName } from '../../src/storage/version/closing-statement.js'
import { inspectDirectorySync } from '../../src/storage/version/open-directory.js'
import { parseSegmentName } from '../../src/storage/wal/segment-name.js'
import { randomFrom } from '../unit/storage/version/fixtures.js'
import type { Progress, Workload } from './history.js'
import { observe, type ObservedState } from './model.js'

/** Which acknowledgements must have been kept. */
export type Interruption = 'power cut' | 'process end'

/** What is known when an image is taken. */
export interface Expectation extends Progress {
  readonly interruption: Interruption
}

/** A recovery that broke a promise; the message says which. */
export class RecoveryError extends Error {
  override readonly name = 'RecoveryError'
}

/** How a recovered database is opened. */
function openOptions(workload: Workload, fileSystem: FileSystem) {
  const clock = new ManualClock(workload.clock.milliseconds + 1000)
  return { ...workload.options, clock, fileSystem }
}

/** The newest change whose state this is; throws if none is within what was promised. */
export function placeInHistory(
  workload: Workload,
  observed: ObservedState,
  expectation: Expectation,
): number {
  const { issued, fsynced, synced, interruption, unloggedDurable } = expectation
  const least = interruption === 'power cut' ? fsynced : synced
  checkUnlogged(workload, observed, unloggedDurable)
  for (let change = issued; change >= least; change--) {
    if (workload.textAfter(change) === observed.text) return change
  }
  const states = `changes ${least} to ${issued} are possible after the ${interruption}`
  for (let change = least - 1; change >= workload.first; change--) {
    if (workload.textAfter(change) === observed.text) {
      throw new RecoveryError(`lost: the state is that after change ${change}, but ${states}`)
    }
  }
  throw new RecoveryError(`hole: the state is that of no prefix; ${states}${difference()}`)

  function difference(): string {
    let best: { change: number; lines: string[] } | undefined
    for (let change = issued; change >= least; change--) {
      const lines = compareTexts(workload.textAfter(change), observed.text)
      if (best === undefined || lines.length < best.lines.length) best = { change, lines }
    }
    if (best === undefined) return ''
    return `; against change ${best.change}:\n${best.lines.slice(0, 12).join('\n')}`
  }
}

function compareTexts(expected: string, found: string): string[] {
  const wanted = new Set(expected.split('\n'))
  const present = new Set(found.split('\n'))
  return [
    ...[...wanted].filter((line) => !present.has(line)).map((line) => `  missing ${line}`),
    ...[...present].filter((line) => !wanted.has(line)).map((line) => `  extra   ${line}`),
  ]
}

/** A row written without log holds nothing, or a value that it was given; a flushed one stays. */
function checkUnlogged(workload: Workload, observed: ObservedState, durable: number): void {
  for (const row of observed.unlogged.keys()) {
    if (!workload.unlogged.has(row)) throw new RecoveryError(`nobody wrote the row ${row}`)
  }
  for (const [row, history] of workload.unlogged) {
    const shown = observed.unlogged.get(row)
    const found = history.find((each) => each.shown === shown)?.number ?? 0
    if (shown !== undefined && found === 0) {
      throw new RecoveryError(`row ${row} holds ${shown}, which nobody wrote`)
    }
    const needed = history.filter((each) => each.number <= durable).at(-1)?.number ?? 0
    if (found < needed) {
      throw new RecoveryError(`lost: row ${row} holds ${shown}, put ${needed} had been flushed`)
    }
  }
}

/** Opens the files and places their state in the history. Leaves the database closed. */
export async function recover(
  workload: Workload,
  fileSystem: FileSystem,
  expectation: Expectation,
): Promise<Recovered> {
  return recoverOpen(workload, fileSystem, expectation, async () => {})
}

/** As {@link recover}, and checks that ten writes work and survive another open. */
export async function recoverAndWrite(
  workload: Workload,
  fileSystem: FileSystem,
  expectation: Expectation,
): Promise<Recovered> {
  let after: ObservedState | undefined
  const recovered = await recoverOpen(workload, fileSystem, expectation, async (database) => {
    await writeTen(database)
    after = observe(database)
  })
  const database = await Database.open(workload.directory, openOptions(workload, fileSystem))
  try {
    const reopened = observe(database)
    if (reopened.text !== after!.text) {
      const lines = compareTexts(after!.text, reopened.text).join('\n')
      throw new RecoveryError(`writes after the recovery did not survive a close:\n${lines}`)
    }
  } finally {
    await database.close()
  }
  checkFiles(workload, fileSystem)
  return recovered
}

/** What was found, and where in the history it is. */
export interface Recovered {
  readonly change: number
  readonly observed: ObservedState
}

async function recoverOpen(
  workload: Workload,
  fileSystem: FileSystem,
  expectation: Expectation,
  use: (database: Database) => Promise<void>,
): Promise<Recovered> {
  const database = await Database.open(workload.directory, openOptions(workload, fileSystem))
  try {
    const observed = observe(database)
    const change = placeInHistory(workload, observed, expectation)
    await use(database)
    return { change, observed }
  } finally {
    await database.close()
  }
}

async function writeTen(database: Database): Promise<void> {
  const [name = 'fresh'] = database.listTables().filter((table) => table !== 'unlogged')
  const table = database.hasTable(name)
    ? database.table(name)
    : await database.createTable(name, { families: { f: {} } })
  const families = Object.keys(table.describe().families)
  for (let i = 0; i < 10; i++) {
    const cells = Object.fromEntries(families.map((family) => [`${family}:v`, `new ${i}`]))
    const put = {
      row: `zz new ${i}`,
      cells,
      durability: i === 9 ? 'FSYNC_WAL' : 'SYNC_WAL',
    } as const
    if (i % 2 === 0) table.putSync(put)
    else await table.put(put)
  }
}

/** After a close, no file may lie about that the manifest does not know. */
function checkFiles(workload: Workload, fileSystem: FileSystem): void {
  const { directory } = workload
  const { leftovers, unknownFiles, state } = inspectDirectorySync(fileSystem, directory, false)
  const orphans = [...leftovers, ...unknownFiles].filter((name) => name !== closingStatementName)
  const names = fileSystem.listSync(directory)
  const obsolete = names.filter((name) => {
    const fileNumber = parseSegmentName(name)
    return fileNumber !== undefined && fileNumber < state.logFileNumberFloor
  })
  if (orphans.length + obsolete.length === 0) return
  throw new RecoveryError(`orphans: ${[...orphans, ...obsolete].join(' ')} of ${names.join(' ')}`)
}

/** Equal digests mean equal files. */
export function digestOf(fileSystem: FileSystem, directory: string): string {
  const hash = createHash('sha1')
  if (fileSystem.statSync(directory) === undefined) return 'absent'
  for (const name of fileSystem.listSync(directory).sort()) {
    const path = fileSystem.join(directory, name)
    const size = fileSystem.statSync(path)!.size
    hash.update(`${name} ${size}\n`)
    const file = fileSystem.openSync(path, 'read')
    const content = Buffer.alloc(size)
    file.readSync(content, 0, size, 0)
    file.closeSync()
    hash.update(content)
  }
  return hash.digest('hex')
}

/** Mixes numbers to the seed of a generator. */
export function generatorOf(...numbers: readonly number[]): () => number {
  let mixed = 0x9e37_79b9
  for (const number of numbers) mixed = Math.imul(mixed ^ number, 0x85eb_ca6b) ^ (mixed >>> 13)
  return randomFrom(mixed)
}
