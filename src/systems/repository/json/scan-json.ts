/** Scans, filters and conditions in JSON. The filters have the class names of Lily. */
import { readArguments, shown } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { versionField, type QualifiedName } from '../qualified-name.js'
import { RecordId } from '../record-id.js'
import { isBytes } from '../value-kinds.js'
import type { Condition } from '../records/conditions.js'
import type { ConditionOperator } from '../records/field-values.js'
import { checkFilter, type RecordFilter } from '../records/reads/record-filters.js'
import { checkScan, type RecordScan } from '../records/reads/record-scanner.js'
import {
  arrayOf,
  base64Of,
  booleanOf,
  checkJson,
  countOf,
  objectOf,
  optional,
  recordOf,
  textOf,
} from './json-shapes.js'
import type { Json, JsonObject } from './json-text.js'
import {
  checkInput,
  checkOutput,
  formOf,
  valueOf,
  type JsonInput,
  type JsonOutput,
} from './value-json.js'

const filterPackage = 'org.lilyproject.repository.api.filter.'
const scanNames = [
  'startRecordId',
  'stopRecordId',
  'rawStartRecordId',
  'rawStopRecordId',
  'recordFilter',
  'returnFields',
  'limit',
  'caching',
  'cacheBlocks',
  'namespaces',
]

/**
 * Reads the conditions of an update or a delete. `ERR_INVALID_ARGUMENT`,
 * `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function conditionsFromJson(json: Json, given: JsonInput): Condition[] {
  const input = checkInput(given)
  return arrayOf(checkJson(json, 'conditions'), 'conditions').map((each, index) => {
    const at = `conditions[${index}]`
    const names = ['field', 'value', 'operator', 'allowMissing', 'namespaces']
    const object = objectOf(each, at, names)
    const own = inside(input, object, at)
    const field = fieldOf(object['field'], own, `${at}.field`)
    const { value } = object
    if (value === undefined) throw invalidArgument(`${at} needs a value, or null`)
    return {
      field,
      value: value === null ? null : conditionValue(field, value, compared(own), `${at}.value`),
      operator: optional(object['operator'], `${at}.operator`, operatorOf),
      allowMissing: optional(object['allowMissing'], `${at}.allowMissing`, booleanOf),
    }
  })
}

function conditionValue(field: QualifiedName, json: Json, input: JsonInput, at: string): unknown {
  if (field === versionField) return countOf(json, at)
  return valueOf(input.schema.field(field).type, json, input, at)
}

function operatorOf(json: Json, at: string): ConditionOperator {
  return textOf(json, at).toUpperCase() as ConditionOperator
}

function inside(input: JsonInput, object: JsonObject, at: string): JsonInput {
  const namespaces = input.namespaces.with(object['namespaces'], `${at}.namespaces`)
  return { ...input, namespaces }
}

/**
 * Context for a compared value: fields inside the value need read permission, not write permission.
 */
function compared(input: JsonInput): JsonInput {
  return { ...input, checkWrite: input.checkRead }
}

function fieldOf(json: Json | undefined, input: JsonInput, at: string): QualifiedName {
  const field = input.namespaces.resolve(textOf(json, at), at)
  if (field !== versionField) input.checkRead?.(field)
  return field
}

/** Reads a scan. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`. */
export function scanFromJson(json: Json, outer: JsonInput): RecordScan {
  const object = objectOf(checkJson(json, 'scan'), 'scan', scanNames)
  const input = inside(checkInput(outer), object, 'scan')
  const bound = (name: string): RecordId | Buffer | undefined => {
    const raw = optional(object[`raw${name}RecordId`], `scan.raw${name}RecordId`, base64Of)
    const lower = `${name.toLowerCase()}RecordId`
    return raw ?? optional(object[lower], `scan.${lower}`, idOf)
  }
  return {
    startId: bound('Start'),
    stopId: bound('Stop'),
    filter: optional(object['recordFilter'], 'scan.recordFilter', (each) => {
      return filterOf(each, input)
    }),
    fields: optional(object['returnFields'], 'scan.returnFields', (each, at) => {
      return returnFieldsOf(each, input, at)
    }),
    limit: optional(object['limit'], 'scan.limit', countOf),
  }
}

