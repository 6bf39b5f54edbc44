/** The state of a transaction manager at one moment, for the prunings and for inspection. */
import type { ChangeSets } from './change-sets.js'
import type { PointerList } from './pointer-list.js'
import type { RunningSet } from './running-set.js'
import type { TransactionSnapshot } from './transaction-snapshot.js'
import type { TransactionType } from './transaction.js'

/** A running transaction in a snapshot. */
export interface SnapshotTransaction {
  readonly id: bigint
  readonly type: TransactionType
  /** Milliseconds since the epoch. */
  readonly expiration: number
  readonly visibilityUpperBound: bigint
  readonly checkpoints: readonly bigint[]
  readonly client: string | undefined
}

/** State of a manager. The lists are shared with the manager and never change. */
export interface ManagerSnapshot extends TransactionSnapshot {
  /** Milliseconds since the epoch. */
  readonly time: number
  readonly writePointer: bigint
  readonly invalid: BigInt64Array
  readonly inProgress: PointerList
  readonly running: readonly SnapshotTransaction[]
  /** Change sets of `canCommit`, keys as latin1 text, by transaction. */
  readonly committing: ReadonlyMap<bigint, readonly string[]>
  /** Change sets of commits, keys as latin1 text, by commit pointer. */
  readonly committed: ReadonlyMap<bigint, readonly string[]>
}

/** Numbers of a manager. */
export interface ManagerStatistics {
  readonly inProgress: number
  readonly invalid: number
  readonly committing: number
  readonly committedSets: number
  /** Counters since the open. */
  readonly started: number
  readonly committed: number
  readonly aborted: number
  readonly invalidated: number
  readonly conflicts: number
}

/** Takes the snapshot. */
export function takeSnapshot(state: {
  readonly time: number
  readonly readPointer: bigint
  readonly writePointer: bigint
  readonly invalid: PointerList
  readonly running: RunningSet
  readonly changes: ChangeSets
}): ManagerSnapshot {
  const { time, readPointer, writePointer, invalid } = state
  const running = [...state.running.values()]
  const committing = new Map<bigint, readonly string[]>()
  for (const { id, committing: changes } of running) {
    if (changes !== undefined) committing.set(id, changes)
  }
  return {
    time,
    readPointer,
    writePointer,
    invalid: invalid.toArray(),
    inProgress: state.running.pointers,
    running: running.map(({ id, type, expiration, visibilityUpperBound, checkpoints, client }) => {
      return { id, type, expiration, visibilityUpperBound, checkpoints, client }
    }),
    committing,
    committed: state.changes.byPointer(),
  }
}
