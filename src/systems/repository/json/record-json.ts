/** Records in JSON. */
import {
  boolean,
  checkObject,
  declareOptions,
  readArguments,
  type OptionsOf,
} from '../../../api/index.js'
import { RecordId } from '../record-id.js'
import type { QualifiedName } from '../qualified-name.js'
import type { Metadata } from '../records/metadata.js'
import type { RecordInput, RecordTypeName, StoredRecord } from '../records/record.js'
import { arrayOf, checkJson, countOf, objectOf, optional, recordOf, textOf } from './json-shapes.js'
import type { Json } from './json-text.js'
import { metadataFromJson, metadataToJson } from './metadata-json.js'
import {
  checkInput,
  checkOutput,
  fieldsFromJson,
  fieldsToJson,
  typeNameOf,
  type JsonInput,
  type RecordOutput,
} from './value-json.js'

const readingOptions = declareOptions('the reading of a record', {
  /** Whether empty texts, lists and records delete their field. Default false. */
  deletesEmpty: boolean(false),
})

/** Options of {@link recordFromJson}. */
export interface RecordJsonOptions extends OptionsOf<typeof readingOptions> {}

/** Members of a record in JSON. Those that occur only in answers are accepted and ignored. */
const recordNames = [
  'id',
  'version',
  'type',
  'fields',
  'fieldsToDelete',
  'metadata',
  'metadataToDelete',
  'attributes',
  'namespaces',
  'schema',
  'table',
  'versionedType',
  'versionedMutableType',
  'created',
  'modified',
  'revision',
]

/**
 * Reads the input of a record. `ERR_INVALID_ARGUMENT` for a bad shape, `ERR_INVALID_RECORD` for a
 * value that does not fit, `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function recordFromJson(
  json: Json,
  given: JsonInput,
  options: RecordJsonOptions = {},
): RecordInput {
  const { deletesEmpty } = readingOptions.read(options)
  const outer = checkInput(given)
  const object = objectOf(checkJson(json, 'record'), 'record', recordNames)
  const namespaces = outer.namespaces.with(object['namespaces'], 'record.namespaces')
  const ignoresEmpty = deletesEmpty || outer.ignoresEmpty
  const input: JsonInput = { ...outer, namespaces, ignoresEmpty }
  const emptied: QualifiedName[] = []
  const fields = optional(object['fields'], 'record.fields', (each, at) => {
    return recordOf(fieldsFromJson(each, input, at, (name) => emptied.push(name)))
  })
  const deletes = optional(object['fieldsToDelete'], 'record.fieldsToDelete', (each, at) => {
    return arrayOf(each, at).map((name) => writableName(textOf(name, at), input, at))
  })
  const fieldsToDelete = [...(deletes ?? []), ...(deletesEmpty ? emptied : [])]
  return {
    id: optional(object['id'], 'record.id', textOf),
    version: optional(object['version'], 'record.version', countOf),
    type: optional(object['type'], 'record', (each, at) => typeOf(each, input, at)),
    fields,
    fieldsToDelete,
    metadata: optional(object['metadata'], 'record.metadata', (each, at) => {
      return byField<Metadata>(each, input, at, metadataFromJson)
    }),
    metadataToDelete: optional(object['metadataToDelete'], 'record.metadataToDelete', (each, at) =>
      byField(each, input, at, (keys, place) => {
        return arrayOf(keys, place).map((key) => textOf(key, place))
      }),
    ),
    attributes: optional(object['attributes'], 'record.attributes', attributesFromJson),
  }
}

/** Reads the texts for the event of a write. `ERR_INVALID_ARGUMENT`. */
export function attributesFromJson(json: Json, at: string): Record<string, string> {
  return recordOf(
    Object.entries(objectOf(checkJson(json, at), at)).map(([name, text]) => [
      name,
      textOf(text, `${at}.${name}`),
    ]),
  )
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

function byField<T>(
  json: Json,
  input: JsonInput,
  at: string,
  read: (json: Json, at: string) => T,
): Record<string, T> {
  return recordOf(
    Object.entries(objectOf(json, at)).map(([name, each]) => {
      return [writableName(name, input, at), read(each, `${at}.${name}`)] as const
    }),
  )
}

/**
 * The JSON form of a record, without fields that are not readable. `ERR_INVALID_ARGUMENT`,
 * `ERR_INVALID_RECORD` for a value that does not fit its field, `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function recordToJson(record: StoredRecord, output: RecordOutput): Record<string, unknown> {
  const checked = checkOutput(output)
  return readArguments(() => recordForm(checkObject(record, 'a record'), checked))
}

function recordForm(record: StoredRecord, output: RecordOutput): Record<string, unknown> {
  const { names, schema, isReadable } = output
  const typeForm = (type: RecordTypeName | undefined): object | undefined => {
    if (type === undefined) return undefined
    const { name, version } = checkObject(type, 'the type of a record')
    return { name: names.write(name), version }
  }
  const fields = fieldsToJson(record.fields, output)
  const metadata = Object.entries(checkObject(record.metadata, 'metadata'))
    .filter(([name]) => isReadable?.(name as QualifiedName) !== false)
    .map(([name, each]) => [names.write(name as QualifiedName), metadataToJson(each)] as const)
  const fieldTypes = Object.keys(output.withSchema === true ? record.fields : {})
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
    ...(metadata.length === 0 ? {} : { metadata: recordOf(metadata) }),
    ...(output.withSchema === true ? { schema: recordOf(fieldTypes) } : {}),
    created: record.created,
    modified: record.modified,
    revision: record.revision,
    namespaces: names.namespaces,
  }
}
