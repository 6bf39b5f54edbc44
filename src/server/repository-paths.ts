/** The part of the repository in the OpenAPI description. */

type Json = Readonly<Record<string, unknown>>

const text: Json = { type: 'string' }
const name: Json = { ...text, description: 'prefix$local or {namespace}local' }
const typeReference: Json = {
  oneOf: [name, { type: 'object', properties: { name, version: { type: 'integer' } } }],
}
const metadata: Json = { type: 'object', additionalProperties: { type: 'object' } }
const record: Json = {
  type: 'object',
  properties: {
    id: { ...text, description: 'USER.x or UUID.x, with .k=v for variants' },
    version: { type: 'integer' },
    type: typeReference,
    fields: { type: 'object', description: 'values by name of the field' },
    fieldsToDelete: { type: 'array', items: name },
    metadata,
    metadataToDelete: { type: 'object', additionalProperties: { type: 'array', items: text } },
    attributes: { type: 'object', additionalProperties: text },
    namespaces: { type: 'object', additionalProperties: text, description: 'prefix by namespace' },
  },
}
const condition: Json = {
  type: 'object',
  required: ['field', 'value'],
  properties: {
    field: name,
    value: { description: 'null: the field is absent' },
    operator: {
      enum: ['LESS', 'LESS_OR_EQUAL', 'EQUAL', 'NOT_EQUAL', 'GREATER_OR_EQUAL', 'GREATER'],
    },
    allowMissing: { type: 'boolean' },
  },
}
const recordAction: Json = {
  type: 'object',
  required: ['action'],
  properties: {
    action: { enum: ['update', 'delete', 'restore', 'undelete', 'tag', 'untag'] },
    record,
    conditions: { type: 'array', items: condition },
  },
}
const scan: Json = {
  type: 'object',
  properties: {
    startRecordId: text,
    stopRecordId: text,
    rawStartRecordId: { ...text, contentEncoding: 'base64' },
    rawStopRecordId: { ...text, contentEncoding: 'base64' },
    recordFilter: { type: 'object', required: ['@class'] },
    returnFields: {
      type: 'object',
      properties: {
        type: { enum: ['ALL', 'NONE', 'ENUM'] },
        fields: { type: 'array', items: name },
      },
    },
    limit: { type: 'integer' },
  },
}
const fieldType: Json = {
  type: 'object',
  properties: {
    id: text,
    name,
    valueType: text,
    scope: { enum: ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE'] },
  },
}
const recordType: Json = {
  type: 'object',
  properties: {
    id: text,
    name,
    version: { type: 'integer' },
    strict: { type: 'boolean' },
    fields: { type: 'array', items: { type: 'object' } },
    supertypes: { type: 'array', items: { type: 'object' } },
  },
}
const named: Json = { type: 'object', required: ['name'], properties: { name: text } }

const read = { 200: 'the record', 304: 'not modified', 403: 'no permission', 404: 'not found' }
const written = {
  200: 'changed, or as it was',
  400: 'a bad request',
  403: 'no permission',
  404: 'not found',
  409: 'a condition does not hold, or somebody else was faster',
  412: 'If-Match or If-None-Match does not hold',
  422: 'an invalid record',
}
const changed = { 200: 'done', 400: 'a bad name', 403: 'no permission', 404: 'not found' }

function operation(summary: string, answers: Readonly<Record<number, string>>, body?: Json): Json {
  const responses = Object.fromEntries(
    Object.entries(answers).map(([status, description]) => [status, { description }]),
  )
  if (body === undefined) return { summary, responses }
  return { summary, requestBody: { content: { 'application/json': { schema: body } } }, responses }
}

const recordPaths: Readonly<Record<string, Json>> = {
  '/record': {
    post: operation(
      'create',
      { ...written, 201: 'created' },
      { type: 'object', properties: { action: { enum: ['create'] }, record } },
    ),
  },
  '/record/{id}': {
    get: operation('read', read),
    put: operation('create or change', { ...written, 201: 'created' }, record),
    post: operation('act on a record', { ...written, 204: 'deleted' }, recordAction),
    delete: operation('delete', { ...written, 204: 'deleted' }),
  },
  '/record/{id}/version': { get: operation('versions', read) },
  '/record/{id}/version/{version}': {
    get: operation('read a version', read),
    put: operation('change the mutable fields of a version', written, record),
  },
  '/record/{id}/vtag/{tag}': { get: operation('read by a version tag', read) },
  '/record/{id}/variant': { get: operation('ids of the variants', read) },
  '/record/{id}/diff': { get: operation('fields that differ between two versions', read) },
  '/record/{id}/field/{field}/data': {
    get: operation('bytes of a blob', { ...read, 206: 'a range', 416: 'no such range' }),
  },
  '/record/{id}/version/{version}/field/{field}/data': {
    get: operation('bytes of a blob', { ...read, 206: 'a range', 416: 'no such range' }),
  },
  '/blob': {
    post: operation('upload bytes', { 200: 'the blob', 400: 'a wrong length', 413: 'too large' }),
  },
  '/scan': { post: operation('begin a scan', { 201: 'begun', 400: 'a bad scan' }, scan) },
  '/scan/{scanner}': {
    get: operation('the next records', { 200: 'records', 204: 'the end', 404: 'not found' }),
    delete: operation('end a scan', { 200: 'ended', 404: 'not found' }),
  },
}

const tablePaths: Readonly<Record<string, Json>> = {
  '/table': {
    get: operation('record tables', { 200: 'names' }),
    post: operation('create a record table', { ...changed, 409: 'exists already' }, named),
  },
  '/table/{name}': { delete: operation('drop a record table', changed) },
}

function schemaPaths(kind: string, schema: Json): Record<string, Json> {
  const paths: Record<string, Json> = {}
  const answers = { 200: 'the type', 400: 'a bad type', 404: 'not found', 409: 'a conflict' }
  for (const suffix of ['', 'ById']) {
    paths[`/schema/${kind}${suffix}`] = {
      get: operation('all types', { 200: 'the types' }),
      post: operation('create', { ...answers, 201: 'created' }, schema),
    }
    paths[`/schema/${kind}${suffix}/{type}`] = {
      get: operation('read', answers),
      put: operation('create or change', { ...answers, 201: 'created', 301: 'renamed' }, schema),
    }
    if (kind === 'fieldType') continue
    paths[`/schema/${kind}${suffix}/{type}/version/{version}`] = { get: operation('read', answers) }
  }
  return paths
}

/** The paths in all their forms. */
export function repositoryPaths(): Record<string, unknown> {
  const paths: Record<string, unknown> = {}
  const add = (form: string, items: Readonly<Record<string, Json>>): void => {
    for (const [path, item] of Object.entries(items)) {
      const full = `/repository${form}${path}`
      const parameters = [...full.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => {
        return { name: parameter, in: 'path', required: true, schema: text }
      })
      paths[full] = parameters.length === 0 ? item : { parameters, ...item }
    }
  }
  for (const form of ['', '/table/{table}', '/{repository}', '/{repository}/table/{table}']) {
    add(form, recordPaths)
  }
  for (const form of ['', '/{repository}']) add(form, tablePaths)
  add('', schemaPaths('fieldType', fieldType))
  add('', schemaPaths('recordType', recordType))
  add('', {
    '/repositories': {
      get: operation('repositories', { 200: 'names' }),
      post: operation('create a repository', { ...changed, 409: 'exists already' }, named),
    },
    '/index': {
      get: operation('indexes', { 200: 'names and states' }),
      post: operation(
        'create an index',
        { 201: 'created', 400: 'a bad one', 409: 'exists' },
        named,
      ),
    },
    '/index/{name}': {
      get: operation('definition and state', { 200: 'the index', 404: 'not found' }),
      put: operation(
        'change, or build again',
        { ...changed, 409: 'a build is under way' },
        {
          type: 'object',
        },
      ),
      delete: operation('delete with its documents', changed),
    },
    '/index/{name}/search': {
      get: operation('search by q, with filter, field, sort, offset, limit and wait', {
        200: 'total, and the records found',
        400: 'a bad query',
        404: 'not found',
      }),
    },
    '/index/{name}/failures': {
      get: operation('refused documents, blobs without text, and dead letters', {
        200: 'refused, texts and deadLetters',
        403: 'no permission',
        404: 'not found',
      }),
      post: operation('try them again', { 200: 'how many succeeded', 404: 'not found' }),
    },
    '/repositories/{name}': { delete: operation('delete a repository', changed) },
  })
  return paths
}
