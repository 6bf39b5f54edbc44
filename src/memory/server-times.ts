/**
 * The timestamps that a database gives to mutations that bring none: strictly increasing for each
 * row, also if the clock steps back. Only a mutation that is written uses up its timestamps.
 */
import type { Clock } from '../base/clock.js'

/** Gives the timestamp of the mutation under way: always the same. */
export type ServerTime = () => bigint

/** Timestamps of all rows of a database. */
export class ServerTimes {
  private readonly clock: Clock
  private readonly written = new Map<string, bigint>()
  /** Given to the mutations under way. */
  private given = new Map<string, bigint>()
  private highest = 0n
  /** All rows go on above it. */
  private floor = 0n

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds. */
  now(): bigint {
    return BigInt(this.clock.now())
  }

  /** Begins a mutation; what the one before was given and did not write is forgotten. */
  begin(): void {
    this.given = new Map()
  }

  /** The timestamp of a row of the mutation under way. */
  of(row: string): ServerTime {
    let time: bigint | undefined
    return () => {
      if (time === undefined) {
        const now = this.now()
        const known = this.given.get(row) ?? this.written.get(row) ?? 0n
        const last = known > this.floor ? known : this.floor
        time = now > last ? now : last + 1n
        this.given.set(row, time)
      }
      return time
    }
  }

  /** The mutation is written; returns the highest timestamp that it was given, 0 = none. */
  accept(): bigint {
    let highest = 0n
    for (const [row, time] of this.given) {
      this.written.set(row, time)
      if (time > highest) highest = time
    }
    if (highest > this.highest) this.highest = highest
    this.given = new Map()
    return highest
  }

  /** What a close and an open leave. */
  reopen(): void {
    this.written.clear()
    this.floor = this.highest
  }
}
