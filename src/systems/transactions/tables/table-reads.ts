/**
 * The arguments of transactional reads: checked, copied at the call, and completed with the filter
 * for the versions that a transaction sees.
 */
import {
  checkArray,
  type ColumnName,
  type Get,
  type ReadOptions,
  type RowPrefix,
  type RowSpan,
  type ScanOptions,
  type Option,
  checked,
  type Filter,
  choice,
  declareOptions,
  required,
} from '../../../api/index.js'
import { copyBytes, copyRow, partsOf } from './table-writes.js'
import { visibilityLevels, type Transaction, type VisibilityLevel } from '../transaction.js'
import { TransactionVisibilityFilter } from './visibility-filter.js'

/** Options of reads that a transaction sets itself. */
type Chosen = 'versions' | 'timeRange' | 'timestamp' | 'familyTimeRanges' | 'isolation' | 'snapshot'

/** Visibility of own writes in a read. */
interface ReadVisibility {
  /** Default: the level of the transaction, which is 'SNAPSHOT' unless set at the start. */
  readonly visibilityLevel?: VisibilityLevel | undefined
}

/** Reads within a transaction, which sets versions and times itself. */
export type TransactionalGet = Omit<Get, Chosen> & ReadVisibility
/** As {@link TransactionalGet}. */
export type TransactionalScan = Omit<ScanOptions, Chosen | 'raw'> &
  ReadVisibility &
  (RowSpan | RowPrefix)

/** An option that the table itself checks. */
function passed<T>(): Option<T, T | undefined> {
  return checked((given: T) => given)
}

// Each new option of reads needs a decision here: the compiler demands all of their names.
const readDeclarations = {
  columns: checked(copyColumns),
  filter: passed<Filter>(),
  cellsPerFamilyMax: passed<number>(),
  cellsPerFamilyOffset: passed<number>(),
  cacheBlocks: passed<boolean>(),
  loadFamiliesOnDemand: passed<boolean>(),
  visibilityLevel: choice(visibilityLevels, undefined),
}
const getOptions = declareOptions('a transactional get', {
  ...readDeclarations,
  row: required(checked(copyRow)),
  checkExistenceOnly: passed<boolean>(),
} satisfies Record<keyof TransactionalGet, unknown>)
const scanOptions = declareOptions('a transactional scan', {
  ...readDeclarations,
  startRow: checked(copyBytes),
  startInclusive: passed<boolean>(),
  stopRow: checked(copyBytes),
  stopInclusive: passed<boolean>(),
  prefix: checked(copyBytes),
  reversed: passed<boolean>(),
  limit: passed<number>(),
  batch: passed<number>(),
  maxResultBytes: passed<number>(),
  allowPartialResults: passed<boolean>(),
  needCursorResult: passed<boolean>(),
  caching: passed<number>(),
  readType: passed<ScanOptions['readType']>(),
  asyncPrefetch: passed<boolean>(),
  signal: passed<AbortSignal>(),
} satisfies Record<keyof (TransactionalScan & RowSpan) | keyof RowPrefix, unknown>)

/** A copy of a get. `ERR_INVALID_ARGUMENT`. */
export function copyGet(get: TransactionalGet): TransactionalGet {
  return getOptions.read(get)
}

/** A copy of a scan. `ERR_INVALID_ARGUMENT`. */
export function copyScan(scan: TransactionalScan): TransactionalScan {
  return scanOptions.read(scan) as TransactionalScan
}

/** Versions, times, columns and filter of a read, which replace its own. */
export function readingOf(
  {
    columns,
    filter,
    visibilityLevel,
  }: Pick<TransactionalGet, 'columns' | 'filter'> & ReadVisibility,
  transaction: Transaction,
  ttlMilliseconds: Readonly<Record<string, number>>,
): ReadOptions {
  const level = visibilityLevel ?? transaction.visibilityLevel
  const reader =
    level === transaction.visibilityLevel ? transaction : transaction.withVisibility(level)
  const { readPointer, writePointer } = transaction
  const newest = writePointer > readPointer ? writePointer : readPointer
  const { wanted, deletionsOnly } = withDeletions(columns)
  return {
    ...(wanted === undefined ? {} : { columns: wanted }),
    versions: 'all',
    timeRange: [0n, newest + 1n],
    filter: new TransactionVisibilityFilter(reader, { ttlMilliseconds, deletionsOnly, filter }),
  }
}

/**
 * The columns of a read, with the empty column of each family that is narrowed to columns: it holds
 * the deletions of the family.
 */
function withDeletions(columns: readonly ColumnName[] | undefined): {
  readonly wanted: readonly ColumnName[] | undefined
  readonly deletionsOnly: ReadonlySet<string> | undefined
} {
  if (columns === undefined || columns.length === 0) {
    return { wanted: undefined, deletionsOnly: undefined }
  }
  // As in the table, a later mention of a family widens the list, and a later column narrows it.
  const narrowed = new Map<string, boolean>()
  for (const column of columns) {
    const { family, qualifier } = partsOf(column)
    if (qualifier === undefined) narrowed.delete(family)
    else narrowed.set(family, narrowed.get(family) === true || qualifier.length === 0)
  }
  const deletionsOnly = new Set<string>()
  const added: ColumnName[] = []
  for (const [family, hasEmptyColumn] of narrowed) {
    if (hasEmptyColumn) continue
    deletionsOnly.add(family)
    added.push({ family, qualifier: '' })
  }
  return { wanted: [...columns, ...added], deletionsOnly }
}

function copyColumns(columns: readonly ColumnName[]): readonly ColumnName[] {
  return checkArray(columns, 'columns').map((column): ColumnName => {
    if (typeof column === 'string') return column
    const { family, qualifier } = partsOf(column)
    return qualifier === undefined ? { family } : { family, qualifier }
  })
}
