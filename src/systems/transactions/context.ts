/**
 * Runs one transaction after the other over participants (Tephra: TransactionContext).
 *
 * `start`: the manager's start, then `startTx` of each participant. `finish`: the manager checks
 * the changes of all participants for conflicts, each persists (`commitTx`), the manager commits
 * with all writes in one frame, then `postTxCommit` of each. A LONG transaction sends no changes:
 * it never conflicts.
 *
 * Failure behaviour: a failure before the commit is complete rolls back *all* participants, even if
 * one of the rollbacks fails. If all rollbacks succeed the transaction is aborted, otherwise it
 * becomes invalid. The first error is thrown, with later errors in its `suppressed`. A participant
 * must answer `true` for a successful persist or rollback; any other answer is a failure.
 *
 * An error of `postTxCommit` is thrown, but the transaction stays committed. After
 * `ERR_TRANSACTION_OUTCOME_UNKNOWN` nothing is rolled back. If a participant refuses to start, the
 * participants that started before it are rolled back, so that they are free for the next
 * transaction.
 */
import { types } from 'node:util'
import {
  hasCode,
  invalidArgument,
  CellarError,
  checkArray,
  readArguments,
  type AtomicMutation,
} from '../../api/index.js'
import { requireFunction } from './checks.js'
import { stateError, TransactionErrorCode } from './errors.js'
import { keysOf, type CommitOptions } from './manager/manager-calls.js'
import {
  checkManager,
  checkParticipant,
  type Transactions,
  type TransactionParticipant,
} from './participant.js'
import { contextStartOptions, type ContextStartOptions } from './manager/manager-calls.js'
import type { Transaction } from './transaction.js'

/**
 * See the file header. For one sequence of calls: a call during another one is refused with
 * `ERR_TRANSACTION_STATE`.
 */
export class TransactionContext {
  readonly #client: Transactions
  readonly #participants: TransactionParticipant[]
  #current: Transaction | undefined
  /** The call in progress, for the message of a refusal. */
  #busy: string | undefined
  #call: Promise<unknown> | undefined
  #isSealed = false

  /** Runs transactions of `client`; `participants` are called in the given order. */
  constructor(client: Transactions, participants: Iterable<TransactionParticipant> = []) {
    this.#client = checkManager(client)
    this.#participants = readArguments(() => [...participants]).map(checkParticipant)
  }

  /** The running transaction; undefined if there is none. */
  get current(): Transaction | undefined {
    return this.#current
  }

  /** Adds a participant; within a transaction it joins at once. False if it was added before. */
  async add(participant: TransactionParticipant): Promise<boolean> {
    checkParticipant(participant)
    return this.#alone('add', async () => {
      if (this.#participants.includes(participant)) return false
      const transaction = this.#current
      if (transaction !== undefined) {
        const start = call(participant, 'could not start', () => participant.startTx(transaction))
        await start.catch((error: unknown) => this.#rollBack(transaction, error))
      }
      this.#participants.push(participant)
      return true
    })
  }

  /**
   * As {@link add} within a transaction, for a participant with a synchronous `startTx`.
   * `ERR_INVALID_ARGUMENT` for another one.
   */
  addNow(participant: TransactionParticipant & { startTx(transaction: Transaction): void }): void {
    const transaction = this.#required('add')
    checkParticipant(participant)
    const answer: unknown = startNow(participant, transaction)
    if (types.isPromise(answer)) {
      answer.catch(() => undefined)
      throw invalidArgument(`${nameOf(participant)} does not start at once: add it by 'add'`)
    }
    this.#participants.push(participant)
  }

  /** Removes a participant. `ERR_TRANSACTION_STATE` within a transaction. */
  remove(participant: TransactionParticipant): boolean {
    if (this.#current !== undefined || this.#busy !== undefined) {
      throw stateError('participants are removed between transactions only')
    }
    const at = this.#participants.indexOf(participant)
    if (at >= 0) this.#participants.splice(at, 1)
    return at >= 0
  }

