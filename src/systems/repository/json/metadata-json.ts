/** Metadata in JSON: texts, numbers and booleans unchanged, other values with their type. */
import { checkObject, readArguments } from '../../../api/index.js'
import { invalidArgument, invalidRecord } from '../errors.js'
import { unfitMetadata, type Metadata, type MetadataValue } from '../records/metadata.js'
import { isBytes, isTime } from '../value-kinds.js'
import { base64Of, checkJson, objectOf, recordsOf, shownJson, textOf } from './json-shapes.js'
import { JsonNumber, type Json } from './json-text.js'

const longPattern = /^-?[0-9]{1,19}$/

/** Reads the metadata of one field. `ERR_INVALID_ARGUMENT`, `ERR_INVALID_RECORD`. */
export function metadataFromJson(json: Json, at: string): Metadata {
  return recordsOf(metadataValueOf)(checkJson(json, at), at)
}

function metadataValueOf(json: Json, at: string): MetadataValue {
  if (typeof json === 'string' || typeof json === 'boolean' || typeof json === 'number') return json
  if (JsonNumber.is(json)) return numberOf(json, at)
  const { type, value } = objectOf(json, at, ['type', 'value'])
  if (type === 'binary') return base64Of(value, at)
  if (type === 'datetime') {
    const time = new Date(textOf(value, at))
    if (Number.isNaN(time.getTime())) throw invalidArgument(`${at} is no time`)
    return time
  }
  const text = JsonNumber.is(value) ? value.text : textOf(value, at)
  if (type === 'long' && longPattern.test(text)) return longOf(text, at)
  if (type === 'double' && ['NaN', 'Infinity', '-Infinity', '-0'].includes(text))
    return Number(text)
  throw invalidArgument(`${at} has the type ${shownJson(type)} and a value that does not fit`)
}

function numberOf({ text }: JsonNumber, at: string): number | bigint {
  const value = Number(text)
  if (Number.isSafeInteger(value) || !longPattern.test(text)) {
    if (Number.isFinite(value)) return value
    throw invalidRecord(`${at} is too great a number`)
  }
  return longOf(text, at)
}

function longOf(text: string, at: string): bigint {
  const value = BigInt(text)
  if (BigInt.asIntN(64, value) === value) return value
  throw invalidRecord(`${at} has more than 64 bits`)
}

/** The JSON form of the metadata of one field. `ERR_INVALID_ARGUMENT`, `ERR_INVALID_RECORD`. */
export function metadataToJson(metadata: Metadata): Record<string, unknown> {
  const entries = readArguments(() => Object.entries(checkObject(metadata, 'metadata')))
  return Object.fromEntries(entries.map(([key, value]) => [key, valueForm(value, key)]))
}

function valueForm(value: MetadataValue, key: string): unknown {
  if (typeof value === 'bigint') return { type: 'long', value: String(value) }
  if (isTime(value)) return { type: 'datetime', value: value.toISOString() }
  if (isBytes(value)) {
    return { type: 'binary', value: Buffer.from(value).toString('base64') }
  }
  if (!['string', 'number', 'boolean'].includes(typeof value)) throw unfitMetadata(key)
  const isPlain = typeof value !== 'number' || (Number.isFinite(value) && !Object.is(value, -0))
  return isPlain ? value : { type: 'double', value: Object.is(value, -0) ? '-0' : String(value) }
}
