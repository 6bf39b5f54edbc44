/** Field types and record types in JSON. */
import { checkArray, checkObject, readArguments } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { FieldType, FieldTypeUpdate, Scope } from '../schema/field-type.js'
import type {
  FieldEntryInput,
  RecordType,
  RecordTypeUpdate,
  SupertypeInput,
} from '../schema/record-type.js'
import { TypeManager } from '../schema/type-manager.js'
import {
  arrayOf,
  booleanOf,
  checkJson,
  countOf,
  objectOf,
  optional,
  plainJson,
  textOf,
} from './json-shapes.js'
import type { Json, JsonObject } from './json-text.js'
import { NameReader, NameWriter } from './namespaces.js'

/** A field type in JSON; every member may be absent. */
export type FieldTypeJson = Partial<FieldTypeUpdate>

const fieldTypeNames = ['id', 'name', 'valueType', 'scope', 'namespaces']
const recordTypeNames = [
  'id',
  'name',
  'version',
  'fields',
  'supertypes',
  'mixins',
  'strict',
  'namespaces',
]
const ruleNames = ['default', 'min', 'max', 'values'] as const
const entryNames = ['id', 'name', 'mandatory', 'pattern', 'unique', 'linkTarget', ...ruleNames]

/** Reads the input of a field type. `ERR_INVALID_ARGUMENT`. */
export function fieldTypeFromJson(json: Json, outer: NameReader): FieldTypeJson {
  const object = objectOf(checkJson(json, 'fieldType'), 'fieldType', fieldTypeNames)
  const namespaces = NameReader.check(outer).with(object['namespaces'], 'fieldType.namespaces')
  const valueType = optional(object['valueType'], 'fieldType.valueType', textOf)
  const scope = optional(object['scope'], 'fieldType.scope', textOf)?.toUpperCase()
  return {
    id: optional(object['id'], 'fieldType.id', textOf),
    name: nameOf(object, namespaces, 'fieldType'),
    valueType:
      valueType === undefined
        ? undefined
        : namespaces.resolveType(valueType, 'fieldType.valueType'),
    scope: scope as Scope | undefined,
  }
}

/** The JSON form of a field type. `ERR_INVALID_ARGUMENT`. */
export function fieldTypeToJson(field: FieldType, names: NameWriter): Record<string, unknown> {
  NameWriter.check(names)
  const { id, name, valueType, scope } = readArguments(() => ({
    ...checkObject(field, 'a field type'),
  }))
  return { id, name: names.write(name), valueType, scope, namespaces: names.namespaces }
}

/** Reads the input of a record type; absent lists become empty ones. `ERR_INVALID_ARGUMENT`. */
export function recordTypeFromJson(json: Json, outer: NameReader): RecordTypeUpdate {
  const object = objectOf(checkJson(json, 'recordType'), 'recordType', recordTypeNames)
  const namespaces = NameReader.check(outer).with(object['namespaces'], 'recordType.namespaces')
  const { fields, supertypes, mixins } = object
  if (supertypes !== undefined && mixins !== undefined) {
    throw invalidArgument('recordType has supertypes or mixins, not both')
  }
  return {
    id: optional(object['id'], 'recordType.id', textOf),
    name: nameOf(object, namespaces, 'recordType'),
    strict: optional(object['strict'], 'recordType.strict', booleanOf),
    fields: (optional(fields, 'recordType.fields', arrayOf) ?? []).map((entry) => {
      return entryFromJson(entry, namespaces)
    }),
    supertypes: (optional(supertypes ?? mixins, 'recordType.supertypes', arrayOf) ?? []).map(
      (entry) => supertypeFromJson(entry, namespaces),
    ),
  }
}

function nameOf(object: JsonObject, namespaces: NameReader, at: string): string | undefined {
  return optional(object['name'], `${at}.name`, (json, place) => {
    return namespaces.resolve(textOf(json, place), place)
  })
}

function entryFromJson(json: Json, namespaces: NameReader): FieldEntryInput {
  const at = 'recordType.fields'
  const object = objectOf(json, at, entryNames)
  const rules = ruleNames
    .filter((name) => object[name] !== undefined)
    .map((name) => [name, plainJson(object[name])])
  const linkTarget = optional(object['linkTarget'], `${at}.linkTarget`, textOf)
  return {
    field: optional(object['id'], `${at}.id`, textOf),
    name: nameOf(object, namespaces, at),
    mandatory: optional(object['mandatory'], `${at}.mandatory`, booleanOf),
    pattern: optional(object['pattern'], `${at}.pattern`, textOf),
    unique: optional(object['unique'], `${at}.unique`, booleanOf),
    linkTarget: linkTarget as FieldEntryInput['linkTarget'],
    ...(Object.fromEntries(rules) as object),
  }
}

function supertypeFromJson(json: Json, namespaces: NameReader): SupertypeInput {
  const at = 'recordType.supertypes'
  const object = objectOf(json, at, ['id', 'name', 'version'])
  return {
    id: optional(object['id'], `${at}.id`, textOf),
    name: nameOf(object, namespaces, at),
    version: optional(object['version'], `${at}.version`, countOf),
  }
}

/**
 * The JSON form of a version of a record type. `ERR_INVALID_ARGUMENT`, `ERR_FIELD_TYPE_NOT_FOUND`.
 */
export function recordTypeToJson(
  type: RecordType,
  types: TypeManager,
  names: NameWriter,
): Record<string, unknown> {
  NameWriter.check(names)
  TypeManager.check(types)
  return readArguments(() => recordTypeForm(checkObject(type, 'a record type'), types, names))
}

function recordTypeForm(
  type: RecordType,
  types: TypeManager,
  names: NameWriter,
): Record<string, unknown> {
  return {
    id: type.id,
    name: names.write(type.name),
    version: type.version,
    strict: type.isStrict,
    fields: checkArray(type.fields, 'the fields of a record type').map((entry) => {
      const { field, ...rules } = checkObject(entry, 'a field of a record type')
      return { id: field, name: names.write(types.getFieldTypeById(field).name), ...rules }
    }),
    supertypes: checkArray(type.supertypes, 'supertypes').map((supertype) => {
      const { id, version } = checkObject(supertype, 'a supertype')
      return { id, name: names.write(types.getRecordTypeById(id).name), version }
    }),
    namespaces: names.namespaces,
  }
}
