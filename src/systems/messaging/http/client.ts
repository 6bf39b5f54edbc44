/**
 * Messaging over HTTP: the interface of the service, through `fetch`, in JSON or Avro.
 */
import { checkedFetch, responseFields } from '../options.js'
import {
  boolean,
  checkArray,
  checkText,
  choice,
  declareOptions,
  type OptionsOf,
} from '../../../api/index.js'
import {
  MessagingErrorCode,
  parseMessageId,
  type ConsumerPosition,
  type FetchOptions,
  type Message,
  type MessageIterator,
  type Messaging,
  type PublishRequest,
  type PublishResponse,
  type SetPositionOptions,
  type TopicId,
  type TopicProperties,
} from '../index.js'
import { messageIterator, type MessageSource } from '../fetch/message-iterator.js'
import { checkConsumer, checkedPosition } from '../fetch/positions.js'
import { checkedPublish } from '../publish/requests.js'
import { checkedProperties, checkNamespace, checkTopicId } from '../topics/topic.js'
import {
  answerObject,
  connectionDeclarations,
  HttpClient,
  type ClientRequest,
  type JsonFields,
} from '../../../http/client.js'
import type { FetchAnswer } from '../../../http/fetch.js'
import {
  consumeRequest,
  messageDecoder,
  names,
  properties,
  publishRequest,
  publishResponse,
  type MessageDecoder,
} from './requests.js'
import { contentTypes, decode, encode, messageId, type Form, type WireType } from './wire-types.js'

const clientOptions = declareOptions('a messaging client', {
  ...connectionDeclarations,
  /** Default 'json'. */
  encoding: choice<Form>(['json', 'avro'], 'json'),
  /** Whether answers may be compressed with gzip, for slow networks. Default false. */
  gzip: boolean(false),
})

/** Options of a {@link MessagingClient}. */
export interface MessagingClientOptions extends OptionsOf<typeof clientOptions> {}

const pollLimitDefault = 1000
/** The longest wait in an address. */
const waitMillisecondsMax = 999_999_999

const service = {
  path: '/v3/namespaces',
  codes: MessagingErrorCode,
  unavailable: MessagingErrorCode.unavailable,
  malformed: MessagingErrorCode.server,
}

/** See the file header. The iterators of this client do not report `isHeld`. */
export class MessagingClient implements Messaging {
  readonly #http: HttpClient
  readonly #form: Form

  /** Connects at the first call. `ERR_INVALID_ARGUMENT`. */
  constructor(options: MessagingClientOptions) {
    const { gzip, encoding, ...connection } = clientOptions.read(options)
    // The global `fetch` requests gzip by default.
    const headers = { 'accept-encoding': gzip ? 'gzip' : 'identity' }
    this.#http = new HttpClient(connection, service, headers)
    this.#form = encoding
  }

  async createTopic(id: TopicId, given: TopicProperties = {}): Promise<void> {
    await this.#http.send('PUT', pathOf(id), this.#propertiesBody(given))
  }

  async updateTopic(id: TopicId, given: TopicProperties): Promise<void> {
    await this.#http.send('PUT', `${pathOf(id)}/properties`, this.#propertiesBody(given))
  }

  async deleteTopic(id: TopicId): Promise<void> {
    await this.#http.send('DELETE', pathOf(id))
  }

  async getTopic(id: TopicId): Promise<TopicProperties> {
    return this.#getForm(pathOf(id), properties)
  }

  async listTopics(namespace: string): Promise<string[]> {
    checkNamespace(namespace)
    return this.#getForm(`/${namespace}/topics`, names)
  }

  async listNamespaces(): Promise<string[]> {
    return this.#get('', (body) => decode(names, body, 'json'))
  }

  async end(id: TopicId): Promise<Buffer> {
    return this.#get(`${pathOf(id)}/end`, (body) => idOf(answerObject(body)))
  }

