/**
 * The REST interface of messaging (CDAP: TMS), under `/v1` and `/v3`, in Avro and JSON.
 *
 * A poll is answered as a stream of chunks: each is an Avro block, or a part of a JSON array. The
 * next chunk is made when the connection accepts it. A slow consumer therefore costs one chunk, and
 * the fetch ends when a consumer disconnects.
 */
import { pipeline, Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import {
  assert,
  CellarError,
  checked,
  checkMethods,
  checkText,
  declareOptions,
  described,
  integer,
  required,
  text,
  invalidArgument,
  type JsonSchema,
  type OptionsOf,
} from '../../../api/index.js'
import {
  messageIdBytes,
  MessagingErrorCode,
  type Message,
  type MessageIterator,
  type Messaging,
  StandbyMessaging,
  type PublishRequest,
  type TopicId,
} from '../index.js'
import {
  addRoutes,
  operationId,
  readBody,
  type Operation,
  type Route,
} from '../../../http/operations.js'
import type { RequestMemory } from '../../../http/request-memory.js'
import type { ServerContext, ServerSystem } from '../../../http/server-system.js'
import { messagingMetrics } from './metrics.js'
import {
  blockOf,
  consumeRequest,
  consumeResponse,
  endOf,
  names,
  properties,
  publishRequest,
  publishResponse,
} from './requests.js'
import { contentTypes, decode, encode, messageId, type Form, type WireType } from './wire-types.js'

/** The declared options of {@link messagingRoutes}. */
export const routesOptions = declareOptions('the routes of messaging', {
  /** Bytes of messages at which a chunk of a poll closes. Default 60,000. */
  chunkBytes: integer({ min: 1, default: 60_000 }),
})

/** Options of {@link messagingRoutes}. */
export interface MessagingRoutesOptions extends OptionsOf<typeof routesOptions> {}

/** Bytes of a message in a chunk beside id and payload. */
const messageOverheadBytes = 8
/** Messages of a page, and the most bytes that reading a page can take. */
const pageMessages = 256
const pageBytesMax = 32 << 20

const positionBody = declareOptions('a position', {
  /** An id in hexadecimal. */
  id: required(text('')),
  /** The position before, in hexadecimal; null: there is none. */
  expected: described(
    checked((given: string | null, what) => (given === null ? null : checkText(given, what))),
    { type: ['string', 'null'] },
  ),
})

/** The routes of a messaging service, for a `CellarServer`. `ERR_INVALID_ARGUMENT`. */
export function messagingRoutes(
  messaging: Messaging,
  options: MessagingRoutesOptions = {},
): ServerSystem {
  checkMethods(messaging, 'messaging', ['publish', 'fetch', 'listTopics'])
  const { chunkBytes } = routesOptions.read(options)
  const stopped = new AbortController()
  return {
    name: 'messaging',
    mediaTypes: [contentTypes.avro],
    register: (app, context) => {
      takeUntypedRollbacks(app, context)
      const parts = { messaging, chunkBytes, memory: context.memory, stopped: stopped.signal }
      for (const version of ['v1', 'v3']) {
        const routes = allRoutes.map((each) => {
          return { ...each, id: operationId(`${each.summary} ${version}`) }
        })
        addRoutes(app, `/${version}/namespaces`, routes, (request, reply): Call => {
          return { ...parts, request, reply }
        })
      }
    },
    metrics: () => messagingMetrics(messaging),
    health: () => {
      const isStandby = messaging instanceof StandbyMessaging && !messaging.isLeader
      return { status: isStandby ? 'standby' : 'ok' }
    },
    close: () => stopped.abort(),
  }
}

/**
 * As in CDAP, a rollback needs no content type: its body is the answer of the publish, byte for
 * byte.
 */
function takeUntypedRollbacks(app: FastifyInstance, { bodies }: ServerContext): void {
  app.addContentTypeParser('*', (request, payload, done) => {
    const { headers, routeOptions } = request
    if (headers['content-type'] === undefined && routeOptions.url?.endsWith('/rollback') === true) {
      bodies(request, payload, done)
      return
    }
    payload.resume()
    done(wrongType())
  })
}

/** A request, and the parts of the server that it needs. */
interface Call {
  readonly messaging: Messaging
  readonly chunkBytes: number
  readonly memory: RequestMemory
  readonly stopped: AbortSignal
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

const common = { 200: 'done', 400: 'a bad name or body', 404: 'the topic does not exist' }

/** Makes a route; the id of its operation is its summary in camel case. */
function route(
  at: string,
  summary: string,
  parts: Partial<Operation>,
  run: Route<Call>['run'],
): Route<Call> {
  const answers = { ...common, ...parts.answers }
  return { at, mediaType: contentTypes.avro, ...parts, id: summary, summary, answers, run }
}

const topic = '/:namespace/topics/:topic'
const position = `${topic}/positions/:consumer`
const published = { 413: 'too large', 500: 'too old', 503: 'busy' }
const publishing = { answers: published, body: publishRequest.schema }
const waiting: JsonSchema = {
  type: 'integer',
  minimum: 0,
  maximum: 999_999_999,
  default: 0,
  description: 'milliseconds to wait for the first message',
}
const polling = {
  query: { wait: waiting },
  body: consumeRequest.schema,
  answer: consumeResponse.schema,
}

const topicRoutes: readonly Route<Call>[] = [
  route('get ', 'list namespaces', {}, ({ messaging }) => messaging.listNamespaces()),
  route('get /:namespace/topics', 'list topics', { answer: names.schema }, async (call) => {
    const { namespace } = call.request.params as TopicId
    return answer(call, names, await call.messaging.listTopics(namespace))
  }),
  route(`get ${topic}`, 'read properties', { answer: properties.schema }, async (call) => {
    return answer(call, properties, await call.messaging.getTopic(idOf(call)))
  }),
  route(
    `put ${topic}`,
    'create topic',
    { answers: { 409: 'exists already' }, body: properties.schema },
    (call) => call.messaging.createTopic(idOf(call), propertiesOf(call)),
  ),
  route(`put ${topic}/properties`, 'replace properties', { body: properties.schema }, (call) => {
    return call.messaging.updateTopic(idOf(call), propertiesOf(call))
  }),
  route(`delete ${topic}`, 'delete topic', {}, (call) => call.messaging.deleteTopic(idOf(call))),
]

const storing = { answers: { 409: 'not as expected' }, body: positionBody.schema }

const positionRoutes: readonly Route<Call>[] = [
  route(`get ${topic}/end`, 'read end', {}, async (call) => {
    return { id: messageId.toJson(await call.messaging.end(idOf(call))) }
  }),
  route(`get ${topic}/positions`, 'list positions', {}, async (call) => {
    const positions = await call.messaging.listPositions(idOf(call))
    return positions.map((each) => ({ ...each, id: messageId.toJson(each.id) }))
  }),
  route(`get ${position}`, 'read position', {}, async (call) => {
    const id = await call.messaging.getPosition(idOf(call), consumerOf(call))
    return { id: id === undefined ? null : messageId.toJson(id) }
  }),
  route(`put ${position}`, 'store position', storing, (call) => {
    const { id, ...options } = readBody(call.request, positionBody)
    return call.messaging.setPosition(idOf(call), consumerOf(call), id, options)
  }),
  route(`delete ${position}`, 'forget position', {}, (call) => {
    return call.messaging.deletePosition(idOf(call), consumerOf(call))
  }),
]

const messageRoutes: readonly Route<Call>[] = [
  route(
    `post ${topic}/publish`,
    'publish',
    { ...publishing, answer: publishResponse.schema },
    async (call) => {
      const form = formOf(call)
      const producer = producerOf(call.request)
      const given = decode(publishRequest, call.request.body as Buffer, form)
      const response = await call.messaging.publish(idOf(call), { ...given, producer })
      return response === undefined ? undefined : answer(call, publishResponse, response, form)
    },
  ),
  route(`post ${topic}/store`, 'store', publishing, (call) => {
    const given = decode(publishRequest, call.request.body as Buffer, formOf(call))
    return call.messaging.store(idOf(call), given)
  }),
  route(`post ${topic}/rollback`, 'roll back', { body: publishResponse.schema }, (call) => {
    const form = typeOf(call.request) === contentTypes.json ? 'json' : 'avro'
    const given = decode(publishResponse, call.request.body as Buffer, form)
    return call.messaging.rollback(idOf(call), given)
  }),
  route(`post ${topic}/poll`, 'poll', polling, answerPoll),
]

const allRoutes = [...topicRoutes, ...positionRoutes, ...messageRoutes]

function answer<T>(
  { request, reply }: Call,
  type: WireType<unknown, T>,
  value: T,
  form = wantedForm(request),
): Buffer | string {
  void reply.type(contentTypes[form])
  return encode(type, value, form)
}

/** The properties in a body; JSON unless the content type is Avro. An empty body has none. */
function propertiesOf({ request }: Call): Record<string, string> {
  const body = request.body as Buffer
  const isAvro = typeOf(request) === contentTypes.avro && body.length > 0
  return decode(properties, body, isAvro ? 'avro' : 'json')
}

async function answerPoll(call: Call): Promise<unknown> {
  const { messaging, chunkBytes, memory, stopped, request, reply } = call
  const form = formOf(call)
  const { startFrom, ...options } = decode(consumeRequest, request.body as Buffer, form)
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const signal = AbortSignal.any([stopped, gone.signal])
  const { wait: waitMilliseconds } = request.query as { wait: number }
  const fetched = { ...startFrom, ...options, waitMilliseconds, signal }
  const iterator = await messaging.fetch(idOf(call), fetched)
  const pages = pagesOf(iterator, memory, signal)
  const stream = Readable.from(chunks(pages, form, chunkBytes), { objectMode: false })
  void reply.type(contentTypes[form])
  if (!acceptsGzip(request)) return stream
  const gzip = createGzip()
  pipeline(stream, gzip, () => undefined)
  void reply.header('content-encoding', 'gzip')
  return gzip
}

/**
 * The messages of a poll, within the memory of the server. Each page waits for the memory of the
 * largest page, and its bytes count until the next page is requested.
 */
async function* pagesOf(
  iterator: MessageIterator,
  memory: RequestMemory,
  signal: AbortSignal,
): AsyncGenerator<Message[], void> {
  try {
    for (;;) {
      const lease = await memory.wait(pageBytesMax, signal)
      if (lease === undefined) return
      try {
        const page = await iterator.nextBatch(pageMessages)
        if (page.length === 0) return
        assert(page.length <= pageMessages, 'a page has no more messages than requested')
        lease.resize(2 * page.reduce((bytes, { payload }) => bytes + payload.length, 0))
        yield page
      } finally {
        lease.release()
      }
    }
  } finally {
    iterator.close()
  }
}

/** The chunks of a poll, each made after the connection accepted the chunk before it. */
async function* chunks(
  pages: AsyncIterable<Message[]>,
  form: Form,
  chunkBytes: number,
): AsyncGenerator<Buffer | string, void> {
  let messages: Message[] = []
  let bytes = 0
  let isFirst = true
  const take = (): Buffer | string => {
    const block = blockOf(messages, form, isFirst)
    messages = []
    bytes = 0
    isFirst = false
    return block
  }
  for await (const page of pages) {
    for (const message of page) {
      messages.push(message)
      bytes += messageIdBytes + message.payload.length + messageOverheadBytes
      if (bytes >= chunkBytes) yield take()
    }
  }
  if (messages.length > 0) yield take()
  yield endOf(form, isFirst)
}

function idOf({ request }: Call): TopicId {
  const { namespace, topic } = request.params as TopicId
  if (topic?.includes('/') || namespace.includes('/')) {
    throw new CellarError(MessagingErrorCode.topicNotFound, 'a name holds no slash')
  }
  return { namespace, topic }
}

function consumerOf({ request }: Call): string {
  return (request.params as { consumer: string }).consumer
}

/** The content type without parameters, in lower case. */
function typeOf({ headers }: FastifyRequest): string | undefined {
  return headers['content-type']?.split(';')[0].trim().toLowerCase()
}

/** The form of the answer to a request without a body. */
function wantedForm({ headers }: FastifyRequest): Form {
  return headers.accept?.includes(contentTypes.avro) === true ? 'avro' : 'json'
}

/** `ERR_INVALID_ARGUMENT` for another content type than the two. */
function formOf({ request }: Call): Form {
  const type = typeOf(request)
  if (type === contentTypes.avro) return 'avro'
  if (type === contentTypes.json) return 'json'
  throw wrongType()
}

/** Whether an answer may be compressed: `gzip` is listed, and not with the weight 0. */
function acceptsGzip({ headers }: FastifyRequest): boolean {
  const accepted = headers['accept-encoding']?.toLowerCase().split(',') ?? []
  return accepted.some((each) => {
    const [coding, ...parameters] = each.split(';').map((part) => part.trim())
    return coding === 'gzip' && !parameters.some((each) => /^q\s*=\s*0(\.0*)?$/.test(each))
  })
}

function wrongType(): Error {
  return invalidArgument(`the content type is ${contentTypes.avro} or ${contentTypes.json}`)
}

function producerOf({ headers }: FastifyRequest): PublishRequest['producer'] | undefined {
  const id = headers['cellar-producer']
  const sequence = headers['cellar-producer-sequence']
  if (id === undefined && sequence === undefined) return undefined
  if (typeof id === 'string' && typeof sequence === 'string' && /^[0-9]{1,16}$/.test(sequence)) {
    return { id: decodedId(id), sequence: Number(sequence) }
  }
  throw invalidArgument('cellar-producer and cellar-producer-sequence belong together')
}

/** A header holds no text beyond ASCII, so an id is percent-encoded there. */
function decodedId(encoded: string): string {
  try {
    return decodeURIComponent(encoded)
  } catch {
    throw invalidArgument('cellar-producer must be percent-encoded')
  }
}
