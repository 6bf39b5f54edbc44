/** The state of a Tephra manager during the read of its files. */
import { idsPerMillisecond, type TransactionType } from '../transaction.js'

/** A running transaction of Tephra. */
export interface TephraRunning {
  readonly type: TransactionType
  /** Milliseconds since the epoch. */
  readonly expiration: number
  readonly visibilityUpperBound: bigint
  readonly checkpoints: readonly bigint[]
}

/** See the file header. Keys of change sets are latin1 text. */
export interface TephraState {
  readPointer: bigint
  writePointer: bigint
  readonly invalid: Set<bigint>
  readonly running: Map<bigint, TephraRunning>
  readonly committing: Map<bigint, readonly string[]>
  /** By commit pointer; several transactions may share one. */
  readonly committed: Map<bigint, readonly string[]>
}

/** A state without transactions. */
export function emptyTephraState(): TephraState {
  return {
    readPointer: 0n,
    writePointer: 0n,
    invalid: new Set(),
    running: new Map(),
    committing: new Map(),
    committed: new Map(),
  }
}

const dayMilliseconds = 86_400_000
/** Tolerance between the expiration of a long transaction and its start plus one day. */
const toleranceMilliseconds = 10_000

/**
 * Type and expiration of a transaction whose record has no type, as in the first formats. It is
 * LONG if the expiration is negative, or about a day after the start, which the id contains.
 */
export function typeOf(id: bigint, expiration: bigint): Pick<TephraRunning, 'type' | 'expiration'> {
  const longExpiration = Number(id / idsPerMillisecond) + dayMilliseconds
  const isLong = expiration < 0n || longExpiration - Number(expiration) < toleranceMilliseconds
  return isLong
    ? { type: 'LONG', expiration: longExpiration }
    : { type: 'SHORT', expiration: Number(expiration) }
}
