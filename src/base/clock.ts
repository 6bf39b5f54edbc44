/** Time is injected: only {@link systemClock} asks the operating system for the time. */

/** A source of wall-clock time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, an integer. */
  now(): number
}

/** Longest time of a timer of Node, in milliseconds: a longer one would end at once. */
export const timerMillisecondsMax = 2 ** 31 - 1

/** The wall clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

/**
 * The time of one read, taken from the clock at most once and only when a TTL needs it. Most reads
 * meet no TTL, and reading the clock costs as much as copying a cell.
 */
export class Moment {
  private readonly clock: Clock
  private knownMilliseconds = -1

  constructor(clock: Clock) {
    this.clock = clock
  }

  /**
   * Milliseconds since the Unix epoch. Repeated calls return the same value until {@link renew}.
   */
  get milliseconds(): number {
    if (this.knownMilliseconds < 0) this.knownMilliseconds = this.clock.now()
    return this.knownMilliseconds
  }

  /** Starts another read: at `milliseconds`, or at the clock's time if negative. */
  renew(milliseconds = -1): void {
    this.knownMilliseconds = milliseconds
  }
}

/** A clock that tests set by hand. */
export class ManualClock implements Clock {
  /** What {@link now} returns; assign it to move time. */
  milliseconds: number

  /** Starts at a number of milliseconds since 1970. */
  constructor(milliseconds = 1_000_000) {
    this.milliseconds = milliseconds
  }

  now(): number {
    return this.milliseconds
  }
}
