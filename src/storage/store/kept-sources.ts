/**
 * The sources that open snapshots read instead of the present sources of a store.
 *
 * A compaction drops cells that a snapshot can see: older versions in a get with a time range,
 * masked cells in a raw scan. So a snapshot pins the SSTables that existed before the first
 * compaction after its opening. SSTables flushed later are added: a flush drops no cell that an
 * open snapshot sees. A snapshot may be opened while a flush that dropped cells is being installed;
 * it then keeps reading the memtable.
 *
 * Snapshots are identified by their read points; see `storage/engine/catalog/read-points.ts`.
 */
import type { SsTableReader } from '../sstable/reader.js'
import type { MemtableSlot } from './memtable-slot.js'
import { flattenTables, levelsOf, type StoreSources } from './store-sources.js'

/** The sources pinned by one read point. */
interface Kept {
  /** Flushed memtables, in addition to those of the store. */
  readonly memtables: readonly MemtableSlot[]
  readonly sources: StoreSources
}

export class KeptSources {
  private readonly byReadPoint = new Map<number, Kept>()

  get isEmpty(): boolean {
    return this.byReadPoint.size === 0
  }

  /** The sources of a read point; undefined: those of the store. */
  at(readPoint: number): StoreSources | undefined {
    return this.byReadPoint.get(readPoint)?.sources
  }

  /** Whether a snapshot still reads a flushed memtable. */
  reads(slot: MemtableSlot): boolean {
    for (const { memtables } of this.byReadPoint.values()) if (memtables.includes(slot)) return true
    return false
  }

  /** Pins `sources` for a read point, unless older sources are pinned already. */
  keep(readPoint: number, sources: StoreSources): void {
    if (!this.byReadPoint.has(readPoint)) {
      this.byReadPoint.set(readPoint, { memtables: [], sources })
    }
  }

  /** Pins a memtable for a read point. REQUIRES that sources are pinned for the read point. */
  keepMemtable(readPoint: number, slot: MemtableSlot): void {
    const { memtables, sources } = this.byReadPoint.get(readPoint)!
    this.byReadPoint.set(readPoint, { memtables: [...memtables, slot], sources })
  }

  /** Releases the sources of a closed read point. */
  forget(readPoint: number): void {
    this.byReadPoint.delete(readPoint)
  }

  /** Adds the SSTables of a flushed memtable to the read points that do not pin the memtable. */
  flushed(slot: MemtableSlot, tables: readonly SsTableReader[]): void {
    for (const [readPoint, { memtables, sources }] of this.byReadPoint) {
      if (slot.firstSequence > readPoint || memtables.includes(slot)) continue
      const [newest, ...deeper] = levelsOf(sources)
      const more = flattenTables([[...tables, ...newest], ...deeper])
      this.byReadPoint.set(readPoint, { memtables, sources: { ...sources, ...more } })
    }
  }

  /** Updates the memtables of all read points to those of the store. */
  refresh(present: readonly MemtableSlot[]): void {
    for (const [readPoint, { memtables, sources }] of this.byReadPoint) {
      const all = [...present, ...memtables]
      this.byReadPoint.set(readPoint, { memtables, sources: { ...sources, memtables: all } })
    }
  }
}
