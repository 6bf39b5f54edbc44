/** Values and helpers shared by the tests of the version layer. */

import { createHash } from 'node:crypto'
import { FaultyFileSystem, type Fault } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import type { FileSystem } from '../../../../src/storage/fs/types.js'
import type { TableDefinition } from '../../../../src/storage/version/catalog.js'
import { tableRecord } from '../../../../src/storage/version/catalog.js'
import { storeFileField, type FileMetadata } from '../../../../src/storage/version/file-metadata.js'
import { formatFileName } from '../../../../src/storage/version/file-names.js'
import type { VersionEdit } from '../../../../src/storage/version/version-edit.js'
import type { VersionSet } from '../../../../src/storage/version/version-set.js'
import type { VersionState } from '../../../../src/storage/version/version.js'

/** The database directory in the file systems of the tests. */
export const directory = '/db'

/** Identity of databases whose manifest a test writes itself. */
export const databaseId = Buffer.alloc(16, 'identity')

/** The seed of the random tests. */
export const seed = Number(process.env.CELLAR_SEED ?? 20_251)

/** Numbers in [0, 1) from a seed (mulberry32). */
export function randomFrom(start: number): () => number {
  let state = start >>> 0
  return () => {
    state = (state + 0x6d2b_79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

/** A memory file system with a durable, empty database directory. */
export function newFileSystem(): SimulatedDisk {
  const fileSystem = new SimulatedDisk()
  fileSystem.makeDirectorySync(directory)
  fileSystem.syncDirectorySync('/')
  return fileSystem
}

/** A file description with everything that a test does not care about filled in. */
export function fileOf(fileNumber: number, changes: Partial<FileMetadata> = {}): FileMetadata {
  return {
    fileNumber,
    fileBytes: 10 + fileNumber,
    level: 0,
    entryCount: 5,
    deleteCount: 1,
    familyDeleteCount: 0,
    firstKey: Buffer.from(`key${fileNumber}a`),
    lastKey: Buffer.from(`key${fileNumber}z`),
    minSequence: fileNumber * 10,
    maxSequence: fileNumber * 10 + 9,
    minTimestamp: -5n,
    maxTimestamp: 2n ** 62n,
    earliestPutTimestamp: 0n,
    createdMilliseconds: 1_700_000_000_000,
    ...changes,
  }
}

/** A table `name` with one store for each family name. */
export function tableOf(
  tableId: number,
  name: string,
  families: Record<string, number>,
): TableDefinition {
  return {
    tableId,
    name,
    families: Object.entries(families).map(([family, storeId]) => ({
      storeId,
      name: family,
      options: { versions: 3 },
    })),
    options: { note: 'ü' },
  }
}

/**
 * Writes a file of the described length as the caller of publish must: file and directory synced.
 */
export function writeTableFile(fileSystem: FileSystem, metadata: FileMetadata): void {
  const path = fileSystem.join(directory, formatFileName('table', metadata.fileNumber))
  const file = fileSystem.openSync(path, 'create')
  file.writeSync(Buffer.alloc(metadata.fileBytes, metadata.fileNumber), 0, metadata.fileBytes, 0)
  file.syncSync()
  file.closeSync()
  fileSystem.syncDirectorySync(directory)
}

/** Puts a file with any name and content into the directory, durably. */
export function plantFile(fileSystem: FileSystem, name: string, content: Buffer): void {
  const path = fileSystem.join(directory, name)
  if (fileSystem.statSync(path) !== undefined) fileSystem.unlinkSync(path)
  const file = fileSystem.openSync(path, 'create')
  file.writeSync(content, 0, content.length, 0)
  file.syncSync()
  file.closeSync()
  fileSystem.syncDirectorySync(directory)
}

/** The bytes of a file in the directory. */
export function readFile(fileSystem: FileSystem, name: string): Buffer {
  const file = fileSystem.openSync(fileSystem.join(directory, name), 'read')
  const content = Buffer.alloc(file.sizeSync())
  file.readSync(content, 0, content.length, 0)
  file.closeSync()
  return content
}

/** Names in the directory, sorted. */
export function listFiles(fileSystem: FileSystem): string[] {
  return fileSystem.listSync(directory).sort()
}

/** The whole directory in one string, to see that not a byte of it changed. */
export function fingerprint(fileSystem: FileSystem): string {
  const hash = createHash('sha256')
  for (const name of listFiles(fileSystem)) hash.update(name).update(readFile(fileSystem, name))
  return hash.digest('hex')
}

/** The highest manifest in the directory. */
export function manifestName(fileSystem: FileSystem): string {
  const names = listFiles(fileSystem).filter((name) => /^MANIFEST-\d+$/.test(name))
  return names[names.length - 1]
}

/** Everything of a state that matters to a user, as comparable text; counters are left out. */
export function describe(state: VersionState): string {
  const stores = [...state.stores.values()]
    .sort((a, b) => a.storeId - b.storeId)
    .map((store) => ({
      flushedSequence: store.flushedSequence,
      levels: store.levels.map((files) =>
        files.map((file) => storeFileField.write({ storeId: store.storeId, file })),
      ),
    }))
  const tables = [...state.tables.values()]
    .sort((a, b) => a.tableId - b.tableId)
    .map(tableRecord.write)
  return JSON.stringify({
    tables,
    stores,
    logFileNumberFloor: state.logFileNumberFloor,
    lastSequence: state.lastSequence,
  })
}

/** One publish of a scenario: makes its edit, and writes the files that the edit names. */
export type Step = (set: VersionSet, fileSystem: FileSystem) => VersionEdit

function flush(storeId: number, sequence: number, key: string): Step {
  return (set, fileSystem) => {
    const changes = { firstKey: Buffer.from(`${key}0`), lastKey: Buffer.from(`${key}9`) }
    const sequences = { minSequence: sequence - 9, maxSequence: sequence }
    const file = fileOf(set.allocateFileNumber(), { ...changes, ...sequences })
    writeTableFile(fileSystem, file)
    return {
      filesAdded: [{ storeId, file }],
      flushedSequences: [{ storeId, sequence }],
      lastSequence: sequence,
    }
  }
}

/** A life of a small database: tables come and go, flushes, a move, a compaction. */
export const lifeSteps: readonly Step[] = [
  (set) => {
    const [tableId, storeA, storeB] = [set.allocateId(), set.allocateId(), set.allocateId()]
    return { tablesCreated: [tableOf(tableId, 'cities', { geo: storeA, stat: storeB })] }
  },
  flush(2, 20, 'a'),
  flush(2, 40, 'b'),
  (set) => {
    const files = set.current.stores.get(2)!.levels[0]
    const moved = files.map((file) => ({ storeId: 2, file: { ...file, level: 1 } }))
    const filesRemoved = files.map(({ fileNumber }) => ({ storeId: 2, fileNumber }))
    return { filesAdded: moved, filesRemoved, logFileNumberFloor: 3 }
  },
  flush(3, 60, 'a'),
  (set, fileSystem) => {
    const files = set.current.stores.get(2)!.levels[1]
    const level1 = { level: 1, minSequence: 11, maxSequence: 40 }
    const keys = { firstKey: Buffer.from('a0'), lastKey: Buffer.from('b9') }
    const file = fileOf(set.allocateFileNumber(), { ...level1, ...keys })
    writeTableFile(fileSystem, file)
    const filesRemoved = files.map(({ fileNumber }) => ({ storeId: 2, fileNumber }))
    return { filesAdded: [{ storeId: 2, file }], filesRemoved }
  },
  (set) => ({
    tablesCreated: [tableOf(set.allocateId(), 'rivers', { f: set.allocateId() })],
    tablesAltered: [tableOf(1, 'cities', { geo: 2 })],
  }),
  flush(5, 80, 'q'),
  () => ({ tablesDropped: [4] }),
]

/** Fails on demand, and finds a manifest whose bytes a failed sync drops under its final name. */
export class FaultyManifests extends FaultyFileSystem {
  private readonly memory: SimulatedDisk

  constructor(memory: SimulatedDisk, ...rest: [Fault?]) {
    super(memory, ...rest)
    this.memory = memory
  }

  override dropUnsynced(path: string): void {
    const renamed = this.memory.statSync(path) === undefined
    super.dropUnsynced(renamed ? path.replace(/\.tmp$/, '') : path)
  }
}
