/** Time is injected: nothing else in the engine asks the operating system for it. */

/** A source of wall-clock time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, an integer. */
  now(): number
}

/** The wall clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * What time it is, asked once and only if somebody wants to know: most reads meet nothing that
 * expires, and the answer costs as much as the copy of a cell.
 */
export class Moment {
  private readonly clock: Clock
  private asked = -1

  constructor(clock: Clock) {
    this.clock = clock
  }

  /** Milliseconds since the Unix epoch: the same until {@link renew}. */
  get milliseconds(): number {
    if (this.asked < 0) this.asked = this.clock.now()
    return this.asked
  }

  /** Starts another moment: now, or at `milliseconds`. */
  renew(milliseconds = -1): void {
    this.asked = milliseconds
  }
}

/** A clock that tests set by hand. */
export class ManualClock implements Clock {
  /** What {@link now} returns; assign it to move time. */
  milliseconds: number

  constructor(milliseconds = 1_000_000) {
    this.milliseconds = milliseconds
  }

  now(): number {
    return this.milliseconds
  }
}
