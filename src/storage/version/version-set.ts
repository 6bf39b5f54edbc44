/**
 * The version set: the current version, the manifest that makes versions durable, and the only way
 * from one version to the next. It corresponds to LevelDB's VersionSet.
 *
 * An edit is published in this order. The caller has written and synced the new files and synced
 * the directory. The edit is checked against the latest state, appended to the manifest, and the
 * manifest is synced. Then the new version becomes current, and the listeners are called. So
 * listeners and readers see durable versions only. The edit is decoded again from the bytes that
 * are written, so the state in memory is exactly the state that a replay gives.
 *
 * Invariants
 * - `pending` holds the edits that are appended but not known to be durable, in the order of the
 *   calls. They become visible in that order. `tip` is the state after the last of them.
 * - Edits are appended only to the manifest with the highest number in the directory.
 *
 * The first failed write, sync or rename of a manifest poisons the set. Whether the unfinished
 * edits are durable is then unknown: the next open may find them, so their files must stay. An edit
 * that fails its check (`InvariantError`) changes nothing.
 */

import { assert } from '../../base/assert.js'
import { deferred, type Deferred } from '../../base/deferred.js'
import { CellarError, closedError, ErrorCode } from '../../base/errors.js'
import { systemRandomBytes } from '../../base/random-bytes.js'
import type { FileSystem } from '../fs/types.js'
import { databaseIdBytes, type DurableFile } from '../record/file-header.js'
import type { CutTail } from '../record/record-scan.js'
import type { RecordWriter } from '../record/record-writer.js'
import { applyEdit } from './apply-edit.js'
import { formatFileName } from './file-names.js'
import { writeClosingStatementSync, type ClosedSegment } from './closing-statement.js'
import { appendFrameSync, writeManifestSync } from './manifest.js'
import { compareFiles, ObsoleteFiles } from './obsolete-files.js'
import type { DirectoryContent } from './open-directory.js'
import { decodeEdit, encodeEdit, type VersionEdit } from './version-edit.js'
import type { VersionSetOptions } from './version-set-options.js'
import { Version, type VersionState } from './version.js'

/** Called after a version became current, with the edit that led to it. */
export type VersionListener = (version: Version, edit: VersionEdit) => void

/**
 * Called at the moment when an edit becomes visible, before any listener, with the new version and
 * the one before. REQUIRES that it does not throw: an error poisons the version set.
 */
export type OnCurrent = (version: Version, before: Version) => void

/** An edit that is appended but not visible yet. */
interface PendingEdit {
  readonly editNumber: number
  readonly edit: VersionEdit
  readonly payload: Buffer
  readonly state: VersionState
  readonly settled: Deferred<void> | undefined
  readonly onCurrent: OnCurrent | undefined
}

const manifestBytesMaxDefault = 4 * 1024 * 1024
const manifestGrowthMax = 4

/** The versions of one open database directory. The owner must hold the directory's lock. */
export class VersionSet {
  /** The torn tail of the manifest that the open left out. */
  readonly tornTail: CutTail | undefined
  /** SSTables and value files in the directory that no version names and that were kept. */
  readonly filesKept: readonly string[]
  /** Identity of the database, 16 bytes, which never changes. Every file carries it. */
  readonly databaseId: Buffer
  private readonly fileSystem: FileSystem
  private readonly directory: string
  private readonly options: VersionSetOptions
  private listeners: readonly VersionListener[] = []
  private readonly live: Set<Version>
  private readonly obsolete: ObsoleteFiles
  private currentVersion: Version
  private tip: VersionState
  private pending: PendingEdit[] = []
  private lastEditNumber = 0
  private nextFileNumber: number
  private nextId: number
  private writer: RecordWriter
  /** Length of {@link writer} when it was new. */
  private snapshotBytes: number
  /** The newest segment of the log that was noted; 0 = none. */
  private segmentNoted = 0
  /** The manifest that an asynchronous sync is running on. */
  private syncing: RecordWriter | undefined = undefined
  private poisonedBy: CellarError | undefined = undefined
  private closed = false

