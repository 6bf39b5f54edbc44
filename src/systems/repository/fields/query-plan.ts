/** Chooses the index for a query, the range of its rows, and the direction. */
import {
  checked,
  declareOptions,
  boolean,
  readArguments,
  required,
  text,
  unchecked,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { rowBehind } from '../records/ordered-row.js'
import type { TableContext } from '../records/table-context.js'
import { encodeField } from '../records/field-values.js'
import type { FieldType } from '../schema/field-type.js'
import {
  indexedType,
  indexNotFound,
  isMultiValued,
  type FieldIndex,
  type FieldOrder,
} from './field-index.js'
import type { RecordIndexes } from './record-indexes.js'
import { indexPrefix, presentByte, valueBytes } from './index-rows.js'

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

/** The option of a range. */
export const fieldRange = checked((given: FieldRange): Range => {
  const range = rangeOptions.read(given)
  if (range.from !== undefined || range.to !== undefined) return range
  throw invalidArgument('a range has a beginning, an end, or both')
})

/** The parts of a query that choose the index. */
interface PlannedQuery {
  readonly index: string | undefined
  readonly equals: Readonly<Record<string, unknown>>
  readonly range: Range | undefined
  readonly sort: readonly { readonly field: string; readonly order: FieldOrder }[]
}

/** The rows of an index that answer a query: `[start, stop)`. */
export interface QueryPlan {
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

function wantedOf({ equals, range, sort }: PlannedQuery, { schema }: TableContext): Wanted {
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
export function planQuery(
  query: PlannedQuery,
  context: TableContext,
  indexes: RecordIndexes,
): QueryPlan {
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
