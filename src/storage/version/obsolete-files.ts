/**
 * Decides which dropped files may be removed from the disk.
 *
 * A file is visible in the versions from the one that added it up to, but not including, the one
 * that dropped it. The file may be removed when nothing holds any of those versions and no running
 * job protects the file. This class keeps numbers only; it neither reads nor removes files.
 */

import { assert } from '../../base/assert.js'
import { forEachFile, valueFilesOf, type StoreVersion, type VersionState } from './version.js'

/**
 * Files added and dropped between two versions. A file that only changed its level is in neither
 * list.
 */
export interface FileDifference {
  readonly added: number[]
  readonly dropped: number[]
  /** Numbers of all value files of both versions, if one of their SSTables was added or dropped. */
  readonly valueFiles: Set<number>
}

/** Compares the files of two versions. Skips stores that are the same object in both. */
export function compareFiles(before: VersionState, after: VersionState): FileDifference {
  const difference: FileDifference = { added: [], dropped: [], valueFiles: new Set() }
  let references = 0
  for (const [storeId, store] of after.stores) {
    const old = before.stores.get(storeId)
    if (old !== store) references += collectMissing(store, old, difference.added)
  }
  for (const [storeId, store] of before.stores) {
    const now = after.stores.get(storeId)
    if (now !== store) references += collectMissing(store, now, difference.dropped)
  }
  if (references > 0) compareValueFiles(before, after, difference)
  return difference
}

/** Compares the value files of all stores, because several stores may share one. */
function compareValueFiles(
  before: VersionState,
  after: VersionState,
  { added, dropped, valueFiles }: FileDifference,
): void {
  const old = valueFilesOf(before)
  const now = valueFilesOf(after)
  for (const fileNumber of now.keys()) if (!old.has(fileNumber)) added.push(fileNumber)
  for (const fileNumber of old.keys()) if (!now.has(fileNumber)) dropped.push(fileNumber)
  for (const fileNumber of now.keys()) valueFiles.add(fileNumber)
  for (const fileNumber of old.keys()) valueFiles.add(fileNumber)
}

/**
 * Adds the numbers of `from`'s files that `other` lacks. Returns how many of them use value files.
 */
function collectMissing(
  from: StoreVersion,
  other: StoreVersion | undefined,
  into: number[],
): number {
  const present = new Set<number>()
  const otherLevels = other?.levels ?? []
  otherLevels.forEach((level, depth) => {
    // A level that is the same object in both versions has gained and lost no file.
    if (level === from.levels[depth]) return
    for (const file of level) present.add(file.fileNumber)
  })
  let references = 0
  from.levels.forEach((level, depth) => {
    if (level === otherLevels[depth]) return
    for (const file of level) {
      if (present.has(file.fileNumber)) continue
      into.push(file.fileNumber)
      if (file.valueFiles !== undefined) references++
    }
  })
  return references
}

/** A file that may be removed. */
export interface ObsoleteFile {
  readonly kind: 'table' | 'values'
  readonly fileNumber: number
}

export class ObsoleteFiles {
  /**
   * Number of the version that added the file, for every file that is visible or waits for removal.
   */
  private readonly addedBy: Map<number, number>
  /** Number of the version that dropped the file, for every file that waits for removal. */
  private readonly droppedBy = new Map<number, number>()
  /** How often each file is protected, by file number. */
  private readonly protectedFiles = new Map<number, number>()
  /** Numbers of the value files among all files; the others are SSTables. */
  private readonly valueFiles: Set<number>

  constructor(state: VersionState, versionNumber: number) {
    this.addedBy = new Map()
    this.valueFiles = new Set(valueFilesOf(state).keys())
    forEachFile(state, ({ fileNumber }) => this.addedBy.set(fileNumber, versionNumber))
    for (const fileNumber of this.valueFiles) this.addedBy.set(fileNumber, versionNumber)
  }

  /** Records the files that the version with `versionNumber` adds and drops. */
  record(difference: FileDifference, versionNumber: number): void {
    for (const fileNumber of difference.valueFiles) this.valueFiles.add(fileNumber)
    for (const fileNumber of difference.added) {
      // A value file can come back: a snapshot may share an SSTable that was dropped meanwhile.
      if (!this.droppedBy.delete(fileNumber)) this.addedBy.set(fileNumber, versionNumber)
    }
    for (const fileNumber of difference.dropped) this.droppedBy.set(fileNumber, versionNumber)
  }

  /** Whether the file was dropped and waits for its removal. Its number must not be added again. */
  isWaiting(fileNumber: number): boolean {
    return this.droppedBy.has(fileNumber)
  }

  /** Whether a file waits for its removal. */
  get hasWaiting(): boolean {
    return this.droppedBy.size > 0
  }

  /** Keeps {@link take} from returning a file. Calls are counted. */
  protect(fileNumber: number): void {
    this.protectedFiles.set(fileNumber, (this.protectedFiles.get(fileNumber) ?? 0) + 1)
  }

  /** Ends one {@link protect}. */
  unprotect(fileNumber: number): void {
    const count = this.protectedFiles.get(fileNumber)
    assert(count !== undefined, 'a file is unprotected more often than it was protected')
    if (count === 1) this.protectedFiles.delete(fileNumber)
    else this.protectedFiles.set(fileNumber, count - 1)
  }

  /**
   * Returns, ascending, the dropped files that no version in `liveVersions` shows, and forgets
   * them.
   */
  take(liveVersions: readonly number[]): ObsoleteFile[] {
    const free: number[] = []
    for (const [fileNumber, droppedBy] of this.droppedBy) {
      if (this.protectedFiles.has(fileNumber)) continue
      const addedBy = this.addedBy.get(fileNumber)
      assert(addedBy !== undefined, 'a dropped file was never added')
      if (!liveVersions.some((live) => live >= addedBy && live < droppedBy)) free.push(fileNumber)
    }
    return free
      .sort((a, b) => a - b)
      .map((fileNumber) => {
        this.droppedBy.delete(fileNumber)
        this.addedBy.delete(fileNumber)
        const kind = this.valueFiles.delete(fileNumber) ? 'values' : 'table'
        return { kind, fileNumber }
      })
  }
}
