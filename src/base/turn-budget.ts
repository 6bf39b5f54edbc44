/**
 * Keeps chains of awaited operations from starving the event loop.
 *
 * An operation that is answered from memory resolves in a microtask, so a loop that awaits one
 * after the other never lets timers, sockets or worker messages in. Each operation spends a part of
 * the turn's budget; whoever finds it spent waits for the next turn.
 */

/** Operations in one turn of the event loop: about two milliseconds of work. */
const operationsPerTurnMax = 512

export class TurnBudget {
  private left = operationsPerTurnMax
  private scheduled = false
  private nextTurn: Promise<void> | undefined = undefined
  private readonly refill: () => void
  private wake: (() => void) | undefined = undefined

  constructor() {
    this.refill = () => {
      this.scheduled = false
      this.left = operationsPerTurnMax
      const { wake } = this
      this.nextTurn = undefined
      this.wake = undefined
      wake?.()
    }
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
