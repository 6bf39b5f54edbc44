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
  CellarError,
  checkMethods,
  declareOptions,
  integer,
  type OptionsOf,
} from '../../api/index.js'
import {
  messageIdBytes,
  MessagingErrorCode,
  type FetchOptions,
  type Message,
  type MessageIterator,
  type Messaging,
  StandbyMessaging,
  type PublishRequest,
  type PublishResponse,
  type TopicId,
  type TopicProperties,
} from '../../systems/messaging/index.js'
import { decodeTransaction } from '../../systems/transactions/index.js'
import { AvroForms, blocksEnd, encodeBlock } from './avro.js'
import { invalidArgument } from '../http/http-errors.js'
import {
  messageJson,
  parsePoll,
  parsePosition,
  parseProperties,
  parsePublish,
  parseResponse,
  responseJson,
} from './json-forms.js'
import { RequestMemory } from '../http/request-memory.js'
import { messagingPaths } from './messaging-paths.js'
import type { ServerSystem } from '../server-system.js'
import { messagingMetrics } from './messaging-metrics.js'

const routesOptions = declareOptions('the routes of messaging', {
  /** Bytes of messages at which a chunk of a poll closes. Default 60,000. */
  chunkBytes: integer({ min: 1, default: 60_000 }),
})

/** Options of {@link messagingRoutes}. */
export interface MessagingRoutesOptions extends OptionsOf<typeof routesOptions> {}

type Form = 'avro' | 'json'
const contentTypes = { avro: 'avro/binary', json: 'application/json' } as const
/** Bytes of a message in a chunk beside id and payload. */
const messageOverheadBytes = 8
/** Messages of a page, and the most bytes that reading a page can take. */
const pageMessages = 256
const pageBytesMax = 32 << 20

/** The routes of a messaging service, for a `CellarServer`. `ERR_INVALID_ARGUMENT`. */
export function messagingRoutes(
  messaging: Messaging,
  options: MessagingRoutesOptions = {},
): ServerSystem {
  checkMethods(messaging, 'messaging', ['publish', 'fetch', 'listTopics'])
  const { chunkBytes } = routesOptions.read(options)
  const routes = new Routes(messaging, chunkBytes)
  return {
    name: 'messaging',
    paths: messagingPaths(),
    mediaTypes: [contentTypes.avro],
    register: (app, { memory, bodies }) => {
      routes.memory = memory
      app.addContentTypeParser('*', (request, payload, done) => {
        if (isUntypedRollback(request)) bodies(request, payload, done)
        else {
          payload.resume()
          done(wrongType())
        }
      })
      for (const version of ['v1', 'v3']) {
        app.get(`/${version}/namespaces`, async () => messaging.listNamespaces())
        routes.register(app, `/${version}/namespaces/:namespace`)
      }
    },
    metrics: () => messagingMetrics(messaging),
    health: () => {
      const isStandby = messaging instanceof StandbyMessaging && !messaging.isLeader
      return { status: isStandby ? 'standby' : 'ok' }
    },
    close: () => routes.stop(),
  }
}

class Routes {
  readonly #messaging: Messaging
  readonly #chunkBytes: number
  readonly #stopped = new AbortController()
  /** Set by the server. */
  memory = new RequestMemory(Infinity)
  #avro: AvroForms | undefined

  constructor(messaging: Messaging, chunkBytes: number) {
    this.#messaging = messaging
    this.#chunkBytes = chunkBytes
  }

