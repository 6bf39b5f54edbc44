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
import { indexedType, isMultiValued, type FieldIndex, type FieldOrder } from './field-index.js'
import { indexNotFound, type FieldIndexes } from './field-indexes.js'
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
export function planQuery(
  query: PlannedQuery,
  context: TableContext,
  indexes: FieldIndexes,
): QueryPlan {
  const wanted = readArguments(() => wantedOf(query, context))
  const { key, schema } = context
  const { equals, range, sort } = wanted
  if (query.index === undefined && equals.size + sort.length === 0 && range === undefined) {
    throw invalidArgument('a query has values, a range, a sort order or the name of an index')
  }
  const candidates =
    query.index === undefined
      ? indexes.of(context).filter(({ state }) => state === 'ACTIVE')
      : [indexes.find(context, query.index)]
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
  const { from, to, fromInclusive, toInclusive } = range.range
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