function idOf(json: Json, at: string): RecordId {
  return RecordId.parse(textOf(json, at))
}

function returnFieldsOf(json: Json, input: JsonInput, at: string): RecordScan['fields'] {
  const object = objectOf(json, at, ['type', 'fields', 'namespaces'])
  const { namespaces } = inside(input, object, at)
  const type = textOf(object['type'] ?? 'ALL', `${at}.type`).toUpperCase()
  if (type === 'ALL') return 'all'
  if (type === 'NONE') return 'none'
  if (type !== 'ENUM') throw invalidArgument(`${at}.type: ALL, NONE or ENUM, got ${shown(type)}`)
  const fields = arrayOf(object['fields'], `${at}.fields`)
  return fields.map((each) => namespaces.resolve(textOf(each, at), at))
}

/** Reads a filter of a scan. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`. */
export function filterFromJson(json: Json, outer: JsonInput): RecordFilter {
  return filterOf(checkJson(json, 'recordFilter'), checkInput(outer))
}

function filterOf(json: Json, outer: JsonInput): RecordFilter {
  const at = 'recordFilter'
  const object = objectOf(json, at)
  const input = inside(outer, object, at)
  const className = textOf(object['@class'], `${at}.@class`)
  const name = className.replace(filterPackage, '')
  if (!Object.hasOwn(filterReaders, name)) {
    throw invalidArgument(`there is no filter ${shown(className)}`)
  }
  return filterReaders[name](object, input, at)
}

type FilterReader = (object: JsonObject, input: JsonInput, at: string) => RecordFilter

const common = ['@class', 'namespaces']

const filterReaders: Readonly<Record<string, FilterReader>> = {
  RecordIdPrefixFilter: (object, _, at) => {
    objectOf(object, at, [...common, 'recordId'])
    return { idPrefix: idOf(object['recordId'], `${at}.recordId`) }
  },
  RecordTypeFilter: (object, { namespaces }, at) => {
    objectOf(object, at, [...common, 'recordType', 'version', 'operator'])
    const name = namespaces.resolve(textOf(object['recordType'], `${at}.recordType`), at)
    const operator = textOf(object['operator'] ?? 'EQUALS', `${at}.operator`).toUpperCase()
    const version = optional(object['version'], `${at}.version`, countOf)
    if (operator === 'EQUALS') return { recordType: name, version }
    if (operator !== 'INSTANCE_OF') throw invalidArgument(`no operator ${shown(operator)}`)
    if (version !== undefined) throw invalidArgument(`${at}: INSTANCE_OF takes no version`)
    return { instanceOf: name }
  },
  FieldValueFilter: (object, input, at) => {
    const names = ['field', 'fieldValue', 'compareOp', 'filterIfMissing']
    objectOf(object, at, [...common, ...names])
    const field = fieldOf(object['field'], input, `${at}.field`)
    const { type } = input.schema.field(field)
    const json = object['fieldValue'] as Json | undefined
    if (json === undefined) throw invalidArgument(`${at} needs a fieldValue`)
    return {
      field,
      operator: optional(object['compareOp'], `${at}.compareOp`, operatorOf),
      value: valueOf(type, json, compared(input), `${at}.fieldValue`),
      filterIfMissing: optional(object['filterIfMissing'], `${at}.filterIfMissing`, booleanOf),
    }
  },
  RecordVariantFilter: (object, _, at) => {
    objectOf(object, at, [...common, 'recordId', 'variantProperties'])
    const dimensions = objectOf(object['variantProperties'] ?? {}, `${at}.variantProperties`)
    return {
      variantsOf: idOf(object['recordId'], `${at}.recordId`),
      dimensions: recordOf(
        Object.entries(dimensions).map(([name, value]) => {
          return [name, value === null ? null : textOf(value, `${at}.${name}`)] as const
        }),
      ),
    }
  },
  RecordFilterList: (object, input, at) => {
    objectOf(object, at, [...common, 'operator', 'filters'])
    const filters = arrayOf(object['filters'], `${at}.filters`).map((each) => {
      return filterOf(each, input)
    })
    const operator = textOf(object['operator'] ?? 'MUST_PASS_ALL', `${at}.operator`)
    if (operator === 'MUST_PASS_ALL') return { all: filters }
    if (operator === 'MUST_PASS_ONE') return { any: filters }
    throw invalidArgument(`no operator ${shown(operator)}`)
  },
}