  /** Starts a transaction. `ERR_TRANSACTION_STATE` during another one, `ERR_TRANSACTION_FAILED`. */
  async start(options: ContextStartOptions = {}): Promise<Transaction> {
    const { type, visibilityLevel, client, timeoutMilliseconds } = contextStartOptions.read(options)
    if (type === 'LONG' && timeoutMilliseconds !== undefined) {
      throw invalidArgument('a LONG transaction has no timeoutMilliseconds')
    }
    return this.#alone('start', async () => {
      if (this.#current !== undefined) throw stateError('a transaction runs already')
      const started = await (type === 'LONG'
        ? this.#client.startLong({ client })
        : this.#client.startShort({ client, timeoutMilliseconds }))
      const transaction =
        visibilityLevel === undefined ? started : started.withVisibility(visibilityLevel)
      await this.#startAll(transaction)
      this.#current = transaction
      return transaction
    })
  }

  /** Starts a LONG transaction: it never conflicts, and becomes invalid when aborted. */
  async startLong(options: Omit<ContextStartOptions, 'type'> = {}): Promise<Transaction> {
    return this.start({ ...contextStartOptions.read(options), type: 'LONG' })
  }

  /**
   * Commits. `ERR_TRANSACTION_CONFLICT`, `ERR_TRANSACTION_FAILED`, and the errors of the manager;
   * see the file header.
   */
  async finish(): Promise<void> {
    const transaction = this.#required('finish')
    await this.#alone('finish', async () => {
      try {
        const changes = [...this.#changes()]
        await this.#client.canCommit(transaction, transaction.type === 'LONG' ? [] : changes)
        const isRemote = this.#client.isRemote === true
        for (const participant of this.#participants) {
          await confirm(participant, 'could not persist', () => participant.commitTx(isRemote))
        }
        await this.#client.commit(transaction, isRemote ? {} : this.#commitOptions())
      } catch (error) {
        if (hasCode(error, TransactionErrorCode.outcomeUnknown)) await this.#tellCommitted(error)
        await this.#rollBack(transaction, error)
      }
      await this.#tellCommitted()
    })
  }

  /**
   * Rolls back and ends the transaction. With `cause` it always throws the cause. Without it,
   * `ERR_TRANSACTION_FAILED` is thrown if a participant could not roll back.
   */
  async abort(cause?: unknown): Promise<void> {
    const transaction = this.#required('abort')
    await this.#alone('abort', () => this.#rollBack(transaction, cause))
  }

  /**
   * Gives all participants a new write pointer. `ERR_TRANSACTION_UNSUPPORTED` if a participant does
   * not support checkpoints; the transaction is then unchanged. Other failures abort it.
   */
  async checkpoint(): Promise<Transaction> {
    const transaction = this.#required('checkpoint')
    const refuses = this.#participants.find((participant) => participant.updateTx === undefined)
    if (refuses !== undefined) {
      const message = `${nameOf(refuses)} takes no checkpoints`
      throw new CellarError(TransactionErrorCode.unsupported, message)
    }
    return this.#alone('checkpoint', async () => {
      try {
        const next = await this.#client.checkpoint(transaction)
        this.#current = next
        for (const participant of this.#participants) {
          const update = (): unknown => participant.updateTx?.(next)
          await call(participant, 'could not take the checkpoint', update)
        }
        return next
      } catch (error) {
        await this.#rollBack(this.#current!, error)
        throw error
      }
    })
  }

  /**
   * Waits for the call under way; afterwards only `finish` and `abort` are possible.
   * `runTransaction` calls it when its work is over.
   */
  async seal(): Promise<void> {
    this.#isSealed = true
    await this.#call?.catch(() => undefined)
  }

  /** Runs a call exclusively. */
  async #alone<T>(what: string, work: () => Promise<T>): Promise<T> {
    this.#checkIdle(what)
    this.#busy = what
    this.#call = work()
    try {
      return (await this.#call) as T
    } finally {
      this.#busy = undefined
    }
  }

  #checkIdle(what: string): void {
    if (this.#isSealed && what !== 'finish' && what !== 'abort') {
      throw stateError(`'${what}' when the work of the transaction is over`)
    }
    if (this.#busy === undefined) return
    throw stateError(`'${what}' while '${this.#busy}' of the same context is under way`)
  }

  #required(what: string): Transaction {
    this.#checkIdle(what)
    if (this.#current === undefined) throw stateError('no transaction runs')
    return this.#current
  }

  async #startAll(transaction: Transaction): Promise<void> {
    const started: TransactionParticipant[] = []
    for (const participant of this.#participants) {
      try {
        await call(participant, 'could not start', () => participant.startTx(transaction))
        started.push(participant)
      } catch (error) {
        const errors = [error]
        for (const each of started) await collect(errors, () => each.rollbackTx())
        await collect(errors, () => this.#client.abort(transaction))
        throwFirst(errors)
      }
    }
  }

  async #rollBack(transaction: Transaction, cause: unknown): Promise<void> {
    const errors: unknown[] = []
    for (const participant of this.#participants) {
      const rollback = (): unknown => participant.rollbackTx()
      await collect(errors, () => confirm(participant, 'could not roll back', rollback))
    }
    this.#current = undefined
    const isClean = errors.length === 0
    await collect(errors, () => {
      if (isClean) return this.#client.abort(transaction)
      return this.#client.invalidate(transaction.transactionId)
    })
    throwFirst(cause === undefined ? errors : [cause, ...errors])
  }

  /** Releases the participants after a commit; throws the first of these errors, if any. */
  async #tellCommitted(...errors: unknown[]): Promise<void> {
    this.#current = undefined
    for (const participant of this.#participants) {
      const tell = (): unknown => participant.postTxCommit?.()
      await collect(errors, () => call(participant, 'failed when committed', tell))
    }
    throwFirst(errors)
  }

  *#changes(): Iterable<Uint8Array | string> {
    for (const participant of this.#participants) {
      yield* ask(participant, 'says no changes', () => keysOf(participant.getTxChanges()))
    }
  }

  #commitOptions(): CommitOptions {
    const writes: AtomicMutation[] = []
    let carry: CommitOptions['carry'] | undefined
    for (const participant of this.#participants) {
      const given = ask(participant, 'says no writes', () => {
        return checkArray(participant.commitWrites?.() ?? [], 'the writes of a commit')
      })
      for (const write of given) writes.push(write)
      const own = ask(participant, 'says no carrier', () => {
        const found = participant.commitCarrier?.()
        return found === undefined ? undefined : requireFunction(found, 'the carrier of a commit')
      })
      if (own === undefined) continue
      if (carry !== undefined) throw stateError('two participants want to write the commit')
      carry = own
    }
    return carry === undefined ? { writes } : { writes, carry }
  }
}

