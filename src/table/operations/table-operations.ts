/**
 * The operations of a table, as `calls/` and `EmbeddedTable` use them.
 *
 * Two classes implement them: `PlainOperations`, and `ObservedOperations`, which calls the table's
 * observers around the plain ones. Both validate, read, check, and write into log buffer and
 * memtables in one turn of the event loop.
 *
 * If the mode forbids an operation to block and a block is not in memory, the operation throws
 * `BlockMissing`. Nothing was changed then. The caller loads the block and calls the same method
 * again.
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
import type { Result } from '../../api/results/result.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { Durability } from '../../storage/wal/log.js'
import type { ScanSession } from '../reads/scan-session.js'
import type { ListOutcome } from './list-outcome.js'

/** The result of a mutation, and the durability that it asked for. */
export interface Applied<T> {
  readonly value: T
  readonly durability: Durability
}

/** Reads may wait for the disk: the mode of synchronous calls. */
export const blocking: ReadMode = { mayBlock: true, cacheBlocks: true }
/** Reads must not wait for the disk: the mode of calls with promises. */
export const nonBlocking: ReadMode = { mayBlock: false, cacheBlocks: true }

/** The operations of one table; see the file header. */
export interface TableOperations {
  /**
   * The arguments of a call that may be repeated. Observed operations return a copy, because
   * observers may keep their arguments.
   */
  own<T>(operation: T): T
  /** These operations for another call, which may run at the same time. */
  forNextCall(): TableOperations
  get(get: Get, mode: ReadMode): Result
  exists(get: Get, mode: ReadMode): boolean
  openScan(scan: Scan, mayBlock: boolean): ScanSession
  put(put: Put, mode: ReadMode): Durability
  /**
   * Applies the next puts of a list from `puts[from]` on, and reports to `outcome`. Returns the
   * index after the last put taken; takes at least one.
   */
  putGroup(puts: readonly Put[], from: number, mode: ReadMode, outcome: ListOutcome): number
  delete(deletion: Delete, mode: ReadMode): Durability
  increment(increment: Increment, mode: ReadMode): Applied<Result>
  append(append: Append, mode: ReadMode): Applied<Result>
  /** Applies all mutations of a row under one sequence. */
  mutateRow(mutations: RowMutations, mode: ReadMode): Applied<Result>
  /**
   * Applies mutations of several rows under one sequence; the value is false if a check does not
   * hold.
   */
  mutateRows(request: MultiRowMutations, mode: ReadMode): Applied<boolean>
  /** Evaluates a condition, and applies the action if it holds. */
  checkAndMutate(check: Check, action: CheckAction, mode: ReadMode): Applied<CheckAndMutateResult>
}