/**
 * The JSON form of a scan, with the names of `output`. `ERR_INVALID_ARGUMENT`,
 * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function scanToJson(scan: RecordScan, output: JsonOutput): Record<string, unknown> {
  const checked = checkOutput(output)
  return readArguments(() => scanForm(checkScan(scan), checked))
}

function scanForm(scan: RecordScan, output: JsonOutput): Record<string, unknown> {
  const { startId, stopId, filter, fields, limit } = scan
  const bound = (name: string, id: RecordScan['startId']): object => {
    if (id === undefined) return {}
    if (!isBytes(id)) return { [`${name.toLowerCase()}RecordId`]: RecordId.of(id).text }
    return { [`raw${name}RecordId`]: Buffer.from(id).toString('base64') }
  }
  const json = {
    ...bound('Start', startId),
    ...bound('Stop', stopId),
    recordFilter: filter === undefined ? undefined : filterForm(filter, output),
    returnFields: fields === undefined ? undefined : returnFieldsForm(fields, output),
    limit,
  }
  return { ...json, namespaces: output.names.namespaces }
}

function returnFieldsForm(
  fields: NonNullable<RecordScan['fields']>,
  { names, schema }: JsonOutput,
): object {
  if (fields === 'all' || fields === 'none') return { type: fields.toUpperCase() }
  return { type: 'ENUM', fields: fields.map((name) => names.write(schema.field(name).name)) }
}

/** The JSON form of a filter, with the names of `output`. Errors of {@link scanToJson}. */
export function filterToJson(filter: RecordFilter, output: JsonOutput): Record<string, unknown> {
  const checked = checkOutput(output)
  return readArguments(() => filterForm(checkFilter(filter), checked))
}

function filterForm(filter: RecordFilter, output: JsonOutput): Record<string, unknown> {
  const { names, schema } = output
  const form = (name: string, parts: object): Record<string, unknown> => {
    return { '@class': `${filterPackage}${name}`, ...parts }
  }
  if ('all' in filter || 'any' in filter) {
    const isAll = 'all' in filter
    const filters = (isAll ? filter.all : filter.any).map((each) => filterForm(each, output))
    const operator = isAll ? 'MUST_PASS_ALL' : 'MUST_PASS_ONE'
    return form('RecordFilterList', { operator, filters })
  }
  if ('idPrefix' in filter) {
    return form('RecordIdPrefixFilter', { recordId: RecordId.of(filter.idPrefix).text })
  }
  if ('variantsOf' in filter) {
    const { variantsOf, dimensions = {} } = filter
    return form('RecordVariantFilter', {
      recordId: RecordId.of(variantsOf).text,
      variantProperties: dimensions,
    })
  }
  if ('instanceOf' in filter) {
    const recordType = names.write(schema.recordType(filter.instanceOf).name)
    return form('RecordTypeFilter', { recordType, operator: 'INSTANCE_OF' })
  }
  if ('recordType' in filter) {
    const recordType = names.write(schema.recordType(filter.recordType).name)
    return form('RecordTypeFilter', { recordType, version: filter.version, operator: 'EQUALS' })
  }
  const field = schema.field(filter.field)
  return form('FieldValueFilter', {
    field: names.write(field.name),
    fieldValue: formOf(field.type, filter.value, output, 0),
    compareOp: filter.operator ?? 'EQUAL',
    filterIfMissing: filter.filterIfMissing ?? true,
  })
}
