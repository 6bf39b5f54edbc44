/**
 * Queries by field indexes: values of the leading fields, one range, the order of the index, and
 * pages with a token for the next one. Each page is read from one snapshot.
 */
import {
  boolean,
  checked,
  checkObject,
  declareOptions,
  integer,
  readArguments,
  requireCapability,
  required,
  text,
  unchecked,
  type OptionsOf,
  type Result,
  type SettingsOf,
} from '../../../api/index.js'
import { readEntries } from '../../../comfort/indexes/entry-pages.js'
import { corrupt, invalidArgument } from '../errors.js'
import { storedRecordId, type RecordId } from '../record-id.js'
import { indexColumn, rowBehind } from '../records/ordered-row.js'
import { viewOf } from '../records/reads/record-heads.js'
import { prepareFilter, wantedFields, type RecordFilter } from '../records/reads/record-scanner.js'
import { decodeHead, headColumn, type RecordState } from '../records/record-state.js'
import type { StoredRecord } from '../records/record.js'
import type { TableContext } from '../records/table-context.js'
import {
  indexedFields,
  indexedType,
  indexNotFound,
  indexPrefix,
  indexRows,
  isMultiValued,
  presentByte,
  valueBytes,
  type FieldIndex,
  type FieldOrder,
} from './field-index.js'
import type { RecordIndexes } from './record-indexes.js'
import { encodeField } from '../records/field-values.js'
import type { FieldType } from '../schema/types.js'

const rangeOptions = declareOptions('a range', {
  /** Qualified name of the field, `{namespace}local`. */
  field: required(text(undefined)),
  /** Default: the smallest value. */
  from: unchecked(),
  /** Default true. */
  fromInclusive: boolean(true),
  /** Default: the greatest value. */
  to: unchecked(),
  /** Default false. */
  toInclusive: boolean(false),
})

/** A range of values of a field. Records without a value are in no range. */
export interface FieldRange extends OptionsOf<typeof rangeOptions> {}

type Range = SettingsOf<typeof rangeOptions>

const fieldRange = checked((given: FieldRange): Range => {
  const range = rangeOptions.read(given)
  if (range.from !== undefined || range.to !== undefined) return range
  throw invalidArgument('a range has a beginning, an end, or both')
})

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

type Query = SettingsOf<typeof queryOptions>

/** The rows of an index that answer a query: `[start, stop)`. */
interface QueryPlan {
  readonly index: FieldIndex
  readonly start: Buffer
  readonly stop: Buffer
  readonly isReversed: boolean
  /** Whether a record may have several rows in the index. */
  readonly isMultiValued: boolean
}

interface Wanted {
  readonly equals: ReadonlyMap<number, { readonly field: FieldType; readonly value: unknown }>
  readonly range: { readonly field: FieldType; readonly range: Range } | undefined
  readonly sort: readonly { readonly ordinal: number; readonly order: FieldOrder }[]
}

function wantedOf({ equals, range, sort }: Query, { schema }: TableContext): Wanted {
  // Values in queries are checked as in a write.
  const checkValue = (field: FieldType, value: unknown): void => {
    encodeField({ ...field, type: indexedType(field) }, value, schema)
  }
  const values = new Map<number, { field: FieldType; value: unknown }>()
  for (const [name, value] of Object.entries(equals)) {
    const field = schema.field(name)
    if (value !== null) checkValue(field, value)
    values.set(field.ordinal, { field, value: value ?? undefined })
  }
  const ranged = range === undefined ? undefined : { field: schema.field(range.field), range }
  for (const bound of [range?.from, range?.to]) {
    if (bound !== undefined) checkValue(ranged!.field, bound)
  }
  if (ranged !== undefined && values.has(ranged.field.ordinal)) {
    throw invalidArgument(`${ranged.field.name} has a value and a range`)
  }
  const order = sort.map(({ field, order }) => ({ ordinal: schema.field(field).ordinal, order }))
  return {
    equals: values,
    range: ranged,
    sort: order.filter(({ ordinal }) => !values.has(ordinal)),
  }
}

/** Whether the rows are read backwards; undefined if the index does not fit. */
function directionOf(index: FieldIndex, { equals, range, sort }: Wanted): boolean | undefined {
  const leading = index.fields.slice(0, equals.size)
  if (leading.length < equals.size) return undefined
  if (!leading.every(({ field }) => equals.has(field))) return undefined
  const rest = index.fields.slice(equals.size)
  if (range !== undefined && rest.at(0)?.field !== range.field.ordinal) return undefined
  if (sort.length > rest.length) return undefined
  const turned = sort.map(({ ordinal, order }, at) => {
    return rest[at].field === ordinal ? rest[at].order !== order : undefined
  })
  if (turned.includes(undefined) || new Set(turned).size > 1) return undefined
  return turned[0] ?? false
}

