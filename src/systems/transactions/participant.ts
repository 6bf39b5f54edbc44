/** Participants of transactions (Tephra: TransactionAware), and the interface of the manager. */
import { checkMethods, type AtomicMutation, type Database } from '../../api/index.js'
import type { TransactionManager } from './manager/manager.js'
import type { CommitOptions } from './manager/manager-calls.js'
import { stateError } from './errors.js'
import { checkTransaction, type Transaction } from './transaction.js'

/** A value or a promise of it. */
type MaybeLater<T> = T | Promise<T>

/** A participant of transactions; see `TransactionContext` for the order of the calls. */
export interface TransactionParticipant {
  /** Used in messages. */
  readonly name: string
  /** Called when a transaction begins. */
  startTx(transaction: Transaction): MaybeLater<void>
  /** Called after a checkpoint, with the new write pointer. Absent: checkpoints are refused. */
  updateTx?(transaction: Transaction): MaybeLater<void>
  /** Keys that the transaction changed, for conflict detection. */
  getTxChanges(): Iterable<Uint8Array | string>
  /**
   * Persists the remaining writes; false or an error fails the commit. With `isRemote` all writes
   * must be durable afterwards, because a manager in another process does not write them with the
   * commit.
   */
  commitTx(isRemote?: boolean): MaybeLater<boolean>
  /** Writes that become part of the frame of the commit; called after `commitTx`. */
  commitWrites?(): readonly AtomicMutation[]
  /**
   * Writes the frame of the commit together with its own writes. At most one participant of a
   * transaction may have a carrier; undefined if it has nothing to add this time.
   */
  commitCarrier?(): CommitOptions['carry'] | undefined
  /** Called after the commit, and also when its outcome is unknown: the writes must stay. */
  postTxCommit?(): MaybeLater<void>
  /** Undoes all writes of the transaction; false or an error makes the transaction invalid. */
  rollbackTx(): MaybeLater<boolean>
}

/**
 * The base of a participant without writes of its own: in one transaction at a time, it has nothing
 * to persist or to undo. A subclass that takes checkpoints has an `updateTx` that calls `enter`.
 */
export abstract class SingleParticipant implements TransactionParticipant {
  abstract readonly name: string
  #transaction: Transaction | undefined

  /** The running transaction; undefined without one. */
  protected get transaction(): Transaction | undefined {
    return this.#transaction
  }

  /** Takes over a transaction with a new write pointer. */
  protected enter(transaction: Transaction): void {
    this.#transaction = checkTransaction(transaction)
  }

  /** `ERR_TRANSACTION_STATE` while the participant is in another transaction. */
  startTx(transaction: Transaction): void {
    if (this.#transaction !== undefined) {
      const { transactionId: id } = this.#transaction
      throw stateError(`the ${this.name} is in transaction ${id}: take another one for each`)
    }
    this.enter(transaction)
  }

  getTxChanges(): Iterable<Uint8Array | string> {
    return []
  }

  /** Always true. */
  commitTx(_isRemote?: boolean): MaybeLater<boolean> {
    return true
  }

  postTxCommit(): void {
    this.#transaction = undefined
  }

  /** Always true. */
  rollbackTx(): MaybeLater<boolean> {
    this.#transaction = undefined
    return true
  }
}

/** Checks a participant from a caller. `ERR_INVALID_ARGUMENT`. */
export function checkParticipant<P extends TransactionParticipant>(participant: P): P {
  const methods = ['startTx', 'getTxChanges', 'commitTx', 'rollbackTx'] as const
  return checkMethods(participant, 'a participant', methods)
}

/** Checks a manager from a caller. `ERR_INVALID_ARGUMENT`. */
export function checkManager(client: Transactions): Transactions {
  return checkMethods(client, 'the manager of transactions', ['startShort', 'commit'])
}

/** The calls of a transaction manager that clients need. */
export interface Transactions extends Pick<
  TransactionManager,
  'startShort' | 'startLong' | 'canCommit' | 'commit' | 'abort' | 'invalidate' | 'checkpoint'
> {
  /** Whether the manager is in another process, which does not write with the commit. */
  readonly isRemote?: boolean | undefined
  /** The database of `TransactionScope.table`; absent if the manager is in another process. */
  readonly database?: Database | undefined
  /** As `TransactionManager.checkLifetime`. */
  checkLifetime?(pointer: bigint): void
}
