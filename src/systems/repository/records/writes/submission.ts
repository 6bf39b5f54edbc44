/** Copies the input of a write at the call, so that later changes by the caller have no effect. */
import { checkObject, checkText, readArguments } from '../../../../api/index.js'
import { invalidRecord } from '../../errors.js'
import type { Metadata, MetadataValue } from '../metadata.js'
import { isBytes, isTime } from '../../value-kinds.js'
import type { RecordInput } from '../record.js'

/** Greater than the nesting of any field value. */
const depthMax = 200

/**
 * Copies input with the mutable values of its fields. Links and ids are immutable. Objects of other
 * classes are not copied; only the value types of the caller know them.
 */
export function copyInput(input: RecordInput): RecordInput {
  return readArguments(() => {
    checkObject(input, 'a record')
    // A plain object keeps all its properties, so that unknown ones are refused later.
    const isPlain = Object.getPrototypeOf(input) === Object.prototype
    return copyValue(isPlain ? input : partsOf(input), 0) as RecordInput
  })
}

/** The parts of an input. Those of a draft are getters, which are not own properties. */
function partsOf(input: RecordInput): Record<keyof RecordInput, unknown> {
  const { id, version, type, fields, fieldsToDelete } = input
  const { metadata, metadataToDelete, attributes } = input
  return { id, version, type, fields, fieldsToDelete, metadata, metadataToDelete, attributes }
}

/** Copies a value of a field: bytes, times, lists and plain objects, at any depth. */
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

/** Copies the texts for an event. `ERR_INVALID_ARGUMENT`. */
export function copyAttributes(
  given: Readonly<Record<string, string>> | undefined,
): Readonly<Record<string, string>> | undefined {
  if (given === undefined) return undefined
  const attributes = { ...checkObject(given, 'attributes') }
  for (const [name, text] of Object.entries(attributes)) checkText(text, `the attribute '${name}'`)
  return attributes
}

/** Copies the metadata of one field. */
export function copyMetadata(metadata: Metadata): Metadata {
  return copyValue(checkObject(metadata, 'metadata'), 0) as Record<string, MetadataValue>
}
