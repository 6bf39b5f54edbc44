/**
 * The manifest: a record file whose first frame is the complete state and whose later frames are
 * version edits (FORMAT.md). Its name is the pointer to it: the highest number wins.
 *
 * A manifest appears under its final name only after its first frame is durable, so one whose first
 * frame does not verify is damaged, never half-written. Bytes behind what is known to be durable
 * may be a torn tail and are left behind; everything else that does not verify is an error.
 */

import { InvariantError } from '../base/assert.js'
import { CellarError, corruption, ErrorCode } from '../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { scanRecordsSync } from '../record/record-scan.js'
import type { RecordFileHeader } from '../record/format.js'
import { RecordWriter } from '../record/record-writer.js'
import { applyEdit, applySnapshot, snapshotEdit } from './apply-edit.js'
import { formatFileName, temporarySuffix } from './file-names.js'
import { decodeEdit, encodeEdit } from './version-edit.js'
import type { VersionState } from './version.js'

/** What {@link readManifestSync} found. */
export interface ManifestContent {
  readonly header: RecordFileHeader
  /** The state after the last edit. */
  readonly state: VersionState
  /** Edits behind the first frame. */
  readonly editCount: number
  /** Bytes that frames fill. */
  readonly length: number
  /** Where the last edit ends, in bytes. */
  readonly editEnd: number
  /** A segment of the log that was begun, by number; 0 if no note says so. */
  readonly segmentNoted: number
  /** Whether the machine runs on since the manifest was begun; nothing written can be missing. */
  readonly sameRun: boolean
  /** What was left out behind the last valid frame as a torn tail; usually nothing. */
  readonly tornTail: TornManifest | undefined
}

/** A torn tail of the manifest. */
export interface TornManifest {
  readonly file: string
  readonly offset: number
  readonly bytesLost: number
  /** What was found instead of an edit. */
  readonly found: string
}

/**
 * Writes a manifest whole and makes it the one that the next open finds: temporary name, sync,
 * rename, sync of the directory. On return the state is durable and the writer takes edits.
 *
 * On an error the new manifest may or may not be there for the next open; nothing may be appended
 * to an older one any more.
 */
export function writeManifestSync(
  fileSystem: FileSystem,
  directory: string,
  fileNumber: number,
  databaseId: Buffer,
  state: VersionState,
): RecordWriter {
  const path = fileSystem.join(directory, formatFileName('manifest', fileNumber))
  const temporaryPath = path + temporarySuffix
  const header = {
    kind: 'manifest',
    databaseId,
    fileNumber,
    predecessor: undefined,
    runIdentity: fileSystem.runIdentity(),
  } as const
  const writer = RecordWriter.createSync(fileSystem, temporaryPath, header)
  try {
    appendFrameSync(writer, encodeEdit(snapshotEdit(state)))
    writer.syncSync()
    fileSystem.renameSync(temporaryPath, path)
    fileSystem.syncDirectorySync(directory)
    appendMarkSync(writer)
  } catch (error) {
    writer.closeSync()
    throw error
  }
  return writer
}

/** Hands one encoded edit to the operating system. It is not durable yet. */
export function appendFrameSync(writer: RecordWriter, payload: Buffer): void {
  writer.append(payload, 0, payload.length, writer.lastSequence + 1)
  writer.writeSync()
}

/**
 * Writes down how much of the manifest is durable, so that damage to its last edit is told from a
 * torn tail. Not synced: it only helps if it survives.
 */
export function appendMarkSync(writer: RecordWriter): void {
  writer.appendMark()
  writer.writeSync()
}

/**
 * Reads a manifest and replays its edits. Changes nothing.
 *
 * @param strict - refuse a torn tail too.
 * @throws CellarError `ERR_CORRUPTION` with file and offset if anything that had been durable does
 * not verify or breaks a rule, `ERR_FORMAT_VERSION` if a newer version of Cellar wrote it.
 */
export function readManifestSync(
  fileSystem: FileSystem,
  directory: string,
  fileNumber: number,
  strict = false,
): ManifestContent {
  const path = fileSystem.join(directory, formatFileName('manifest', fileNumber))
  let state: VersionState | undefined
  let frameCount = 0
  let editEnd = 0
  const expected = { kind: 'manifest', fileNumber } as const
  const scan = scanRecordsSync(
    fileSystem,
    path,
    expected,
    (payload, start, end, sequence, offset) => {
      frameCount++
      editEnd = end
      if (sequence !== frameCount) {
        const numbers = { expected: `edit ${frameCount}`, found: `edit ${sequence}` }
        throw corruption('manifest edit missing', { file: path, offset, ...numbers })
      }
      state = replay(state, payload, start, end, path, offset)
    },
  )
  const { header, damage, validLength, fileLength, syncedLengthKnown } = scan
  const run = fileSystem.runIdentity()
  const sameRun = run !== undefined && header?.runIdentity?.equals(run) === true
  if (damage !== undefined) {
    const { offset, cause } = damage
    const isTear = cause !== 'harm' && !(cause === 'lostBlocks' && sameRun)
    if (state === undefined || offset < syncedLengthKnown || !isTear || strict) {
      throw corruption('damaged manifest', { file: path, ...damage })
    }
  }
  if (state === undefined || header === undefined) {
    const facts = { expected: 'a first edit', found: 'the end of the file' }
    throw corruption('empty manifest', { file: path, offset: validLength, ...facts })
  }
  const tornTail =
    damage === undefined
      ? undefined
      : {
          file: path,
          offset: damage.offset,
          bytesLost: fileLength - validLength,
          found: damage.found,
        }
  return {
    header,
    state,
    editCount: frameCount - 1,
    length: validLength,
    editEnd,
    segmentNoted: scan.noted?.fileNumber ?? 0,
    sameRun,
    tornTail,
  }
}

function replay(
  state: VersionState | undefined,
  payload: Buffer,
  start: number,
  end: number,
  path: string,
  offset: number,
): VersionState {
  try {
    const edit = decodeEdit(payload, start, end)
    if (state === undefined) return applySnapshot(edit)
    if (edit.snapshot === true) throw new InvariantError('a snapshot follows other edits')
    return applyEdit(state, edit)
  } catch (error) {
    if (error instanceof InvariantError) {
      const facts = { expected: 'a legal version edit', found: error.message }
      throw corruption('bad manifest edit', { file: path, offset, ...facts }, error)
    }
    if (error instanceof CellarError && error.code === ErrorCode.formatVersion) {
      const message = `${path} at offset ${offset}: ${error.message}`
      throw new CellarError(ErrorCode.formatVersion, message, { cause: error })
    }
    throw error
  }
}
