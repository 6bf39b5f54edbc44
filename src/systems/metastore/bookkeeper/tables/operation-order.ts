/**
 * The order of the operations of one table: as BookKeeper's single thread per table, but operations
 * do not wait for the disk writes of others.
 *
 * Operations on different keys run concurrently, so durable writes share their sync. Operations on
 * the same key run one at a time. An operation on all keys (opening a cursor) begins when all
 * earlier operations have ended. Later operations begin when it has taken its snapshot, which it
 * does synchronously. Promises settle in the order of the calls: no read returns a write that is
 * not durable.
 */

/** One call on a table. After its end, its promise is settled in the order of the calls. */
export abstract class Operation {
  /** Undefined = all keys. */
  readonly key: string | undefined
  resolve!: (value: never) => void
  reject!: (error: unknown) => void
  state: 'running' | 'succeeded' | 'failed' = 'running'
  outcome: unknown = undefined
  /** The next operation in the order of the calls. */
  following: Operation | undefined = undefined
  /** The next operation that waits for the same key, or for the same operation on all keys. */
  waiting: Operation | undefined = undefined

  constructor(key: string | undefined) {
    this.key = key
  }

  /** Starts the operation, which calls `ended` of the order once, in a later turn or microtask. */
  abstract begin(order: OperationOrder): void

  /** Called synchronously when the promise is settled, with the error after a failure. */
  abstract settled(error: unknown): void
}

type Step = () => Promise<unknown>

/** An operation defined by a function. */
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
  /** The last operation of each key with an unfinished operation. */
  readonly #lanes = new Map<string, Operation>()
  /** Queue of an operation on all keys and the operations that wait for it. */
  #heldFirst: Operation | undefined = undefined
  #heldLast: Operation | undefined = undefined
  /** Queue of the operations with unsettled promises, in the order of the calls. */
  #first: Operation | undefined = undefined
  #last: Operation | undefined = undefined

  /**
   * Runs an operation on a key. `settled` is called synchronously when the promise is settled, with
   * the error after a failure.
   */
  onKey<T>(key: string, step: () => Promise<T>, settled?: (error: unknown) => void): Promise<T> {
    return this.submit(new StepOperation(key, step, settled))
  }

  /** Runs an operation on all keys. */
  onAll<T>(step: () => Promise<T>): Promise<T> {
    return this.submit(new StepOperation(undefined, step, undefined))
  }

  /** Rejects in the order of the calls, without any effect. */
  fail<T>(error: unknown): Promise<T> {
    const operation = new StepOperation(undefined, nothing, undefined)
    const promise = this.#append<T>(operation)
    operation.state = 'failed'
    operation.outcome = error
    this.#settle()
    return promise
  }

  /** Runs an operation when preceding operations permit. `T` is the type of its result. */
  submit<T>(operation: Operation): Promise<T> {
    const promise = this.#append<T>(operation)
    if (this.#heldFirst !== undefined || !this.#admit(operation)) this.#hold(operation)
    return promise
  }

  /** Called at the end of a started operation. */
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

  /** Starts an operation or queues it for its key; false if it has to wait for all keys. */
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

  /** Starts the queue of an operation on all keys, as far as possible. */
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
