/** The state of a transaction manager at one time, for pruning and inspection. */
import type { PointerList } from './pointer-list.js'
import type { VisibilitySnapshot } from '../transaction-snapshot.js'
import type { TransactionType } from '../transaction.js'

/** A running transaction in a snapshot. */
export interface SnapshotTransaction {
  /** Identity of the transaction: its first write pointer. */
  readonly id: bigint
  /** SHORT or LONG. */
  readonly type: TransactionType
  /** Milliseconds since the epoch. */
  readonly expiration: number
  /**
   * Every pointer up to the bound was final at the start: visible to all later transactions, or
   * invalid.
   */
  readonly visibilityUpperBound: bigint
  /** Later write pointers of the transaction, ascending. */
  readonly checkpoints: readonly bigint[]
  /** Name that the client gave itself at the start; undefined without one. */
  readonly client: string | undefined
}

/** State of a manager. The lists are shared with the manager and never change. */
export interface ManagerSnapshot extends VisibilitySnapshot {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** The largest assigned id or checkpoint. */
  readonly writePointer: bigint
  readonly invalid: BigInt64Array
  readonly inProgress: PointerList
  /** The running transactions, in the order of their ids. */
  readonly running: readonly SnapshotTransaction[]
  /** Change sets of `canCommit`, keys as latin1 text, by transaction. */
  readonly committing: ReadonlyMap<bigint, readonly string[]>
  /** Change sets of commits, keys as latin1 text, by commit pointer. */
  readonly committed: ReadonlyMap<bigint, readonly string[]>
}

/** Metrics of a manager. */
export interface ManagerStatistics {
  /** Number of running transactions. */
  readonly inProgress: number
  /** Pointers on the invalid list. */
  readonly invalid: number
  /** Transactions between `canCommit` and the end. */
  readonly committing: number
  /** Change sets of finished transactions, retained for conflict detection. */
  readonly committedSets: number
  /** Counters since the open. */
  readonly started: number
  /** Committed transactions. */
  readonly committed: number
  /** Transactions aborted by their clients. */
  readonly aborted: number
  /** Transactions that became invalid: by a client, or by their timeout. */
  readonly invalidated: number
  /** Checks of `canCommit` and `commit` that found a conflict. */
  readonly conflicts: number
}
