/**
 * Runs one transaction after the other over participants (Tephra: TransactionContext).
 *
 * `start`: the manager's start, then `startTx` of each. `finish`: the changes of all are checked
 * for conflicts, each persists (`commitTx`), the manager commits with the writes of all in one
 * frame, then `postTxCommit` of each.
 *
 * Failure behaviour: what fails before the commit is complete rolls back *all* participants, also
 * behind one that fails to. If all succeed the transaction is aborted, else it becomes invalid. The
 * first error is thrown; those that follow are in its `suppressed`. An error of `postTxCommit` is
 * thrown, but the transaction stays committed.
 */
import type { AtomicMutation } from '../api/index.js'
import { TransactionError, TransactionErrorCode } from './errors.js'
import type { CommitOptions, StartOptions } from './manager-calls.js'
import type { TransactionClient, TransactionParticipant } from './participant.js'
import type { Transaction } from './transaction.js'

/** See the file header. Not for concurrent use. */
export class TransactionContext {
  readonly #client: TransactionClient
  readonly #participants: TransactionParticipant[]
  #current: Transaction | undefined

  /** Runs transactions of `client`; `participants` are told in the order given. */
  constructor(client: TransactionClient, participants: Iterable<TransactionParticipant> = []) {
    this.#client = client
    this.#participants = [...participants]
  }

  /** The running transaction; undefined if there is none. */
  get current(): Transaction | undefined {
    return this.#current
  }

  /** Adds a participant; within a transaction it takes part at once. False if it is there. */
  async add(participant: TransactionParticipant): Promise<boolean> {
    if (this.#participants.includes(participant)) return false
    this.#participants.push(participant)
    if (this.#current === undefined) return true
    try {
      await participant.startTx(this.#current)
    } catch (cause) {
      await this.abort(failed(`'${participant.name}' could not start`, cause))
    }
    return true
  }

  /** Removes a participant. `ERR_TRANSACTION_STATE` within a transaction. */
  remove(participant: TransactionParticipant): boolean {
    if (this.#current !== undefined) {
      throw stateError('participants are removed between transactions only')
    }
    const at = this.#participants.indexOf(participant)
    if (at >= 0) this.#participants.splice(at, 1)
    return at >= 0
  }

  /** Starts a transaction. `ERR_TRANSACTION_STATE` if one runs, `ERR_TRANSACTION_FAILED`. */
  async start(options?: StartOptions): Promise<Transaction> {
    if (this.#current !== undefined) throw stateError('a transaction runs already')
    const transaction = await this.#client.startShort(options)
    for (const participant of this.#participants) {
      try {
        await participant.startTx(transaction)
      } catch (cause) {
        const error = failed(`'${participant.name}' could not start`, cause)
        await attach(error, () => this.#client.abort(transaction))
        throw error
      }
    }
    this.#current = transaction
    return transaction
  }

  /**
   * Commits. `ERR_TRANSACTION_CONFLICT`, `ERR_TRANSACTION_FAILED`, and the errors of the manager;
   * see the file header.
   */
  async finish(): Promise<void> {
    const transaction = this.#required()
    try {
      await this.#client.canCommit(transaction, this.#changes())
      for (const participant of this.#participants) await persist(participant)
      await this.#client.commit(transaction, this.#commitOptions())
    } catch (error) {
      await this.abort(error)
    }
    this.#current = undefined
    let first: TransactionError | undefined
    for (const participant of this.#participants) {
      try {
        await participant.postTxCommit?.()
      } catch (cause) {
        if (first === undefined)
          first = failed(`'${participant.name}' failed when committed`, cause)
        else first.suppressed.push(cause)
      }
    }
    if (first !== undefined) throw first
  }

  /**
   * Rolls back and ends the transaction. With `cause` it always throws: the cause. Else it throws
   * `ERR_TRANSACTION_FAILED` if a participant could not roll back.
   */
  async abort(cause?: unknown): Promise<void> {
    const transaction = this.#required()
    let error = cause
    let isClean = true
    const note = (failure: unknown): void => {
      isClean = false
      if (error === undefined) error = failure
      else if (error instanceof TransactionError) error.suppressed.push(failure)
    }
    for (const participant of this.#participants) {
      try {
        if (await participant.rollbackTx()) continue
        note(failed(`'${participant.name}' could not roll back`))
      } catch (failure) {
        note(failed(`'${participant.name}' could not roll back`, failure))
      }
    }
    this.#current = undefined
    try {
      if (isClean) await this.#client.abort(transaction)
      else await this.#client.invalidate(transaction.transactionId)
    } catch (failure) {
      note(failure)
    }
    if (error !== undefined) throw error as Error
  }

  /**
   * Gives all participants a new write pointer. `ERR_TRANSACTION_UNSUPPORTED` if one of them cannot
   * take part; the transaction then goes on as it is. Other failures abort it.
   */
  async checkpoint(): Promise<Transaction> {
    const transaction = this.#required()
    const refuses = this.#participants.find((participant) => participant.updateTx === undefined)
    if (refuses !== undefined) {
      const message = `'${refuses.name}' takes no checkpoints`
      throw new TransactionError(TransactionErrorCode.unsupported, message)
    }
    try {
      const next = await this.#client.checkpoint(transaction)
      this.#current = next
      for (const participant of this.#participants) await participant.updateTx?.(next)
      return next
    } catch (error) {
      await this.abort(error)
      throw error
    }
  }

  #required(): Transaction {
    if (this.#current === undefined) throw stateError('no transaction runs')
    return this.#current
  }

  *#changes(): Iterable<Uint8Array | string> {
    for (const participant of this.#participants) yield* participant.getTxChanges()
  }

  #commitOptions(): CommitOptions {
    const writes: AtomicMutation[] = []
    let carry: CommitOptions['carry'] | undefined
    for (const participant of this.#participants) {
      writes.push(...(participant.commitWrites?.() ?? []))
      const own = participant.commitCarrier?.()
      if (own === undefined) continue
      if (carry !== undefined) throw stateError('two participants want to write the commit')
      carry = own
    }
    return carry === undefined ? { writes } : { writes, carry }
  }
}

async function persist(participant: TransactionParticipant): Promise<void> {
  let isDone: boolean
  try {
    isDone = await participant.commitTx()
  } catch (cause) {
    throw failed(`'${participant.name}' could not persist`, cause)
  }
  if (!isDone) throw failed(`'${participant.name}' could not persist`)
}

async function attach(error: TransactionError, work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (failure) {
    error.suppressed.push(failure)
  }
}

function failed(message: string, cause?: unknown): TransactionError {
  return new TransactionError(TransactionErrorCode.failed, message, { cause })
}

function stateError(message: string): TransactionError {
  return new TransactionError(TransactionErrorCode.state, message)
}
