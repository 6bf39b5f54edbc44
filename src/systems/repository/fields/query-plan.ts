/** Chooses the index for a query, the range of its rows, and the direction. */
import { checkArray, checkObject, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { rowBehind } from '../records/ordered-row.js'
import { encodeField } from '../records/writes/prepared-input.js'
import type { TableContext } from '../records/table-context.js'
import type { FieldType } from '../schema/field-type.js'
import {
  indexedType,
  isMultiValued,
  type FieldIndex,
  type FieldOrder,
  type IndexedField,
} from './field-index.js'
import { indexNotFound } from './field-indexes.js'
import type { FieldQuery, FieldRange } from './field-query.js'
import { indexPrefix, presentByte, valueBytes } from './index-rows.js'

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
  readonly range: { readonly field: FieldType; readonly range: FieldRange } | undefined
  readonly sort: readonly { readonly ordinal: number; readonly order: FieldOrder }[]
}

function valueFor(field: FieldType, value: unknown, context: TableContext): unknown {
  // Values in queries are checked as in a write.
  encodeField({ ...field, type: indexedType(field) }, value, context.schema)
  return value
}

function rangeOf(range: FieldRange, context: TableContext): Wanted['range'] {
  checkObject(range, 'a range')
  const field = context.schema.field(range.field)
  if (range.from === undefined && range.to === undefined) {
    throw invalidArgument('a range has a beginning, an end, or both')
  }
  for (const bound of [range.from, range.to]) {
    if (bound !== undefined) valueFor(field, bound, context)
  }
  return { field, range }
}

function wantedOf(query: FieldQuery, context: TableContext): Wanted {
  const { schema } = context
  const equals = new Map<number, { field: FieldType; value: unknown }>()
  for (const [name, value] of Object.entries(checkObject(query.equals ?? {}, 'equals'))) {
    const field = schema.field(name)
    const wanted = value === null ? undefined : valueFor(field, value, context)
    equals.set(field.ordinal, { field, value: wanted })
  }
  const range = query.range === undefined ? undefined : rangeOf(query.range, context)
  if (range !== undefined && equals.has(range.field.ordinal)) {
    throw invalidArgument(`${range.field.name} has a value and a range`)
  }
  const sort = checkArray(query.sort ?? [], 'sort').map((each) => {
    const { field, order = 'ASCENDING' }: IndexedField =
      typeof each === 'string' ? { field: each } : checkObject(each, 'a field of the sort')
    if (order !== 'ASCENDING' && order !== 'DESCENDING') {
      throw invalidArgument(`an order is ASCENDING or DESCENDING, got ${shown(order)}`)
    }
    return { ordinal: schema.field(field).ordinal, order }
  })
  return { equals, range, sort: sort.filter(({ ordinal }) => !equals.has(ordinal)) }
}

/** Whether the rows are read backwards; undefined if the index does not fit. */
function directionOf(index: FieldIndex, { equals, range, sort }: Wanted): boolean | undefined {
  const leading = index.parts.slice(0, equals.size)
  if (leading.length < equals.size) return undefined
  if (!leading.every(({ ordinal }) => equals.has(ordinal))) return undefined
  const rest = index.parts.slice(equals.size)
  if (range !== undefined && rest.at(0)?.ordinal !== range.field.ordinal) return undefined
  if (sort.length > rest.length) return undefined
  const turned = sort.map(({ ordinal, order }, at) => {
    if (rest[at].ordinal !== ordinal) return undefined
    return rest[at].isDescending !== (order === 'DESCENDING')
  })
  if (turned.includes(undefined) || new Set(turned).size > 1) return undefined
  return turned[0] ?? false
}

/** The plan of a query. `ERR_FIELD_INDEX_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
export function planQuery(query: FieldQuery, context: TableContext): QueryPlan {
  const wanted = wantedOf(query, context)
  const { fieldIndexes, key, schema } = context
  const isNamed = query.index !== undefined
  if (!isNamed && wanted.equals.size === 0 && wanted.range === undefined) {
    if (wanted.sort.length === 0) {
      throw invalidArgument('a query has values, a range, a sort order or the name of an index')
    }
  }
  const candidates = isNamed
    ? [fieldIndexes.find(context, query.index)]
    : fieldIndexes.active(context)
  for (const index of candidates) {
    const isReversed = directionOf(index, wanted)
    if (isReversed === undefined) continue
    const multiValued = index.parts.some((part) => isMultiValued(schema.fieldAt(part.ordinal)!))
    return { index, ...boundsOf(index, wanted, key), isReversed, isMultiValued: multiValued }
  }
  throw indexNotFound('no index begins with the fields of the query, in the order of its sort')
}

function boundsOf(
  index: FieldIndex,
  { equals, range }: Wanted,
  table: Buffer,
): { start: Buffer; stop: Buffer } {
  const parts = index.parts.slice(0, equals.size).map(({ ordinal, isDescending }) => {
    const { field, value } = equals.get(ordinal)!
    return valueBytes(field, value, isDescending)
  })
  const prefix = Buffer.concat([indexPrefix(table, index), ...parts])
  if (range === undefined) return { start: prefix, stop: rowBehind(prefix) }
  const { isDescending } = index.parts[equals.size]
  const { from, to, fromInclusive = true, toInclusive = false } = range.range
  const low = isDescending ? to : from
  const high = isDescending ? from : to
  const isLowIn = isDescending ? toInclusive : fromInclusive
  const isHighIn = isDescending ? fromInclusive : toInclusive
  const rowOf = (value: unknown): Buffer => {
    const last =
      value === undefined
        ? Buffer.of(presentByte(isDescending))
        : valueBytes(range.field, value, isDescending)
    return Buffer.concat([prefix, last])
  }
  const start = rowOf(low)
  const stop = rowOf(high)
  return {
    start: low === undefined || isLowIn ? start : rowBehind(start),
    stop: high === undefined || isHighIn ? rowBehind(stop) : stop,
  }
}
