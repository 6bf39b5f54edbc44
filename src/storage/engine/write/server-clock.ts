/**
 * Assigns timestamps to mutations without one, strictly increasing per row.
 *
 * HBase masks by timestamp. A put in the same millisecond as an earlier delete of the row would be
 * invisible, and two puts in one millisecond would be one version. HBase guarantees growing
 * timestamps only for increment, append and checkAndMutate. This class guarantees them for every
 * mutation, also when the machine's clock steps back, and across a reopen.
 *
 * Rows are hashed to slots, and each slot remembers its last timestamp. Rows that share a slot may
 * get timestamps some milliseconds ahead of the clock, but never before it.
 */
import { Hash64, hashRange } from '../../../base/hash.js'
import type { Clock } from '../../../base/clock.js'

const slotCount = 16_384

export class ServerClock {
  private readonly clock: Clock
  private readonly slots = new Float64Array(slotCount)
  private readonly hash = new Hash64()
  /** Highest timestamp assigned before this open; all new ones are greater. */
  private floor = 0
  private slot = 0
  private proposed = 0
  /**
   * Slots that {@link reserve} has changed, each followed by its timestamp before: the first
   * `reservedCount` elements.
   */
  private readonly reserved: number[] = []
  private reservedCount = 0
  /** Highest timestamp assigned so far. */
  highest = 0

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds since the Unix epoch, from the injected clock. */
  now(): number {
    return this.clock.now()
  }

  /** Records a timestamp that was assigned before this open. */
  raiseFloor(timestamp: number): void {
    if (timestamp > this.floor) this.floor = timestamp
    if (timestamp > this.highest) this.highest = timestamp
  }

  /**
   * The timestamp that a mutation of `row[0, rowLength)` would get now. It takes effect only with
   * {@link accept}, so a mutation that fails leaves no trace. `now` may be a little earlier than
   * the present.
   */
  propose(row: Buffer, rowLength: number, now = this.clock.now()): number {
    hashRange(row, 0, rowLength, this.hash)
    this.slot = this.hash.low & (slotCount - 1)
    const last = this.slots[this.slot] > this.floor ? this.slots[this.slot] : this.floor
    this.proposed = now > last ? now : last + 1
    return this.proposed
  }

  /**
   * Gives later rows of the same mutation timestamps above the one proposed last. {@link keep}
   * makes this final, and {@link release} undoes it.
   */
  reserve(): void {
    this.reserved[this.reservedCount++] = this.slot
    this.reserved[this.reservedCount++] = this.slots[this.slot]
    this.slots[this.slot] = this.proposed
  }

  /** Records that the mutation with the timestamp proposed last was applied. */
  accept(): void {
    this.slots[this.slot] = this.proposed
    if (this.proposed > this.highest) this.highest = this.proposed
  }

  /** Records that the mutation with the reserved timestamps was applied. */
  keep(): void {
    const { slots, reserved, reservedCount } = this
    for (let i = 0; i < reservedCount; i += 2) {
      if (slots[reserved[i]] > this.highest) this.highest = slots[reserved[i]]
    }
    this.reservedCount = 0
  }

  /** Undoes the reservations of a mutation that was not applied. */
  release(): void {
    const { slots, reserved } = this
    for (let i = this.reservedCount - 2; i >= 0; i -= 2) slots[reserved[i]] = reserved[i + 1]
    this.reservedCount = 0
  }
}
