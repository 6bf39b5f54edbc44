/** Databases that were closed or whose process was killed, and harm done to their files. */
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import type { FileSystem } from '../../src/storage/fs/types.js'
import { Database, type OpenOptions } from '../../src/entries/index.js'

export type Table = ReturnType<Database['table']>

export const directory = '/db'

export const options: OpenOptions = { executor: 'inline', compactionEnabled: false }

/** Files of the database directory by name. */
export type Files = ReadonlyMap<string, Buffer>

export function openIn(fileSystem: FileSystem, more: OpenOptions = {}): Promise<Database> {
  return Database.open(directory, { ...options, ...more, fileSystem })
}

/** Runs `use` on a database with the table `t`, family `f`, and returns what a kill leaves. */
export async function killed(use: (table: Table) => unknown): Promise<SimulatedDisk> {
  const fileSystem = new SimulatedDisk()
  const database = await openIn(fileSystem)
  const table = await database.createTable('t', { families: { f: {} } })
  await use(table)
  const image = fileSystem.kill()
  await database.close()
  return image
}

/** As {@link killed}, but closed cleanly. */
export async function closed(
  use: (table: Table, database: Database) => unknown,
  more: OpenOptions = {},
): Promise<SimulatedDisk> {
  const fileSystem = new SimulatedDisk()
  const database = await openIn(fileSystem, more)
  await use(await database.createTable('t', { families: { f: {} } }), database)
  await database.close()
  return fileSystem
}

export function putRows(table: Table, count: number, durability: 'SYNC_WAL' | 'FSYNC_WAL'): void {
  for (let i = 0; i < count; i++) {
    table.putSync({ row: rowOf(i), cells: { 'f:q': `value ${i}` }, durability })
  }
}

export function rowOf(index: number): string {
  return `row ${String(index).padStart(4, '0')}`
}

/** Names of the files that match, sorted. */
export function namesOf(fileSystem: FileSystem, pattern: RegExp): string[] {
  return fileSystem
    .listSync(directory)
    .filter((name) => pattern.test(name))
    .sort()
}

export function pathOf(name: string): string {
  return `${directory}/${name}`
}

export function readBytes(fileSystem: FileSystem, name: string): Buffer {
  const file = fileSystem.openSync(pathOf(name), 'read')
  const bytes = Buffer.alloc(file.sizeSync())
  file.readSync(bytes, 0, bytes.length, 0)
  file.closeSync()
  return bytes
}

/** Replaces the content of a file, or makes one. */
export function writeBytes(fileSystem: FileSystem, name: string, bytes: Buffer): void {
  const isThere = fileSystem.statSync(pathOf(name)) !== undefined
  const file = fileSystem.openSync(pathOf(name), isThere ? 'write' : 'create')
  file.truncateSync(0)
  file.writeSync(bytes, 0, bytes.length, 0)
  file.syncSync()
  file.closeSync()
}

/** The content of a file without the zeros behind it, which are room made ahead. */
export function writtenBytes(fileSystem: FileSystem, name: string): Buffer {
  const bytes = readBytes(fileSystem, name)
  let end = bytes.length
  while (end > 0 && bytes[end - 1] === 0) end--
  return bytes.subarray(0, end)
}

export function flipBit(fileSystem: FileSystem, name: string, at: number, bit = 0): void {
  const bytes = readBytes(fileSystem, name)
  bytes[at] ^= 1 << bit
  writeBytes(fileSystem, name, bytes)
}

/** All files of the directory, by name. */
export function readAll(fileSystem: FileSystem): Files {
  return new Map(namesOf(fileSystem, /./).map((name) => [name, readBytes(fileSystem, name)]))
}

/** Whether the directory holds exactly these files. */
export function holds(fileSystem: FileSystem, files: Files): boolean {
  const now = readAll(fileSystem)
  if (now.size !== files.size) return false
  return [...files].every(([name, bytes]) => now.get(name)?.equals(bytes) === true)
}

/** Opens, and returns the rows of table `t` with what the open reported; or throws. */
export async function rowsIn(
  fileSystem: FileSystem,
  more: OpenOptions = {},
): Promise<{ rows: string[]; recovery: Database['recovery'] }> {
  const database = await openIn(fileSystem, more)
  try {
    const rows = [...database.table('t').scanSync()].map((result) => result.row!.toString())
    return { rows, recovery: database.recovery }
  } finally {
    await database.close()
  }
}
