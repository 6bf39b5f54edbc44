/** Scans, filters and conditions in JSON. The filters have the class names of Lily. */
import { readArguments, shown, type CompareOperator } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { versionField, type QualifiedName } from '../qualified-name.js'
import { RecordId } from '../record-id.js'
import { isBytes } from '../value-kinds.js'
import type { Condition } from '../records/writes/write-options.js'
import {
  checkFilter,
  scanOptions,
  type RecordFilter,
  type RecordScan,
} from '../records/reads/record-scanner.js'
import {
  arrayOf,
  arraysOf,
  base64Of,
  booleanOf,
  checkJson,
  countOf,
  membersOf,
  objectOf,
  optional,
  raw,
  recordsOf,
  textOf,
  unused,
  wordOf,
} from './json-shapes.js'
import type { Json } from './json-text.js'
import { nameIn, namesInside } from './namespaces.js'
import {
  formOf,
  inputOptions,
  recordOutput,
  valueOf,
  type JsonInput,
  type JsonOutput,
} from './value-json.js'

const filterPackage = 'org.lilyproject.repository.api.filter.'
/**
 * Reads the conditions of an update or a delete. `ERR_INVALID_ARGUMENT`,
 * `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function conditionsFromJson(json: Json, outer: JsonInput): Condition[] {
  const input = inputOptions.read(outer)
  return arrayOf(checkJson(json, 'conditions'), 'conditions').map((each, index) => {
    const at = `conditions[${index}]`
    const own = inside(input, each, at)
    const { value, operator, allowMissing, ...read } = membersOf(each, at, {
      field: readableField(own),
      value: raw,
      operator: operatorOf,
      allowMissing: booleanOf,
      namespaces: unused,
    })
    const field = given(read.field, `${at}.field`)
    if (value === undefined) throw invalidArgument(`${at} needs a value, or null`)
    let compared: unknown = null
    if (field === versionField) compared = optional(value, `${at}.value`, countOf) ?? null
    else if (value !== null) {
      compared = valueOf(own.schema.field(field).type, value, forRead(own), `${at}.value`)
    }
    return { field, value: compared, operator, allowMissing }
  })
}

function operatorOf(json: Json, at: string): CompareOperator {
  return wordOf(json, at) as CompareOperator
}

function inside(input: JsonInput, json: Json, at: string): JsonInput {
  return { ...input, namespaces: namesInside(input.namespaces, json, at) }
}

/**
 * Context for a compared value: fields inside the value need read permission, not write permission.
 */
function forRead(input: JsonInput): JsonInput {
  return { ...input, checkWrite: input.checkRead }
}

/** A reader of the names of fields that may be read. */
function readableField({ namespaces, checkRead }: JsonInput) {
  return (json: Json, at: string): QualifiedName => {
    const field = nameIn(namespaces)(json, at)
    if (field !== versionField) checkRead?.(field)
    return field
  }
}

/** Reads a scan. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`. */
export function scanFromJson(json: Json, outer: JsonInput): RecordScan {
  const input = inside(inputOptions.read(outer), checkJson(json, 'scan'), 'scan')
  const members = membersOf(json, 'scan', {
    startRecordId: idOf,
    stopRecordId: idOf,
    rawStartRecordId: base64Of,
    rawStopRecordId: base64Of,
    recordFilter: (each) => filterOf(each, input),
    returnFields: (each, at) => returnFieldsOf(each, input, at),
    limit: countOf,
    caching: unused,
    cacheBlocks: unused,
    namespaces: unused,
  })
  return {
    startId: members.rawStartRecordId ?? members.startRecordId,
    stopId: members.rawStopRecordId ?? members.stopRecordId,
    filter: members.recordFilter,
    fields: members.returnFields,
    limit: members.limit,
  }
}

function idOf(json: Json | undefined, at: string): RecordId {
  return RecordId.parse(textOf(json, at))
}

function returnFieldsOf(json: Json, input: JsonInput, at: string): RecordScan['fields'] {
  const { namespaces } = inside(input, json, at)
  const { type = 'ALL', fields } = membersOf(json, at, {
    type: wordOf,
    fields: arraysOf(nameIn(namespaces)),
    namespaces: unused,
  })
  if (type === 'ALL') return 'all'
  if (type === 'NONE') return 'none'
  if (type !== 'ENUM') throw invalidArgument(`${at}.type: ALL, NONE or ENUM, got ${shown(type)}`)
  if (fields === undefined) throw invalidArgument(`${at} needs fields`)
  return fields
}

