/**
 * Decides whether an awaited read takes a missing block from the file at once, on the thread of the
 * event loop. If the file is in the memory of the operating system, the read takes some
 * microseconds; the way through another thread takes ten times as long. If the disk has to be
 * asked, the event loop must not wait.
 *
 * The gate is open while reads take under 100 microseconds on average. One read of a millisecond is
 * no proof of a slow disk, because the garbage collector takes as long; so a read counts as half a
 * millisecond at most, and two such reads close the gate for a second. After that second one is
 * enough. Among many quick reads slow ones are averaged away, so what reads take over 100
 * microseconds also adds up, less what others take under that: 20 milliseconds close the gate. One
 * read that takes longer than any pause of the collector of young objects does so alone, and so
 * does one that fails, for it may have taken any time. So a slow disk holds up the event loop for
 * about one read a second.
 */

/** Reads that take longer than the mean allows by this, in sum, close the gate. */
const excessMillisecondsMax = 20
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
  private isReading = false
  private excess = 0

  /** A gate that is not allowed to open is always closed. `now`: milliseconds that only grow. */
  constructor(isAllowed: boolean, now = (): number => performance.now()) {
    this.isAllowed = isAllowed
    this.now = now
  }

  /** The time at which a read starts now; -1: the gate is closed. */
  enter(): number {
    if (!this.isAllowed) return -1
    const now = this.now()
    if (this.isReading) this.close(now)
    if (now < this.closedUntil) return -1
    this.isReading = true
    return now
  }

  /** Notes the end of a read that has started at the time of {@link enter}, and did not fail. */
  leave(startedAt: number): void {
    this.isReading = false
    const now = this.now()
    const milliseconds = now - startedAt
    this.mean += (Math.min(milliseconds, countedMillisecondsMax) - this.mean) * weight
    this.excess = Math.max(0, this.excess + milliseconds - meanMillisecondsMax)
    if (this.excess > excessMillisecondsMax || this.mean > meanMillisecondsMax) this.close(now)
  }

  private close(now: number): void {
    this.isReading = false
    this.excess = 0
    this.mean = meanMillisecondsReopened
    this.closedUntil = now + closedMilliseconds
  }
}
