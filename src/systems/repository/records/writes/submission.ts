/** Input of a write as of its call, so that what the caller changes later does not count. */
import { checkObject, checkText, readArguments } from '../../../../api/index.js'
import { invalidRecord } from '../../errors.js'
import type { Metadata, MetadataValue } from '../metadata.js'
import { isBytes, isTime } from '../../value-kinds.js'
import type { RecordInput } from '../record.js'

/** Deeper than any value of a field can be. */
const depthMax = 200

/**
 * A copy of input, with the values of its fields as far as they can change. Links and ids are
 * immutable; objects of other classes are the caller's, whose value types know them.
 */
export function copyInput(input: RecordInput): RecordInput {
  return readArguments(() => {
    checkObject(input, 'a record')
    // A draft has getters for its parts, which are no options of its own.
    const isPlain = Object.getPrototypeOf(input) === Object.prototype
    const { id, type, fields, fieldsToDelete } = input
    const parts = isPlain ? input : { id, type, fields, fieldsToDelete }
    return copyValue(parts, 0) as RecordInput
  })
}

/** A copy of a value of a field: of bytes, times, lists and plain objects, at any depth. */
function copyValue(value: unknown, depth: number): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (depth > depthMax) throw invalidRecord(`values nest ${depthMax} deep at most`)
  if (isBytes(value)) return Buffer.from(value)
  if (isTime(value)) return new Date(value.getTime())
  if (Array.isArray(value)) return value.map((each) => copyValue(each, depth + 1))
  const prototype = Object.getPrototypeOf(value) as unknown
  if (prototype !== Object.prototype && prototype !== null) return value
  const entries = Object.entries(value).map(([name, each]) => [name, copyValue(each, depth + 1)])
  return Object.fromEntries(entries)
}

/** A copy of the texts for an event. `ERR_INVALID_ARGUMENT`. */
export function copyAttributes(
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined
  const attributes = { ...checkObject(given, 'attributes') }
  for (const [name, text] of Object.entries(attributes)) checkText(text, `the attribute '${name}'`)
  return attributes
}

/** A copy of the metadata of one field. */
export function copyMetadata(metadata: Metadata): Metadata {
  return copyValue(checkObject(metadata, 'metadata'), 0) as Record<string, MetadataValue>
}
