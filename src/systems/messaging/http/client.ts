/**
 * Messaging over HTTP: the interface of the service, through `fetch`. The encoding is JSON, or Avro
 * with the package `avsc`.
 */
import { checkedFetch } from '../options.js'
import {
  boolean,
  CellarError,
  checkArray,
  checkText,
  choice,
  declareOptions,
  ErrorCode,
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
import { checkedPublish, checkedResponse } from '../publish/requests.js'
import { checkedProperties } from '../topics/topic-properties.js'
import { checkNamespace, checkTopicId } from '../topics/topic.js'
import { answerObject, connectionDeclarations, connectionOf } from '../../../http/connection.js'
import type { Fetch, FetchAnswer } from '../../../http/keep-alive-fetch.js'
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

/** A request beside its method and path. */
interface Call {
  readonly body?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal
}

/** See the file header. The iterators of this client do not report `isHeld`. */
export class MessagingClient implements Messaging {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #form: Form
  readonly #fetch: Fetch

  /** Connects at the first call. `ERR_INVALID_ARGUMENT`. */
  constructor(options: MessagingClientOptions) {
    const { gzip, encoding, ...rest } = clientOptions.read(options)
    const { url, headers, fetch } = connectionOf(rest)
    this.#base = `${url}/v3/namespaces`
    // The global `fetch` requests gzip by default.
    this.#headers = { ...headers, 'accept-encoding': gzip ? 'gzip' : 'identity' }
    this.#form = encoding
    this.#fetch = fetch
  }

  async createTopic(id: TopicId, given: TopicProperties = {}): Promise<void> {
    await this.#call('PUT', pathOf(id), { body: this.#propertiesBody(given) })
  }

  async updateTopic(id: TopicId, given: TopicProperties): Promise<void> {
    await this.#call('PUT', `${pathOf(id)}/properties`, { body: this.#propertiesBody(given) })
  }

  async deleteTopic(id: TopicId): Promise<void> {
    await this.#call('DELETE', pathOf(id))
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
    await this.#call('PUT', positionPath(id, consumer), { body })
  }

  async deletePosition(id: TopicId, consumer: string): Promise<void> {
    await this.#call('DELETE', positionPath(id, consumer))
  }

  async listPositions(id: TopicId): Promise<ConsumerPosition[]> {
    return this.#get(`${pathOf(id)}/positions`, (body) => {
      return checkArray(answerObject(body) as never, 'the answer').map((position) => {
        const shown = position as Omit<ConsumerPosition, 'id'> & { id: string }
        return { ...shown, id: idOf(shown) }
      })
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
    const path = `${pathOf(id)}/publish`
    const answer = await this.#call('POST', path, { body: this.#publishBody(given), headers })
    return readAnswer(answer, (body) => {
      return body.length === 0 ? undefined : decode(publishResponse, body, this.#form)
    })
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    const body = this.#publishBody(checkedPublish(request))
    await this.#call('POST', `${pathOf(id)}/store`, { body })
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    const body = encode(publishResponse, checkedResponse(response), this.#form)
    await this.#call('POST', `${pathOf(id)}/rollback`, { body })
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
    const answer = await this.#call('POST', path, { body, signal: ends })
    const source = new ResponseSource(answer.body, messageDecoder(this.#form), end)
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

  async #get<T>(path: string, read: (body: Buffer) => T, form: Form = 'json'): Promise<T> {
    const headers = { accept: contentTypes[form] }
    return readAnswer(await this.#call('GET', path, { headers }), read)
  }

  /** A GET of an address that answers in both forms. */
  #getForm<T>(path: string, type: WireType<T, never>): Promise<T> {
    return this.#get(path, (body) => decode(type, body, this.#form), this.#form)
  }

  #propertiesBody(given: TopicProperties): Buffer | string {
    return encode(properties, Object.fromEntries(checkedProperties(given)), this.#form)
  }

  #publishBody({ transactionWritePointer, messages }: PublishRequest): Buffer | string {
    const payloads = messages.map((each) => (typeof each === 'string' ? Buffer.from(each) : each))
    const request = { transactionWritePointer, messages: payloads }
    const capacity = payloads.reduce((bytes, { length }) => bytes + length + 10, 32)
    return encode(publishRequest, request, this.#form, capacity)
  }

  async #call(method: string, path: string, call: Call = {}): Promise<FetchAnswer> {
    const { body, headers, signal } = call
    const form = typeof body === 'string' ? 'json' : 'avro'
    const type: Record<string, string> =
      body === undefined ? {} : { 'content-type': contentTypes[form] }
    let answer: FetchAnswer
    try {
      answer = await this.#fetch(`${this.#base}${path}`, {
        method,
        headers: { ...this.#headers, ...headers, ...type },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      })
    } catch (cause) {
      const message = `the server at ${this.#base} cannot be reached`
      throw new CellarError(MessagingErrorCode.unavailable, message, { cause })
    }
    if (!answer.ok) throw await errorOf(answer)
    return answer
  }
}

/** Reads an answer as far as the caller requests messages. */
class ResponseSource implements MessageSource {
  readonly isHeld = false
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #decoder: MessageDecoder
  readonly #end: AbortController
  #messages: Message[] = []
  #at = 0
  #isEnded = false

  constructor(body: FetchAnswer['body'], decoder: MessageDecoder, end: AbortController) {
    this.#chunks = understand(() => body![Symbol.asyncIterator]())
    this.#decoder = decoder
    this.#end = end
  }

  get isDone(): boolean {
    return this.#isEnded && this.#at === this.#messages.length
  }

  async step(count: number): Promise<Message[]> {
    if (this.#at === this.#messages.length) await this.#read()
    const batch = this.#messages.slice(this.#at, this.#at + count)
    this.#at += batch.length
    return batch
  }

  close(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#end.abort()
  }

  async #read(): Promise<void> {
    let next: IteratorResult<Uint8Array>
    try {
      next = await this.#chunks.next()
    } catch (cause) {
      throw new CellarError(MessagingErrorCode.unavailable, 'the answer broke off', { cause })
    }
    this.#at = 0
    this.#messages = next.done === true ? [] : understand(() => this.#decoder.add(next.value))
    if (next.done !== true) return
    this.#isEnded = true
    if (this.#decoder.isDone) return
    throw new CellarError(MessagingErrorCode.unavailable, 'the answer broke off')
  }
}

async function errorOf(answer: FetchAnswer): Promise<Error> {
  const fields = await readAnswer(answer, (body): { code?: unknown; message?: unknown } => {
    try {
      return answerObject(body)
    } catch {
      return { message: body.toString('utf8') }
    }
  })
  const message = typeof fields.message === 'string' ? fields.message : answer.statusText
  const code = String(fields.code)
  if (code === ErrorCode.invalidArgument) return new CellarError(code, message)
  const known = Object.values<string>(MessagingErrorCode).find((each) => each === code)
  if (known !== undefined) return new CellarError(known, message)
  return new CellarError(MessagingErrorCode.server, `${answer.status} ${code}: ${message}`)
}

/**
 * The content of an answer. `ERR_MESSAGING_UNAVAILABLE` if the answer breaks off,
 * `ERR_MESSAGING_SERVER` if its body has another form.
 */
async function readAnswer<T>(answer: FetchAnswer, read: (body: Buffer) => T): Promise<T> {
  let bytes: ArrayBufferLike
  try {
    bytes = await answer.arrayBuffer()
  } catch (cause) {
    throw new CellarError(MessagingErrorCode.unavailable, 'the answer broke off', { cause })
  }
  return understand(() => read(Buffer.from(bytes)))
}

/** Decodes a part of an answer; `ERR_MESSAGING_SERVER` if that fails. */
function understand<T>(decode: () => T): T {
  try {
    return decode()
  } catch (cause) {
    const message = 'the server answers what is no answer of messaging'
    throw new CellarError(MessagingErrorCode.server, message, { cause })
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
