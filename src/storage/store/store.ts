/**
 * A store: the data of one column family of one table.
 *
 * A store holds the active memtable, the frozen ones that are being flushed, and the readers of its
 * SSTables.
 *
 * Invariants
 * 1. Sources are ordered newest first: active, frozen, then SSTables by level: those of level 0 by
 *    descending sequence, those of each deeper level by key.
 * 2. `sources` is immutable: every change makes a new object. So a reader has a consistent set
 *    while memtables are frozen, flushed and dropped.
 * 3. Frozen memtables are flushed oldest first; only the oldest may be replaced by its SSTables.
 * 4. Stores whose active memtables share an unlogged mutation are frozen together (`tied`).
 *
 * Failure behaviour: a store does no input or output; failures happen in jobs and readers.
 */
import { assert } from '../../base/assert.js'
import { checksInvariants } from '../../base/invariants.js'
import { isFamilyMarker, typeOf } from '../cell/cell-key.js'
import { CellType, isDeleteMarker, isVersionMarker } from '../cell/cell-type.js'
import type { ValueSource } from '../scan/store-read.js'
import type { ArenaPool } from './arena-pool.js'
import { CopiedRows } from './copied-rows.js'
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

/** A store whose memtable stayed smaller than this starts the next one with the smallest arena. */
const arenaBytesWorthSizing = 1024 * 1024

export class Store {
  readonly storeId: number
  readonly family: string
  settings: FamilySettings
  /** Size at which the active memtable is flushed, unless the engine flushes it earlier. */
  flushBytes = Infinity
  active: MemtableSlot
  /** The stores, including this one, whose active memtables share unlogged mutations. */
  tied: Set<Store> | undefined = undefined
  /** Frozen memtables, newest first. */
  frozen: readonly MemtableSlot[] = []
  sources: StoreSources
  /**
   * As {@link MemtableSlot.versionMarkerTimestamp}, over all sources except the active memtable.
   */
  private versionMarkerTimestampBelow = -1
  /** As {@link MemtableSlot.markerTimestamp}, likewise. */
  private markerTimestampBelow = -1
  /** SSTables that a major compaction of each alone would not change. */
  readonly settled = new SettledTables()
  private readonly overwrites = new VersionOverwrites()
  readonly copiedRows = new CopiedRows()
  /** The newest sequence passed to {@link insert}. */
  private insertedSequence = 0
  /** The sources that open snapshots read instead of `sources`. */
  private readonly kept = new KeptSources()
  /**
   * What runs beyond the first have cost reads since the last compaction
   * (`PolicyInput.readBytes`). An array of numbers, so that counting makes no object.
   */
  readonly readBytes = new Float64Array(1)
  /** Number of mutations and loads of files since the open that the log does not hold. */
  unloggedMutations = 0
  /** True once the table or the family is dropped; jobs then discard their output. */
  dropped = false
  /** Resolves value references of cells in the SSTables; undefined: there are none. */
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
   * Bytes of the memtables. Empty ones count as 0; otherwise idle families would use up the budget.
   */
  get memtableBytes(): number {
    let bytes = this.active.bytesCharged
    for (const slot of this.frozen) bytes += slot.bytesCharged
    return bytes
  }

  /** Sequence of the oldest mutation that is not in an SSTable, or Infinity. */
  get oldestUnflushedSequence(): number {
    const oldest = this.frozen.at(-1) ?? this.active
    return oldest.isEmpty ? Infinity : oldest.firstSequence
  }

  /**
   * Reserves memory in the active memtable for cells; returns the number of bytes that it grew by.
   */
  reserve(entries: number, bytes: number): number {
    const before = this.active.bytesCharged
    this.active.memtable.reserve(entries, bytes)
    return this.active.bytesCharged - before
  }

  /**
   * Adds one cell to the active memtable; `sequence` is that of the cell or a lower one. The cell
   * may replace an older version (version-overwrites.ts). `serverTimestamp` is the timestamp that
   * the clock gave to its mutation; 0: none, or the mutation has a marker of a single version.
   * `sequenceSeen` is the newest sequence visible to an open read.
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
      const marker = Math.max(this.versionMarkerTimestampBelow, slot.versionMarkerTimestamp)
      overwrites.set(slot, source, keyEnd, serverTimestamp, sequenceSeen, marker)
      slot.memtable.insert(source, keyStart, keyEnd, valueStart, valueEnd, overwrites)
    } else {
      slot.memtable.insert(source, keyStart, keyEnd, valueStart, valueEnd)
    }
    if (isDeleteMarker(type)) this.noteMarker(slot, type, source, keyEnd)
    this.insertedSequence = sequence
    this.copiedRows.forget(source, keyStart, keyEnd, this.sources)
    if (slot.firstSequence === 0) slot.firstSequence = sequence
  }

  private noteMarker(slot: MemtableSlot, type: number, source: Buffer, keyEnd: number): void {
    slot.deleteCount++
    if (isFamilyMarker(type)) slot.familyDeleteCount++
    const timestamp = approximateTimestamp(source, keyEnd)
    if (timestamp > slot.markerTimestamp) slot.markerTimestamp = timestamp
    if (!isVersionMarker(type)) return
    if (timestamp > slot.versionMarkerTimestamp) slot.versionMarkerTimestamp = timestamp
  }

  /** Newest timestamp that a marker of the store can have, inexact from 2^53 on; -1: no markers. */
  get markerTimestamp(): number {
    return Math.max(this.markerTimestampBelow, this.active.markerTimestamp)
  }

