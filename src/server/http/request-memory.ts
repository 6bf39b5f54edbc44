/**
 * The memory that all requests share: bodies that are being received, and answers that wait for
 * their readers. What does not fit is refused or waits, so any number of clients takes no more.
 *
 * Those that wait get no more than half, so that consumers who do not read keep nobody from
 * writing.
 */
import { checkMethods, shown } from '../../api/index.js'
import { invalidArgument } from './http-errors.js'

/** Part of a budget, until it is released. */
export class MemoryLease {
  readonly #change: (bytes: number) => void
  readonly #fits: (bytes: number) => boolean
  #bytes: number

  /** Made by a budget. */
  constructor(bytes: number, change: (bytes: number) => void, fits: (bytes: number) => boolean) {
    this.#bytes = bytes
    this.#change = change
    this.#fits = fits
  }

  /** Bytes that are held. */
  get bytes(): number {
    return this.#bytes
  }

  /** Takes so many bytes in all; false, and no change, if they are not there. Less always fits. */
  resize(bytes: number): boolean {
    checkCount(bytes)
    const more = bytes - this.#bytes
    if (more > 0 && !this.#fits(more)) return false
    this.#bytes = bytes
    this.#change(more)
    return true
  }

  /** Gives everything back. A second call does nothing. */
  release(): void {
    this.resize(0)
  }
}

/** `ERR_INVALID_ARGUMENT` for what is no number of bytes. */
function checkCount(bytes: number): void {
  if (typeof bytes === 'number' && bytes >= 0 && bytes < Infinity) return
  throw invalidArgument(`bytes must be a number, 0 or more, got ${shown(bytes)}`)
}

interface Waiting {
  readonly bytes: number
  readonly grant: () => void
}

/** See the file header. */
export class RequestMemory {
  /** The most bytes that may be taken. */
  readonly bytesMax: number
  #bytesUsed = 0
  /** Of them, those that were waited for. */
  #bytesWaitedFor = 0
  readonly #waiting = new Set<Waiting>()

  /** A budget of which nothing is taken. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Bytes that are taken. */
  get bytesUsed(): number {
    return this.#bytesUsed
  }

  /** Takes bytes at once; undefined if they are not there. */
  take(bytes: number): MemoryLease | undefined {
    checkCount(bytes)
    return this.#fits(bytes) ? this.#lease(bytes, false) : undefined
  }

  /**
   * Takes bytes as soon as half of the budget has them, in the order of the calls; undefined if the
   * signal fires before. More than that half counts as the half.
   */
  async wait(bytes: number, signal: AbortSignal): Promise<MemoryLease | undefined> {
    checkCount(bytes)
    checkMethods(signal, 'signal', ['addEventListener', 'removeEventListener'])
    const wanted = Math.min(bytes, this.bytesMax / 2)
    if (signal.aborted) return undefined
    if (this.#waiting.size === 0 && this.#isNext(wanted)) return this.#lease(wanted, true)
    return new Promise((resolve) => {
      const giveUp = (): void => {
        this.#waiting.delete(waiting)
        resolve(undefined)
        this.#grant()
      }
      const grant = (): void => {
        signal.removeEventListener('abort', giveUp)
        resolve(this.#lease(wanted, true))
      }
      const waiting = { bytes: wanted, grant }
      this.#waiting.add(waiting)
      signal.addEventListener('abort', giveUp, { once: true })
    })
  }

  #fits(bytes: number): boolean {
    return this.#bytesUsed + bytes <= this.bytesMax
  }

  #isNext(bytes: number): boolean {
    return this.#fits(bytes) && this.#bytesWaitedFor + bytes <= this.bytesMax / 2
  }

  #lease(bytes: number, isWaitedFor: boolean): MemoryLease {
    const change = (more: number): void => {
      this.#bytesUsed += more
      if (isWaitedFor) this.#bytesWaitedFor += more
      if (more < 0) this.#grant()
    }
    change(bytes)
    return new MemoryLease(bytes, change, (more) => this.#fits(more))
  }

  /** Lets those in that wait and fit, the first one first. */
  #grant(): void {
    for (const waiting of this.#waiting) {
      if (!this.#isNext(waiting.bytes)) return
      this.#waiting.delete(waiting)
      waiting.grant()
    }
  }
}
