/**
 * Decides which older versions a new put replaces in the memtable.
 *
 * Without this a column that is written a million times has a million cells until the next flush. A
 * put replaces the next older version of its column if all of these conditions hold:
 *
 * 1. The family keeps one version, without KEEP_DELETED_CELLS and NEW_VERSION_BEHAVIOR.
 * 2. The put has the timestamp that the engine's clock gave to its mutation. The log holds the
 *    highest one of a mutation; rows of a batch may have timestamps that are a few milliseconds
 *    lower.
 * 3. The older version is a put in the active memtable, and there is no marker between the two.
 * 4. The older version is invisible to all open snapshots, open scans and reads in progress.
 * 5. No marker can mask the put without masking the older version: markers of single versions have
 *    older timestamps, and its mutation has none.
 * 6. The put has no TTL of its own, or the older version expires no later.
 *
 * All conditions except number 4 follow from the log and the files. A recovery has no readers, so
 * it replaces at least as much. The log keeps every mutation.
 */
import { CellType } from '../cell/cell-type.js'
import {
  keySuffixBytes,
  sequenceOf,
  timestampHighOf,
  timestampLowOf,
  typeOf,
} from '../cell/cell-key.js'
import { plainValueFlags, ttlOf } from '../cell/cell-value.js'
import type { OverwriteRule } from '../memtable/overwrite-rule.js'
import type { RetentionOptions } from '../scan/query.js'
import type { MemtableSlot } from './memtable-slot.js'

/** Maximum difference between the timestamps of one mutation, in milliseconds. */
const serverSpan = 8

/** Timestamp of the key that ends at `keyEnd`; inexact from 2^53 on. */
export function approximateTimestamp(source: Buffer, keyEnd: number): number {
  return timestampHighOf(source, keyEnd) * 0x1_0000_0000 + timestampLowOf(source, keyEnd)
}

/** Whether a family keeps one version of each column and no deleted cells. */
export function keepsOneVersion(options: RetentionOptions): boolean {
  const { versions, keepDeletedCells, newVersionBehavior } = options
  return versions === 1 && keepDeletedCells === 'FALSE' && !newVersionBehavior
}

export class VersionOverwrites implements OverwriteRule {
  readonly versionBytes = keySuffixBytes
  private slot!: MemtableSlot
  private source!: Buffer
  private keyEnd = 0
  private serverTimestamp = 0
  private sequenceSeen = 0
  private markerTimestamp = 0

  /** Whether no open scan may still refer to the replaced cell. */
  get reusesMemory(): boolean {
    return !this.slot.isUsed
  }

  /**
   * Sets the put for the memtable `slot`: its key ends at `source[keyEnd]`, and the value follows.
   * `serverTimestamp` is that of its mutation. `sequenceSeen` is the newest sequence visible to
   * readers other than the scans that pin the slot. `markerTimestamp` is the newest timestamp that
   * a marker of a single version may have.
   */
  set(
    slot: MemtableSlot,
    source: Buffer,
    keyEnd: number,
    serverTimestamp: number,
    sequenceSeen: number,
    markerTimestamp: number,
  ): void {
    this.slot = slot
    this.source = source
    this.keyEnd = keyEnd
    this.serverTimestamp = serverTimestamp
    this.sequenceSeen = sequenceSeen
    this.markerTimestamp = markerTimestamp
  }

  replaces(buffer: Buffer, _keyStart: number, keyEnd: number): boolean {
    const { slot, source, serverTimestamp } = this
    if (typeOf(buffer, keyEnd) !== CellType.put) return false
    const timestamp = approximateTimestamp(source, this.keyEnd)
    const isOfServer = timestamp <= serverTimestamp && timestamp > serverTimestamp - serverSpan
    if (!isOfServer || timestamp <= this.markerTimestamp) return false
    const sequence = sequenceOf(buffer, keyEnd)
    if (sequence <= this.sequenceSeen) return false
    if (slot.isUsed && sequence <= slot.readPointNewest) return false
    if (source[this.keyEnd] === plainValueFlags) return true
    const ttl = ttlOf(buffer, keyEnd)
    if (ttl === 0) return false
    return approximateTimestamp(buffer, keyEnd) + ttl <= timestamp + ttlOf(source, this.keyEnd)
  }
}
