/**
 * The manifest: a record file whose first frame holds the complete state and whose later frames are
 * version edits (FORMAT.md). There is no pointer file: the manifest with the highest number counts.
 *
 * A manifest gets its final name only after its first frame is durable. So a first frame that does
 * not verify is damaged, never half-written. Bytes after the part that is known to be durable may
 * be a torn tail, which is left out. Everything else that does not verify is an error.
 */

import { InvariantError } from '../../base/assert.js'
import { CellarError, corruption, ErrorCode } from '../../base/errors.js'
import type { FileSystem } from '../fs/types.js'
import { temporarySuffix } from '../fs/whole-file.js'
import { scanRecordsSync, type CutTail } from '../record/record-scan.js'
import type { RecordFileHeader } from '../record/file-header.js'
import { RecordWriter } from '../record/record-writer.js'
import { applyEdit, applySnapshot, snapshotEdit } from './apply-edit.js'
import { formatFileName } from './file-names.js'
import { decodeEdit, encodeEdit } from './version-edit.js'
import type { VersionState } from './version.js'

/** The result of {@link readManifestSync}. */
export interface ManifestContent {
  readonly header: RecordFileHeader
  /** The state after the last edit. */
  readonly state: VersionState
  /** Number of edits after the first frame. */
  readonly editCount: number
  /** Length in bytes up to the end of the last valid frame. */
  readonly length: number
  /** Offset in bytes of the end of the last edit's payload. */
  readonly editEnd: number
  /** Number of the newest log segment that was begun, as a note says; 0 without a note. */
  readonly segmentNoted: number
  /**
   * Whether the machine has not stopped since the manifest was begun: then no written byte is
   * missing.
   */
  readonly sameRun: boolean
  /** The torn tail after the last valid frame, which was left out; usually undefined. */
  readonly tornTail: CutTail | undefined
}

/**
 * Writes a whole manifest and makes it the one that the next open reads: temporary name, sync,
 * rename, sync of the directory. On return the state is durable and the writer takes edits.
 *
 * After an error the new manifest may or may not exist for the next open, so no edit may be
 * appended to an older manifest any more.
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
    writer.path = path
    fileSystem.syncDirectorySync(directory)
    appendMarkSync(writer)
  } catch (error) {
    writer.closeSync()
    throw error
  }
  return writer
}

/** Writes one encoded edit to the operating system. The caller syncs. */
export function appendFrameSync(writer: RecordWriter, payload: Buffer): void {
  writer.append(payload, 0, payload.length, writer.lastSequence + 1)
  writer.writeSync()
}

/**
 * Marks the durable length of the manifest, so that damage to its last edit is not taken for a torn
 * tail. The mark is not synced; it helps only if it survives.
 */
export function appendMarkSync(writer: RecordWriter): void {
  writer.appendMark()
  writer.writeSync()
}

/**
 * Reads a manifest and applies its edits in memory. Changes nothing on disk.
 *
 * @param strict - refuse a torn tail too.
 * @throws CellarError `ERR_CORRUPTION` with file and offset if durable bytes do not verify or an
 * edit breaks a rule; `ERR_FORMAT_VERSION` if a newer version of Cellar wrote the manifest.
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
