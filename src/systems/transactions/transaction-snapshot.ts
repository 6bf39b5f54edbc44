/**
 * The transaction state that pruning needs: a snapshot, and the bound up to which invalid
 * transactions may be forgotten after their data is rewritten.
 *
 * Write pointers are about 1.8e18, above the range of exact doubles: bigints here, pairs of 32-bit
 * halves in the jobs.
 */
import { idsPerMillisecond } from './transaction.js'

/** The state of the transaction system at one time (Tephra: TransactionSnapshot). */
export interface TransactionSnapshot {
  /** New transactions see no pointer above this one. */
  readonly readPointer: bigint
  /**
   * Transactions whose data may still be stored without a rollback; in any order. An ascending
   * `BigInt64Array` or `BigUint64Array` is the fastest form.
   */
  readonly invalid: Iterable<bigint>
  /** Running transactions with their checkpoints; in any order. */
  readonly inProgress: Iterable<bigint>
}

/** A snapshot with the bound below which all transactions see the same data. */
export interface VisibilitySnapshot extends TransactionSnapshot {
  /**
   * When it was taken, in milliseconds since the epoch; absent: just now. A transaction that it
   * lacks started later, so its TTL reaches back from this time at most.
   */
  readonly time?: number | undefined
  /**
   * Every pointer up to the bound is final for all running and future transactions: visible to each
   * of them, or invalid. A running transaction reads the state of its start, so the bound is the
   * smallest one recorded at the start of a running transaction; without any, the read pointer.
   */
  readonly visibilityUpperBound: bigint
}

/**
 * The largest prune bound: after a rewrite with this snapshot, a store has no data of invalid
 * transactions up to the bound. It is below every running transaction, and no higher than the
 * newest invalid one (Tephra: TxUtils.getPruneUpperBound).
 */
export function pruneUpperBound(snapshot: TransactionSnapshot): bigint {
  const invalidMax = extreme(snapshot.invalid, (a, b) => a > b)
  const runningMin = extreme(snapshot.inProgress, (a, b) => a < b)
  if (invalidMax === undefined && runningMin === undefined) return snapshot.readPointer - 1n
  if (runningMin === undefined) return invalidMax ?? -1n
  if (invalidMax === undefined || runningMin - 1n < invalidMax) return runningMin - 1n
  return invalidMax
}

/**
 * The largest pointer whose transaction cannot have written since `milliseconds`, because writes of
 * transactions older than `lifetimeMilliseconds` are refused.
 */
export function inactiveBound(milliseconds: number, lifetimeMilliseconds: number): bigint {
  return BigInt(milliseconds - lifetimeMilliseconds) * idsPerMillisecond - 1n
}

function extreme(
  values: Iterable<bigint>,
  wins: (a: bigint, b: bigint) => boolean,
): bigint | undefined {
  let found: bigint | undefined = undefined
  for (const value of values) if (found === undefined || wins(value, found)) found = value
  return found
}
