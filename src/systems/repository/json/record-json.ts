/** Records in JSON. Metadata other than texts, numbers and booleans is written with its type. */
import { checkObject, readArguments } from '../../../api/index.js'
import { RecordId } from '../record-id.js'
import type { QualifiedName } from '../qualified-name.js'
import { unfitMetadata, type Metadata, type MetadataValue } from '../records/metadata.js'
import type { RecordInput, RecordTypeName, StoredRecord } from '../records/record.js'
import {
  arraysOf,
  base64Of,
  checkJson,
  countOf,
  membersOf,
  objectOf,
  optional,
  recordsOf,
  shownJson,
  textOf,
  unused,
} from './json-shapes.js'
import { JsonNumber, type Json } from './json-text.js'
import { namesInside } from './namespaces.js'
import {
  fieldsFromJson,
  fieldsToJson,
  inputOptions,
  recordOutput,
  typeNameOf,
  type JsonInput,
  type RecordOutput,
} from './value-json.js'
import { invalidArgument, invalidRecord } from '../errors.js'
import { isBytes, isTime } from '../value-kinds.js'

/**
 * Reads the input of a record. `ERR_INVALID_ARGUMENT` for a bad shape, `ERR_INVALID_RECORD` for a
 * value that does not fit, `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function recordFromJson(json: Json, given: JsonInput): RecordInput {
  const outer = inputOptions.read(given)
  const { deletesEmpty = false } = outer
  const namespaces = namesInside(outer.namespaces, checkJson(json, 'record'), 'record')
  const ignoresEmpty = deletesEmpty || outer.ignoresEmpty
  const input: JsonInput = { ...outer, namespaces, ignoresEmpty }
  const emptied: QualifiedName[] = []
  const { fieldsToDelete = [], ...members } = membersOf(json, 'record', {
    id: textOf,
    version: countOf,
    type: (each) => typeOf(each, input, 'record'),
    fields: (each, at) =>
      Object.fromEntries(fieldsFromJson(each, input, at, (name) => emptied.push(name))),
    fieldsToDelete: arraysOf((each, at) => writableName(textOf(each, at), input, at)),
    metadata: byField<Metadata>(input, metadataFromJson),
    metadataToDelete: byField(input, arraysOf(textOf)),
    attributes: attributesFromJson,
    ...answered,
  })
  const { id, version, type, fields, metadata, metadataToDelete, attributes } = members
  const deleted = [...fieldsToDelete, ...(deletesEmpty ? emptied : [])]
  return {
    ...{ id, version, type, fields, fieldsToDelete: deleted },
    ...{ metadata, metadataToDelete, attributes },
  }
}

/** Members of answers, which are accepted and not used. */
const answered = {
  ...{ namespaces: unused, schema: unused, table: unused, versionedType: unused },
  ...{ versionedMutableType: unused, created: unused, modified: unused, revision: unused },
}

/** Reads the texts for the event of a write. `ERR_INVALID_ARGUMENT`. */
export function attributesFromJson(json: Json, at: string): Record<string, string> {
  return recordsOf(textOf)(checkJson(json, at), at)
}

function writableName(name: string, { namespaces, checkWrite }: JsonInput, at: string): string {
  const field = namespaces.resolve(name, at)
  checkWrite?.(field)
  return field
}

function typeOf(json: Json, input: JsonInput, at: string): RecordInput['type'] {
  const name = typeNameOf(json, input, at)
  if (typeof json === 'string') return { name }
  const { version } = objectOf(json, `${at}.type`)
  return { name, version: optional(version, `${at}.type.version`, countOf) }
}

/** A reader of values by the names of fields. */
function byField<T>(
  input: JsonInput,
  read: (json: Json, at: string) => T,
): (json: Json, at: string) => Record<string, T> {
  return (json, at) => {
    const entries = Object.entries(recordsOf(read)(json, at))
    return Object.fromEntries(
      entries.map(([name, each]) => [writableName(name, input, at), each] as const),
    )
  }
}

/**
 * The JSON form of a record, without fields that are not readable. `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD` for a value that does not fit its field, `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function recordToJson(record: StoredRecord, output: RecordOutput): Record<string, unknown> {
  const checked = recordOutput.read(output)
  return readArguments(() => {
    checkObject(record, 'a record')
    const { names, schema, isReadable } = checked
    const typeForm = (type: RecordTypeName | undefined): object | undefined => {
      if (type === undefined) return undefined
      const { name, version } = checkObject(type, 'the type of a record')
      return { name: names.write(name), version }
    }
    const fields = fieldsToJson(record.fields, checked)
    const metadata = Object.entries(checkObject(record.metadata, 'metadata'))
      .filter(([name]) => isReadable?.(name as QualifiedName) !== false)
      .map(([name, each]) => [names.write(name as QualifiedName), metadataToJson(each)] as const)
    const fieldTypes = Object.keys(checked.withSchema === true ? record.fields : {})
      .filter((name) => isReadable?.(name as QualifiedName) !== false)
      .map((name) => {
        const { id, valueType, scope } = schema.field(name)
        return [names.write(name as QualifiedName), { id, valueType, scope }] as const
      })
    return {
      id: RecordId.of(record.id).text,
      table: record.table,
      version: record.version,
      type: typeForm(record.type),
      versionedType: typeForm(record.versionedType),
      versionedMutableType: typeForm(record.mutableType),
      fields,
      ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(metadata) }),
      ...(checked.withSchema === true ? { schema: Object.fromEntries(fieldTypes) } : {}),
      created: record.created,
      modified: record.modified,
      revision: record.revision,
      namespaces: names.namespaces,
    }
  })
}

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
