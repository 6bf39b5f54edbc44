/**
 * The arguments of transactional reads: checked, copied at the call, and completed with the filter
 * for the versions that a transaction sees.
 */
import {
  checkArray,
  checkChoice,
  checkObject,
  copyArguments,
  invalidArgument,
  type ColumnName,
  type Get,
  type ReadOptions,
  type RowPrefix,
  type RowSpan,
  type ScanOptions,
} from '../../../api/index.js'
import { partsOf } from './table-writes.js'
import { visibilityLevels, type Transaction, type VisibilityLevel } from '../transaction.js'
import { TransactionVisibilityFilter } from './visibility-filter.js'

/** Options of reads that a transaction sets itself. */
const chosen = [
  'versions',
  'timeRange',
  'timestamp',
  'familyTimeRanges',
  'isolation',
  'snapshot',
  'raw',
] as const
type Chosen = (typeof chosen)[number]

/** Visibility of own writes in a read. */
interface ReadVisibility {
  /** Default: the level of the transaction, which is 'SNAPSHOT' unless set at the start. */
  readonly visibilityLevel?: VisibilityLevel | undefined
}

/** Reads within a transaction, which sets versions and times itself. */
export type TransactionalGet = Omit<Get, Chosen> & ReadVisibility
/** As {@link TransactionalGet}. */
export type TransactionalScan = Omit<ScanOptions, Chosen> & ReadVisibility & (RowSpan | RowPrefix)

/** A copy of a read; the table checks other options. `ERR_INVALID_ARGUMENT`. */
export function copyRead<R extends TransactionalGet | TransactionalScan>(read: R): R {
  const { value: copy } = copyArguments(checkObject(read, 'a transactional read'))
  const { columns, visibilityLevel } = copy
  if (columns !== undefined) for (const column of checkArray(columns, 'columns')) partsOf(column)
  if (visibilityLevel !== undefined) {
    checkChoice(visibilityLevel, 'option visibilityLevel', visibilityLevels)
  }
  for (const name of chosen) {
    if (!(name in copy)) continue
    throw invalidArgument(`unknown option '${name}' of a transactional read, which sets it itself`)
  }
  return copy
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
