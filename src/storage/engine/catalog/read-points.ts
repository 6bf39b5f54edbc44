/**
 * The read points: that of new readers, and the open ones of snapshots and running reads.
 *
 * A read at an open read point returns the same cells whatever flushes and compactions run. A flush
 * drops nothing up to the newest open read point. A compaction may drop anything. Read points that
 * are open when the outputs of a compaction replace its inputs continue to read the inputs
 * (`storage/store/kept-sources.ts`). The inputs stay on the disk until these read points are
 * closed.
 *
 * The read point of a snapshot also identifies the snapshot: it is the sequence plus a fraction.
 * Other reads have whole sequences. They see the same cells, but never read kept inputs.
 */
import { assert } from '../../../base/assert.js'
import type { SsTableReader } from '../../sstable/reader.js'
import type { MemtableSlot } from '../../store/memtable-slot.js'
import type { Store } from '../../store/store.js'
import type { FileMetadata } from '../../version/file-metadata.js'

/** Keeps files on the disk; implemented by `VersionSet`. */
interface FileKeeper {
  protectFile(fileNumber: number): void
  unprotectFile(fileNumber: number): void
  removeObsoleteFiles(): unknown
}

/** The open read points of one sequence. */
interface OpenSequence {
  openCount: number
  /** Names that were made since the first of them was opened, and those that are free again. */
  nameCount: number
  readonly freeNames: number[]
}

interface ReadPoint {
  holders: number
  /** Stores that keep sources for this read point. */
  readonly stores: Set<Store>
  /** Files that are protected for this read point; a value file may appear several times. */
  readonly files: number[]
}

/**
 * Most snapshots of one sequence with read points of their own. Read points are exact for sequences
 * below 2^43.
 */
const namesMax = 1023

export class ReadPoints {
  /** Sequence of the newest visible mutation: the read point of new readers. */
  lastSequence: number
  /** Number of open snapshots. */
  snapshotCount = 0
  /** Reads under way that ask a filter, which may write and must not change what they see. */
  filteredReadCount = 0
  /** Whether a read that has waited for blocks is repeated. */
  isRepeating = false
  private readonly keeper: FileKeeper
  private readonly open = new Map<number, ReadPoint>()
  private readonly bySequence = new Map<number, OpenSequence>()
  /** Ascending; the first and the last have open read points. */
  private readonly sequences: number[] = []

  constructor(keeper: FileKeeper, lastSequence: number) {
    this.keeper = keeper
    this.lastSequence = lastSequence
  }

  /**
   * Opens a read point for a snapshot of the sequence, and returns it. REQUIRES a sequence that is
   * not below those before.
   */
  add(sequence: number): number {
    let opened = this.bySequence.get(sequence)
    if (opened === undefined) {
      const last = this.sequences.at(-1)
      assert(last === undefined || last < sequence, 'read points are opened in order')
      opened = { openCount: 0, nameCount: 0, freeNames: [] }
      this.bySequence.set(sequence, opened)
      this.sequences.push(sequence)
    }
    const readPoint = readPointOf(sequence, nameFor(opened))
    if (this.hold(readPoint)) return readPoint
    opened.openCount++
    this.open.set(readPoint, { holders: 1, stores: new Set(), files: [] })
    return readPoint
  }

  /** Ends one {@link add} or {@link hold}. REQUIRES that the read point is open. */
  remove(readPoint: number): void {
    const point = this.open.get(readPoint)
    assert(point !== undefined, 'a read point is closed more often than it was opened')
    point.holders--
    if (point.holders > 0) return
    this.open.delete(readPoint)
    const sequence = Math.floor(readPoint)
    const opened = this.bySequence.get(sequence)!
    opened.freeNames.push(nameOf(readPoint))
    if (--opened.openCount === 0) this.closeSequence(sequence)
    for (const store of point.stores) store.forgetSources(readPoint)
    if (point.files.length === 0) return
    for (const fileNumber of point.files) this.keeper.unprotectFile(fileNumber)
    this.keeper.removeObsoleteFiles()
  }

