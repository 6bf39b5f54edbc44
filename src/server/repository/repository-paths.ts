/** The part of the repository in the OpenAPI description. */

type Json = Readonly<Record<string, unknown>>

const text: Json = { type: 'string' }
const object: Json = { type: 'object' }

/** A schema among the components. */
function reference(name: string): Json {
  return { $ref: `#/components/schemas/${name}` }
}

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
    record: reference('Record'),
    conditions: { type: 'array', items: reference('Condition') },
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

/** The schemas that operations refer to. */
export const repositorySchemas: Readonly<Record<string, Json>> = {
  Record: record,
  Condition: condition,
  RecordAction: recordAction,
  Scan: scan,
  FieldType: fieldType,
  RecordType: recordType,
  Named: named,
  Problem: { type: 'object', properties: { code: text, message: text } },
}

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
const blobAnswers = { ...read, 206: 'a range', 416: 'no such range' }
const changed = { 200: 'done', 400: 'a bad name', 403: 'no permission', 404: 'not found' }

/** A query parameter. */
interface QueryParameter {
  readonly name: string
  readonly schema: Json
  readonly description: string
  readonly required?: boolean
}

const flag: Json = { type: 'boolean', default: false }
const count: Json = { type: 'integer', minimum: 0 }

function query(name: string, schema: Json, description: string): QueryParameter {
  return { name, schema, description }
}

/** Query parameters of every answer with names. */
const naming: readonly QueryParameter[] = [
  query('nsprefixes', { type: 'boolean', default: true }, 'whether names have prefixes'),
  query('ns', { ...object, additionalProperties: text }, 'namespace by prefix: ns.p=namespace'),
]
const showing: readonly QueryParameter[] = [
  query('fields', text, 'names of the fields that are wanted, with commas; default all'),
  query('schema', flag, 'whether the types of the fields are added'),
  ...naming,
]
const paging: readonly QueryParameter[] = [
  query('start-index', { ...count, default: 1 }, 'the first version'),
  query('max-results', { ...count, default: 10, maximum: 1000 }, 'most versions'),
  ...showing,
]
const places: readonly QueryParameter[] = [
  query('indexes', text, 'places in the lists of the field, with commas'),
]

/** The parts of an operation beside its summary and its answers. */
interface OperationParts {
  readonly body?: Json
  readonly query?: readonly QueryParameter[]
}

/** `id` is unique in one form of the paths. */
function operation(
  id: string,
  summary: string,
  answers: Readonly<Record<number, string>>,
  { body, query: parameters = [] }: OperationParts = {},
): Json {
  const problem = { content: { 'application/json': { schema: reference('Problem') } } }
  const responses = Object.fromEntries(
    Object.entries(answers).map(([status, description]) => {
      return [status, Number(status) < 400 ? { description } : { description, ...problem }]
    }),
  )
  return {
    operationId: id,
    summary,
    ...(parameters.length === 0
      ? {}
      : { parameters: parameters.map((each) => ({ ...each, in: 'query' })) }),
    ...(body === undefined
      ? {}
      : { requestBody: { content: { 'application/json': { schema: body } } } }),
    responses,
  }
}

const recordPaths: Readonly<Record<string, Json>> = {
  '/record': {
    post: operation(
      'createRecord',
      'create',
      { ...written, 201: 'created' },
      {
        body: {
          ...object,
          properties: { action: { enum: ['create'] }, record: reference('Record') },
        },
        query: naming,
      },
    ),
  },
  '/record/{id}': {
    get: operation('readRecord', 'read', read, { query: showing }),
    put: operation(
      'putRecord',
      'create or change',
      { ...written, 201: 'created' },
      {
        body: reference('Record'),
        query: naming,
      },
    ),
    post: operation(
      'postRecord',
      'act on a record',
      { ...written, 204: 'deleted' },
      {
        body: reference('RecordAction'),
        query: naming,
      },
    ),
    delete: operation('deleteRecord', 'delete', { ...written, 204: 'deleted' }),
  },
  '/record/{id}/version': {
    get: operation('listVersions', 'versions', read, { query: paging }),
  },
  '/record/{id}/version/{version}': {
    get: operation('readVersion', 'read a version', read, { query: showing }),
    put: operation('putVersion', 'change the mutable fields of a version', written, {
      body: reference('Record'),
      query: naming,
    }),
  },
  '/record/{id}/vtag/{tag}': {
    get: operation('readTagged', 'read by a version tag', read, { query: showing }),
  },
  '/record/{id}/variant': { get: operation('listVariants', 'ids of the variants', read) },
  '/record/{id}/diff': {
    get: operation('diffVersions', 'fields that differ between two versions', read, {
      query: [query('from', count, 'a version'), query('to', count, 'another one'), ...naming],
    }),
  },
  '/record/{id}/field/{field}/data': {
    get: operation('readBlob', 'bytes of a blob', blobAnswers, { query: places }),
  },
  '/record/{id}/version/{version}/field/{field}/data': {
    get: operation('readBlobOfVersion', 'bytes of a blob', blobAnswers, { query: places }),
  },
  '/blob': {
    post: operation(
      'uploadBlob',
      'upload bytes',
      { 200: 'the blob', 400: 'a wrong length', 413: 'too large' },
      { query: [query('name', text, 'name of the file')] },
    ),
  },
  '/scan': {
    post: operation(
      'openScan',
      'begin a scan',
      { 201: 'begun', 400: 'a bad scan', 503: 'too many scans' },
      { body: reference('Scan'), query: naming },
    ),
  },
  '/scan/{scanner}': {
    get: operation(
      'nextOfScan',
      'the next records',
      { 200: 'records', 204: 'the end', 404: 'not found' },
      { query: [query('batch', { ...count, default: 1 }, 'most records'), ...showing] },
    ),
    delete: operation('closeScan', 'end a scan', { 200: 'ended', 404: 'not found' }),
  },
}

