/**
 * The timestamps that a database gives to mutations without one. They strictly increase for each
 * row, also if the clock steps back. Only a mutation that is written uses up its timestamps.
 */
import type { Clock } from '../../../src/base/clock.js'

/** Returns the timestamp of the running mutation; repeated calls return the same. */
export type ServerTime = () => bigint

/** The timestamps of all rows of a database. */
export class ServerTimes {
  readonly #clock: Clock
  readonly #written = new Map<string, bigint>()
  /** Timestamps given to the rows of the running mutation. */
  #given = new Map<string, bigint>()
  #highest = 0n
  /** All new timestamps are greater than this. */
  #floor = 0n

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Milliseconds since the Unix epoch. */
  now(): bigint {
    return BigInt(this.#clock.now())
  }

  /** Begins a mutation. Timestamps of an earlier mutation that was not written are forgotten. */
  begin(): void {
    this.#given = new Map()
  }

  /** Returns the timestamp of a row in the running mutation. */
  of(row: string): ServerTime {
    let time: bigint | undefined
    return () => {
      if (time === undefined) {
        const now = this.now()
        const known = this.#given.get(row) ?? this.#written.get(row) ?? 0n
        const last = known > this.#floor ? known : this.#floor
        time = now > last ? now : last + 1n
        this.#given.set(row, time)
      }
      return time
    }
  }

  /** Records that the mutation was written. Returns its highest timestamp, 0 = none. */
  accept(): bigint {
    let highest = 0n
    for (const [row, time] of this.#given) {
      this.#written.set(row, time)
      if (time > highest) highest = time
    }
    if (highest > this.#highest) this.#highest = highest
    this.#given = new Map()
    return highest
  }

  /** Has the effects of a close and a reopen. */
  reopen(): void {
    this.#written.clear()
    this.#floor = this.#highest
  }
}
