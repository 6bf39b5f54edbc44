/**
 * The transaction manager (Tephra: TransactionManager): starts transactions with snapshot
 * isolation, detects conflicts, and tracks invalid pointers.
 *
 * Every change of state is a mutation of one table (state-rows.ts), so state and data share the
 * log. A commit is one frame of that log: the writes of the client, the removal of the running
 * transaction, the change set and the pointers; see {@link TransactionManager.commit}.
 *
 * Order, which recovery relies on: the record of a start or a checkpoint precedes its first write
 * in the log, so no write is found without its record. The memory of the manager changes in one
 * event-loop turn, without an `await` between check and change. Only a commit waits for its frame.
 * During the wait the transaction is still in progress, its keys are claimed, and no other call can
 * end it.
 *
 * A crash can lose the records of aborts, of invalidations and of `canCommit`. The transaction is
 * then found running, and its timeout makes it invalid.
 *
 * Failure behaviour: if state cannot be written, all further calls fail with
 * `ERR_TRANSACTIONS_UNAVAILABLE`; the next open recovers the state that reached the log.
 */
import { CellarError, invalidArgument } from '../../../api/index.js'
import type { AtomicMutation, Database } from '../../../api/index.js'
import { checkPointer } from '../checks.js'
import { conflictError, type ChangeSet } from './change-sets.js'
import { notInProgress, TransactionErrorCode } from '../errors.js'
import {
  type ManagerSnapshot,
  type ManagerStatistics,
  changeSetOf,
  commitOptions,
  longStartOptions,
  startOptions,
  type CommitOptions,
  type PrunedPointers,
  type TransactionState,
  type StartOptions,
} from './manager-calls.js'
import {
  checkMilliseconds,
  managerOptions,
  type ManagerSettings,
  type TransactionManagerOptions,
} from '../options.js'
import { ManagerState } from './manager-state.js'
import { PointerList } from './pointer-list.js'
import { StateLog } from './state-log.js'
import type { StoredTransaction } from './state-rows.js'
import {
  checkTransaction,
  idsPerMillisecond,
  startOf,
  Transaction,
  type TransactionType,
} from '../transaction.js'

/** See the file header. */
export class TransactionManager {
  /** The database of the state table, and of the transactional tables. */
  readonly database: Database
  readonly #settings: ManagerSettings
  readonly #log: StateLog
  readonly #state: ManagerState
  readonly #counts = { started: 0, committed: 0, aborted: 0, invalidated: 0, conflicts: 0 }
  #timer: ReturnType<typeof setInterval> | undefined

  private constructor(
    database: Database,
    settings: ManagerSettings,
    log: StateLog,
    state: ManagerState,
  ) {
    this.database = database
    this.#settings = settings
    this.#log = log
    this.#state = state
  }

  /**
   * Opens the manager of a database, which must outlive the manager. `ERR_TRANSACTION_STATE` if a
   * manager is open for this state table: two managers would assign the same ids.
   * `ERR_INVALID_ARGUMENT`, `ERR_UNSUPPORTED` without atomic batches over tables.
   */
  static async open(
    database: Database,
    options: TransactionManagerOptions = {},
  ): Promise<TransactionManager> {
    const settings = managerOptions.read(options)
    const log = await StateLog.open(database, settings)
    const state = new ManagerState(log.rows, settings.clock)
    const manager = new TransactionManager(database, settings, log, state)
    try {
      await manager.#recover()
    } catch (error) {
      await log.close()
      throw error
    }
    if (settings.sweepMilliseconds > 0) {
      const sweep = (): void => void manager.cleanUp().catch(() => undefined)
      manager.#timer = setInterval(sweep, settings.sweepMilliseconds)
      manager.#timer.unref()
    }
    return manager
  }

  /** The largest assigned id or checkpoint: no transaction writes with a larger one. */
  get writePointer(): bigint {
    return this.#state.writePointer
  }

  /** The maximum lifetime of a writing transaction, in milliseconds. */
  get lifetimeMilliseconds(): number {
    return this.#settings.lifetimeMilliseconds
  }

