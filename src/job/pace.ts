/**
 * Tells a job after each slice of work whether to stop, to rest or to go on, and tells the others
 * how far it is.
 */
import { JobCancelled, type JobControl } from './job.js'

/** Longest rest in one piece, so that a change of the limit or of the state is seen soon. */
const restMillisecondsMax = 50

export class Pace {
  private readonly control: JobControl
  private readonly clock: () => number
  private bytesSeen = 0
  /** When the bytes seen so far are paid for. */
  private paidAt: number

  /** `clock` gives milliseconds from any start. */
  constructor(control: JobControl, clock: () => number = () => performance.now()) {
    this.control = control
    this.clock = clock
    this.paidAt = clock()
  }

  /**
   * Takes note that `part` of the job is done and that it has moved `bytes` bytes since its start.
   * Yields the milliseconds to rest, none or several times. Throws `JobCancelled`.
   */
  *checkpoint(part: number, bytes: number): Generator<number, void> {
    const { control, clock } = this
    control.progress = part
    if (control.cancelled) throw new JobCancelled()
    const moved = bytes - this.bytesSeen
    this.bytesSeen = bytes
    // What was not used in time is not saved up.
    let owed = Math.max(this.paidAt, clock())
    if (control.bytesPerSecondMax !== Infinity) owed += (moved * 1000) / control.bytesPerSecondMax
    this.paidAt = owed
    yield 0
    while (control.paused || (control.bytesPerSecondMax !== Infinity && clock() < owed)) {
      const left = control.paused ? restMillisecondsMax : owed - clock()
      yield Math.max(1, Math.min(restMillisecondsMax, left))
      if (control.cancelled) throw new JobCancelled()
    }
  }
}
