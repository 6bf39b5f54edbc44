/** Routes of field types and record types. */
import type { FastifyReply } from 'fastify'
import {
  fieldTypeFromJson,
  fieldTypeToJson,
  recordTypeFromJson,
  recordTypeToJson,
  RepositoryError,
  RepositoryErrorCode,
  type FieldType,
  type Json,
  type RecordType,
} from '../../systems/repository/index.js'
import { forbidden } from '../http/access.js'
import { invalidArgument } from '../http/http-errors.js'
import { withAddress, type Call } from './repository-call.js'

/** The key by which the address names a type. */
export type By = 'name' | 'id'

function checkChanges({ principal }: Call): void {
  if (principal.administrator === true || principal.changeSchema === true) return
  throw forbidden('the schema cannot be changed')
}

/** The body of a POST: the type itself, or an action with it. */
function created(call: Call, property: string): Json {
  const { json } = call
  const isAction = typeof json === 'object' && json !== null && 'action' in json
  if (!isAction) return json
  const { body } = call.action({ create: [property] })
  if (body[property] === undefined) throw invalidArgument(`the body has no ${property}`)
  return body[property]
}

function location(
  call: Call,
  by: By,
  type: { readonly id: string; readonly name: string },
): string {
  const base = call.request.url.split('?')[0].replace(/(Type(ById)?)\/.*$/, '$1')
  return `${base}/${encodeURIComponent(by === 'id' ? type.id : type.name)}`
}

/** GET of all field types. */
export async function listFieldTypes(call: Call): Promise<unknown> {
  const types = call.manager.types.listFieldTypes()
  return { results: types.map((each) => fieldTypeToJson(each, call.names)) }
}

/** GET of one field type. */
export async function readFieldType(call: Call, by: By): Promise<unknown> {
  return fieldTypeToJson(findField(call, by), call.names)
}

function findField(call: Call, by: By): FieldType {
  const { types } = call.manager
  return withAddress(() =>
    by === 'id'
      ? types.getFieldTypeById(call.parameter('type'))
      : types.getFieldType(call.name('type')),
  )
}

/** POST of a new field type. */
export async function createFieldType(call: Call, by: By): Promise<FastifyReply> {
  checkChanges(call)
  const { name, valueType, scope } = fieldTypeFromJson(created(call, 'fieldType'), call.namespaces)
  if (name === undefined) throw invalidArgument('a field type needs a name')
  const type = await call.manager.types.createFieldType({ name, valueType, scope })
  void call.reply.code(201).header('location', location(call, by, type))
  return call.reply.send(fieldTypeToJson(type, call.names))
}

/** PUT of a field type: creates a type by name, or renames a type. */
export async function putFieldType(call: Call, by: By): Promise<FastifyReply> {
  checkChanges(call)
  const { types } = call.manager
  const given = fieldTypeFromJson(call.json, call.namespaces)
  const { valueType, scope } = given
  const named = by === 'name' ? call.name('type') : undefined
  const known = types.listFieldTypes().some(({ name }) => name === named)
  if (named !== undefined && !known) {
    checkSame(given.name, named, 'name')
    const type = await types.createFieldType({ name: named, valueType, scope })
    void call.reply.code(201).header('location', location(call, by, type))
    return call.reply.send(fieldTypeToJson(type, call.names))
  }
  const { id, name } = findField(call, by)
  checkSame(given.id, id, 'id')
  const type = await types.updateFieldType({ id, name: given.name ?? name, valueType, scope })
  if (by === 'name' && type.name !== name) {
    void call.reply.code(301).header('location', location(call, by, type))
  }
  return call.reply.send(fieldTypeToJson(type, call.names))
}

function checkSame(given: string | undefined, expected: string, what: string): void {
  if (given === undefined || given === expected) return
  throw invalidArgument(`the ${what} is ${expected} in the address, ${given} in the body`)
}

/** GET of the newest versions of all record types. */
export async function listRecordTypes(call: Call): Promise<unknown> {
  const { types } = call.manager
  return {
    results: types.listRecordTypes().map((each) => recordTypeToJson(each, types, call.names)),
  }
}

/** GET of one record type, of its newest version or the one in the address. */
export async function readRecordType(call: Call, by: By): Promise<unknown> {
  return recordTypeToJson(findRecordType(call, by), call.manager.types, call.names)
}

function findRecordType(call: Call, by: By): RecordType {
  const { types } = call.manager
  const text = call.parameter('version')
  if (!/^[0-9]{0,9}$/.test(text)) {
    throw new RepositoryError(RepositoryErrorCode.versionNotFound, `there is no version ${text}`)
  }
  const version = text === '' ? undefined : Number(text)
  return withAddress(() =>
    by === 'id'
      ? types.getRecordTypeById(call.parameter('type'), version)
      : types.getRecordType(call.name('type'), version),
  )
}

/** POST of a new record type. */
export async function createRecordType(call: Call, by: By): Promise<FastifyReply> {
  checkChanges(call)
  const { types } = call.manager
  const given = recordTypeFromJson(created(call, 'recordType'), call.namespaces)
  const { name, fields, supertypes, strict } = given
  if (name === undefined) throw invalidArgument('a record type needs a name')
  const type = await types.createRecordType({ name, fields, supertypes, strict })
  void call.reply.code(201).header('location', location(call, by, type))
  return call.reply.send(recordTypeToJson(type, types, call.names))
}

/** PUT of a record type: creates a type by name, or replaces the content of a type. */
export async function putRecordType(call: Call, by: By): Promise<FastifyReply> {
  checkChanges(call)
  const { types } = call.manager
  const { id: givenId, name: givenName, ...input } = recordTypeFromJson(call.json, call.namespaces)
  const named = by === 'name' ? call.name('type') : undefined
  const known = types.listRecordTypes().some(({ name }) => name === named)
  if (named !== undefined && !known) {
    checkSame(givenName, named, 'name')
    const type = await types.createRecordType({ ...input, name: named })
    void call.reply.code(201).header('location', location(call, by, type))
    return call.reply.send(recordTypeToJson(type, types, call.names))
  }
  const { id, name } = findRecordType(call, by)
  checkSame(givenId, id, 'id')
  const refreshSubtypes = call.flag('refreshSubtypes', false)
  const update = { ...input, id, name: givenName ?? name }
  const type = await types.updateRecordType(update, { refreshSubtypes })
  if (by === 'name' && type.name !== name) {
    void call.reply.code(301).header('location', location(call, by, type))
  }
  return call.reply.send(recordTypeToJson(type, types, call.names))
}