  register(app: FastifyInstance, base: string): void {
    const topic = `${base}/topics/:topic`
    const messaging = this.#messaging
    app.get(`${base}/topics`, async (request, reply) => {
      const { namespace } = request.params as TopicId
      const names = await messaging.listTopics(namespace)
      if (!wantsAvro(request)) return names
      return reply.type(contentTypes.avro).send(this.#forms.encodeNames(names))
    })
    app.get(topic, async (request, reply) => {
      const properties = await messaging.getTopic(idOf(request))
      if (!wantsAvro(request)) return properties
      return reply.type(contentTypes.avro).send(this.#forms.encodeProperties(properties))
    })
    app.put(topic, async (request, reply) => {
      await messaging.createTopic(idOf(request), this.#propertiesOf(request))
      return reply.send()
    })
    app.put(`${topic}/properties`, async (request, reply) => {
      await messaging.updateTopic(idOf(request), this.#propertiesOf(request))
      return reply.send()
    })
    app.delete(topic, async (request, reply) => {
      await messaging.deleteTopic(idOf(request))
      return reply.send()
    })
    app.get(`${topic}/end`, async (request) => ({ id: hexOf(await messaging.end(idOf(request))) }))
    app.get(`${topic}/positions`, async (request) => {
      const positions = await messaging.listPositions(idOf(request))
      return positions.map((position) => ({ ...position, id: hexOf(position.id) }))
    })
    const position = `${topic}/positions/:consumer`
    app.get(position, async (request) => {
      const id = await messaging.getPosition(idOf(request), consumerOf(request))
      return { id: id === undefined ? null : hexOf(id) }
    })
    app.put(position, async (request, reply) => {
      const { id, ...options } = parsePosition(request.body as Buffer)
      await messaging.setPosition(idOf(request), consumerOf(request), id, options)
      return reply.send()
    })
    app.delete(position, async (request, reply) => {
      await messaging.deletePosition(idOf(request), consumerOf(request))
      return reply.send()
    })
    app.post(`${topic}/publish`, (request, reply) => this.#publish(request, reply))
    app.post(`${topic}/store`, (request, reply) => this.#store(request, reply))
    app.post(`${topic}/rollback`, (request, reply) => this.#rollback(request, reply))
    app.post(`${topic}/poll`, (request, reply) => this.#poll(request, reply))
  }

  stop(): void {
    this.#stopped.abort()
  }

  get #forms(): AvroForms {
    this.#avro ??= new AvroForms()
    return this.#avro
  }

  /** The properties in a body; JSON unless the content type is Avro. An empty body has none. */
  #propertiesOf(request: FastifyRequest): TopicProperties {
    const body = request.body as Buffer
    const isAvro = typeOf(request) === contentTypes.avro && body.length > 0
    return isAvro ? this.#forms.decodeProperties(body) : parseProperties(body)
  }

  #request(request: FastifyRequest): PublishRequest {
    const body = request.body as Buffer
    return formOf(request) === 'avro' ? this.#forms.decodePublish(body) : parsePublish(body)
  }

  async #publish(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const form = formOf(request)
    const producer = producerOf(request)
    const decoded = this.#request(request)
    const response = await this.#messaging.publish(
      idOf(request),
      producer === undefined ? decoded : { ...decoded, producer },
    )
    if (response === undefined) return reply.send()
    const body = form === 'avro' ? this.#forms.encodeResponse(response) : responseJson(response)
    return reply.type(contentTypes[form]).send(body)
  }

  async #store(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    await this.#messaging.store(idOf(request), this.#request(request))
    return reply.send()
  }

  async #rollback(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const body = request.body as Buffer
    const isJson = typeOf(request) === contentTypes.json
    const response: PublishResponse = isJson
      ? parseResponse(body)
      : this.#forms.decodeResponse(body)
    await this.#messaging.rollback(idOf(request), response)
    return reply.send()
  }

  async #poll(request: FastifyRequest, reply: FastifyReply): Promise<unknown> {
    const form = formOf(request)
    const options = form === 'avro' ? this.#pollOfAvro(request) : parsePoll(request.body as Buffer)
    const signals = [this.#stopped.signal, closedSignal(reply)]
    const signal = AbortSignal.any(signals)
    const waitMilliseconds = waitOf(request)
    const iterator = await this.#messaging.fetch(idOf(request), {
      ...options,
      signal,
      ...(waitMilliseconds > 0 ? { waitMilliseconds } : {}),
    })
    const pages = pagesOf(iterator, this.memory, signal)
    const stream = Readable.from(chunks(pages, form, this.#chunkBytes), { objectMode: false })
    void reply.type(contentTypes[form])
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(stream)
    const gzip = createGzip()
    pipeline(stream, gzip, () => undefined)
    return reply.header('content-encoding', 'gzip').send(gzip)
  }

  #pollOfAvro(request: FastifyRequest): FetchOptions {
    const decoded = this.#forms.decodeConsume(request.body as Buffer)
    const { startFrom, inclusive, limit, transaction } = decoded
    return {
      inclusive,
      ...(typeof startFrom === 'bigint' ? { time: Number(startFrom) } : {}),
      ...(Buffer.isBuffer(startFrom) ? { from: startFrom } : {}),
      ...(limit === null ? {} : { limit }),
      ...(transaction === null ? {} : { transaction: decodeTransaction(transaction) }),
    }
  }
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
    const taken = messages
    messages = []
    bytes = 0
    if (form === 'avro') return encodeBlock(taken)
    const text = (isFirst ? '[' : ',') + taken.map(messageJson).join(',')
    isFirst = false
    return text
  }
  for await (const page of pages) {
    for (const message of page) {
      messages.push(message)
      bytes += messageIdBytes + message.payload.length + messageOverheadBytes
      if (bytes >= chunkBytes) yield take()
    }
  }
  if (messages.length > 0) yield take()
  yield form === 'avro' ? blocksEnd : isFirst ? '[]' : ']'
}

