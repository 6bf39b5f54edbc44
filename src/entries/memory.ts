/**
 * In-memory databases: the engine over an in-memory file system. The public entry
 * `cellardb/memory`.
 */
import { checkObject, readArguments } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import { MemoryFileSystem } from '../storage/fs/memory-fs.js'
import { Database } from '../table/database.js'
import type { OpenOptions } from '../table/open-database.js'

const notInMemory = ['fileSystem', 'createIfMissing', 'readOnly', 'recovery', 'executor'] as const

/** Options of {@link openMemoryDatabase}: the options of a database except those of a directory. */
export type MemoryDatabaseOptions = Omit<OpenOptions, (typeof notInMemory)[number]>

/**
 * Opens an empty in-memory database: the engine of `Database.open`, with all its operations and
 * semantics, over files in the memory of this process. Flushes and compactions run on the event
 * loop, in short slices. The contents are lost when the database is closed.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_COPROCESSOR` if a coprocessor cannot be loaded.
 */
export async function openMemoryDatabase(options: MemoryDatabaseOptions = {}): Promise<Database> {
  const given = readArguments(() => ({ ...checkObject(options, 'the options') }))
  for (const name of notInMemory) {
    if (!(name in given)) continue
    throw invalidArgument(`option ${name} belongs to a database in a directory`)
  }
  const all: OpenOptions = { ...given, executor: 'inline', fileSystem: new MemoryFileSystem() }
  return Database.open('/memory', all)
}
