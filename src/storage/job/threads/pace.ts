/**
 * Checks after each slice of work whether a job must stop, rest or continue, and publishes its
 * progress.
 */
import { jobCancelled, type JobControl } from '../job.js'

/** Longest single rest in milliseconds, so that a job soon notices a changed limit or state. */
const restMillisecondsMax = 50

export class Pace {
  private readonly control: JobControl
  private readonly clock: () => number
  private bytesSeen = 0
  /** Time at which the limit allows the bytes counted so far. */
  private paidAt: number

  /** `clock` returns milliseconds from any origin. */
  constructor(control: JobControl, clock: () => number = () => performance.now()) {
    this.control = control
    this.clock = clock
    this.paidAt = clock()
  }

  /**
   * Records that `part` of the job is finished and that `bytes` bytes were moved since its start.
   * Yields the milliseconds to rest, once or several times. Throws the error of a cancelled job.
   */
  *checkpoint(part: number, bytes: number): Generator<number, void> {
    const { control, clock } = this
    control.progress = part
    if (control.cancelled) throw jobCancelled()
    const moved = bytes - this.bytesSeen
    this.bytesSeen = bytes
    // A job that was slower than its limit does not get the difference later.
    let owed = Math.max(this.paidAt, clock())
    if (control.bytesPerSecondMax !== Infinity) owed += (moved * 1000) / control.bytesPerSecondMax
    this.paidAt = owed
    yield 0
    while (control.paused || (control.bytesPerSecondMax !== Infinity && clock() < owed)) {
      const left = control.paused ? restMillisecondsMax : owed - clock()
      yield Math.max(1, Math.min(restMillisecondsMax, left))
      if (control.cancelled) throw jobCancelled()
    }
  }
}
