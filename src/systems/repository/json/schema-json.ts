/** Field types and record types in JSON. */
import { checkArray, checkObject, readArguments } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type {
  FieldEntryInput,
  FieldType,
  FieldTypeUpdate,
  RecordType,
  RecordTypeUpdate,
  Scope,
  SupertypeInput,
} from '../schema/types.js'
import { TypeManager } from '../schema/type-manager.js'
import {
  arraysOf,
  booleanOf,
  checkJson,
  countOf,
  membersOf,
  plainJson,
  raw,
  textOf,
  unused,
  wordOf,
} from './json-shapes.js'
import type { Json, JsonObject } from './json-text.js'
import { nameIn, NameReader, namesInside, NameWriter } from './namespaces.js'

/** A field type in JSON; every member may be absent. */
export type FieldTypeJson = Partial<FieldTypeUpdate>

/** Reads the input of a field type. `ERR_INVALID_ARGUMENT`. */
export function fieldTypeFromJson(json: Json, outer: NameReader): FieldTypeJson {
  const at = 'fieldType'
  const names = namesInside(NameReader.check(outer), checkJson(json, at), at)
  const { id, name, valueType, scope } = membersOf(json, at, {
    id: textOf,
    name: nameIn(names),
    valueType: (each, place) => names.resolveType(textOf(each, place), place),
    scope: wordOf,
    namespaces: unused,
  })
  return { id, name, valueType, scope: scope as Scope | undefined }
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
  const at = 'recordType'
  const names = namesInside(NameReader.check(outer), checkJson(json, at), at)
  const supertypesOf = arraysOf((each, place): SupertypeInput => {
    return membersOf(each, place, { id: textOf, name: nameIn(names), version: countOf })
  })
  const members = membersOf(json, at, {
    id: textOf,
    name: nameIn(names),
    version: unused,
    fields: arraysOf((each, place) => entryOf(each, place, names)),
    supertypes: supertypesOf,
    mixins: supertypesOf,
    strict: booleanOf,
    namespaces: unused,
  })
  const { id, name, strict, fields = [], supertypes, mixins } = members
  if (supertypes !== undefined && mixins !== undefined) {
    throw invalidArgument('recordType has supertypes or mixins, not both')
  }
  return { id, name, strict, fields, supertypes: supertypes ?? mixins ?? [] }
}

function entryOf(json: Json, at: string, names: NameReader): FieldEntryInput {
  const { id, ...entry } = membersOf(json, at, {
    id: textOf,
    name: nameIn(names),
    mandatory: booleanOf,
    pattern: textOf,
    unique: booleanOf,
    linkTarget: textOf,
    // Null is a value here, which the schema refuses.
    ...{ default: raw, min: raw, max: raw, values: raw },
  })
  return { ...(plainJson(entry as JsonObject) as FieldEntryInput), field: id }
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
  return readArguments(() => {
    checkObject(type, 'a record type')
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
  })
}
