/** Input of a write as of its call, so that what the caller changes later does not count. */
import { invalidArgument } from '../errors.js'
import type { Metadata, MetadataValue } from './metadata.js'
import { isBytes, isTime } from '../value-kinds.js'
import type { RecordInput } from './record.js'

/**
 * A copy of input, with the values of its fields as far as they can change. Links and ids are
 * immutable; objects of other classes are the caller's, whose value types know them.
 */
export function copyInput(input: RecordInput): RecordInput {
  if (typeof input !== 'object' || input === null) throw invalidArgument('a record is an object')
  // A draft has getters for its parts, which are no options of its own.
  const isPlain = Object.getPrototypeOf(input) === Object.prototype
  const { id, type, fields, fieldsToDelete } = input
  const parts = isPlain ? input : { id, type, fields, fieldsToDelete }
  return copyValue(parts) as RecordInput
}

/** A copy of a value of a field: of bytes, times, lists and plain objects, at any depth. */
function copyValue(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (isBytes(value)) return Buffer.from(value)
  if (isTime(value)) return new Date(value.getTime())
  if (Array.isArray(value)) return value.map(copyValue)
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value).map(([name, each]) => [name, copyValue(each)])
  return Object.fromEntries(entries)
}

/** A copy of the metadata of one field. */
export function copyMetadata(metadata: Metadata): Metadata {
  return copyValue(metadata) as Record<string, MetadataValue>
}
