/**
 * Returns of each column the newest version that a transaction sees (Tephra:
 * TransactionVisibilityFilter). The timestamps of the cells are write pointers; the table must keep
 * all versions. An empty value is the deletion of its column. An empty value in the empty column is
 * the deletion of its family: of all its cells with smaller pointers. A read that names columns
 * must therefore also read the empty column of their families (`deletionsOnly`).
 *
 * A filter of the user sees visible cells only; the more restrictive of both decisions counts.
 */
import {
  checkObject,
  FilterCode,
  type CellView,
  type Filter,
  type RowCells,
  declareOptions,
  checked,
  implementation,
  type OptionsOf,
} from '../../../api/index.js'
import { checkTransaction, idsPerMillisecond, type Transaction } from '../transaction.js'

/** Smaller timestamps are plain milliseconds, from before a table became transactional. */
const plainTimestampMax = 10_000_000_000_000n

const visibilityOptions = declareOptions('a visibility filter', {
  /** Lifetime of cells in milliseconds, by family; absent or 0 = forever. */
  ttlMilliseconds: checked(checkObject<Readonly<Record<string, number>>>, {}),
  /**
   * Families whose empty column is read for deletions only: a value in it is hidden. Default: none.
   */
  deletionsOnly: implementation<ReadonlySet<string>>(['has']),
  /** Filters the visible cells. Default: all pass. */
  filter: implementation<Filter>(['filterCell', 'filterAllRemaining']),
})

/** Options of {@link TransactionVisibilityFilter}. */
export interface VisibilityOptions extends OptionsOf<typeof visibilityOptions> {}

/** The write pointer of a transactional cell; for a plain cell, the pointer of its time. */
export function pointerOfTimestamp(timestamp: bigint): bigint {
  return timestamp < plainTimestampMax ? timestamp * idsPerMillisecond : timestamp
}

/** See the file header. */
export class TransactionVisibilityFilter implements Filter {
  readonly #transaction: Transaction
  readonly #filter: Filter | undefined
  readonly #ttl: Readonly<Record<string, number>>
  readonly #deletionsOnly: ReadonlySet<string> | undefined
  #family = ''
  #oldest = 0n
  #familyDelete = -1n
  /**
   * Whether the value of the empty column is found; older versions may be deletions of the family.
   */
  #emptyColumnDone = false

  /** Shows the data visible to `transaction`. `ERR_INVALID_ARGUMENT` for the options. */
  constructor(transaction: Transaction, options: VisibilityOptions = {}) {
    const { filter, ttlMilliseconds, deletionsOnly } = visibilityOptions.read(options)
    this.#transaction = checkTransaction(transaction)
    this.#filter = filter
    this.#ttl = ttlMilliseconds
    this.#deletionsOnly = deletionsOnly
  }

  get hasFilterRow(): boolean {
    return this.#filter?.hasFilterRow ?? false
  }

  reset(): void {
    this.#family = ''
    this.#familyDelete = -1n
    this.#filter?.reset()
  }

  filterAllRemaining(): boolean {
    return this.#filter?.filterAllRemaining() ?? false
  }

  filterRowKey(row: Buffer): boolean {
    return this.#filter?.filterRowKey(row) ?? false
  }

  filterCell(cell: CellView): FilterCode {
    if (cell.family !== this.#family) this.#startFamily(cell.family)
    const transaction = this.#transaction
    const timestamp = cell.timestampExact
    if (pointerOfTimestamp(timestamp) < this.#oldest) return FilterCode.nextColumn
    if (!transaction.isVisible(timestamp)) return FilterCode.skip
    const isEmptyColumn = cell.qualifierStart === cell.qualifierEnd
    if (transaction.visibilityLevel === 'SNAPSHOT_ALL' && transaction.isOwn(timestamp)) {
      if (isEmptyColumn && this.#isHidden()) return FilterCode.skip
      return this.#filter?.filterCell(cell) ?? FilterCode.include
    }
    const isDeletion = cell.contentBytes === 0
    if (isEmptyColumn) return this.#emptyColumn(cell, timestamp, isDeletion)
    if (isDeletion || timestamp < this.#familyDelete) return FilterCode.nextColumn
    return this.#narrow(this.#filter?.filterCell(cell))
  }

  transformCell(cell: CellView): Buffer | undefined {
    return this.#filter?.transformCell?.(cell)
  }

  filterRowCells(cells: RowCells): void {
    this.#filter?.filterRowCells?.(cells)
  }

  filterRow(): boolean {
    return this.#filter?.filterRow() ?? false
  }

  setReversed(reversed: boolean): void {
    this.#filter?.setReversed?.(reversed)
  }

  readsValue(cell: CellView): boolean {
    return this.#filter?.readsValue?.(cell) ?? this.#filter !== undefined
  }

  /** Shows the newest value; reads older versions up to a deletion of the family. */
  #emptyColumn(cell: CellView, timestamp: bigint, isDeletion: boolean): FilterCode {
    if (isDeletion) {
      this.#familyDelete = timestamp
      return FilterCode.nextColumn
    }
    if (this.#emptyColumnDone || this.#isHidden()) return FilterCode.skip
    this.#emptyColumnDone = true
    const answer = this.#filter?.filterCell(cell) ?? FilterCode.include
    if (answer === FilterCode.include || answer === FilterCode.includeAndNextColumn) {
      return FilterCode.include
    }
    return answer === FilterCode.nextRow || answer === FilterCode.includeAndNextRow
      ? answer
      : FilterCode.skip
  }

  #isHidden(): boolean {
    return this.#deletionsOnly?.has(this.#family) === true
  }

  #startFamily(family: string): void {
    this.#family = family
    this.#familyDelete = -1n
    this.#emptyColumnDone = false
    const ttl = this.#ttl[family] ?? 0
    const { transactionId } = this.#transaction
    this.#oldest = ttl > 0 ? transactionId - BigInt(ttl) * idsPerMillisecond : 0n
  }

  /** Never a second version of a column, for any decision of the user's filter. */
  #narrow(answer: FilterCode | undefined): FilterCode {
    if (answer === undefined || answer === FilterCode.include) {
      return FilterCode.includeAndNextColumn
    }
    if (answer === FilterCode.skip || answer === FilterCode.seekUsingHint) {
      return FilterCode.nextColumn
    }
    return answer
  }
}
