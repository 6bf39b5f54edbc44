/** Values of fields as they are stored: encoded, decoded and compared. */
import { ByteReader } from '../../bytes/byte-reader.js'
import { ByteWriter } from '../../bytes/byte-writer.js'
import { choice, comparisons, type CompareOperator } from '../../../api/index.js'
import { invalidArgument, invalidRecord } from '../errors.js'
import { isVersionTag, lastTag } from '../qualified-name.js'
import type { FieldType } from '../schema/types.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { FieldCells } from './record-state.js'

/** Encodes a value. `ERR_INVALID_RECORD`. */
export function encodeField(field: FieldType, value: unknown, schema: SchemaCache): Buffer {
  if (value === undefined || value === null) throw invalidRecord(`${field.name} has no value`)
  const writer = new ByteWriter(64)
  try {
    field.type.write(writer, value, { schema, holders: [] })
  } catch (error) {
    if (error instanceof RangeError) throw invalidRecord(`${field.name}: ${error.message}`)
    throw error
  }
  return writer.finish()
}

/** Decodes a value. `ERR_CORRUPTION`. */
export function decodeField(field: FieldType, bytes: Buffer, schema: SchemaCache): unknown {
  const reader = new ByteReader(bytes, field.name)
  const value = field.type.read(reader, schema)
  reader.finish()
  return value
}

/** The option of an operator: `stored operator value`. */
export const operatorOption = choice<CompareOperator>(
  Object.keys(comparisons) as CompareOperator[],
  'EQUAL',
)

/** Whether an operator needs no order of the values. */
export function isEquality(operator: CompareOperator): boolean {
  return operator === 'EQUAL' || operator === 'NOT_EQUAL'
}

/**
 * Returns a function that compares a stored value, given by its bytes, with `value`. Values that
 * are equal in order are equal even if their bytes differ, such as the decimals 1.0 and 1.00. Later
 * changes of `value` by the caller have no effect.
 *
 * `ERR_INVALID_RECORD` for a value that does not fit the field, `ERR_INVALID_ARGUMENT` if the
 * operator needs an order and the type has none.
 */
export function comparison(
  field: FieldType,
  operator: CompareOperator,
  value: unknown,
  schema: SchemaCache,
): (stored: Buffer) => boolean {
  const compare = field.type.compare as ((a: unknown, b: unknown) => number) | undefined
  if (!isEquality(operator) && compare === undefined) {
    throw invalidArgument(`values of ${field.valueType} have no order`)
  }
  const test = comparisons[operator]
  const bytes = encodeField(field, value, schema)
  const own = decodeField(field, bytes, schema)
  return (stored) => {
    if (stored.equals(bytes)) return test(0)
    return test(compare === undefined ? 1 : compare(decodeField(field, stored, schema), own))
  }
}

/** Whether the values of a field point to versions; stored values of the tag `last` are ignored. */
export function isTagField({ name, scope, valueType }: FieldType): boolean {
  return isVersionTag(name) && name !== lastTag && scope === 'NON_VERSIONED' && valueType === 'LONG'
}

/** The versions that the version tags among the fields point to. */
export function taggedVersions(fields: FieldCells, schema: SchemaCache): ReadonlySet<number> {
  const versions = new Set<number>()
  for (const [ordinal, { value }] of fields) {
    const field = schema.fieldAt(ordinal)
    if (field === undefined || !isTagField(field)) continue
    versions.add(Number(decodeField(field, value, schema)))
  }
  return versions
}