  /** Computes the newest timestamps that markers outside the active memtable can have. */
  private measureMarkers(): void {
    let ofTables = -1
    for (const { properties } of this.sources.tables) {
      if (properties.deleteCount > 0) ofTables = Math.max(ofTables, Number(properties.maxTimestamp))
    }
    const { frozen } = this
    this.versionMarkerTimestampBelow = frozen.reduce(
      (newest, slot) => Math.max(newest, slot.versionMarkerTimestamp),
      ofTables,
    )
    this.markerTimestampBelow = frozen.reduce(
      (newest, slot) => Math.max(newest, slot.markerTimestamp),
      ofTables,
    )
  }

  /**
   * Freezes the active memtable, and those tied to it, unless it is empty; `lastSequence` is the
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
    // A store that has filled a memtable will probably fill the next one: a full-size arena saves
    // the copies of a growing arena.
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

  /** The memtable frozen before `slot` that is not flushed yet. */
  frozenBefore(slot: MemtableSlot): MemtableSlot | undefined {
    const position = this.frozen.indexOf(slot)
    return position < 0 ? undefined : this.frozen.at(position + 1)
  }

  /**
   * Drops the oldest frozen memtable, whose cells are now in the SSTables of `levels`. Open scans
   * of the memtable switch to these.
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
    // Only scans and jobs pin the memtable: results hold copies, and single reads use the present
    // sources.
    const isKept = this.kept.reads(slot)
    const bytes = slot.bytesCharged
    if (this.arenas !== undefined) this.arenas.pinnedBytes += bytes
    slot.retire(flushed, () => {
      if (this.arenas !== undefined) this.arenas.pinnedBytes -= bytes
      // If a snapshot keeps reading the memtable, its memory is not reused.
      if (!isKept && slot.memtable.bytesUsed > arenaBytesWorthSizing) {
        this.arenas?.give(slot.memtable.takeArena())
      }
    })
  }

  /** Replaces the SSTables after a compaction. */
  installTables(levels: LeveledTables): void {
    this.publishSources(flattenTables(levels))
  }

  private publishSources(set: Omit<StoreSources, 'memtables'>): void {
    const { tables, levelEnds, tablesId, tablesSequence } = set
    if (checksInvariants) checkLevels(set)
    if (tablesId !== this.sources.tablesId) this.copiedRows.forgetAll()
    const memtables = [this.active, ...this.frozen]
    this.sources = { memtables, tables, levelEnds, tablesId, tablesSequence }
    this.measureMarkers()
    if (!this.kept.isEmpty) this.kept.refresh(this.sources.memtables)
  }

  /** Whether reads at a read point see the newest state of the store. */
  isNewestAt(readPoint: number): boolean {
    return readPoint >= this.insertedSequence && readPoint >= this.sources.tablesSequence
  }

  // Snapshots

  sourcesAt(readPoint: number): StoreSources {
    if (this.kept.isEmpty) return this.sources
    return this.kept.at(readPoint) ?? this.sources
  }

  /** Pins the present sources for a read point, for reads after the SSTables have been replaced. */
  keepSources(readPoint: number): void {
    this.kept.keep(readPoint, this.sources)
  }

  /** As {@link keepSources}, for a read point that sees no cell of the store. */
  keepNothing(readPoint: number): void {
    this.kept.keep(readPoint, { ...this.sources, ...flattenTables([[]]) })
  }

  /** As {@link keepSources}; also pins a memtable that is about to be replaced. */
  keepMemtable(readPoint: number, slot: MemtableSlot): void {
    this.keepSources(readPoint)
    this.kept.keepMemtable(readPoint, slot)
  }

  /** Releases the sources of {@link keepSources}. */
  forgetSources(readPoint: number): void {
    this.kept.forget(readPoint)
  }
}