  async getPosition(id: TopicId, consumer: string): Promise<Buffer | undefined> {
    return this.#get(positionPath(id, consumer), (body) => {
      const found = answerObject(body)
      return found['id'] === null ? undefined : idOf(found)
    })
  }

  async setPosition(
    id: TopicId,
    consumer: string,
    position: Uint8Array | string,
    options: SetPositionOptions = {},
  ): Promise<void> {
    const { id: own, expected } = checkedPosition(position, options)
    const given = expected === undefined ? {} : { expected: expected && messageId.toJson(expected) }
    const body = JSON.stringify({ id: messageId.toJson(own), ...given })
    await this.#http.send('PUT', positionPath(id, consumer), withBody(body))
  }

  async deletePosition(id: TopicId, consumer: string): Promise<void> {
    await this.#http.send('DELETE', positionPath(id, consumer))
  }

  async listPositions(id: TopicId): Promise<ConsumerPosition[]> {
    return this.#get(`${pathOf(id)}/positions`, (body) => {
      const shown = checkArray(answerObject(body) as never, 'the answer')
      return shown.map((each) => ({ ...(each as ConsumerPosition), id: idOf(each as JsonFields) }))
    })
  }

  async publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined> {
    const given = checkedPublish(request)
    const { producer } = given
    const headers: Record<string, string> =
      producer === undefined
        ? {}
        : {
            'cellar-producer': encodeURIComponent(checkText(producer.id, 'the id of a producer')),
            'cellar-producer-sequence': String(producer.sequence),
          }
    return this.#http.call(
      'POST',
      `${pathOf(id)}/publish`,
      (body) => (body.length === 0 ? undefined : decode(publishResponse, body, this.#form)),
      this.#publishBody(given, headers),
    )
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    const given = checkedPublish(request)
    await this.#http.send('POST', `${pathOf(id)}/store`, this.#publishBody(given))
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    const body = encode(publishResponse, responseFields.read(response), this.#form)
    await this.#http.send('POST', `${pathOf(id)}/rollback`, withBody(body))
  }

  async fetch(id: TopicId, given: FetchOptions = {}): Promise<MessageIterator> {
    const options = checkedFetch(given)
    const { waitMilliseconds = 0, signal, from, time, inclusive = true, limit } = options
    const start = typeof from === 'string' ? parseMessageId(from) : from
    const request = { startFrom: { from: start, time }, inclusive, limit }
    const body = encode(
      consumeRequest,
      { ...request, transaction: options.transaction },
      this.#form,
    )
    const wait = Math.min(Math.ceil(waitMilliseconds), waitMillisecondsMax)
    const path = `${pathOf(id)}/poll${wait > 0 ? `?wait=${wait}` : ''}`
    // `close` must end the connection even while a read waits for the next bytes.
    const end = new AbortController()
    const ends = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal])
    const answer = await this.#http.send('POST', path, { ...withBody(body), signal: ends })
    const source = sourceOf(this.#http, answer.body, messageDecoder(this.#form), end)
    // The server enforces the limit, so the answer ends there and the connection can be reused.
    return messageIterator(source, Infinity, signal)
  }

  async poll(id: TopicId, options: FetchOptions = {}): Promise<Message[]> {
    const { limit = pollLimitDefault, ...start } = checkedFetch(options)
    const iterator = await this.fetch(id, { ...start, limit })
    const messages: Message[] = []
    for (;;) {
      const batch = await iterator.nextBatch(pollLimitDefault)
      if (batch.length === 0) return messages
      for (const message of batch) messages.push(message)
    }
  }

  #get<T>(path: string, read: (body: Buffer) => T, form: Form = 'json'): Promise<T> {
    return this.#http.call('GET', path, read, { headers: { accept: contentTypes[form] } })
  }

  /** A GET of an address that answers in both forms. */
  #getForm<T>(path: string, type: WireType<T, never>): Promise<T> {
    return this.#get(path, (body) => decode(type, body, this.#form), this.#form)
  }

  #propertiesBody(given: TopicProperties): ClientRequest {
    return withBody(encode(properties, Object.fromEntries(checkedProperties(given)), this.#form))
  }

  #publishBody(
    { transactionWritePointer, messages }: PublishRequest,
    headers?: Record<string, string>,
  ): ClientRequest {
    const payloads = messages.map((each) => (typeof each === 'string' ? Buffer.from(each) : each))
    const request = { transactionWritePointer, messages: payloads }
    const capacity = payloads.reduce((bytes, { length }) => bytes + length + 10, 32)
    return withBody(encode(publishRequest, request, this.#form, capacity), headers)
  }
}

/** A request with a body: a text is JSON, bytes are Avro. */
function withBody(body: Buffer | string, headers: Record<string, string> = {}): ClientRequest {
  const form = typeof body === 'string' ? 'json' : 'avro'
  return { body, headers: { ...headers, 'content-type': contentTypes[form] } }
}

/** Reads an answer as far as the caller requests messages. */
function sourceOf(
  http: HttpClient,
  body: FetchAnswer['body'],
  decoder: MessageDecoder,
  end: AbortController,
): MessageSource {
  const chunks = http.understand(() => body![Symbol.asyncIterator]())
  let messages: Message[] = []
  let at = 0
  let isEnded = false
  const read = async (): Promise<void> => {
    const next = await http.arrived(() => chunks.next())
    isEnded = next.done === true
    at = 0
    messages = next.done === true ? [] : http.understand(() => decoder.add(next.value))
    if (!isEnded || decoder.isDone) return
    await http.arrived(() => Promise.reject(new Error('the end is missing')))
  }
  return {
    isHeld: false,
    get isDone() {
      return isEnded && at === messages.length
    },
    step: async (count) => {
      if (at === messages.length) await read()
      const batch = messages.slice(at, at + count)
      at += batch.length
      return batch
    },
    close: () => {
      if (!isEnded) end.abort()
      isEnded = true
    },
  }
}

function idOf({ id }: { readonly id?: unknown }): Buffer {
  return messageId.fromJson(id, 'the id')
}

function pathOf(id: TopicId): string {
  const { namespace, topic } = checkTopicId(id)
  return `/${namespace}/topics/${topic}`
}

function positionPath(id: TopicId, consumer: string): string {
  checkConsumer(consumer)
  return `${pathOf(id)}/positions/${encodeURIComponent(checkText(consumer, 'a consumer'))}`
}
