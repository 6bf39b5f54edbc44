/**
 * Keeps loops of awaited operations, and many calls made at once, from starving the event loop.
 *
 * An operation that memory can answer resolves in a microtask. A loop that awaits one such
 * operation after the other never lets timers, sockets or worker messages run. So each operation
 * spends a part of the turn's budget, and an operation that finds the budget spent waits for the
 * next turn.
 *
 * Large mutations take time by their bytes: for checksums, copies and the write to the log. So
 * their bytes are spent twice. They count as operations, which slows callers that await each call.
 * They also count in a budget of bytes of their own, which slows callers that do not await.
 */

/** Operations in one turn of the event loop: about two milliseconds of work. */
const operationsPerTurnMax = 512
/** Bytes of a mutation that take as long as an operation; shorter ones spend no bytes. */
export const bytesPerOperation = 4096
/** Bytes of large mutations in one turn of the event loop: five to ten milliseconds of work. */
const bytesPerTurnMax = 4 * 1024 * 1024

export class TurnBudget {
  private left = operationsPerTurnMax
  private bytesLeft = bytesPerTurnMax
  private scheduled = false
  private nextTurn: Promise<void> | undefined = undefined
  private readonly refill: () => void
  private wake: (() => void) | undefined = undefined

  constructor() {
    this.refill = () => {
      this.scheduled = false
      this.left = operationsPerTurnMax
      this.bytesLeft = bytesPerTurnMax
      const { wake } = this
      this.nextTurn = undefined
      this.wake = undefined
      wake?.()
    }
  }

  /**
   * Whether the byte budget of this turn is spent, so that mutations should wait for the next turn.
   */
  get isFull(): boolean {
    return this.bytesLeft <= 0
  }

  /** Spends `operations`; returns false if the budget of this turn is used up. */
  spend(operations = 1): boolean {
    if (!this.scheduled) {
      this.scheduled = true
      setImmediate(this.refill)
    }
    this.left -= operations
    return this.left > 0
  }

  /** Spends the bytes of a mutation. REQUIRES at least {@link bytesPerOperation}. */
  spendBytes(bytes: number): void {
    this.bytesLeft -= bytes
    this.spend(bytes / bytesPerOperation)
  }

  /** Resolves in the next turn of the event loop. */
  waitForTurn(): Promise<void> {
    this.nextTurn ??= new Promise((resolve) => {
      this.wake = resolve
    })
    if (!this.scheduled) {
      this.scheduled = true
      setImmediate(this.refill)
    }
    return this.nextTurn
  }
}
