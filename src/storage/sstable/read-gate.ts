/**
 * Decides whether an awaited read takes a missing block from the file at once, on the thread of the
 * event loop. If the file is in the memory of the operating system, the read takes some
 * microseconds; the way through another thread takes ten times as long. If the disk has to be
 * asked, the event loop must not wait.
 *
 * The gate is open while reads take under 100 microseconds on average. One read of a millisecond is
 * no proof of a slow disk, because the garbage collector takes as long; so a read counts as half a
 * millisecond at most, and two such reads close the gate for a second. After that second one is
 * enough. A read that takes longer than any pause of the collector of young objects closes the gate
 * alone. So a slow disk holds up the event loop for one read a second.
 */

/** A single read that takes longer closes the gate. */
const slowMilliseconds = 20
/** Reads that take longer on average close the gate. */
const meanMillisecondsMax = 0.1
/** A read counts in the average with this much at most. */
const countedMillisecondsMax = 0.5
/** The average after the gate was closed: one read that counts in full closes the gate again. */
const meanMillisecondsReopened = 0.06
/** The weight of a read in the average. */
const weight = 1 / 8
const closedMilliseconds = 1000

/** The gate of one database. */
export class ReadGate {
  private readonly isAllowed: boolean
  private readonly now: () => number
  private mean = 0
  private closedUntil = 0

  /** A gate that is not allowed to open is always closed. `now`: milliseconds that only grow. */
  constructor(isAllowed: boolean, now = (): number => performance.now()) {
    this.isAllowed = isAllowed
    this.now = now
  }

  /** The time at which a read starts now; -1: the gate is closed. */
  enter(): number {
    if (!this.isAllowed) return -1
    const now = this.now()
    return now < this.closedUntil ? -1 : now
  }

  /** Notes the end of a read that has started at the time of {@link enter}. */
  leave(startedAt: number): void {
    const now = this.now()
    const milliseconds = now - startedAt
    this.mean += (Math.min(milliseconds, countedMillisecondsMax) - this.mean) * weight
    if (milliseconds <= slowMilliseconds && this.mean <= meanMillisecondsMax) return
    this.mean = meanMillisecondsReopened
    this.closedUntil = now + closedMilliseconds
  }
}