  /**
   * Opens the database in a directory that was inspected and not changed since. Always begins a new
   * manifest. So a torn tail is left out, and everything that was read is durable. The new manifest
   * is the first change: from then on the statement of a clean close is void.
   *
   * @throws errors of the file system.
   */
  constructor(
    fileSystem: FileSystem,
    directory: string,
    options: VersionSetOptions,
    content: DirectoryContent,
  ) {
    this.tornTail = content.tornTail
    const { randomBytes = systemRandomBytes } = options
    this.databaseId = content.databaseId ?? Buffer.from(randomBytes(databaseIdBytes))
    this.fileSystem = fileSystem
    this.directory = directory
    this.options = options
    this.live = new Set()
    this.tip = content.state
    this.nextFileNumber = content.nextFileNumber
    this.nextId = content.state.nextId
    this.writer = this.writeManifest(content.state)
    this.snapshotBytes = this.writer.length
    this.currentVersion = new Version(1, content.state, (version) => this.unreferenced(version))
    this.live.add(this.currentVersion)
    this.obsolete = new ObsoleteFiles(content.state, 1)
    if (content.manifestNumber !== undefined) this.removeManifest(content.manifestNumber)
    for (const name of content.leftovers) this.unlink(name)
    const keepsUnknown = options.keepUnknownFiles === true
    this.filesKept = keepsUnknown ? content.unknownFiles : []
    if (!keepsUnknown) for (const name of content.unknownFiles) this.unlink(name)
  }

  /** The newest durable version. Acquire the version before using it across an `await`. */
  get current(): Version {
    return this.currentVersion
  }

  /** Whether the store exists after all unfinished edits. */
  hasStore(storeId: number): boolean {
    return this.tip.stores.has(storeId)
  }

  /** The error that poisoned the set; undefined if none did. */
  get failure(): CellarError | undefined {
    return this.poisonedBy
  }

  /** Calls `listener` after each version that becomes current from now on. */
  addListener(listener: VersionListener): void {
    this.listeners = [...this.listeners, listener]
  }

  /** Undoes {@link addListener}. */
  removeListener(listener: VersionListener): void {
    this.listeners = this.listeners.filter((other) => other !== listener)
  }

  /** Returns a number for a new file of any kind. Each call returns another number. */
  allocateFileNumber(): number {
    return this.nextFileNumber++
  }

  /** Returns an identifier for a new table or store. Each call returns another identifier. */
  allocateId(): number {
    return this.nextId++
  }

  /**
   * Makes an edit durable and then visible. REQUIRES that the files it adds are written and synced,
   * and that their directory is synced. Edits take effect in the order of the calls. The edit is
   * appended at once; the sync is shared with other calls. `onCurrent` is called when the edit
   * becomes visible.
   *
   * @throws InvariantError if the edit breaks a rule, and CellarError `ERR_POISONED` or
   * `ERR_CLOSED`: nothing has happened. Any other error poisons the set, and only the next open
   * shows whether the edit took effect, so do not remove its files.
   */
  async publish(edit: VersionEdit, onCurrent?: OnCurrent): Promise<void> {
    const settled = deferred<void>()
    const next = this.prepare(edit, settled, onCurrent)
    if (this.isManifestLong()) {
      this.rollSync(next)
    } else {
      this.append(next)
      if (this.syncing !== this.writer) void this.syncPending(this.writer)
    }
    return settled.promise
  }

  /**
   * As {@link publish}, blocking. Unfinished edits of earlier calls of {@link publish} become
   * durable and visible before this one.
   */
  publishSync(edit: VersionEdit, onCurrent?: OnCurrent): void {
    const next = this.prepare(edit, undefined, onCurrent)
    if (this.isManifestLong() || this.syncing === this.writer) {
      // A failure of the running sync might be reported to that sync only. So this edit must not
      // rely on a second sync of the same file. A new manifest is durable by itself.
      this.rollSync(next)
      this.throwIfPoisoned()
      return
    }
    this.append(next)
    try {
      this.writer.syncSync()
    } catch (error) {
      throw this.poison(error)
    }
    this.install(next.editNumber)
    this.throwIfPoisoned()
    this.mark()
  }

