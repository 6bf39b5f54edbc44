/** Routes of field types and record types. */
import {
  fieldTypeFromJson,
  fieldTypeToJson,
  recordTypeFromJson,
  recordTypeToJson,
  type FieldType,
  type Json,
  type NameReader,
  type RecordType,
  type TypeManager,
} from '../index.js'
import { invalidArgument, type JsonSchema } from '../../../api/index.js'
import { withAddress, type Call } from './call.js'
import { changing, naming, queryFlag, route, schemas, type Route } from './declarations.js'

/** The key by which the address names a type. */
type By = 'name' | 'id'

interface Named {
  readonly id: string
  readonly name: string
}

interface Kind<Given extends Partial<Named>, Type extends Named> {
  readonly name: 'FieldType' | 'RecordType'
  readonly body: JsonSchema
  readonly query: NonNullable<Route['query']>
  fromJson(json: Json, namespaces: NameReader): Given
  toJson(type: Type, call: Call): object
  list(types: TypeManager): readonly Type[]
  find(call: Call, by: By): Type
  create(types: TypeManager, given: Given & { readonly name: string }): Promise<Type>
  update(call: Call, given: Given & Named): Promise<Type>
}

const fieldTypes: Kind<ReturnType<typeof fieldTypeFromJson>, FieldType> = {
  name: 'FieldType',
  body: schemas.fieldType,
  query: naming,
  fromJson: fieldTypeFromJson,
  toJson: (type, call) => fieldTypeToJson(type, call.names),
  list: (types) => types.listFieldTypes(),
  find: (call, by) => {
    const { types } = call.manager
    if (by === 'id') return types.getFieldTypeById(call.parameter('type'))
    return types.getFieldType(call.name('type'))
  },
  create: (types, { name, valueType, scope }) => types.createFieldType({ name, valueType, scope }),
  update: (call, given) => call.manager.types.updateFieldType(given),
}

const recordTypes: Kind<ReturnType<typeof recordTypeFromJson>, RecordType> = {
  name: 'RecordType',
  body: schemas.recordType,
  query: { ...naming, refreshSubtypes: queryFlag(false, 'whether its subtypes refer to it') },
  fromJson: recordTypeFromJson,
  toJson: (type, call) => recordTypeToJson(type, call.manager.types, call.names),
  list: (types) => types.listRecordTypes(),
  find: (call, by) => {
    const { version, manager } = call
    const { types } = manager
    if (by === 'id') return types.getRecordTypeById(call.parameter('type'), version)
    return types.getRecordType(call.name('type'), version)
  },
  create: (types, { name, fields, supertypes, strict }) => {
    return types.createRecordType({ name, fields, supertypes, strict })
  },
  update: (call, given) => {
    const refreshSubtypes = call.flag('refreshSubtypes')
    return call.manager.types.updateRecordType(given, { refreshSubtypes })
  },
}

/** The routes of all types, by name and by id. */
export const schemaRoutes: readonly Route[] = (['name', 'id'] as const).flatMap((by) => {
  const path = `/schema/recordType${suffixOf(by)}/:type/version/:version` as const
  return [
    ...routesOf(fieldTypes, by),
    ...routesOf(recordTypes, by),
    route(`get ${path}`, `read RecordType${suffixOf(by)} version`, { query: naming }, (call) => {
      return shown(recordTypes, call, by)
    }),
  ]
})

function suffixOf(by: By): string {
  return by === 'id' ? 'ById' : ''
}

function routesOf<Given extends Partial<Named>, Type extends Named>(
  kind: Kind<Given, Type>,
  by: By,
): Route[] {
  const { name, body, query } = kind
  const property = `${name[0].toLowerCase()}${name.slice(1)}`
  const [path, all] = [`/schema/${property}${suffixOf(by)}`, `${name}${suffixOf(by)}`] as const
  const changed: Partial<Route> = { ...changing, needs: 'schema', query, body }
  return [
    route(`get ${path}`, `list ${name}s${suffixOf(by)}`, { query: naming }, (call) => {
      return { results: kind.list(call.manager.types).map((each) => kind.toJson(each, call)) }
    }),
    route(`post ${path}`, `create ${all}`, changed, (call) => {
      const given = kind.fromJson(bodyOf(call, property), call.namespaces)
      if (given.name === undefined) throw invalidArgument(`a ${property} needs a name`)
      return created(call, kind, by, { ...given, name: given.name })
    }),
    route(`get ${path}/:type`, `read ${all}`, { query: naming }, (call) => {
      return shown(kind, call, by)
    }),
    route(`put ${path}/:type`, `put ${all}`, changed, (call) => put(call, kind, by)),
  ]
}

/** The JSON of the type in the address. */
function shown<Type extends Named>(
  kind: Pick<Kind<object, Type>, 'find' | 'toJson'>,
  call: Call,
  by: By,
): object {
  return kind.toJson(
    withAddress(() => kind.find(call, by)),
    call,
  )
}

/** The body of a POST: the type itself, or an action with it. */
function bodyOf(call: Call, property: string): Json {
  const { json } = call
  const isAction = typeof json === 'object' && json !== null && 'action' in json
  if (!isAction) return json
  const { body } = call.action({ create: [property] })
  if (body[property] === undefined) throw invalidArgument(`the body has no ${property}`)
  return body[property]
}

function location(call: Call, by: By, type: Named): string {
  const base = call.request.url.split('?')[0].replace(/(Type(ById)?)\/.*$/, '$1')
  return `${base}/${encodeURIComponent(by === 'id' ? type.id : type.name)}`
}

async function created<Given extends Partial<Named>, Type extends Named>(
  call: Call,
  kind: Kind<Given, Type>,
  by: By,
  given: Given & { readonly name: string },
): Promise<object> {
  const type = await kind.create(call.manager.types, given)
  void call.reply.code(201).header('location', location(call, by, type))
  return kind.toJson(type, call)
}

async function put<Given extends Partial<Named>, Type extends Named>(
  call: Call,
  kind: Kind<Given, Type>,
  by: By,
): Promise<object> {
  const given = kind.fromJson(call.json, call.namespaces)
  const named = by === 'name' ? call.name('type') : undefined
  if (named !== undefined && !kind.list(call.manager.types).some(({ name }) => name === named)) {
    checkSame(given.name, named, 'name')
    return created(call, kind, by, { ...given, name: named })
  }
  const { id, name } = withAddress(() => kind.find(call, by))
  checkSame(given.id, id, 'id')
  const type = await kind.update(call, { ...given, id, name: given.name ?? name })
  if (by === 'name' && type.name !== name) {
    void call.reply.code(301).header('location', location(call, by, type))
  }
  return kind.toJson(type, call)
}

function checkSame(given: string | undefined, expected: string, what: string): void {
  if (given === undefined || given === expected) return
  throw invalidArgument(`the ${what} is ${expected} in the address, ${given} in the body`)
}
