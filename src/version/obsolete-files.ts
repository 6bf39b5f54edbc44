/**
 * Which dropped files may be removed from the disk.
 *
 * A file is visible in the versions from the one that added it up to, but not including, the one
 * that dropped it. It may go once none of those versions is held by anybody and no running job
 * protects it. Only numbers are kept here; nothing is read or removed.
 */

import { assert } from '../base/assert.js'
import { forEachFile, valueFilesOf, type StoreVersion, type VersionState } from './version.js'

/** What came and what went between two versions. A file that only changed its level did neither. */
export interface FileDifference {
  readonly added: number[]
  readonly dropped: number[]
  /** Value files among both. */
  readonly valueFiles: Set<number>
}

/** Compares the files of two versions; stores that are the same object are skipped. */
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

/** A value file may be shared by many stores, so all of them are looked at. */
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

/** Returns how many of the missing files refer to value files. */
function collectMissing(
  from: StoreVersion,
  other: StoreVersion | undefined,
  into: number[],
): number {
  const present = new Set<number>()
  const otherLevels = other?.levels ?? []
  otherLevels.forEach((level, depth) => {
    // A level that is the same object in both versions has neither gained nor lost a file.
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

/** The bookkeeping of dropped files. */
export class ObsoleteFiles {
  /** Version that first showed the file, for every file that is visible or waits here. */
  private readonly addedBy: Map<number, number>
  /** Version that dropped the file, for every file that waits here. */
  private readonly droppedBy: Map<number, number>
  /** File number to how often it is protected. */
  private readonly protectedFiles: Map<number, number>
  /** Which of the files are value files; the others are SSTables. */
  private readonly valueFiles: Set<number>

  constructor(state: VersionState, versionNumber: number) {
    this.addedBy = new Map()
    this.droppedBy = new Map()
    this.protectedFiles = new Map()
    this.valueFiles = new Set(valueFilesOf(state).keys())
    forEachFile(state, ({ fileNumber }) => this.addedBy.set(fileNumber, versionNumber))
    for (const fileNumber of this.valueFiles) this.addedBy.set(fileNumber, versionNumber)
  }

  /** Takes note of the step to the version with that number. */
  record(difference: FileDifference, versionNumber: number): void {
    for (const fileNumber of difference.valueFiles) this.valueFiles.add(fileNumber)
    for (const fileNumber of difference.added) {
      // A value file comes back when a snapshot shares a file that has gone meanwhile.
      if (!this.droppedBy.delete(fileNumber)) this.addedBy.set(fileNumber, versionNumber)
    }
    for (const fileNumber of difference.dropped) this.droppedBy.set(fileNumber, versionNumber)
  }

  /** Whether the file was dropped and still waits for its removal; its number may not come back. */
  isWaiting(fileNumber: number): boolean {
    return this.droppedBy.has(fileNumber)
  }

  /** Keeps a file from being named by {@link take}. May be called several times. */
  protect(fileNumber: number): void {
    this.protectedFiles.set(fileNumber, (this.protectedFiles.get(fileNumber) ?? 0) + 1)
  }

  /** Undoes one {@link protect}. */
  unprotect(fileNumber: number): void {
    const count = this.protectedFiles.get(fileNumber)
    assert(count !== undefined, 'a file is unprotected more often than it was protected')
    if (count === 1) this.protectedFiles.delete(fileNumber)
    else this.protectedFiles.set(fileNumber, count - 1)
  }

  /** Hands over, ascending, the files that no version in `liveVersions` shows, and forgets them. */
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