  /**
   * Removes the SSTables and value files that durable edits have dropped and that no held version
   * shows. Also runs by itself after the last release of a version. Does nothing once the set is
   * poisoned or closed. A file that cannot be removed is reported, and the next open removes it.
   *
   * @returns the names of the files that were removed or passed to `removeFile`.
   */
  removeObsoleteFiles(): string[] {
    if (this.closed || this.poisonedBy !== undefined) return []
    const { onObsolete, removeFile = (path) => this.fileSystem.unlinkSync(path) } = this.options
    const liveVersions = Array.from(this.live, (version) => version.versionNumber)
    const removed: string[] = []
    for (const { kind, fileNumber } of this.obsolete.take(liveVersions)) {
      this.report(() => onObsolete?.(fileNumber))
      const name = formatFileName(kind, fileNumber)
      const path = this.fileSystem.join(this.directory, name)
      if (this.report(() => removeFile(path))) removed.push(name)
    }
    return removed
  }

  /**
   * Keeps {@link removeObsoleteFiles} from removing a file that a running job uses. Calls are
   * counted.
   */
  protectFile(fileNumber: number): void {
    this.obsolete.protect(fileNumber)
  }

  /** Ends one {@link protectFile}. */
  unprotectFile(fileNumber: number): void {
    this.obsolete.unprotect(fileNumber)
  }

  /**
   * Closes the manifest. Await running publishes first: those that no running sync covers fail with
   * `ERR_CLOSED`. Versions stay readable. Calling it again does nothing.
   */
  close(): void {
    if (this.closed) return
    this.closed = true
    this.report(() => this.writer.closeSync())
  }

  /**
   * As {@link close}, and durably states what the next open must find. REQUIRES that the log is
   * closed and durable and that no publish is running. If the set is poisoned, only closes.
   *
   * @param segment - the last segment of the log.
   * @throws errors of the file system. The set is closed nevertheless, without a statement.
   */
  closeWithStatementSync(segment: ClosedSegment): void {
    if (this.closed || this.poisonedBy !== undefined || this.pending.length > 0) {
      this.close()
      return
    }
    const { fileNumber } = this.writer.header
    try {
      this.writer.syncSync()
    } finally {
      this.close()
    }
    writeClosingStatementSync(this.fileSystem, this.directory, this.databaseId, fileNumber, segment)
  }

  private prepare(
    edit: VersionEdit,
    settled: Deferred<void> | undefined,
    onCurrent: OnCurrent | undefined,
  ): PendingEdit {
    if (this.closed) throw closedError('the version set')
    if (this.poisonedBy !== undefined) {
      const message = 'an earlier write of the manifest failed; reopen the database'
      throw new CellarError(ErrorCode.poisoned, message, { cause: this.poisonedBy })
    }
    const { nextFileNumber, nextId } = this
    const payload = encodeEdit({ ...edit, snapshot: undefined, nextFileNumber, nextId })
    const decoded = decodeEdit(payload, 0, payload.length)
    for (const { file } of decoded.filesAdded ?? []) {
      assert(!this.obsolete.isWaiting(file.fileNumber), 'the number of a dropped file comes back')
    }
    const state = applyEdit(this.tip, decoded)
    const editNumber = this.lastEditNumber + 1
    return { editNumber, edit: decoded, payload, state, settled, onCurrent }
  }

  private append(next: PendingEdit): void {
    try {
      appendFrameSync(this.writer, next.payload)
    } catch (error) {
      throw this.poison(error)
    }
    this.enqueue(next)
  }

  private enqueue(next: PendingEdit): void {
    this.pending.push(next)
    this.tip = next.state
    this.lastEditNumber = next.editNumber
  }

  /** Syncs one manifest until no edit is pending or another manifest has replaced it. */
  private async syncPending(writer: RecordWriter): Promise<void> {
    this.syncing = writer
    try {
      while (this.writer === writer && this.pending.length > 0) {
        const editNumber = this.lastEditNumber
        await writer.sync()
        // The manifest that replaced this one holds these edits and has settled them.
        if (this.writer !== writer) return
        this.install(editNumber)
        if (this.pending.length === 0) this.mark()
      }
    } catch (error) {
      this.poison(error)
    } finally {
      if (this.syncing === writer) this.syncing = undefined
    }
  }

  private isManifestLong(): boolean {
    const { length } = this.writer
    const { manifestBytesMax = manifestBytesMaxDefault } = this.options
    return length > manifestBytesMax && length > this.snapshotBytes * manifestGrowthMax
  }