function filterOf(json: Json, outer: JsonInput): RecordFilter {
  const at = 'recordFilter'
  const input = inside(outer, json, at)
  const className = textOf(objectOf(json, at)['@class'], `${at}.@class`)
  const name = className.replace(filterPackage, '')
  if (!Object.hasOwn(filterReaders, name)) {
    throw invalidArgument(`there is no filter ${shown(className)}`)
  }
  return filterReaders[name](json, input, at)
}

type FilterReader = (json: Json, input: JsonInput, at: string) => RecordFilter

const common = { '@class': unused, namespaces: unused }

const filterReaders: Readonly<Record<string, FilterReader>> = {
  RecordIdPrefixFilter: (json, _, at) => {
    const { recordId } = membersOf(json, at, { ...common, recordId: idOf })
    return { idPrefix: given(recordId, `${at}.recordId`) }
  },
  RecordTypeFilter: (json, { namespaces }, at) => {
    const members = { recordType: nameIn(namespaces), version: countOf, operator: wordOf }
    const read = membersOf(json, at, { ...common, ...members })
    const { version, operator = 'EQUALS' } = read
    const recordType = given(read.recordType, `${at}.recordType`)
    if (operator === 'EQUALS') return { recordType, version }
    if (operator !== 'INSTANCE_OF') throw invalidArgument(`no operator ${shown(operator)}`)
    if (version !== undefined) throw invalidArgument(`${at}: INSTANCE_OF takes no version`)
    return { instanceOf: recordType }
  },
  FieldValueFilter: (json, input, at) => {
    const { fieldValue, compareOp, filterIfMissing, ...read } = membersOf(json, at, {
      ...common,
      field: readableField(input),
      fieldValue: raw,
      compareOp: operatorOf,
      filterIfMissing: booleanOf,
    })
    const field = given(read.field, `${at}.field`)
    if (fieldValue === undefined) throw invalidArgument(`${at} needs a fieldValue`)
    const { type } = input.schema.field(field)
    const value = valueOf(type, fieldValue, forRead(input), `${at}.fieldValue`)
    return { field, operator: compareOp, value, filterIfMissing }
  },
  RecordVariantFilter: (json, _, at) => {
    const dimensionsOf = recordsOf((each, place) => (each === null ? null : textOf(each, place)))
    const members = { recordId: idOf, variantProperties: dimensionsOf }
    const { recordId, variantProperties = {} } = membersOf(json, at, { ...common, ...members })
    return { variantsOf: given(recordId, `${at}.recordId`), dimensions: variantProperties }
  },
  RecordFilterList: (json, input, at) => {
    const members = { operator: textOf, filters: arraysOf((each) => filterOf(each, input)) }
    const read = membersOf(json, at, { ...common, ...members })
    const { operator = 'MUST_PASS_ALL' } = read
    const filters = given(read.filters, `${at}.filters`)
    if (operator === 'MUST_PASS_ALL') return { all: filters }
    if (operator === 'MUST_PASS_ONE') return { any: filters }
    throw invalidArgument(`no operator ${shown(operator)}`)
  },
}

function given<T>(value: T | undefined, at: string): T {
  if (value !== undefined) return value
  throw invalidArgument(`${at} is missing`)
}

/**
 * The JSON form of a scan, with the names of `output`. `ERR_INVALID_ARGUMENT`,
 * `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_RECORD_TYPE_NOT_FOUND`.
 */
export function scanToJson(scan: RecordScan, output: JsonOutput): Record<string, unknown> {
  const checked = recordOutput.read(output)
  return readArguments(() => {
    const { startId, stopId, filter, fields, limit } = scanOptions.read(scan)
    const bound = (name: string, id: RecordScan['startId']): object => {
      if (id === undefined) return {}
      if (!isBytes(id)) return { [`${name.toLowerCase()}RecordId`]: RecordId.of(id).text }
      return { [`raw${name}RecordId`]: Buffer.from(id).toString('base64') }
    }
    const json = {
      ...bound('Start', startId),
      ...bound('Stop', stopId),
      recordFilter: filter === undefined ? undefined : filterForm(filter, checked),
      returnFields: fields === undefined ? undefined : returnFieldsForm(fields, checked),
      limit,
    }
    return { ...json, namespaces: checked.names.namespaces }
  })
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
  const checked = recordOutput.read(output)
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