function idOf(request: FastifyRequest): TopicId {
  const { namespace, topic } = request.params as TopicId
  if (topic?.includes('/') || namespace.includes('/')) {
    throw new CellarError(MessagingErrorCode.topicNotFound, 'a name holds no slash')
  }
  return { namespace, topic }
}

function consumerOf(request: FastifyRequest): string {
  return (request.params as { consumer: string }).consumer
}

function hexOf(id: Buffer): string {
  return id.toString('hex')
}

/** The content type without parameters. */
function typeOf({ headers }: FastifyRequest): string | undefined {
  return headers['content-type']?.split(';')[0].trim()
}

/** Whether an answer to a request without a body should be Avro. */
function wantsAvro({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes(contentTypes.avro) === true
}

/** `ERR_INVALID_ARGUMENT` for another content type than the two. */
function formOf(request: FastifyRequest): Form {
  const type = typeOf(request)
  if (type === contentTypes.avro) return 'avro'
  if (type === contentTypes.json) return 'json'
  throw wrongType()
}

function wrongType(): Error {
  return invalidArgument(`the content type is ${contentTypes.avro} or ${contentTypes.json}`)
}

/**
 * As in CDAP, a rollback needs no content type: its body is the answer of the publish, byte for
 * byte.
 */
function isUntypedRollback({ headers, routeOptions }: FastifyRequest): boolean {
  return headers['content-type'] === undefined && routeOptions.url?.endsWith('/rollback') === true
}

function producerOf({ headers }: FastifyRequest): PublishRequest['producer'] | undefined {
  const id = headers['cellar-producer']
  const sequence = headers['cellar-producer-sequence']
  if (id === undefined && sequence === undefined) return undefined
  if (typeof id === 'string' && typeof sequence === 'string' && /^[0-9]{1,15}$/.test(sequence)) {
    return { id, sequence: Number(sequence) }
  }
  throw invalidArgument('cellar-producer and cellar-producer-sequence belong together')
}

/** The query `wait`: the longest wait of a poll for its first message, in milliseconds. */
function waitOf(request: FastifyRequest): number {
  const { wait } = request.query as { wait?: unknown }
  if (wait === undefined) return 0
  if (typeof wait === 'string' && /^[0-9]{1,9}$/.test(wait)) return Number(wait)
  throw invalidArgument('wait is a number of milliseconds')
}

function closedSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}