  /** Starts a transaction that detects conflicts. `ERR_INVALID_ARGUMENT` for its timeout. */
  async startShort(options: StartOptions = {}): Promise<Transaction> {
    const { timeoutMillisecondsMax: most, timeoutMilliseconds: missing } = this.#settings
    const { timeoutMilliseconds = missing, client } = startOptions.read(options)
    if (timeoutMilliseconds > most) throw invalidArgument(`timeoutMilliseconds is at most ${most}`)
    return this.#start('SHORT', timeoutMilliseconds, client)
  }

  /** Starts a transaction without conflict detection and without rollback. */
  async startLong(options: Pick<StartOptions, 'client'> = {}): Promise<Transaction> {
    const { client } = longStartOptions.read(options)
    return this.#start('LONG', this.#settings.longTimeoutMilliseconds, client)
  }

  /**
   * Checks whether a transaction with these changes could commit now, and keeps the changes for
   * `commit`; a second call replaces the first. Keys are bytes, or latin1 text.
   * `ERR_TRANSACTION_NOT_IN_PROGRESS`, `ERR_TRANSACTION_CONFLICT`, `ERR_TRANSACTION_TOO_LARGE`.
   */
  async canCommit(transaction: Transaction, changes: Iterable<Uint8Array | string>): Promise<void> {
    this.#log.checkOpen()
    const running = this.#state.find(checkTransaction(transaction).transactionId, 'commit')
    const set = changeSetOf(running.id, changes, this.#settings)
    this.#refuseConflict(running, set)
    running.committing = set
    if (set.length > 0) await this.#log.append([this.#log.rows.committing(running.id, set)])
  }

  /**
   * Commits: the changes of `canCommit` are checked again, then one frame is written. Transactions
   * that start afterwards see the writes. Without `canCommit` there are no changes.
   *
   * After `ERR_TRANSACTION_CONFLICT`, and after a refused frame, nothing is applied and the
   * transaction is still running. After `ERR_TRANSACTION_OUTCOME_UNKNOWN` the next open determines
   * whether the frame reached the log. `ERR_TRANSACTION_NOT_IN_PROGRESS`.
   */
  async commit(transaction: Transaction, options: CommitOptions = {}): Promise<void> {
    const { writes, carry } = commitOptions.read(options)
    this.#log.checkOpen()
    const running = this.#state.find(checkTransaction(transaction).transactionId, 'commit')
    const changes = running.committing ?? []
    try {
      this.#refuseConflict(running, changes)
    } catch (error) {
      running.committing = undefined
      throw error
    }
    const { id, client } = running
    const mutations: AtomicMutation[] = [...writes, this.#log.rows.ended(id)]
    const storedPointer = this.#state.writePointer + 1n
    if (changes.length > 0) {
      mutations.push(this.#log.rows.committed({ pointer: storedPointer, id, changes, client }))
    }
    mutations.push(this.#state.pointersRow(running.checkpoints.at(-1) ?? id))
    this.#state.finishing.add(id)
    this.#state.changes.claim(changes, client)
    try {
      await this.#log.commit(mutations, carry)
    } catch (cause) {
      if (!this.#log.hasFailed) throw cause
      const message = `the commit of transaction ${id} may be in the log or not`
      throw new CellarError(TransactionErrorCode.outcomeUnknown, message, { cause })
    } finally {
      this.#state.finishing.delete(id)
      this.#state.changes.release(changes)
    }
    this.#state.end(running)
    // Transactions that started during the write of the frame did not see it, so the commit pointer
    // must be larger than their ids.
    const pointer = this.#state.writePointer + 1n
    const remembered = this.#settings.clientRetention === 'COMMITTED' ? client : undefined
    this.#state.changes.add({ pointer, storedPointer, id, changes, client: remembered })
    this.#log.later(this.#state.forgetChanges())
    this.#counts.committed++
  }

  /**
   * Ends a transaction whose writes the client has undone. A LONG one becomes invalid. The id of a
   * transaction that timed out is removed from the invalid list. No effect on an unknown or
   * finished one.
   */
  async abort(transaction: Transaction): Promise<void> {
    this.#log.checkOpen()
    const { transactionId: id } = checkTransaction(transaction)
    const running = this.#state.running.get(id)
    if (this.#state.finishing.has(id)) return
    if (running !== undefined ? running.type === 'LONG' : transaction.type === 'LONG') {
      await this.invalidate(id)
      return
    }
    if (running !== undefined) {
      this.#state.end(running)
      this.#counts.aborted++
      await this.#log.append([this.#log.rows.ended(id), this.#state.pointersRow()])
      return
    }
    if (!this.#state.invalid.has(id)) return
    const pointers = [id, ...transaction.checkpointWritePointers]
    for (const pointer of pointers) this.#state.invalid = this.#state.invalid.without(pointer)
    await this.#log.append(pointers.map((pointer) => this.#log.rows.valid(pointer)))
  }

  /**
   * Makes a transaction invalid: its writes may still be stored. False if it was not in progress.
   */
  async invalidate(transactionId: bigint): Promise<boolean> {
    this.#log.checkOpen()
    const running = this.#state.running.get(checkPointer(transactionId, 'the id'))
    if (running === undefined || this.#state.finishing.has(transactionId)) return false
    this.#counts.invalidated++
    await this.#log.append(this.#state.makeInvalid(running))
    return true
  }

  /**
   * Assigns a new write pointer to the transaction; its reads are unchanged.
   * `ERR_TRANSACTION_NOT_IN_PROGRESS`.
   */
  async checkpoint(transaction: Transaction): Promise<Transaction> {
    this.#log.checkOpen()
    const running = this.#state.find(
      checkTransaction(transaction).transactionId,
      'make a checkpoint of',
    )
    const pointer = this.#state.nextId()
    await this.#log.append(this.#state.checkpoint(running, pointer))
    return transaction.withCheckpoint(pointer)
  }

  /** Removes pointers from the invalid list; true if at least one of them was on the list. */
  async truncateInvalid(pointers: Iterable<bigint>): Promise<boolean> {
    this.#log.checkOpen()
    const given = PointerList.of(pointers)
    return (await this.#truncate((pointer) => given.has(pointer))).length > 0
  }

  /**
   * Removes transactions that started before a time (milliseconds) from the invalid list.
   * `ERR_INVALID_TRUNCATE_TIME` if a running transaction started before that time.
   */
  async truncateInvalidBefore(milliseconds: number): Promise<boolean> {
    this.#log.checkOpen()
    checkMilliseconds(milliseconds, 'the time', 0)
    const bound = BigInt(milliseconds) * idsPerMillisecond
    const first = this.#state.inProgress.first
    if (first !== undefined && first < bound) {
      const message = `transaction ${first} runs since before ${milliseconds}`
      throw new CellarError(TransactionErrorCode.invalidTruncateTime, message)
    }
    return (await this.#truncate((pointer) => pointer < bound)).length > 0
  }

  /** Removes all pointers up to a bound, inclusive, from the invalid list. */
  async pruneInvalid(bound: bigint): Promise<PrunedPointers> {
    this.#log.checkOpen()
    checkPointer(bound, 'the bound')
    const gone = await this.#truncate((pointer) => pointer <= bound)
    return { pruned: gone.length, largest: gone.at(-1) }
  }

  /** Makes expired transactions invalid, including LONG ones; returns their number. */
  async cleanUp(): Promise<number> {
    this.#log.checkOpen()
    const expired = this.#state.expired()
    this.#counts.invalidated += expired.length
    const mutations = expired.flatMap((running) => this.#state.makeInvalid(running))
    if (expired.length > 0) await this.#log.append(mutations)
    return expired.length
  }

  /** Removes all transactions; ids still ascend. For tests and for an empty store. */
  async resetState(): Promise<void> {
    this.#log.checkOpen()
    this.#state.reset()
    await this.#log.clear(this.#state.pointersRow())
  }

  /** The current state, for pruning and inspection. */
  snapshot(): ManagerSnapshot {
    return this.#state.snapshot()
  }

  /**
   * Resolves when all earlier changes of state are as durable as commits. A client in another
   * process outlives this process, so its transaction must be durable before the answer.
   */
  async persist(): Promise<void> {
    this.#log.checkOpen()
    await this.#log.commit([this.#state.pointersRow()])
  }

  /** Whether calls can succeed: the manager is not closed, and no write of state has failed. */
  get isOpen(): boolean {
    return this.#log.isOpen
  }

  /** The state of a transaction. `ERR_TRANSACTIONS_UNAVAILABLE`. */
  stateOf(transactionId: bigint): TransactionState {
    this.#log.checkOpen()
    return this.#state.stateOf(checkPointer(transactionId, 'the id'))
  }

  /** Whether a transaction is in progress. */
  isInProgress(transactionId: bigint): boolean {
    return this.#state.running.has(checkPointer(transactionId, 'the id'))
  }

  /** Metrics; counters since the open. */
  statistics(): ManagerStatistics {
    const running = [...this.#state.running.values()]
    return {
      inProgress: running.length,
      invalid: this.#state.invalid.size,
      committing: running.filter(({ committing }) => committing !== undefined).length,
      committedSets: this.#state.changes.size,
      ...this.#counts,
    }
  }

  /**
   * `ERR_TRANSACTION_TOO_OLD` for a pointer whose transaction may no longer write,
   * `ERR_TRANSACTION_NOT_IN_PROGRESS` for a pointer that was never assigned.
   */
  checkLifetime(pointer: bigint): void {
    checkPointer(pointer, 'the pointer')
    if (pointer > this.#state.writePointer) throw notInProgress(pointer, 'write with')
    if (this.#settings.clock.now() - startOf(pointer) <= this.#settings.lifetimeMilliseconds) return
    const message = `transaction ${pointer} is older than ${this.#settings.lifetimeMilliseconds} ms`
    throw new CellarError(TransactionErrorCode.tooOld, message)
  }

  /** Ends the sweeps and waits for pending writes. The database stays open. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#log.close()
  }

  async #start(
    type: TransactionType,
    timeoutMilliseconds: number,
    client: string | undefined,
  ): Promise<Transaction> {
    this.#log.checkOpen()
    const { inProgress, firstShort: firstShortInProgress, readPointer, invalid } = this.#state
    const transactionId = this.#state.nextId()
    const reads = { readPointer, inProgress, firstShortInProgress, invalids: invalid }
    const transaction = new Transaction({ ...reads, transactionId, type })
    const started = this.#state.start({
      id: transactionId,
      type,
      expiration: this.#settings.clock.now() + timeoutMilliseconds,
      visibilityUpperBound: transaction.visibilityUpperBound,
      checkpoints: [],
      committing: undefined,
      client: this.#settings.clientRetention === 'OFF' ? undefined : client,
      underWay: [...this.#state.finishing],
    })
    this.#counts.started++
    await this.#log.append(started)
    return transaction
  }

  async #recover(): Promise<void> {
    const stored = await this.#log.read()
    if (stored === undefined) {
      this.#state.reset()
      await this.#log.append([this.#state.pointersRow()])
      return
    }
    this.#state.restore(stored)
    this.#log.later(this.#state.forgetChanges())
  }

  /** Removes pointers from the invalid list; returns the removed ones. */
  async #truncate(goes: (pointer: bigint) => boolean): Promise<readonly bigint[]> {
    const gone = this.#state.truncate(goes)
    await this.#log.appendMany(gone.map((pointer) => this.#log.rows.valid(pointer)))
    return gone
  }

  #refuseConflict({ id }: StoredTransaction, changes: ChangeSet): void {
    const conflict = this.#state.changes.conflict(id, changes)
    if (conflict === undefined) return
    this.#counts.conflicts++
    throw conflictError(id, conflict)
  }
}
