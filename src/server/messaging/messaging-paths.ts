/** The messaging part of the OpenAPI description. */

type Json = Readonly<Record<string, unknown>>

const string: Json = { type: 'string' }
const long: Json = { type: 'string', description: 'a 64-bit number in decimal digits' }
const base64: Json = { type: 'string', contentEncoding: 'base64' }

const publishRequest: Json = {
  type: 'object',
  required: ['messages'],
  properties: {
    transactionWritePointer: { ...long, type: ['string', 'null'] },
    messages: { type: 'array', items: base64 },
  },
}
const publishResponse: Json = {
  type: 'object',
  properties: {
    transactionWritePointer: { ...long, type: ['string', 'null'] },
    rollbackRange: {
      type: 'object',
      properties: {
        startTimestamp: long,
        startSequenceId: { type: 'integer' },
        endTimestamp: long,
        endSequenceId: { type: 'integer' },
      },
    },
  },
}
const consumeRequest: Json = {
  type: 'object',
  properties: {
    startFrom: { description: 'null, { "bytes": id in hexadecimal } or { "long": milliseconds }' },
    inclusive: { type: 'boolean', default: true },
    limit: { type: ['integer', 'null'], minimum: 1 },
    transaction: { description: 'null, an object, or base64 of the Thrift form' },
  },
}
const consumeResponse: Json = {
  type: 'array',
  items: { type: 'object', properties: { id: string, payload: base64 } },
}
const names: Json = { type: 'array', items: string }
const properties: Json = { type: 'object', additionalProperties: string }

function body(schema: Json, avro: boolean): Json {
  const content: Record<string, unknown> = { 'application/json': { schema } }
  if (avro) content['avro/binary'] = {}
  return { content }
}

function operation(
  summary: string,
  answers: Readonly<Record<number, string>>,
  request?: Json,
  answer?: Json,
): Json {
  const responses = Object.fromEntries(
    Object.entries(answers).map(([status, description]) => [
      status,
      status === '200' && answer !== undefined ? { description, ...answer } : { description },
    ]),
  )
  return request === undefined
    ? { summary, responses }
    : { summary, requestBody: request, responses }
}

/** The paths under both prefixes. */
export function messagingPaths(): Record<string, unknown> {
  const missing = { 400: 'a bad name or body', 404: 'the topic does not exist' }
  const base: Record<string, unknown> = {
    '/topics': {
      get: operation('names of the topics', { 200: 'in order' }, undefined, body(names, true)),
    },
    '/topics/{topic}': {
      get: operation(
        'properties',
        { 200: 'as text', ...missing },
        undefined,
        body(properties, true),
      ),
      put: operation(
        'create',
        { 200: 'created', 400: 'a bad name or property', 409: 'exists already' },
        body(properties, true),
      ),
      delete: operation('delete', { 200: 'deleted', ...missing }),
    },
    '/topics/{topic}/properties': {
      put: operation('replace', { 200: 'replaced', ...missing }, body(properties, true)),
    },
    '/topics/{topic}/end': {
      get: operation('where new messages begin', { 200: 'an id', ...missing }),
    },
    '/topics/{topic}/positions': {
      get: operation('how far each consumer is', { 200: 'ids and lags', ...missing }),
    },
    '/topics/{topic}/positions/{consumer}': {
      get: operation('how far a consumer is', { 200: 'an id, or null', ...missing }),
      put: operation('store how far it is', { 200: 'stored', ...missing, 409: 'not as expected' }),
      delete: operation('forget a consumer', { 200: 'forgotten', ...missing }),
    },
    '/topics/{topic}/publish': {
      post: operation(
        'publish',
        { 200: 'published', ...missing, 413: 'too large', 500: 'too old', 503: 'busy' },
        body(publishRequest, true),
        body(publishResponse, true),
      ),
    },
    '/topics/{topic}/store': {
      post: operation('store', { 200: 'stored', ...missing }, body(publishRequest, true)),
    },
    '/topics/{topic}/rollback': {
      post: operation('roll back', { 200: 'marked', ...missing }, body(publishResponse, true)),
    },
    '/topics/{topic}/poll': {
      post: operation(
        'read',
        { 200: 'a stream', ...missing },
        body(consumeRequest, true),
        body(consumeResponse, true),
      ),
    },
  }
  const paths: Record<string, unknown> = {}
  for (const version of ['v1', 'v3']) {
    const listed = operation('names of the namespaces that have topics', { 200: 'in order' })
    paths[`/${version}/namespaces`] = { get: listed }
    for (const [path, item] of Object.entries(base)) {
      paths[`/${version}/namespaces/{namespace}${path}`] = item
    }
  }
  return paths
}
