/**
 * The arguments of transactional reads: checked, copied at the call, and completed with the filter
 * for the versions that a transaction sees.
 */
import {
  invalidArgument,
  checkArray,
  OptionNames,
  readArguments,
  type BytesLike,
  type ColumnName,
  type Get,
  type ReadOptions,
  type RowPrefix,
  type RowSpan,
  type ScanOptions,
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

/** Listed explicitly, so the compiler demands a decision about each new option of reads. */
const readNames = {
  columns: true,
  filter: true,
  cellsPerFamilyMax: true,
  cellsPerFamilyOffset: true,
  cacheBlocks: true,
  loadFamiliesOnDemand: true,
  visibilityLevel: true,
} as const
const getNames = new OptionNames<TransactionalGet>('a transactional get', {
  ...readNames,
  row: true,
  checkExistenceOnly: true,
})
const scanNames = new OptionNames<TransactionalScan & RowSpan>('a transactional scan', {
  ...readNames,
  startRow: true,
  startInclusive: true,
  stopRow: true,
  stopInclusive: true,
  prefix: true,
  reversed: true,
  limit: true,
  batch: true,
  maxResultBytes: true,
  allowPartialResults: true,
  needCursorResult: true,
  caching: true,
  readType: true,
  asyncPrefetch: true,
  signal: true,
})

/** A copy of a get. `ERR_INVALID_ARGUMENT`. */
export function copyGet(get: TransactionalGet): TransactionalGet {
  return readArguments(() => {
    const copy = getNames.copy(get)
    return { ...copy, row: copyRow(copy.row), ...copiedColumns(copy) }
  })
}

/** A copy of a scan. `ERR_INVALID_ARGUMENT`. */
export function copyScan(scan: TransactionalScan): TransactionalScan {
  return readArguments(() => {
    const copy: Record<string, unknown> = { ...scanNames.check(scan as RowSpan) }
    for (const name of ['startRow', 'stopRow', 'prefix']) {
      if (copy[name] !== undefined) copy[name] = copyBytes(copy[name] as BytesLike, name)
    }
    return { ...copy, ...copiedColumns(scan) }
  })
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

function copiedColumns({ columns, visibilityLevel }: Pick<Get, 'columns'> & ReadVisibility): {
  columns?: readonly ColumnName[]
} {
  if (visibilityLevel !== undefined && !visibilityLevels.includes(visibilityLevel)) {
    throw invalidArgument(`visibilityLevel must be one of ${visibilityLevels.join(', ')}`)
  }
  if (columns === undefined) return {}
  const copies = checkArray(columns, 'columns').map((column): ColumnName => {
    if (typeof column === 'string') return column
    const { family, qualifier } = partsOf(column)
    return qualifier === undefined ? { family } : { family, qualifier }
  })
  return { columns: copies }
}
