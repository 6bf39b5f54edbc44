/** Time is injected (design D11): nothing else in the engine asks the operating system for it. */

/** A source of wall-clock time. */
export interface Clock {
  /** Milliseconds since the Unix epoch, an integer. */
  now(): number
}

/** The wall clock of the machine. */
export const systemClock: Clock = { now: () => Date.now() }

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
