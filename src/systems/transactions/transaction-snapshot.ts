/**
 * What the prunings see of the transaction system: a snapshot of its state, and the bound up to
 * which invalid transactions may be forgotten once their data is rewritten.
 *
 * Write pointers are about 1.8e18, beyond exact doubles: bigints here, pairs of 32-bit halves in
 * the jobs.
 */
import { idsPerMillisecond } from './transaction.js'

/** The state of the transaction system at one moment (Tephra: TransactionSnapshot). */
export interface TransactionSnapshot {
  /** No pointer above it is visible to new transactions. */
  readonly readPointer: bigint
  /**
   * Transactions that may have left data behind that nobody undid; in any order. An ascending
   * `BigInt64Array` or `BigUint64Array` is taken fastest.
   */
  readonly invalid: Iterable<bigint>
  /** Transactions that run, with their checkpoints; in any order. */
  readonly inProgress: Iterable<bigint>
}

/** A snapshot that also says what all transactions agree on. */
export interface VisibilitySnapshot extends TransactionSnapshot {
  /**
   * Every pointer up to it is final for all running transactions and all to come: visible to each
   * of them, or invalid. A running transaction goes on reading the state of its start, so this is
   * the smallest bound that was recorded at the start of one; without any, the read pointer.
   */
  readonly visibilityUpperBound: bigint
}

/**
 * The largest pointer such that no data of an invalid transaction up to it is left in a store that
 * was rewritten with this snapshot: below every running transaction, and no higher than the newest
 * invalid one (Tephra: TxUtils.getPruneUpperBound).
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
 * The largest pointer whose transaction can have written nothing since `milliseconds`, because
 * writes of older transactions than `lifetimeMilliseconds` are refused.
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
