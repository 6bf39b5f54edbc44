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
import type * as api from '../../api/index.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import type { Durability } from '../../storage/wal/log-options.js'
import type { ScanSession } from '../reads/scan-session.js'
import type { RowGetter } from '../reads/table-reads.js'
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

/** The kinds of reads of one row, each with the type of its value. */
interface ReadKinds {
  readonly get: api.Result
  readonly exists: boolean
}

/** The kinds of mutations, each with the types of its argument and its value. */
interface MutationKinds {
  readonly put: readonly [api.Put, api.PutReceipt]
  readonly delete: readonly [api.Delete, undefined]
  readonly increment: readonly [api.Increment, api.Result]
  readonly append: readonly [api.Append, api.Result]
  /** All mutations of a row under one sequence. */
  readonly mutateRow: readonly [api.RowMutations, api.Result]
  /** Mutations of several rows under one sequence; the value is false if a check does not hold. */
  readonly mutateRows: readonly [api.MultiRowMutations, boolean]
  /** An action, applied if its condition holds. */
  readonly checkAndMutate: readonly [api.CheckedAction, api.CheckAndMutateResult]
}

/** The name of a kind of mutations. */
export type MutationKind = keyof MutationKinds

/** The argument of a kind of mutations. */
export type Given<K extends MutationKind> = MutationKinds[K][0]
/** The value of a kind of mutations. */
export type Value<K extends MutationKind> = MutationKinds[K][1]
/** The name of a kind of reads. */
export type ReadKind = keyof ReadKinds
/** The value of a kind of reads. */
export type ReadValue<K extends ReadKind> = ReadKinds[K]

/** The operations of one table; see the file header. */
export interface TableOperations {
  /**
   * The arguments of a call that may be repeated. Observed operations return a copy, because
   * observers may keep their arguments.
   */
  own<T>(operation: T): T
  /** These operations for another call, which may run at the same time. */
  forNextCall(): TableOperations
  get(get: api.Get, mode: ReadMode): api.Result
  /**
   * Gets of rows with the same options, in this turn of the event loop; undefined with observers,
   * which see each get.
   */
  getter(options: api.ReadOptions, mode: ReadMode): RowGetter | undefined
  exists(get: api.Get, mode: ReadMode): boolean
  openScan(scan: api.Scan, mayBlock: boolean): ScanSession
  /**
   * Applies the next puts of a list from `puts[from]` on, and reports to `outcome`. Returns the
   * index after the last put taken; takes at least one.
   */
  putGroup(puts: readonly api.Put[], from: number, mode: ReadMode, outcome: ListOutcome): number
  /** Carries out a mutation. */
  mutate<K extends MutationKind>(kind: K, operation: Given<K>, mode: ReadMode): Applied<Value<K>>
}
