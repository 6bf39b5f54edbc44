/** Opens databases for verbs. Looking takes no lock and writes nothing. */
import { CellarError, ErrorCode } from '../../api/index.js'
import { Database, type OpenOptions } from '../../entries/index.js'

/** Options that all verbs of a database share. */
export interface DirectoryWords {
  readonly directory: string
  readonly json?: true
}

/**
 * Runs with a view of the directory at this moment, also while another process writes there. The
 * coprocessors of the tables stay out, so rows are shown as they are stored.
 */
export async function looking<T>(
  { directory }: DirectoryWords,
  run: (database: Database) => Promise<T>,
): Promise<T> {
  return opened(directory, { readOnly: true, schemaCoprocessorsEnabled: false }, run)
}

/** Runs with the database open for writing, alone. It must exist. */
export async function writing<T>(
  { directory }: DirectoryWords,
  run: (database: Database) => Promise<T>,
  options: OpenOptions = {},
): Promise<T> {
  return opened(directory, { createIfMissing: false, ...options }, run)
}

async function opened<T>(
  directory: string,
  options: OpenOptions,
  run: (database: Database) => Promise<T>,
): Promise<T> {
  const database = await openDirectory(directory, options)
  try {
    return await run(database)
  } finally {
    await database.close()
  }
}

async function openDirectory(directory: string, options: OpenOptions): Promise<Database> {
  try {
    return await Database.open(directory, options)
  } catch (error) {
    const hint = hintOf(error, directory)
    if (hint === undefined) throw error
    const { code, message, corruption } = error as CellarError
    throw new CellarError(code, `${message}\n${hint}`, { cause: error, corruption })
  }
}

/** The verb that helps after an error of an open. */
function hintOf(error: unknown, directory: string): string | undefined {
  if (!(error instanceof CellarError)) return undefined
  if (error.code === ErrorCode.corruption) {
    return `'cellar verify -d ${directory}' lists all damage; 'cellar salvage' saves the rest`
  }
  if (error.code === ErrorCode.locked) {
    return 'this verb needs the directory alone: stop the process that has it open'
  }
  return undefined
}
