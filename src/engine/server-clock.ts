/**
 * Assigns timestamps to mutations that bring none, strictly increasing per row.
 *
 * Why strictly: HBase masks by timestamp, so a put in the same millisecond as an earlier delete of
 * the row would be invisible, and two puts in one millisecond would be one version.
 * HBase guarantees growth only for increment, append and checkAndMutate; here it holds for every
 * mutation, also when the machine's clock steps back and across a reopen.
 *
 * How: the last timestamp is remembered per slot, rows being hashed to slots. Rows that share a
 * slot run at most some milliseconds ahead of the clock together; they are never behind.
 */
import { Hash64, hashRange } from '../base/hash.js'
import type { Clock } from '../base/clock.js'

const slotCount = 16_384

export class ServerClock {
  private readonly clock: Clock
  private readonly slots = new Float64Array(slotCount)
  private readonly hash = new Hash64()
  /** Timestamps known from before this process; all slots start above it. */
  private floor = 0
  private slot = 0
  private proposed = 0
  /** What {@link reserve} has changed: the slot and its timestamp before, in turns. */
  private reserved: number[] = []
  /** Highest timestamp assigned so far. */
  highest = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds, from the injected clock. */
  now(): number {
    return this.clock.now()
  }

  /** Takes note of a timestamp assigned before the reopen. */
  raiseFloor(timestamp: number): void {
    if (timestamp > this.floor) this.floor = timestamp
    if (timestamp > this.highest) this.highest = timestamp
  }

  /**
   * The timestamp that a mutation of `row[0, rowLength)` would get now. It counts only once it is
   * accepted, so that a mutation that fails leaves no trace. `now` may be a little while ago.
   */
  propose(row: Buffer, rowLength: number, now = this.clock.now()): number {
    hashRange(row, 0, rowLength, this.hash)
    this.slot = this.hash.low & (slotCount - 1)
    const last = this.slots[this.slot] > this.floor ? this.slots[this.slot] : this.floor
    this.proposed = now > last ? now : last + 1
    return this.proposed
  }

  /**
   * Rows that the same mutation names later get timestamps above the one proposed last. It counts
   * for good with {@link keep}, and not at all after {@link release}.
   */
  reserve(): void {
    this.reserved.push(this.slot, this.slots[this.slot])
    this.slots[this.slot] = this.proposed
  }

  /** The mutation with the timestamp proposed last is applied. */
  accept(): void {
    this.slots[this.slot] = this.proposed
    if (this.proposed > this.highest) this.highest = this.proposed
  }

  /** The mutation with the timestamps that were reserved is applied. */
  keep(): void {
    const { slots, reserved } = this
    if (reserved.length === 0) return
    for (let i = 0; i < reserved.length; i += 2) {
      if (slots[reserved[i]] > this.highest) this.highest = slots[reserved[i]]
    }
    this.reserved = []
  }

  /** Forgets the timestamps of a mutation that was not applied. */
  release(): void {
    const { slots, reserved } = this
    if (reserved.length === 0) return
    for (let i = reserved.length - 2; i >= 0; i -= 2) slots[reserved[i]] = reserved[i + 1]
    this.reserved = []
  }
}
