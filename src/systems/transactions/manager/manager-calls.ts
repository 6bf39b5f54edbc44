/** Arguments and results of the transaction manager's calls, and their checks. */
import { visibilityLevels, type TransactionType, type VisibilityLevel } from '../transaction.js'
import {
  CellarError,
  invalidArgument,
  callback,
  checkArray,
  checkBytesLike,
  checked,
  declareOptions,
  integer,
  readArguments,
  text,
  type AtomicMutation,
  type OptionsOf,
  choice,
} from '../../../api/index.js'
import type { ChangeSet } from './change-sets.js'
import { TransactionErrorCode } from '../errors.js'
import type { ManagerSettings } from '../options.js'
import type { VisibilitySnapshot } from '../transaction-snapshot.js'
import type { PointerList } from './pointer-list.js'

/** The declarations of the options of a short start. */
export const startDeclarations = {
  /** Default: the timeout of the manager. */
  timeoutMilliseconds: integer({ min: 1, default: undefined }),
  /** Name of the client, for messages about conflicts. */
  client: text(undefined),
}

/** The declared options of a short start. */
export const startOptions = declareOptions('a start', startDeclarations)

/** Options of one start. */
export interface StartOptions extends OptionsOf<typeof startOptions> {}

/** The declarations of the options of a start in a context. */
export const contextStartDeclarations = {
  ...startDeclarations,
  /**
   * 'SHORT' (default) detects conflicts and times out. 'LONG' never conflicts, takes no
   * `timeoutMilliseconds`, and becomes invalid when aborted.
   */
  type: choice<TransactionType, undefined>(['SHORT', 'LONG'], undefined),
  /** Visibility of own writes; a read may override it. Default 'SNAPSHOT'. */
  visibilityLevel: choice<VisibilityLevel, undefined>(visibilityLevels, undefined),
}

/** The declared options of a start in a context. */
export const contextStartOptions = declareOptions('a start', contextStartDeclarations)

/** Options of `TransactionContext.start`. */
export interface ContextStartOptions extends OptionsOf<typeof contextStartOptions> {}

/** The declared options of a long start. */
export const longStartOptions = declareOptions('a long start', { client: text(undefined) })

/** The declared additional parts of a commit. */
export const commitOptions = declareOptions('a commit', {
  /** Writes of the client that become part of the frame of the commit. */
  writes: checked(checkArray<AtomicMutation>, []),
  /**
   * Applies the mutations of the commit atomically, in one frame with others; resolves when they
   * are durable. Throws `ERR_COMMIT_NOT_CARRIED` with the reason as its `cause` if the database
   * received nothing. After another error,
   * unless the database refused the batch, the manager is unavailable until it is opened again.
   * Default: `Database.atomic`.
   */
  carry: callback<(mutations: readonly AtomicMutation[]) => Promise<void>>(),
})

/** Additional parts of a commit. */
export interface CommitOptions extends OptionsOf<typeof commitOptions> {}

/**
 * The state of a transaction. 'committing': its commit is being written. 'ended': committed,
 * aborted by its client, or removed from the invalid list. 'unknown': the id was never assigned.
 */
export type TransactionState = 'running' | 'committing' | 'invalid' | 'ended' | 'unknown'

/** The result of a pruning of the invalid list. */
export interface PrunedPointers {
  /** Number of pruned pointers. */
  readonly pruned: number
  /** The largest of them; undefined if there is none. */
  readonly largest: bigint | undefined
}

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

/**
 * The change set of a transaction, each key once. `ERR_INVALID_ARGUMENT`,
 * `ERR_TRANSACTION_TOO_LARGE`.
 */
export function changeSetOf(
  id: bigint,
  changes: Iterable<Uint8Array | string>,
  { changesMax, changeBytesMax }: ManagerSettings,
): ChangeSet {
  const set = new Set<string>()
  let bytes = 0
  for (const change of keysOf(changes)) {
    const key = typeof change === 'string' ? change : Buffer.from(change).toString('latin1')
    bytes += key.length
    set.add(key)
  }
  if (set.size <= changesMax && bytes <= changeBytesMax) return [...set]
  const message = `transaction ${id} has ${set.size} changes of ${bytes} bytes`
  throw new CellarError(TransactionErrorCode.tooLarge, message)
}

/** A copy of the keys of a change set. `ERR_INVALID_ARGUMENT`. */
export function keysOf(changes: Iterable<Uint8Array | string>): (Uint8Array | string)[] {
  if (typeof changes === 'string') {
    throw invalidArgument('changes must be keys that can be iterated, got a string')
  }
  const keys = readArguments(() => [...changes])
  for (const key of keys) if (typeof key !== 'string') checkBytesLike(key, 'a change')
  return keys
}