/** The plan of a query. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
function planQuery(query: Query, context: TableContext, indexes: RecordIndexes): QueryPlan {
  const wanted = readArguments(() => wantedOf(query, context))
  const { key, schema } = context
  const { equals, range, sort } = wanted
  if (query.index === undefined && equals.size + sort.length === 0 && range === undefined) {
    throw invalidArgument('a query has values, a range, a sort order or the name of an index')
  }
  const candidates = query.index === undefined ? indexes.active() : [indexes.find(query.index)]
  for (const index of candidates) {
    const isReversed = directionOf(index, wanted)
    if (isReversed === undefined) continue
    const multiValued = index.fields.some(({ field }) => isMultiValued(schema.fieldAt(field)!))
    return { index, ...boundsOf(index, wanted, key), isReversed, isMultiValued: multiValued }
  }
  throw indexNotFound('no index begins with the fields of the query, in the order of its sort')
}

function boundsOf(
  index: FieldIndex,
  { equals, range }: Wanted,
  table: Buffer,
): { start: Buffer; stop: Buffer } {
  const parts = index.fields.slice(0, equals.size).map(({ field: ordinal, order }) => {
    const { field, value } = equals.get(ordinal)!
    return valueBytes(field, value, order)
  })
  const prefix = Buffer.concat([indexPrefix(table, index), ...parts])
  if (range === undefined) return { start: prefix, stop: rowBehind(prefix) }
  const { order } = index.fields[equals.size]
  const isDescending = order === 'DESCENDING'
  const { from, to, fromInclusive, toInclusive } = range.range
  const low = isDescending ? to : from
  const high = isDescending ? from : to
  const isLowIn = isDescending ? toInclusive : fromInclusive
  const isHighIn = isDescending ? fromInclusive : toInclusive
  const rowOf = (value: unknown): Buffer => {
    const last =
      value === undefined ? Buffer.of(presentByte(order)) : valueBytes(range.field, value, order)
    return Buffer.concat([prefix, last])
  }
  const start = rowOf(low)
  const stop = rowOf(high)
  return {
    start: low === undefined || isLowIn ? start : rowBehind(start),
    stop: high === undefined || isHighIn ? rowBehind(stop) : stop,
  }
}

/** A page of a query. */
export interface RecordPage {
  /** The records of the page, in the order of the index. */
  readonly records: StoredRecord[]
  /**
   * The `page` of the next call; undefined on the last page. Safe in URLs, and it does not expire.
   */
  readonly next: string | undefined
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
  using snapshot = database.snapshot()
  const after = query.page === undefined ? undefined : rowOfToken(query.page, plan)
  const { start, stop, isReversed } = plan
  const span = isReversed
    ? { startRow: after ?? stop, startInclusive: false, stopRow: start, stopInclusive: true }
    : { startRow: after ?? start, startInclusive: after === undefined, stopRow: stop }
  const scan = { ...span, reversed: isReversed, snapshot }
  const rowsOfIndex = database.table(context.indexTable).scan(scan)
  const what = `a row of the index ${plan.index.name}`
  // The head of the record of each row; undefined for rows that the query does not return.
  const headsOf = async (entries: readonly Result[]) => {
    const ids = entries.map((row) => storedRecordId(row.value(indexColumn), what))
    const gets = ids.map(({ bytes: row }) => ({ row, columns: [headColumn], snapshot }))
    const heads = await context.table.getList(gets)
    return heads.map((head, at) => {
      const bytes = head.value(headColumn)
      const id = ids[at]
      if (bytes === undefined) throw corrupt(`an index has ${id.text}, which is no record`)
      if (filter === undefined && !plan.isMultiValued) return { id, bytes }
      const state = decodeHead(bytes, id)
      const isRepeated = plan.isMultiValued && !isFirst(context, plan, entries[at].row!, id, state)
      return isRepeated || filter?.test(id, state) === false ? undefined : { id, bytes }
    })
  }
  const { rows, last } = await readEntries(rowsOfIndex, query.limit, headsOf)
  const records = rows.map(({ id, bytes }) => viewOf(context, id, bytes, wanted))
  return { records, next: last?.toString('base64url') }
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