  /**
   * Holds a read point until {@link remove}, for a running read that needs its files. Returns false
   * if the read point is not open.
   */
  hold(readPoint: number): boolean {
    const point = this.open.get(readPoint)
    if (point === undefined) return false
    point.holders++
    return true
  }

  /** Whether the read under way has held the read point since its call. */
  holdsForRead(readPoint: number): boolean {
    return this.isRepeating && this.open.has(readPoint)
  }

  /**
   * Holds all open read points, for a read that does not name its own. The caller calls {@link
   * remove} for each.
   */
  holdAll(): readonly number[] {
    if (this.open.size === 0) return none
    const readPoints = [...this.open.keys()]
    for (const readPoint of readPoints) this.hold(readPoint)
    return readPoints
  }

  /** Newest sequence that an open read point or a read under way sees; 0 if there is none. */
  get newestSeen(): number {
    if (this.filteredReadCount > 0) return Infinity
    return this.newest
  }

  /** Newest sequence that an open read point sees; 0 if none is open. */
  get newest(): number {
    return this.sequences.at(-1) ?? 0
  }

  /** Newest sequence that all open read points see; {@link lastSequence} if none is open. */
  get oldest(): number {
    return this.sequences[0] ?? this.lastSequence
  }

  /**
   * Called before the files of a store are replaced, other than by a flush. Open read points keep
   * the replaced files that they may see. `readerOf` finds the reader of a file.
   */
  filesReplaced(
    store: Store,
    before: readonly FileMetadata[],
    after: readonly FileMetadata[],
    readerOf: (file: FileMetadata) => SsTableReader,
  ): void {
    if (this.open.size === 0) return
    const staying = new Set(after.map(({ fileNumber }) => fileNumber))
    const gone = before.filter(({ fileNumber }) => !staying.has(fileNumber))
    for (const [readPoint, point] of this.open) {
      const read = new Set(store.sourcesAt(readPoint).tables)
      const leaving = gone.filter((file) => read.has(readerOf(file)))
      const isSeen = leaving.some(({ minSequence }) => minSequence <= readPoint)
      // A read point keeps all sources of a store, so that no reader meets a removed file.
      if (!isSeen && !point.stores.has(store)) continue
      store.keepSources(readPoint)
      point.stores.add(store)
      for (const { fileNumber, valueFiles = [] } of leaving) {
        this.protect(point, fileNumber)
        for (const file of valueFiles) this.protect(point, file.fileNumber)
      }
    }
  }

  /**
   * Called before a memtable is replaced by the SSTable of its flush, which holds every cell up to
   * `sequenceKept`. Newer read points, opened while the flush was published, keep the memtable.
   */
  memtableReplaced(store: Store, slot: MemtableSlot, sequenceKept: number): void {
    for (const [readPoint, point] of this.open) {
      if (Math.floor(readPoint) <= sequenceKept || slot.firstSequence > readPoint) continue
      store.keepMemtable(readPoint, slot)
      point.stores.add(store)
    }
  }

  /**
   * Called when a store with the cells of another one comes into use. Open read points see none of
   * them: compactions of the other store may have dropped what they would have to see.
   */
  storeFilled(store: Store): void {
    for (const [readPoint, point] of this.open) {
      store.keepNothing(readPoint)
      point.stores.add(store)
    }
  }

  private closeSequence(sequence: number): void {
    const { sequences, bySequence } = this
    bySequence.delete(sequence)
    while (sequences.length > 0 && !bySequence.has(sequences[0])) sequences.shift()
    while (sequences.length > 0 && !bySequence.has(sequences.at(-1)!)) sequences.pop()
  }

  private protect(point: ReadPoint, fileNumber: number): void {
    this.keeper.protectFile(fileNumber)
    point.files.push(fileNumber)
  }
}

const none: readonly number[] = []

/** A name that no open read point of the sequence has, as long as there is one. */
function nameFor(opened: OpenSequence): number {
  const free = opened.freeNames.pop()
  if (free !== undefined) return free
  if (opened.nameCount < namesMax) opened.nameCount++
  return opened.nameCount
}

function nameOf(readPoint: number): number {
  return (readPoint % 1) * (namesMax + 1)
}

function readPointOf(sequence: number, name: number): number {
  return sequence + name / (namesMax + 1)
}
