/** Compares stored values of fields with the values of conditions and filters. */
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { invalidArgument } from '../errors.js'
import { decodeField, encodeField } from './writes/prepared-input.js'

/**
 * Returns a function that compares a stored value, given by its bytes, with `value`: negative, 0 or
 * positive. Values that are equal in order are equal even if their bytes differ, such as the
 * decimals 1.0 and 1.00. For a type without order the result is 0 or 1. Later changes of `value` by
 * the caller have no effect.
 *
 * `ERR_INVALID_RECORD` for a value that does not fit the field, `ERR_INVALID_ARGUMENT` if an order
 * is needed and the type has none.
 */
export function orderTo(
  field: FieldType,
  value: unknown,
  schema: SchemaCache,
  needsOrder: boolean,
): (stored: Buffer) => number {
  const { compare } = field.type
  if (needsOrder && compare === undefined) {
    throw invalidArgument(`values of ${field.valueType} have no order`)
  }
  const bytes = encodeField(field, value, schema)
  const own = decodeField(field, bytes, schema)
  return (stored) => {
    if (stored.equals(bytes)) return 0
    if (compare === undefined) return 1
    return (compare as (a: unknown, b: unknown) => number)(decodeField(field, stored, schema), own)
  }
}