/** Calls a participant. `ERR_TRANSACTION_FAILED` if it throws. */
async function call<T>(
  participant: TransactionParticipant,
  failure: string,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw failed(participant, failure, cause)
  }
}

/** As {@link call}, for work that must answer `true`. */
async function confirm(
  participant: TransactionParticipant,
  failure: string,
  work: () => unknown,
): Promise<void> {
  if ((await call(participant, failure, work)) !== true) throw failed(participant, failure)
}

function startNow(participant: TransactionParticipant, transaction: Transaction): unknown {
  try {
    return participant.startTx(transaction)
  } catch (error) {
    throw types.isProxy(error) || !(error instanceof CellarError)
      ? failed(participant, 'could not start', error)
      : error
  }
}

/** The answer of a participant. `ERR_TRANSACTION_FAILED` if the call or its checks throw. */
function ask<T>(participant: TransactionParticipant, what: string, call: () => T): T {
  try {
    return call()
  } catch (cause) {
    throw failed(participant, what, cause)
  }
}

/** Runs work, and adds its error to the others. */
async function collect(errors: unknown[], work: () => unknown): Promise<void> {
  try {
    await work()
  } catch (error) {
    errors.push(error)
  }
}

/** Throws the first error, if there is one, with the later ones attached. */
function throwFirst(errors: readonly unknown[]): void {
  if (errors.length === 0) return
  const [first, ...later] = errors
  if (first instanceof CellarError && later.length > 0) (first.suppressed ??= []).push(...later)
  throw first as Error
}

function failed(participant: TransactionParticipant, what: string, cause?: unknown): CellarError {
  const message = `${nameOf(participant)} ${what}`
  return new CellarError(TransactionErrorCode.failed, message, { cause })
}

/** The name of a participant for messages. Never throws, because a rollback follows. */
function nameOf(participant: TransactionParticipant): string {
  try {
    return `'${participant.name}'`
  } catch {
    return 'a participant without a name'
  }
}
