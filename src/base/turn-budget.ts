/**
 * Keeps chains of awaited operations, and calls that are made together, from starving the event
 * loop.
 *
 * An operation that is answered from memory resolves in a microtask, so a loop that awaits one
 * after the other never lets timers, sockets or worker messages in. Each operation spends a part of
 * the turn's budget; whoever finds it spent waits for the next turn.
 *
 * Large mutations take time by their bytes: checksum, copies and the write to the log. So bytes are
 * spent as well. They count twice: as operations, for whoever awaits, and by themselves, because a
 * turn that is full of bytes takes no more mutations even from callers that do not wait in between.
 */

/** Operations in one turn of the event loop: about two milliseconds of work. */
const operationsPerTurnMax = 512
/** Bytes of a mutation that take as long as an operation; shorter ones spend no bytes. */
export const bytesPerOperation = 4096
/** Bytes of large mutations that are applied in one turn: five to ten milliseconds of work. */
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

  /** Whether mutations had better wait for the next turn. */
  get isFull(): boolean {
    return this.bytesLeft <= 0
  }

  /** Spends `operations`; false if the budget of this turn is used up. */
  spend(operations = 1): boolean {
    if (!this.scheduled) {
      this.scheduled = true
      setImmediate(this.refill)
    }
    this.left -= operations
    return this.left > 0
  }

  /** Spends the bytes of a mutation, of at least {@link bytesPerOperation}. */
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
