/**
 * The memory that all requests share: bodies being received, and answers that wait for their
 * readers. A request that does not fit is refused or waits, so the memory is bounded for any number
 * of clients.
 *
 * Waiting requests get at most half, so that consumers that do not read cannot block writers.
 */
import { assert, checkMethods, invalidArgument, shown } from '../api/index.js'

/** A part of the budget, until its release. */
export interface MemoryLease {
  /** Bytes held. */
  readonly bytes: number
  /**
   * Sets the bytes held in all; false, and no change, if the budget lacks them. A smaller size
   * always fits.
   */
  resize(bytes: number): boolean
  /** Returns all bytes. A second call has no effect. */
  release(): void
}

/** `ERR_INVALID_ARGUMENT` unless the argument is a number of bytes. */
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
  /** The most bytes of all leases. */
  readonly bytesMax: number
  #bytesUsed = 0
  /** The part of the used bytes that was granted by `wait`. */
  #bytesWaitedFor = 0
  readonly #waiting = new Set<Waiting>()

  /** A budget with all bytes free. */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /** Bytes of all leases. */
  get bytesUsed(): number {
    return this.#bytesUsed
  }

  /** Takes bytes at once; undefined if they are not free. */
  take(bytes: number): MemoryLease | undefined {
    checkCount(bytes)
    return this.#fits(bytes) ? this.#lease(bytes, false) : undefined
  }

  /**
   * Takes bytes as soon as half of the budget has them free, in the order of the calls; undefined
   * if the signal fires first. A larger request counts as the half.
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

  #lease(wanted: number, isWaitedFor: boolean): MemoryLease {
    let held = 0
    const set = (bytes: number): void => {
      const more = bytes - held
      held = bytes
      this.#bytesUsed += more
      if (isWaitedFor) this.#bytesWaitedFor += more
      assert(this.#bytesUsed >= 0, 'leases give back no more bytes than they took')
      assert(this.#bytesWaitedFor >= 0, 'waiting requests give back no more than they took')
      if (more < 0) this.#grant()
    }
    set(wanted)
    return {
      get bytes() {
        return held
      },
      resize: (bytes) => {
        checkCount(bytes)
        if (bytes > held && !this.#fits(bytes - held)) return false
        set(bytes)
        return true
      },
      release: () => set(0),
    }
  }

  /** Grants the waiting requests that fit, in their order. */
  #grant(): void {
    for (const waiting of this.#waiting) {
      if (!this.#isNext(waiting.bytes)) return
      this.#waiting.delete(waiting)
      waiting.grant()
    }
  }
}