const tablePaths: Readonly<Record<string, Json>> = {
  '/table': {
    get: operation('listTables', 'record tables', { 200: 'names' }),
    post: operation(
      'createTable',
      'create a record table',
      { ...changed, 409: 'exists already' },
      { body: reference('Named') },
    ),
  },
  '/table/{name}': { delete: operation('dropTable', 'drop a record table', changed) },
}

function schemaPaths(kind: 'FieldType' | 'RecordType'): Record<string, Json> {
  const paths: Record<string, Json> = {}
  const answers = { 200: 'the type', 400: 'a bad type', 404: 'not found', 409: 'a conflict' }
  const body = reference(kind)
  const path = `/schema/${kind[0].toLowerCase()}${kind.slice(1)}`
  for (const suffix of ['', 'ById']) {
    const form = `${kind}${suffix}`
    paths[`${path}${suffix}`] = {
      get: operation(`list${kind}s${suffix}`, 'all types', { 200: 'the types' }, { query: naming }),
      post: operation(
        `create${form}`,
        'create',
        { ...answers, 201: 'created' },
        {
          body,
          query: naming,
        },
      ),
    }
    const put = { ...answers, 201: 'created', 301: 'renamed' }
    paths[`${path}${suffix}/{type}`] = {
      get: operation(`read${form}`, 'read', answers, { query: naming }),
      put: operation(`put${form}`, 'create or change', put, { body, query: naming }),
    }
    if (kind === 'FieldType') continue
    paths[`${path}${suffix}/{type}/version/{version}`] = {
      get: operation(`read${form}Version`, 'read', answers, { query: naming }),
    }
  }
  return paths
}

const globalPaths: Readonly<Record<string, Json>> = {
  '/repositories': {
    get: operation('listRepositories', 'repositories', { 200: 'names' }),
    post: operation(
      'createRepository',
      'create a repository',
      { ...changed, 409: 'exists already' },
      { body: reference('Named') },
    ),
  },
  '/repositories/{name}': {
    delete: operation('deleteRepository', 'delete a repository', changed),
  },
  '/index': {
    get: operation('listIndexes', 'indexes', { 200: 'names and states' }),
    post: operation(
      'createIndex',
      'create an index',
      { 201: 'created', 400: 'a bad one', 409: 'exists' },
      { body: reference('Named') },
    ),
  },
  '/index/{name}': {
    get: operation('readIndex', 'definition and state', { 200: 'the index', 404: 'not found' }),
    put: operation(
      'putIndex',
      'change, or build again',
      { ...changed, 409: 'a build is under way' },
      { body: object },
    ),
    delete: operation('deleteIndex', 'delete with its documents', changed),
  },
  '/index/{name}/search': {
    get: operation(
      'searchIndex',
      'search',
      { 200: 'total, and the records found', 400: 'a bad query', 404: 'not found' },
      {
        query: [
          { ...query('q', text, 'a query in the language of Lucene'), required: true },
          query('filter', text, 'a query that must hold and does not count for the order'),
          query(
            'field',
            text,
            'the field of words that name none; default: the first of the index',
          ),
          query('sort', text, 'fields with commas, with - for falling order; default: the score'),
          query('offset', { ...count, default: 0 }, 'hits that are left out'),
          query('limit', { ...count, default: 10, maximum: 1000 }, 'most hits'),
          query('wait', flag, 'whether the newest write is waited for'),
          ...showing,
        ],
      },
    ),
  },
  '/index/{name}/failures': {
    get: operation(
      'listIndexFailures',
      'refused documents, blobs without text, and dead letters',
      { 200: 'refused, texts and deadLetters', 403: 'no permission', 404: 'not found' },
      { query: [query('limit', { ...count, default: 100, maximum: 10_000 }, 'most of each')] },
    ),
    post: operation('retryIndexFailures', 'try them again', {
      200: 'how many succeeded',
      404: 'not found',
    }),
  },
}

/** The forms of the paths, each with the suffix of its operation ids. */
const recordForms = {
  '': '',
  '/table/{table}': 'InTable',
  '/{repository}': 'InRepository',
  '/{repository}/table/{table}': 'InRepositoryTable',
}

/** The paths in all their forms. */
export function repositoryPaths(): Record<string, unknown> {
  const paths: Record<string, unknown> = {}
  const add = (form: string, suffix: string, items: Readonly<Record<string, Json>>): void => {
    for (const [path, item] of Object.entries(items)) {
      const full = `/repository${form}${path}`
      const parameters = [...full.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => {
        return { name: parameter, in: 'path', required: true, schema: text }
      })
      const operations = Object.entries(item).map(([method, each]) => {
        const { operationId, ...rest } = each as Readonly<Record<string, unknown>>
        return [method, { operationId: `${String(operationId)}${suffix}`, ...rest }] as const
      })
      const described = Object.fromEntries(operations)
      paths[full] = parameters.length === 0 ? described : { parameters, ...described }
    }
  }
  for (const [form, suffix] of Object.entries(recordForms)) add(form, suffix, recordPaths)
  add('', '', tablePaths)
  add('/{repository}', 'InRepository', tablePaths)
  add('', '', schemaPaths('FieldType'))
  add('', '', schemaPaths('RecordType'))
  add('', '', globalPaths)
  return paths
}
