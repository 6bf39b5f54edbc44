/**
 * What an open reads before it changes anything, and what it tells of it afterwards.
 *
 * Manifest, statement of the last close and log are read and judged together. Only when all of them
 * are good does the open begin a manifest of its own, which makes the statement void.
 */
import { corruption, type CellarError } from '../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { formatFileName } from '../version/file-names.js'
import { inspectDirectorySync, type DirectoryContent } from '../version/open-directory.js'
import { inspectLog, type InspectedLog } from '../wal/recover-log.js'
import { isWellFormedMutation, visitEntries } from './mutation-buffer.js'
import type { ResolvedOptions } from './options.js'

/** A torn tail that the open left out of a file. */
export interface CutTail {
  /** Path of the file. */
  readonly file: string
  /** Where it was cut, in bytes. 0: the whole file went. */
  readonly offset: number
  /** Bytes that were left out, those of later segments of the log included. */
  readonly bytesLost: number
  /** What stood there. */
  readonly found: string
}

/** What `Database.open` found. */
export interface Recovery {
  /** Whether the last close said what must be there. All of it was there, then. */
  readonly closedCleanly: boolean
  /** Mutations that came back from the log. */
  readonly mutationsReplayed: number
  /** Torn tails that were cut: of the manifest, of the log. Empty if nothing was left out. */
  readonly cuts: readonly CutTail[]
  /**
   * Names of SSTables and value files that the manifest does not name. They stay, because nothing
   * proves that the manifest is complete. An open that has the proof removes them.
   */
  readonly filesKept: readonly string[]
}

/** A directory that was found good and is unchanged. */
export interface InspectedDirectory {
  readonly content: DirectoryContent
  /** Undefined if the database is new. */
  readonly log: InspectedLog | undefined
  /** Whether the manifest is proven to hold everything that it held at the end. */
  readonly manifestProven: boolean
}

/**
 * Reads and judges manifest and log of a locked directory; changes nothing.
 *
 * @throws CellarError as `Database.open`.
 */
export function inspectDatabase(
  fileSystem: FileSystem,
  directory: string,
  options: ResolvedOptions,
): InspectedDirectory {
  const strict = options.recovery === 'strict'
  const { createIfMissing } = options
  const content = inspectDirectorySync(fileSystem, directory, createIfMissing, strict)
  const { state, databaseId, sameRun, closed, segmentNoted } = content
  if (databaseId === undefined) return { content, log: undefined, manifestProven: false }
  const log = inspectLog({
    fileSystem,
    directory,
    databaseId,
    fileNumberFloor: state.logFileNumberFloor,
    retainedBytesMax: options.logRetentionBytes,
    sequenceFlushed: sequenceFlushedOf(content),
    sameRun,
    closed,
    begun: segmentNoted,
    strict,
    checkMutation: (path, offset, source, start, end) => {
      checkMutation(path, offset, source, start, end, state.nextId)
    },
  })
  return { content, log, manifestProven: checkManifest(fileSystem, directory, content, log) }
}

/**
 * Compares the manifest with what the log says is durable of it, and tells whether the manifest is
 * proven to be complete.
 */
function checkManifest(
  fileSystem: FileSystem,
  directory: string,
  { manifestNumber = 0, manifestLength, manifestEditEnd, closed }: DirectoryContent,
  { manifestNoted }: InspectedLog,
): boolean {
  if (closed !== undefined) return true
  if (manifestNoted === undefined || manifestNoted.fileNumber < manifestNumber) return false
  const { fileNumber, length } = manifestNoted
  const isOlder = fileNumber > manifestNumber
  if (!isOlder && length <= manifestLength) return length >= manifestEditEnd
  throw corruption('damaged manifest', {
    file: fileSystem.join(directory, formatFileName('manifest', fileNumber)),
    offset: isOlder ? 0 : manifestLength,
    expected: `${length} durable bytes, as the log says`,
    found: isOlder ? 'no such file' : `${manifestLength} valid bytes`,
  })
}

/** Every mutation up to this sequence is in files. Without stores the log concerns nobody. */
function sequenceFlushedOf({ state }: DirectoryContent): number {
  let sequence = Number.MAX_SAFE_INTEGER
  for (const table of state.tables.values()) {
    if (table.snapshot !== undefined) continue
    for (const { storeId } of table.families) {
      sequence = Math.min(sequence, state.stores.get(storeId)!.flushedSequence)
    }
  }
  return sequence
}

/** A table is durable in the manifest before the log has a mutation of it. */
function checkMutation(
  path: string,
  offset: number,
  source: Buffer,
  start: number,
  end: number,
  nextId: number,
): void {
  if (!isWellFormedMutation(source, start, end)) {
    const facts = { expected: 'a mutation', found: 'bytes that are none' }
    throw corruption('malformed mutation', { file: path, offset, ...facts })
  }
  visitEntries(source, start, end, (storeId) => {
    if (storeId < nextId) return
    throw corruption('log and manifest disagree', {
      file: path,
      offset,
      expected: `mutations of stores below ${nextId}, as the manifest says`,
      found: `one of store ${storeId}: the manifest is not complete`,
    })
  })
}

/** The report of an open. */
export function reportOf(
  { content, log }: InspectedDirectory,
  mutationsReplayed: number,
  filesKept: readonly string[],
): Recovery {
  const cuts = [content.tornTail, log?.tornTail].filter((cut) => cut !== undefined)
  return { closedCleanly: content.closed !== undefined, mutationsReplayed, cuts, filesKept }
}

/** What the event `warning` says of a cut. */
export function cutWarning({ file, offset, bytesLost, found }: CutTail): CellarError {
  const expected = `whole frames; ${bytesLost} bytes were left out`
  return corruption('torn tail', { file, offset, expected, found })
}
