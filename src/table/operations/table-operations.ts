/**
 * The operations of a table, as the shells of `calls/` and `EmbeddedTable` see them.
 *
 * Two classes implement them: `PlainOperations`, and `ObservedOperations`, which calls the
 * observers of the table around the plain ones. Both validate, read, check and write into log
 * buffer and memtables in one turn of the event loop.
 *
 * An operation whose mode forbids it to block throws `BlockMissing` when a block is not in memory.
 * Nothing was changed then. The caller loads the block and calls the same method again.
 */
import type {
  Append,
  Check,
  CheckAction,
  CheckAndMutateResult,
  Delete,
  Get,
  Increment,
  MultiRowMutations,
  Put,
  RowMutations,
  Scan,
} from '../../api/index.js'
import type { Result } from '../../api/result.js'
import type { ReadMode } from '../../store/store-reader.js'
import type { Durability } from '../../wal/log.js'
import type { ScanSession } from '../reads/scan-session.js'
import type { ListOutcome } from './list-outcome.js'

/** What the caller of a mutation gets, and how durable the mutation asked to be. */
export interface Applied<T> {
  readonly value: T
  readonly durability: Durability
}

/** Reads may wait for the disk: the mode of the synchronous forms. */
export const blocking: ReadMode = { mayBlock: true, cacheBlocks: true }
/** Reads must not wait for the disk: the mode of the asynchronous forms. */
export const nonBlocking: ReadMode = { mayBlock: false, cacheBlocks: true }

/** The operations of one table; see the file header. */
export interface TableOperations {
  /**
   * The arguments of a call that may be repeated, as these operations need them: observers may keep
   * what they are asked about, so observed operations get a copy.
   */
  own<T>(operation: T): T
  /** These operations for another call, which may run at the same time. */
  forNextCall(): TableOperations
  get(get: Get, mode: ReadMode): Result
  exists(get: Get, mode: ReadMode): boolean
  openScan(scan: Scan, mayBlock: boolean): ScanSession
  put(put: Put, mode: ReadMode): Durability
  /**
   * Applies the next puts of a list, `puts[from]` and so on, and tells `outcome`. Returns the place
   * of the first that was not taken; at least one is.
   */
  putGroup(puts: readonly Put[], from: number, mode: ReadMode, outcome: ListOutcome): number
  delete(deletion: Delete, mode: ReadMode): Durability
  increment(increment: Increment, mode: ReadMode): Applied<Result>
  append(append: Append, mode: ReadMode): Applied<Result>
  /** Applies all mutations of a row under one sequence. */
  mutateRow(mutations: RowMutations, mode: ReadMode): Applied<Result>
  /** Applies mutations of several rows under one sequence; false if a check does not hold. */
  mutateRows(request: MultiRowMutations, mode: ReadMode): Applied<boolean>
  /** Evaluates a condition and applies the action if it holds. */
  checkAndMutate(check: Check, action: CheckAction, mode: ReadMode): Applied<CheckAndMutateResult>
}
