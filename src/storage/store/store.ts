/**
 * A store: the data of one column family of one table.
 *
 * It holds the active memtable, the frozen ones on their way to disk, and the readers of its
 * SSTables.
 *
 * Invariants
 * 1. Sources are ordered newest first: active, frozen, then tables by level: those of level 0 by
 *    descending sequence, those of each deeper level by key.
 * 2. `sources` is immutable: every change makes a new object, so a reader that took one keeps a
 *    consistent set while memtables are frozen, flushed and dropped.
 * 3. Frozen memtables are flushed oldest first; only the oldest may be replaced by its table.
 * 4. Stores whose active memtables share an unlogged mutation are frozen together (`tied`).
 *
 * Failure behaviour: nothing here does input or output; failures happen in jobs and readers.
 */
import { assert } from '../../base/assert.js'
import { checksInvariants } from '../../base/invariants.js'
import { isFamilyMarker, typeOf } from '../cell/cell-key.js'
import { CellType, isDeleteMarker } from '../cell/cell-type.js'
import type { ValueSource } from '../scan/value-source.js'
import type { ArenaPool } from './arena-pool.js'
import type { FamilySettings } from './family-settings.js'
import { FlushUnit } from './flush-unit.js'
import { KeptSources } from './kept-sources.js'
import { MemtableSlot, type FlushedTables } from './memtable-slot.js'
import { SettledTables } from './settled-tables.js'
import {
  checkLevels,
  flattenTables,
  type LeveledTables,
  type StoreSources,
} from './store-sources.js'
import { approximateTimestamp, keepsOneVersion, VersionOverwrites } from './version-overwrites.js'

export type { LeveledTables, StoreSources } from './store-sources.js'

/** Memtables smaller than this start with the smallest arena again. */
const arenaBytesWorthSizing = 1024 * 1024

export class Store {
  readonly storeId: number
  readonly family: string
  settings: FamilySettings
  /** The active memtable is flushed at this many bytes, if the engine does not want it earlier. */
  flushBytes = Infinity
  active: MemtableSlot
  /** The stores, this one among them, whose active memtables share unlogged mutations with it. */
  tied: Set<Store> | undefined = undefined
  /** Frozen memtables, newest first. */
  frozen: readonly MemtableSlot[] = []
  sources: StoreSources
  /** As {@link MemtableSlot.versionMarkerTimestamp}, of everything but the active memtable. */
  private markerTimestampBelow = -1
  /** Tables that a major compaction of them alone would not change. */
  readonly settled = new SettledTables()
  private readonly overwrites = new VersionOverwrites()
  /** What open snapshots read in place of `sources`. */
  private readonly kept = new KeptSources()
  /** True once its table or family is gone; jobs then discard their output. */
  dropped = false
  /** Follows references of cells in the tables; undefined = they have none. */
  readonly values: ValueSource | undefined
  private readonly arenas: ArenaPool | undefined

  constructor(
    storeId: number,
    family: string,
    settings: FamilySettings,
    levels: LeveledTables,
    values?: ValueSource,
    arenas?: ArenaPool,
  ) {
    this.values = values
    this.arenas = arenas
    this.active = this.makeSmall()
    this.storeId = storeId
    this.family = family
    this.settings = settings
    this.sources = { memtables: [this.active], ...flattenTables(levels) }
    this.measureMarkers()
  }

  /**
   * Bytes that the memtables hold. Empty ones do not count, or idle families would fill the budget.
   */
  get memtableBytes(): number {
    let bytes = this.active.bytesCharged
    for (const slot of this.frozen) bytes += slot.bytesCharged
    return bytes
  }

  /** Sequence of the oldest mutation that is not in a table, or Infinity. */
  get oldestUnflushedSequence(): number {
    const oldest = this.frozen.at(-1) ?? this.active
    return oldest.isEmpty ? Infinity : oldest.firstSequence
  }

  /** Makes room in the active memtable for cells and returns by how many bytes it grew. */
  reserve(entries: number, bytes: number): number {
    const before = this.active.bytesCharged
    this.active.memtable.reserve(entries, bytes)
    return this.active.bytesCharged - before
  }

  /**
   * Adds one cell to the active memtable; `sequence` is its own or an earlier one. The cell may
   * take the place of an older version (version-overwrites.ts): `serverTimestamp` is what the clock
   * gave to its mutation, 0 if nothing, and `sequenceSeen` the newest sequence of an open read.
   */
  insert(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    sequence: number,
    serverTimestamp = 0,
    sequenceSeen = Infinity,
  ): void {
    const slot = this.active
    const type = typeOf(source, keyEnd)
    const replaces = type === CellType.put && serverTimestamp > 0 && keepsOneVersion(this.settings)
    if (replaces) {
      const { overwrites } = this
      const marker = Math.max(this.markerTimestampBelow, slot.versionMarkerTimestamp)
      overwrites.set(slot, source, keyEnd, serverTimestamp, sequenceSeen, marker)
      slot.memtable.insert(source, keyStart, keyEnd, valueStart, valueEnd, overwrites)
    } else {
      slot.memtable.insert(source, keyStart, keyEnd, valueStart, valueEnd)
    }
    if (isDeleteMarker(type)) this.noteMarker(slot, type, source, keyEnd)
    if (slot.firstSequence === 0) slot.firstSequence = sequence
  }

