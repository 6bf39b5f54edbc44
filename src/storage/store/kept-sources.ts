/**
 * What open snapshots read of a store in place of its present sources.
 *
 * A compaction drops cells that a snapshot shows: older versions to a get with a time range, masked
 * cells to a raw scan. So a snapshot keeps reading the SSTables that were there before the first
 * compaction after its opening. What is flushed later comes on top: a flush drops nothing that an
 * open snapshot sees. If a snapshot was opened while a flush was being published that dropped
 * something, the snapshot goes on to read the memtable.
 *
 * Snapshots are named by their read points; see `storage/engine/catalog/read-points.ts`.
 */
import type { SsTableReader } from '../sstable/reader.js'
import type { MemtableSlot } from './memtable-slot.js'
import { flattenTables, levelsOf, type StoreSources } from './store-sources.js'

/** The sources that are kept for one read point. */
interface Kept {
  /** Memtables that are flushed, beside those of the store. */
  readonly memtables: readonly MemtableSlot[]
  readonly sources: StoreSources
}

export class KeptSources {
  private readonly byReadPoint = new Map<number, Kept>()

  get isEmpty(): boolean {
    return this.byReadPoint.size === 0
  }

  /** The sources of a read point; undefined = the store's. */
  at(readPoint: number): StoreSources | undefined {
    return this.byReadPoint.get(readPoint)?.sources
  }

  /** Whether a flushed memtable is still read. */
  reads(slot: MemtableSlot): boolean {
    for (const { memtables } of this.byReadPoint.values()) if (memtables.includes(slot)) return true
    return false
  }

  /** Keeps `sources` for a read point, unless older ones are kept already. */
  keep(readPoint: number, sources: StoreSources): void {
    if (!this.byReadPoint.has(readPoint)) {
      this.byReadPoint.set(readPoint, { memtables: [], sources })
    }
  }

  /** Keeps a memtable for a read point. REQUIRES that sources are kept for the read point. */
  keepMemtable(readPoint: number, slot: MemtableSlot): void {
    const { memtables, sources } = this.byReadPoint.get(readPoint)!
    this.byReadPoint.set(readPoint, { memtables: [...memtables, slot], sources })
  }

  /** The read point is closed. */
  forget(readPoint: number): void {
    this.byReadPoint.delete(readPoint)
  }

  /** A memtable was flushed to `tables`: read points see its cells there, unless they keep it. */
  flushed(slot: MemtableSlot, tables: readonly SsTableReader[]): void {
    for (const [readPoint, { memtables, sources }] of this.byReadPoint) {
      if (slot.firstSequence > readPoint || memtables.includes(slot)) continue
      const [newest, ...deeper] = levelsOf(sources)
      const more = flattenTables([[...tables, ...newest], ...deeper])
      this.byReadPoint.set(readPoint, { memtables, sources: { ...sources, ...more } })
    }
  }

  /** The store has other memtables. */
  refresh(present: readonly MemtableSlot[]): void {
    for (const [readPoint, { memtables, sources }] of this.byReadPoint) {
      const all = [...present, ...memtables]
      this.byReadPoint.set(readPoint, { memtables, sources: { ...sources, memtables: all } })
    }
  }
}
