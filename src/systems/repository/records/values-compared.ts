/** How conditions and filters compare the value of a field with one that was given. */
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { invalidArgument } from '../errors.js'
import { decodeField, encodeField } from './writes/prepared-input.js'

/**
 * The order of a stored value, given by its bytes, to a value: negative, 0 or positive. Values of
 * one order are equal, also if their bytes differ, as those of the decimals 1.0 and 1.00. Values of
 * a type without order are equal or not. The value counts as of the call.
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
