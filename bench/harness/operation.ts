/** One operation of a workload: filled by a generator, carried out by the runner, then reused. */
import type { RowPut } from './engine.js'

/** What an operation does; see the methods of `Store`. */
export type OperationKind =
  | 'get'
  | 'put'
  | 'putMany'
  | 'delete'
  | 'scan'
  /** A get, then a put; timed as one. */
  | 'readModifyWrite'
  | 'checkAndPut'
  /** A put of `expected`, then a checkAndPut; timed as one. */
  | 'putAndCheck'
  | 'increment'
  | 'append'

const noBytes = Buffer.alloc(0)

/** Longest row that {@link Operation.makeRow} can make. */
const rowBytesMax = 256

/** Fields that a kind does not use are ignored. */
export class Operation {
  kind: OperationKind = 'get'
  /** The row, or the first row of a scan. */
  row: Buffer = noBytes
  /** Columns that a put or the write of a readModifyWrite sets; the column of a checkAndPut. */
  columns: readonly number[] = []
  values: readonly Buffer[] = []
  /** Rows of a putMany. */
  rows: readonly RowPut[] = []
  /** Most rows of a scan, 0 = all. */
  limit = 0
  /** End of a scan, exclusive. */
  stop: Buffer | undefined = undefined
  reversed = false
  /** Only rows whose column 0 has this value. */
  valueEquals: Buffer | undefined = undefined
  /** What a checkAndPut expects in `columns[0]`. */
  expected: Buffer = noBytes
  /** What it writes; undefined: it removes the column. */
  value: Buffer | undefined = undefined
  /** Of an increment. */
  amount = 1

  readonly #scratch = Buffer.alloc(rowBytesMax)
  readonly #views: (Buffer | undefined)[] = []

  /**
   * Makes `row` a Buffer of `length` bytes that belongs to this operation, and returns it to be
   * filled. No memory is allocated the second time.
   */
  makeRow(length: number): Buffer {
    const view = (this.#views[length] ??= this.#scratch.subarray(0, length))
    this.row = view
    return view
  }
}