  private noteMarker(slot: MemtableSlot, type: number, source: Buffer, keyEnd: number): void {
    slot.deleteCount++
    if (isFamilyMarker(type)) slot.familyDeleteCount++
    if (type !== CellType.delete && type !== CellType.deleteFamilyVersion) return
    const timestamp = approximateTimestamp(source, keyEnd)
    if (timestamp > slot.versionMarkerTimestamp) slot.versionMarkerTimestamp = timestamp
  }

  /** Notes which timestamps markers can have that lie outside the active memtable. */
  private measureMarkers(): void {
    let newest = -1
    for (const slot of this.frozen) newest = Math.max(newest, slot.versionMarkerTimestamp)
    for (const { properties } of this.sources.tables) {
      if (properties.deleteCount > 0) newest = Math.max(newest, Number(properties.maxTimestamp))
    }
    this.markerTimestampBelow = newest
  }

  /**
   * Freezes the active memtable, and those tied to it, if it holds anything; `lastSequence` is the
   * engine's.
   */
  freeze(lastSequence: number): boolean {
    if (this.active.isEmpty) return false
    const stores = [...(this.tied ?? [this])].filter((store) => !store.dropped)
    const unit = new FlushUnit(stores.map((store) => ({ store, slot: store.active })))
    for (const store of stores) store.freezeIn(unit, lastSequence)
    return true
  }

  private freezeIn(unit: FlushUnit, lastSequence: number): void {
    assert(this.active.unit === undefined, 'a memtable is frozen once')
    assert(!this.dropped, 'a store that is gone freezes nothing')
    const bytes = this.active.memtable.bytesUsed
    this.active.memtable.freeze()
    this.active.sequenceCovered = lastSequence
    this.active.unit = unit
    this.tied = undefined
    this.frozen = [this.active, ...this.frozen]
    // A store that has filled a memtable will fill the next: spare it the copies of a growing
    // arena.
    const { arenas } = this
    this.active =
      bytes > arenaBytesWorthSizing && arenas !== undefined
        ? new MemtableSlot({ recycled: arenas.take() })
        : this.makeSmall()
    this.publishSources(this.sources)
  }

  private makeSmall(): MemtableSlot {
    const arenaBytesLarge = this.arenas?.arenaBytes
    return new MemtableSlot(arenaBytesLarge === undefined ? {} : { arenaBytesLarge })
  }

  /** The memtable that was frozen before `slot` and is not on disk yet. */
  frozenBefore(slot: MemtableSlot): MemtableSlot | undefined {
    const position = this.frozen.indexOf(slot)
    return position < 0 ? undefined : this.frozen.at(position + 1)
  }

  /**
   * Drops the oldest frozen memtable, whose cells are in tables of `levels` now. Open scans of it
   * go on there.
   */
  installFlush(slot: MemtableSlot, flushed: FlushedTables, levels: LeveledTables): void {
    assert(this.frozen.at(-1) === slot, 'memtables are flushed oldest first')
    this.frozen = this.frozen.slice(0, -1)
    if (!this.kept.isEmpty) {
      const before = new Set(this.sources.tables)
      this.kept.flushed(
        slot,
        levels[0].filter((table) => !before.has(table)),
      )
    }
    this.publishSources(flattenTables(levels))
    // Results hold copies and single reads look at the present sources, so only scans and jobs
    // count.
    const isKept = this.kept.reads(slot)
    const bytes = slot.bytesCharged
    if (this.arenas !== undefined) this.arenas.pinnedBytes += bytes
    slot.retire(flushed, () => {
      if (this.arenas !== undefined) this.arenas.pinnedBytes -= bytes
      // A snapshot reads it on; then the memory goes with the snapshot.
      if (!isKept && slot.memtable.bytesUsed > arenaBytesWorthSizing) {
        this.arenas?.give(slot.memtable.takeArena())
      }
    })
  }

  /** Replaces the tables: a compaction has finished. */
  installTables(levels: LeveledTables): void {
    this.publishSources(flattenTables(levels))
  }

  private publishSources(set: Omit<StoreSources, 'memtables'>): void {
    const { tables, levelEnds, tablesId } = set
    if (checksInvariants) checkLevels(set)
    this.sources = { memtables: [this.active, ...this.frozen], tables, levelEnds, tablesId }
    this.measureMarkers()
    if (!this.kept.isEmpty) this.kept.refresh(this.sources.memtables)
  }

  // Snapshots

  /** What a read at a read point looks at. */
  sourcesAt(readPoint: number): StoreSources {
    if (this.kept.isEmpty) return this.sources
    return this.kept.at(readPoint) ?? this.sources
  }

  /** Keeps what a read point sees now, for reads after the tables have been replaced. */
  keepSources(readPoint: number): void {
    this.kept.keep(readPoint, this.sources)
  }

  /** As {@link keepSources}, with a memtable that is about to be replaced. */
  keepMemtable(readPoint: number, slot: MemtableSlot): void {
    this.keepSources(readPoint)
    this.kept.keepMemtable(readPoint, slot)
  }

  /** Ends {@link keepSources}. */
  forgetSources(readPoint: number): void {
    this.kept.forget(readPoint)
  }
}
