/** The parts of which the routes of the repository are declared: schemas, queries and answers. */
import { forbidden } from '../../../http/errors.js'
import type { JsonSchema } from '../../../api/index.js'
import { operationId, type Route as SystemRoute } from '../../../http/operations.js'
import type { Call } from './call.js'

type Needed = 'read' | 'write' | 'schema' | 'tables' | 'indexes'

/** A route below a form of the addresses. */
export interface Route extends SystemRoute<Call> {
  /** `run` checks this permission first. Undefined if the handler checks permissions. */
  readonly needs?: Needed | undefined
}

const common = { 200: 'done', 400: 'a bad request', 403: 'no permission', 404: 'not found' }

/** Makes a route. The id of its operation is the summary in camel case. */
export function route(
  at: `${'get' | 'put' | 'post' | 'delete'} ${string}`,
  summary: string,
  { answers, needs, ...parts }: Partial<Route>,
  run: Route['run'],
): Route {
  const id = operationId(summary)
  const checked = (call: Call): unknown => {
    const { administrator, changeSchema, changeTables } = call.principal
    if (needs === 'read') call.access.checkReadsRecords()
    else if (needs === 'write') call.access.checkWritesRecords()
    else if (needs !== undefined && administrator !== true) {
      const isAllowed = { schema: changeSchema, tables: changeTables, indexes: false }[needs]
      const what = needs === 'schema' ? 'the schema' : needs
      if (isAllowed !== true) throw forbidden(`${what} cannot be changed`)
    }
    return run(call)
  }
  return { at, id, summary, ...parts, answers: { ...common, ...answers }, run: checked }
}

const text: JsonSchema = { type: 'string' }
const texts: JsonSchema = { type: 'object', additionalProperties: text }
const objects: JsonSchema = { type: 'array', items: { type: 'object' } }
const integer: JsonSchema = { type: 'integer' }
const name: JsonSchema = { ...text, description: 'prefix$local or {namespace}local' }
const names: JsonSchema = { type: 'array', items: name }

/** An object with these properties, a component of the description. */
function component(
  title: string,
  properties: object,
  required: readonly string[] = [],
): JsonSchema {
  return { title, type: 'object', properties, ...(required.length === 0 ? {} : { required }) }
}

const record = component('Record', {
  id: { ...text, description: 'USER.x or UUID.x, with .k=v for variants' },
  version: integer,
  type: { oneOf: [name, { type: 'object', properties: { name, version: integer } }] },
  fields: { type: 'object', description: 'values by name of the field' },
  fieldsToDelete: names,
  metadata: { type: 'object', additionalProperties: { type: 'object' } },
  metadataToDelete: { type: 'object', additionalProperties: { type: 'array', items: text } },
  attributes: texts,
  namespaces: { ...texts, description: 'prefix by namespace' },
})
const condition = component(
  'Condition',
  {
    field: name,
    value: { description: 'null: the field is absent' },
    operator: {
      enum: ['LESS', 'LESS_OR_EQUAL', 'EQUAL', 'NOT_EQUAL', 'GREATER_OR_EQUAL', 'GREATER'],
    },
    allowMissing: { type: 'boolean' },
  },
  ['field', 'value'],
)
const actions = ['update', 'delete', 'restore', 'undelete', 'tag', 'untag']

/** The schemas of bodies and answers. */
export const schemas = {
  record,
  creation: { type: 'object', properties: { action: { enum: ['create'] }, record } },
  action: component(
    'RecordAction',
    { action: { enum: actions }, record, conditions: { type: 'array', items: condition } },
    ['action'],
  ),
  scan: component('Scan', {
    startRecordId: text,
    stopRecordId: text,
    rawStartRecordId: { ...text, contentEncoding: 'base64' },
    rawStopRecordId: { ...text, contentEncoding: 'base64' },
    recordFilter: { type: 'object', required: ['@class'] },
    returnFields: {
      type: 'object',
      properties: { type: { enum: ['ALL', 'NONE', 'ENUM'] }, fields: names },
    },
    limit: integer,
  }),
  fieldType: component('FieldType', {
    id: text,
    name,
    valueType: text,
    scope: { enum: ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE'] },
  }),
  recordType: component('RecordType', {
    ...{ id: text, name, version: integer, strict: { type: 'boolean' } },
    ...{ fields: objects, supertypes: objects },
  }),
  named: component('Named', { name: text }, ['name']),
  any: { type: 'object' },
} as const

/** A query parameter with a text. */
export function queryText(description: string): JsonSchema {
  return { ...text, description }
}

/** A query parameter that is true or false. */
export function queryFlag(missing: boolean, description: string): JsonSchema {
  return { type: 'boolean', default: missing, description }
}

/** A query parameter that is a whole number. */
export function queryCount(
  missing: number,
  description: string,
  [minimum, maximum] = [0, Number.MAX_SAFE_INTEGER],
): JsonSchema {
  return { type: 'integer', default: missing, minimum, maximum, description }
}

/** The query parameters of addresses with names. */
export const namespaces: JsonSchema = {
  type: 'object',
  additionalProperties: text,
  description: 'namespace by prefix: ns.p=namespace',
}

/** Query parameters of every answer with names. */
export const naming: Readonly<Record<string, JsonSchema>> = {
  nsprefixes: queryFlag(true, 'whether names have prefixes'),
  ns: namespaces,
}

/** Query parameters of every answer with records. */
export const showing: Readonly<Record<string, JsonSchema>> = {
  fields: queryText('names of the fields that are wanted, with commas; default all'),
  schema: queryFlag(false, 'whether the types of the fields are added'),
  ...naming,
}

/** Reads of records. */
export const reading: Partial<Route> = {
  needs: 'read',
  answers: { 304: 'not modified' },
  query: showing,
}

/** Writes of records. */
export const writing: Partial<Route> = {
  needs: 'write',
  answers: {
    201: 'created',
    204: 'deleted',
    409: 'a condition does not hold, or another writer was faster',
    412: 'If-Match or If-None-Match does not hold',
    422: 'an invalid record',
  },
  query: naming,
}

/** Changes of anything that has a name. */
export const changing: Partial<Route> = { answers: { 201: 'created', 409: 'a conflict' } }
