/**
 * The read points that are open: those of snapshots, and those that reads under way hold.
 *
 * A read at an open read point gives the same answers whatever flushes and compactions run. A flush
 * drops nothing up to the newest open read point. A compaction drops what it likes; the read points
 * that are open when its files take the place of others go on to read the others
 * (`store/kept-sources.ts`), which stay on the disk until the read points are closed.
 *
 * The read point of a snapshot also names the snapshot: it is the sequence plus a fraction. Whole
 * sequences, with which other reads compare, see the same cells, but never what is kept.
 */
import { assert } from '../base/assert.js'
import type { MemtableSlot } from '../store/memtable-slot.js'
import type { Store } from '../store/store.js'
import type { FileMetadata } from '../version/file-metadata.js'

/** Keeps files on the disk: a version set. */
interface FileKeeper {
  protectFile(fileNumber: number): void
  unprotectFile(fileNumber: number): void
  removeObsoleteFiles(): unknown
}

interface ReadPoint {
  holders: number
  /** Stores that keep sources for the read point. */
  readonly stores: Set<Store>
  /** Files that are protected for it; a value file maybe several times. */
  readonly files: number[]
}

/** Most snapshots of one sequence with a name of their own; exact below a sequence of 2^43. */
const namesMax = 1023

export class ReadPoints {
  /** Open snapshots. */
  snapshotCount = 0
  private readonly keeper: FileKeeper
  private readonly open = new Map<number, ReadPoint>()

  constructor(keeper: FileKeeper) {
    this.keeper = keeper
  }

  /** Opens a read point and returns it. */
  add(sequence: number): number {
    let name = 1
    while (name < namesMax && this.open.has(readPointOf(sequence, name))) name++
    const readPoint = readPointOf(sequence, name)
    if (this.hold(readPoint)) return readPoint
    this.open.set(readPoint, { holders: 1, stores: new Set(), files: [] })
    return readPoint
  }

  /** Ends {@link add} or {@link hold}. REQUIRES that the read point is open. */
  remove(readPoint: number): void {
    const point = this.open.get(readPoint)
    assert(point !== undefined, 'a read point is closed more often than it was opened')
    point.holders--
    if (point.holders > 0) return
    this.open.delete(readPoint)
    for (const store of point.stores) store.forgetSources(readPoint)
    if (point.files.length === 0) return
    for (const fileNumber of point.files) this.keeper.unprotectFile(fileNumber)
    this.keeper.removeObsoleteFiles()
  }

  /** Holds a read point if it is open: a read that is under way needs its files to the end. */
  hold(readPoint: number): boolean {
    const point = this.open.get(readPoint)
    if (point === undefined) return false
    point.holders++
    return true
  }

  /** Holds all open read points, for a read that does not tell its own; {@link remove} each. */
  holdAll(): readonly number[] {
    if (this.open.size === 0) return none
    const readPoints = [...this.open.keys()]
    for (const readPoint of readPoints) this.hold(readPoint)
    return readPoints
  }

  /** Newest sequence that an open read point sees, 0 if none is open. */
  get newest(): number {
    let newest = 0
    for (const readPoint of this.open.keys()) if (readPoint > newest) newest = readPoint
    return Math.floor(newest)
  }

  /** Newest sequence that all open read points see, or `lastSequence` if none is open. */
  oldest(lastSequence: number): number {
    let oldest = lastSequence
    for (const readPoint of this.open.keys()) if (readPoint < oldest) oldest = readPoint
    return Math.floor(oldest)
  }

  /**
   * The files of a store are about to be replaced, other than by a flush: open read points keep
   * those that they may see.
   */
  filesReplaced(
    store: Store,
    before: readonly FileMetadata[],
    after: readonly FileMetadata[],
  ): void {
    if (this.open.size === 0) return
    const staying = new Set(after.map(({ fileNumber }) => fileNumber))
    const gone = before.filter(({ fileNumber }) => !staying.has(fileNumber))
    for (const [readPoint, point] of this.open) {
      const { tables } = store.sourcesAt(readPoint)
      const read = new Set(tables.map(({ fileNumber }) => fileNumber))
      const leaving = gone.filter(({ fileNumber }) => read.has(fileNumber))
      const isSeen = leaving.some(({ minSequence }) => minSequence <= readPoint)
      // What is kept is kept whole, so that no reader meets a file that is gone.
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
   * A memtable is about to be replaced by what a flush has left of it, which is everything up to
   * `sequenceKept`. Newer read points, opened while the flush was published, keep the memtable.
   */
  memtableReplaced(store: Store, slot: MemtableSlot, sequenceKept: number): void {
    for (const [readPoint, point] of this.open) {
      if (Math.floor(readPoint) <= sequenceKept || slot.firstSequence > readPoint) continue
      store.keepMemtable(readPoint, slot)
      point.stores.add(store)
    }
  }

  private protect(point: ReadPoint, fileNumber: number): void {
    this.keeper.protectFile(fileNumber)
    point.files.push(fileNumber)
  }
}

const none: readonly number[] = []

function readPointOf(sequence: number, name: number): number {
  return sequence + name / (namesMax + 1)
}
