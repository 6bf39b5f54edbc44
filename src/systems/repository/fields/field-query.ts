/**
 * Queries by field indexes: values of the leading fields, one range, the order of the index, and
 * pages with a token for the next one. Each page is read from one snapshot.
 */
import {
  checked,
  checkObject,
  declareOptions,
  integer,
  requireCapability,
  text,
  unchecked,
  type OptionsOf,
  type Result,
  type ResultScanner,
  type Snapshot,
} from '../../../api/index.js'
import { readEntries } from '../../../comfort/indexes/entry-pages.js'
import { corrupt, invalidArgument } from '../errors.js'
import { type RecordId, storedRecordId } from '../record-id.js'
import { indexColumn } from '../records/ordered-row.js'
import {
  prepareFilter,
  type PreparedFilter,
  type RecordFilter,
} from '../records/reads/record-filters.js'
import { viewOf } from '../records/reads/record-view.js'
import { wantedFields } from '../records/reads/record-scanner.js'
import { decodeHead, headColumn, type RecordState } from '../records/record-state.js'
import type { StoredRecord } from '../records/record.js'
import type { TableContext } from '../records/table-context.js'
import { indexedFields } from './field-index.js'
import { indexRows } from './index-rows.js'
import { fieldRange, planQuery, type QueryPlan } from './query-plan.js'
import type { RecordIndexes } from './record-indexes.js'

const limitMax = 10_000

const queryOptions = declareOptions('a query of records', {
  /** Name of the index. Default: the first index that fits. */
  index: text(undefined),
  /** Values of the first fields of the index; null = no value. For a list, one of its elements. */
  equals: checked(checkObject<Readonly<Record<string, unknown>>>, {}),
  /** A range of the field after those of `equals` in the index. */
  range: fieldRange,
  /** The next fields of the index, all in the directions of the index or all reversed. */
  sort: indexedFields,
  /** An additional filter. */
  filter: unchecked<RecordFilter>(),
  /** Fields to return: their names, `'all'` (the default) or `'none'`. */
  fields: unchecked<readonly string[] | 'all' | 'none'>(),
  /** Limit of records in a page, 1 to 10,000. Default 100. */
  limit: integer({ min: 1, max: limitMax, default: 100 }),
  /** `next` of the previous page. */
  page: unchecked<string>(),
})

/** A query: the records to be found, and their order. */
export interface FieldQuery extends OptionsOf<typeof queryOptions> {}

/** A page of a query. */
export interface RecordPage {
  /** The records of the page, in the order of the index. */
  readonly records: StoredRecord[]
  /**
   * The `page` of the next call; undefined on the last page. Safe in URLs, and it does not expire.
   */
  readonly next: string | undefined
}

/** A query in progress. */
interface Reading {
  readonly context: TableContext
  readonly plan: QueryPlan
  readonly filter: PreparedFilter | undefined
  readonly snapshot: Snapshot
}

interface FoundHead {
  readonly id: RecordId
  readonly bytes: Buffer
}

/** Reads a page. Errors of {@link planQuery}, `ERR_UNSUPPORTED` without snapshots. */
export async function queryRecords(
  context: TableContext,
  indexes: RecordIndexes,
  given: FieldQuery,
): Promise<RecordPage> {
  context.checkOpen()
  const query = queryOptions.read(given)
  const { database, schema } = context
  requireCapability(database.capabilities, 'snapshots', 'a query of records')
  const filter = query.filter === undefined ? undefined : prepareFilter(query.filter, schema)
  const wanted = wantedFields(schema, query.fields)
  const plan = planQuery(query, context, indexes)
  const snapshot = database.snapshot()
  try {
    const after = query.page === undefined ? undefined : rowOfToken(query.page, plan)
    const reading = { context, plan, filter, snapshot }
    const { rows, last } = await readEntries(scanAfter(reading, after), query.limit, (entries) =>
      headsOf(reading, entries),
    )
    const records = rows.map(({ id, bytes }) => viewOf(context, id, bytes, wanted))
    return { records, next: last?.toString('base64url') }
  } finally {
    snapshot.close()
  }
}

/** The rows of the index after the row of a token, or from the beginning. */
function scanAfter({ context, plan, snapshot }: Reading, after: Buffer | undefined): ResultScanner {
  const { start, stop, isReversed } = plan
  const span = isReversed
    ? { startRow: after ?? stop, startInclusive: false, stopRow: start, stopInclusive: true }
    : { startRow: after ?? start, startInclusive: after === undefined, stopRow: stop }
  const table = context.database.table(context.indexTable)
  return table.scan({ ...span, reversed: isReversed, snapshot })
}

/** The heads of the records of rows; undefined for rows that the query does not return. */
async function headsOf(
  { context, plan, filter, snapshot }: Reading,
  rows: readonly Result[],
): Promise<(FoundHead | undefined)[]> {
  const what = `a row of the index ${plan.index.name}`
  const ids = rows.map((row) => storedRecordId(row.value(indexColumn), what))
  const gets = ids.map(({ bytes: row }) => ({ row, columns: [headColumn], snapshot }))
  const results = await context.table.getList(gets)
  return results.map((result, at) => {
    const bytes = result.value(headColumn)
    const id = ids[at]
    if (bytes === undefined) throw corrupt(`an index has ${id.text}, which is no record`)
    if (filter === undefined && !plan.isMultiValued) return { id, bytes }
    const state = decodeHead(bytes, id)
    if (plan.isMultiValued && !isFirst(context, plan, rows[at].row!, id, state)) return undefined
    return filter?.test(id, state) === false ? undefined : { id, bytes }
  })
}

/** Whether a row is the first one of its record among the rows of the plan. */
function isFirst(
  context: TableContext,
  { index, start, stop, isReversed }: QueryPlan,
  row: Buffer,
  id: RecordId,
  state: RecordState,
): boolean {
  return indexRows(context, index, id, state).every(({ key: other }) => {
    const isIn = Buffer.compare(other, start) >= 0 && Buffer.compare(other, stop) < 0
    const order = Buffer.compare(other, row)
    return !isIn || (isReversed ? order <= 0 : order >= 0)
  })
}

function rowOfToken(page: unknown, { start, stop }: QueryPlan): Buffer {
  const row = typeof page === 'string' ? Buffer.from(page, 'base64url') : undefined
  const isOne = row !== undefined && row.toString('base64url') === page
  if (isOne && Buffer.compare(row, start) >= 0 && Buffer.compare(row, stop) < 0) return row
  throw invalidArgument('page must be the next of a page of the same query')
}
