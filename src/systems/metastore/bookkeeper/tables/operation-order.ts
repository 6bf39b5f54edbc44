/**
 * The order of the operations of one table: BookKeeper's single thread per table, without making
 * one operation wait for the disk of another.
 *
 * Operations on different keys run side by side, so that durable writes share their sync; those on
 * one key run one after the other. An operation on all keys (the opening of a cursor) begins when
 * those before it have ended, and those after it begin when it has taken its view, which it does
 * before it first gives up its turn. Promises settle in the order of the calls: nobody is told of
 * a write that is not durable, not even by a read.
 */

/** One call of a table: it has begun or waits, until it has ended; then it is settled in order. */
export abstract class Operation {
  /** Undefined: on all keys. */
  readonly key: string | undefined
  resolve!: (value: never) => void
  reject!: (error: unknown) => void
  state: 'running' | 'succeeded' | 'failed' = 'running'
  outcome: unknown = undefined
  /** The next one in the order of the calls. */
  following: Operation | undefined = undefined
  /** The next one that waits for the same key, or behind the same operation on all keys. */
  waiting: Operation | undefined = undefined

  constructor(key: string | undefined) {
    this.key = key
  }

  /** Begins. Calls `ended` of the order once, in a later turn or microtask. */
  abstract begin(order: OperationOrder): void

  /** Called in the moment in which the promise is settled, with the error if it failed. */
  abstract settled(error: unknown): void
}

type Step = () => Promise<unknown>

/** An operation that is a function. */
class StepOperation extends Operation {
  readonly #step: Step
  readonly #settled: ((error: unknown) => void) | undefined

  constructor(key: string | undefined, step: Step, settled: StepOperation['settled'] | undefined) {
    super(key)
    this.#step = step
    this.#settled = settled
  }

  begin(order: OperationOrder): void {
    this.#step().then(
      (value) => order.ended(this, 'succeeded', value),
      (error: unknown) => order.ended(this, 'failed', error),
    )
  }

  settled(error: unknown): void {
    this.#settled?.(error)
  }
}

const nothing: Step = () => Promise.resolve()

/** The operations of one table in their order; see the file header. */
export class OperationOrder {
  /** The last operation of every key that has one. */
  readonly #lanes = new Map<string, Operation>()
  /** Operations that wait for one on all keys; that one is the first. */
  #heldFirst: Operation | undefined = undefined
  #heldLast: Operation | undefined = undefined
  /** Operations whose promises are not settled. */
  #first: Operation | undefined = undefined
  #last: Operation | undefined = undefined

  /**
   * Runs an operation on a key. `settled` is called in the moment in which the promise is settled,
   * with the error if it failed.
   */
  onKey<T>(key: string, step: () => Promise<T>, settled?: (error: unknown) => void): Promise<T> {
    return this.submit(new StepOperation(key, step, settled))
  }

  /** Runs an operation on all keys. */
  onAll<T>(step: () => Promise<T>): Promise<T> {
    return this.submit(new StepOperation(undefined, step, undefined))
  }

  /** Fails in its turn without having done anything. */
  fail<T>(error: unknown): Promise<T> {
    const operation = new StepOperation(undefined, nothing, undefined)
    const promise = this.#append<T>(operation)
    operation.state = 'failed'
    operation.outcome = error
    this.#settle()
    return promise
  }

  /** Runs an operation when its turn comes. `T` is what it ends with. */
  submit<T>(operation: Operation): Promise<T> {
    const promise = this.#append<T>(operation)
    if (this.#heldFirst !== undefined || !this.#admit(operation)) this.#hold(operation)
    return promise
  }

  /** Notes the end of an operation that has begun. */
  ended(operation: Operation, state: 'succeeded' | 'failed', outcome: unknown): void {
    operation.state = state
    operation.outcome = outcome
    const { key } = operation
    if (key !== undefined) {
      const next = operation.waiting
      operation.waiting = undefined
      if (next !== undefined) next.begin(this)
      else this.#lanes.delete(key)
    }
    this.#settle()
    if (this.#heldFirst !== undefined) this.#letGo()
  }

  #append<T>(operation: Operation): Promise<T> {
    if (this.#last === undefined) this.#first = operation
    else this.#last.following = operation
    this.#last = operation
    return new Promise<T>((resolve, reject) => {
      operation.resolve = resolve
      operation.reject = reject
    })
  }

  #hold(operation: Operation): void {
    if (this.#heldLast === undefined) this.#heldFirst = operation
    else this.#heldLast.waiting = operation
    this.#heldLast = operation
  }

  /** Starts an operation or lets it wait for its key; false if it has to wait for all keys. */
  #admit(operation: Operation): boolean {
    const { key } = operation
    if (key === undefined) {
      if (this.#lanes.size > 0) return false
      operation.begin(this)
      return true
    }
    const before = this.#lanes.get(key)
    this.#lanes.set(key, operation)
    if (before === undefined) operation.begin(this)
    else before.waiting = operation
    return true
  }

  /** Starts what waits behind an operation on all keys, if that one can start. */
  #letGo(): void {
    while (this.#heldFirst !== undefined) {
      const operation = this.#heldFirst
      if (operation.key === undefined && this.#lanes.size > 0) return
      this.#heldFirst = operation.waiting
      if (this.#heldFirst === undefined) this.#heldLast = undefined
      operation.waiting = undefined
      this.#admit(operation)
    }
  }

  #settle(): void {
    for (;;) {
      const operation = this.#first
      if (operation === undefined || operation.state === 'running') return
      this.#first = operation.following
      if (this.#first === undefined) this.#last = undefined
      if (operation.state === 'failed') operation.reject(operation.outcome)
      else operation.resolve(operation.outcome as never)
      operation.settled(operation.state === 'failed' ? operation.outcome : undefined)
    }
  }
}