  /** Throws if an edit is durable but could not become visible, because its `onCurrent` failed. */
  private throwIfPoisoned(): void {
    if (this.poisonedBy !== undefined) throw this.poisonedBy
  }

  /** Replaces the manifest by a new one that begins with the state after `next`. */
  private rollSync(next: PendingEdit): void {
    const old = this.writer
    try {
      this.writer = this.writeManifest(next.state)
    } catch (error) {
      throw this.poison(error)
    }
    this.snapshotBytes = this.writer.length
    this.enqueue(next)
    if (this.segmentNoted > 0) this.noteSegment(this.segmentNoted)
    this.report(() => old.closeSync())
    this.removeManifest(old.header.fileNumber)
    this.install(next.editNumber)
  }

  private writeManifest(state: VersionState): RecordWriter {
    const fileNumber = this.allocateFileNumber()
    const { nextFileNumber, nextId } = this
    const complete = { ...state, nextFileNumber, nextId }
    return writeManifestSync(this.fileSystem, this.directory, fileNumber, this.databaseId, complete)
  }

  private removeManifest(fileNumber: number): void {
    this.unlink(formatFileName('manifest', fileNumber))
  }

  /**
   * Makes pending edits visible in their order, up to and including the durable one with
   * `editNumber`.
   */
  private install(editNumber: number): void {
    while (this.pending.length > 0 && this.pending[0].editNumber <= editNumber) {
      const { state, edit, settled, onCurrent } = this.pending.shift()!
      const before = this.currentVersion
      const versionNumber = before.versionNumber + 1
      const version = new Version(versionNumber, state, (dead) => this.unreferenced(dead))
      this.live.add(version)
      this.obsolete.record(compareFiles(before, version), versionNumber)
      this.currentVersion = version
      try {
        onCurrent?.(version, before)
        settled?.resolve()
      } catch (error) {
        // Readers would go on with the files of the version before.
        const failure = this.poison(error)
        settled?.reject(failure)
      }
      before.release()
      for (const listener of this.listeners) this.report(() => listener(version, edit))
    }
  }

  /** Removes the files that only this version held, after the step that has released it. */
  private unreferenced(version: Version): void {
    this.live.delete(version)
    if (this.obsolete.hasWaiting) queueMicrotask(() => this.removeObsoleteFiles())
  }

  /** The durable part of the newest manifest. */
  get durableManifest(): DurableFile {
    return { fileNumber: this.writer.header.fileNumber, length: this.writer.syncedLength }
  }

  /**
   * Notes that a segment of the log was begun, so that the next open misses a segment that has
   * disappeared. The note is not synced; it helps only if it survives. REQUIRES that the segment's
   * name is durable.
   */
  noteSegment(fileNumber: number): void {
    this.segmentNoted = fileNumber
    this.appendNote(() => this.writer.appendNote({ fileNumber, length: 0 }))
  }

  private mark(): void {
    this.appendNote(() => this.writer.appendMark())
  }

  private appendNote(append: () => void): void {
    if (this.closed || this.poisonedBy !== undefined) return
    try {
      append()
      this.writer.writeSync()
    } catch (error) {
      // The published edits are durable nevertheless. The next edit fails with this error as its
      // cause.
      this.poison(error)
    }
  }

  /** Refuses all later edits. Returns the error that poisoned the set first. */
  private poison(error: unknown): CellarError {
    const failure =
      error instanceof CellarError
        ? error
        : new CellarError(ErrorCode.io, 'writing the manifest failed', { cause: error })
    const isFirst = this.poisonedBy === undefined
    this.poisonedBy ??= failure
    const rejected = this.pending
    this.pending = []
    for (const { settled } of rejected) settled?.reject(failure)
    if (isFirst) this.options.onFailure?.(failure)
    return failure
  }

  private unlink(name: string): boolean {
    return this.report(() => this.fileSystem.unlinkSync(this.fileSystem.join(this.directory, name)))
  }

  /** Runs an action whose failure only goes to `onError`. Returns whether it succeeded. */
  private report(action: () => void): boolean {
    try {
      action()
      return true
    } catch (error) {
      this.options.onError?.(error)
      return false
    }
  }
}
