/** What takes part in transactions (Tephra: TransactionAware). */
import { checkMethods, type AtomicMutation, type Database } from '../../api/index.js'
import type { CommitOptions, StartOptions } from './manager/manager-calls.js'
import type { Transaction } from './transaction.js'

/** A value, at once or later. */
type MaybeLater<T> = T | Promise<T>

/** A participant of transactions; see `TransactionContext` for the order of the calls. */
export interface TransactionParticipant {
  /** For messages. */
  readonly name: string
  /** A transaction begins. */
  startTx(transaction: Transaction): MaybeLater<void>
  /** The transaction has a new write pointer. Absent: checkpoints are refused. */
  updateTx?(transaction: Transaction): MaybeLater<void>
  /** Keys that the transaction changed, for the detection of conflicts. */
  getTxChanges(): Iterable<Uint8Array | string>
  /**
   * Persists what is not yet; false or an error fails the commit. With `isRemote` all must be
   * durable then, because the manager is in another process and takes no writes along.
   */
  commitTx(isRemote?: boolean): MaybeLater<boolean>
  /** Writes that become part of the frame of the commit; asked behind `commitTx`. */
  commitWrites?(): readonly AtomicMutation[]
  /**
   * Writes the frame of the commit together with writes of its own. At most one participant of a
   * transaction may have it; undefined if it has nothing to add this time.
   */
  commitCarrier?(): CommitOptions['carry'] | undefined
  /**
   * The transaction is committed, or nobody knows whether it is: what was written stays as it is.
   */
  postTxCommit?(): MaybeLater<void>
  /** Undoes all that the transaction wrote; false or an error makes the transaction invalid. */
  rollbackTx(): MaybeLater<boolean>
}

/** Checks a participant that a caller gives. `ERR_INVALID_ARGUMENT`. */
export function checkParticipant<P extends TransactionParticipant>(participant: P): P {
  const methods = ['startTx', 'getTxChanges', 'commitTx', 'rollbackTx'] as const
  return checkMethods(participant, 'a participant', methods)
}

/** Checks the manager that a caller gives. `ERR_INVALID_ARGUMENT`. */
export function checkManager(client: Transactions): Transactions {
  return checkMethods(client, 'the manager of transactions', ['startShort', 'commit'])
}

/** The calls of a transaction manager that clients need. */
export interface Transactions {
  /** Whether the manager is in another process, so that commits take no writes along. */
  readonly isRemote?: boolean | undefined
  /** Where `TransactionScope.table` finds tables; absent if the manager is in another process. */
  readonly database?: Database | undefined
  /** As `TransactionManager.startShort`. */
  startShort(options?: StartOptions): Promise<Transaction>
  /** As `TransactionManager.startLong`. */
  startLong(options?: Pick<StartOptions, 'client'>): Promise<Transaction>
  /** As `TransactionManager.checkLifetime`. */
  checkLifetime?(pointer: bigint): void
  /** As `TransactionManager.canCommit`. */
  canCommit(transaction: Transaction, changes: Iterable<Uint8Array | string>): Promise<void>
  /** As `TransactionManager.commit`. */
  commit(transaction: Transaction, options?: CommitOptions): Promise<void>
  /** As `TransactionManager.abort`. */
  abort(transaction: Transaction): Promise<void>
  /** As `TransactionManager.invalidate`. */
  invalidate(transactionId: bigint): Promise<boolean>
  /** As `TransactionManager.checkpoint`. */
  checkpoint(transaction: Transaction): Promise<Transaction>
}
