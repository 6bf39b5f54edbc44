/**
 * The part of an open that reads without changing anything, and the report of the open.
 *
 * Manifest, statement of the last close and log are read and judged together. Only if all of them
 * are good does the open begin a new manifest, which voids the statement.
 */
import { corruption, type CellarError } from '../../../base/errors.js'
import type { FileSystem } from '../../fs/types.js'
import type { CutTail } from '../../record/record-scan.js'
import { formatFileName } from '../../version/file-names.js'
import { inspectDirectorySync, type DirectoryContent } from '../../version/open-directory.js'
import type { VersionState } from '../../version/version.js'
import { inspectLog, type InspectedLog } from '../../wal/recover-log.js'
import { isWellFormedMutation, visitEntries } from '../write/mutation-buffer.js'
import type { ResolvedOptions } from '../options.js'

/** The report of `Database.open`. */
export interface Recovery {
  /** Whether the last close was clean. Then log and manifest are complete. */
  readonly closedCleanly: boolean
  /** Number of mutations replayed from the log. */
  readonly mutationsReplayed: number
  /** Torn tails of the manifest and of the log that were cut; empty if there were none. */
  readonly cuts: readonly CutTail[]
  /**
   * Names of SSTables and value files that the manifest does not name. They stay, because nothing
   * proves that the manifest is complete. An open with that proof removes them.
   */
  readonly filesKept: readonly string[]
}

/** A directory that was found good and is unchanged. */
export interface InspectedDirectory {
  readonly content: DirectoryContent
  /** Undefined if the database is new. */
  readonly log: InspectedLog | undefined
  /** Whether the manifest is proven to be complete. */
  readonly manifestProven: boolean
}

/**
 * Reads and judges manifest and log of a locked directory. Changes nothing.
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
  if (content.databaseId === undefined) return { content, log: undefined, manifestProven: false }
  return judgeLog(fileSystem, directory, content, options)
}

/**
 * Reads and judges the log beside the content of the manifest. Changes nothing. REQUIRES content
 * with an identity.
 */
export function judgeLog(
  fileSystem: FileSystem,
  directory: string,
  content: DirectoryContent,
  options: Pick<ResolvedOptions, 'recovery' | 'logRetentionBytes' | 'readOnly'>,
): InspectedDirectory {
  const { state, sameRun, closed, segmentNoted } = content
  const { recovery, logRetentionBytes, readOnly } = options
  const log = inspectLog({
    fileSystem,
    directory,
    databaseId: content.databaseId!,
    fileNumberFloor: state.logFileNumberFloor,
    retainedBytesMax: logRetentionBytes,
    readOnly,
    sequenceFlushed: sequenceFlushedOf(state),
    sameRun,
    closed,
    begun: segmentNoted,
    strict: recovery === 'strict',
    checkMutation: (path, offset, source, start, end) => {
      checkMutation(path, offset, source, start, end, state.nextId)
    },
  })
  return { content, log, manifestProven: checkManifest(fileSystem, directory, content, log) }
}

/**
 * Compares the manifest with the durable length that the log notes. Returns whether the manifest is
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

/**
 * Every mutation up to this sequence is in SSTables. Without stores no mutation of the log is
 * needed.
 */
export function sequenceFlushedOf(state: VersionState): number {
  let sequence = Number.MAX_SAFE_INTEGER
  for (const table of state.tables.values()) {
    if (table.snapshot !== undefined) continue
    for (const { storeId } of table.families) {
      sequence = Math.min(sequence, state.stores.get(storeId)!.flushedSequence)
    }
  }
  return sequence
}

/**
 * Checks one mutation of the log. The manifest names a table durably before the log has a mutation
 * of it.
 */
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

/** Makes the report of an open. */
export function reportOf(
  { content, log }: InspectedDirectory,
  mutationsReplayed: number,
  filesKept: readonly string[],
): Recovery {
  const cuts = [content.tornTail, log?.tornTail].filter((cut) => cut !== undefined)
  return { closedCleanly: content.closed !== undefined, mutationsReplayed, cuts, filesKept }
}

/** The error that the event `warning` carries for a torn tail. */
export function cutWarning({ file, offset, bytesLost, found }: CutTail): CellarError {
  const expected = `whole frames; ${bytesLost} bytes were left out`
  return corruption('torn tail', { file, offset, expected, found })
}
