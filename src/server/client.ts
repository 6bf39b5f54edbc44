/**
 * Messaging over HTTP: the interface of the service, by `fetch`. In JSON, or in Avro if the package
 * `avsc` is there.
 */
import { CellarError, ErrorCode, OptionNames } from '../api/index.js'
import {
  MessagingError,
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
} from '../messaging/index.js'
import { messageIterator, type MessageSource } from '../messaging/message-iterator.js'
import { checkedFetch, checkRequestNames } from '../messaging/requests.js'
import { encodeTransaction } from '../transactions/index.js'
import { AvroForms } from './avro.js'
import { BlockDecoder } from './avro-stream.js'
import { parseResponse, publishJson, responseJson } from './json-forms.js'
import { keepAliveFetch, type Fetch, type FetchAnswer } from './keep-alive-fetch.js'

/** Options of a {@link MessagingClient}. */
export interface MessagingClientOptions {
  /** Where the server listens, such as `http://127.0.0.1:11015`. */
  readonly url: string
  /** Sent with each request as `Authorization: Bearer TOKEN`. Default: none. */
  readonly token?: string | undefined
  /** Default 'json'. */
  readonly encoding?: 'json' | 'avro' | undefined
  /** Whether answers may be gzip: for slow networks. Default false. */
  readonly gzip?: boolean | undefined
  /** How requests are made; the global `fetch` is one. Default: `node:http`, kept alive. */
  readonly fetch?: Fetch | undefined
}

const names = new OptionNames<MessagingClientOptions>('a messaging client', {
  url: true,
  token: true,
  encoding: true,
  gzip: true,
  fetch: true,
})
const positionNames = new OptionNames<SetPositionOptions>('a position', { expected: true })
const pollLimitDefault = 1000

/** See the file header. The iterators of this client do not tell `isHeld`. */
export class MessagingClient implements Messaging {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #avro: AvroForms | undefined
  readonly #fetch: Fetch

  /** Connects with the first call. `ERR_INVALID_ARGUMENT` for an unknown option. */
  constructor(options: MessagingClientOptions) {
    names.check(options)
    this.#base = `${options.url.replace(/\/$/, '')}/v3/namespaces`
    const { token, gzip = false } = options
    this.#headers = {
      // The global `fetch` asks for gzip by itself.
      'accept-encoding': gzip ? 'gzip' : 'identity',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    }
    this.#avro = options.encoding === 'avro' ? new AvroForms() : undefined
    this.#fetch = options.fetch ?? keepAliveFetch()
  }

  async createTopic(id: TopicId, properties: TopicProperties = {}): Promise<void> {
    await this.#call('PUT', pathOf(id), this.#encodeProperties(properties))
  }

  async updateTopic(id: TopicId, properties: TopicProperties): Promise<void> {
    await this.#call('PUT', `${pathOf(id)}/properties`, this.#encodeProperties(properties))
  }

  async deleteTopic(id: TopicId): Promise<void> {
    await this.#call('DELETE', pathOf(id))
  }

  async getTopic(id: TopicId): Promise<TopicProperties> {
    const answer = await this.#get(pathOf(id))
    if (this.#avro === undefined) return JSON.parse(await answer.text()) as TopicProperties
    return this.#avro.decodeProperties(Buffer.from(await answer.arrayBuffer()))
  }

  async listTopics(namespace: string): Promise<string[]> {
    const path = `/${encodeURIComponent(namespace)}/topics`
    const answer = await this.#get(path)
    if (this.#avro === undefined) return JSON.parse(await answer.text()) as string[]
    return this.#avro.decodeNames(Buffer.from(await answer.arrayBuffer()))
  }

  async listNamespaces(): Promise<string[]> {
    return this.#json<string[]>('')
  }

  async end(id: TopicId): Promise<Buffer> {
    return Buffer.from((await this.#json<{ id: string }>(`${pathOf(id)}/end`)).id, 'hex')
  }

  async getPosition(id: TopicId, consumer: string): Promise<Buffer | undefined> {
    const found = await this.#json<{ id: string | null }>(positionPath(id, consumer))
    return found.id === null ? undefined : Buffer.from(found.id, 'hex')
  }

  async setPosition(
    id: TopicId,
    consumer: string,
    position: Uint8Array | string,
    options: SetPositionOptions = {},
  ): Promise<void> {
    const { expected } = positionNames.check(options)
    const given = expected === undefined ? {} : { expected: expected && hexOf(expected) }
    const body = JSON.stringify({ id: hexOf(position), ...given })
    await this.#call('PUT', positionPath(id, consumer), body)
  }

  async deletePosition(id: TopicId, consumer: string): Promise<void> {
    await this.#call('DELETE', positionPath(id, consumer))
  }

  async listPositions(id: TopicId): Promise<ConsumerPosition[]> {
    type Shown = Omit<ConsumerPosition, 'id'> & { id: string }
    const found = await this.#json<Shown[]>(`${pathOf(id)}/positions`)
    return found.map((position) => ({ ...position, id: Buffer.from(position.id, 'hex') }))
  }

  async publish(id: TopicId, request: PublishRequest): Promise<PublishResponse | undefined> {
    checkRequestNames(request)
    const { producer } = request
    const headers: Record<string, string> =
      producer === undefined
        ? {}
        : {
            'cellar-producer': producer.id,
            'cellar-producer-sequence': String(producer.sequence),
          }
    const answer = await this.#post(`${pathOf(id)}/publish`, this.#encode(request), headers)
    const body = Buffer.from(await answer.arrayBuffer())
    if (body.length === 0) return undefined
    return this.#avro === undefined ? parseResponse(body) : this.#avro.decodeResponse(body)
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    checkRequestNames(request)
    await this.#post(`${pathOf(id)}/store`, this.#encode(request))
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    const body = this.#avro?.encodeResponse(response) ?? responseJson(response)
    await this.#post(`${pathOf(id)}/rollback`, body)
  }

  async fetch(id: TopicId, given: FetchOptions = {}): Promise<MessageIterator> {
    const options = checkedFetch(given)
    const { waitMilliseconds = 0, signal } = options
    const query = waitMilliseconds > 0 ? `?wait=${Math.ceil(waitMilliseconds)}` : ''
    const path = `${pathOf(id)}/poll${query}`
    // `close` ends the connection also while a read waits for the next bytes.
    const end = new AbortController()
    const ends = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal])
    const answer = await this.#post(path, this.#encodePoll(options), {}, ends)
    const decoder = this.#avro === undefined ? new JsonDecoder() : new BlockDecoder()
    // The server keeps to the limit, so the answer ends there and its connection is used again.
    return messageIterator(new ResponseSource(answer, decoder, end), Infinity, signal)
  }

  async poll(id: TopicId, options: FetchOptions = {}): Promise<Message[]> {
    const iterator = await this.fetch(id, { limit: pollLimitDefault, ...options })
    const messages: Message[] = []
    for (;;) {
      const batch = await iterator.nextBatch(pollLimitDefault)
      if (batch.length === 0) return messages
      for (const message of batch) messages.push(message)
    }
  }

  async #json<T>(path: string): Promise<T> {
    return JSON.parse(await (await this.#call('GET', path)).text()) as T
  }

  async #get(path: string): Promise<FetchAnswer> {
    const accept = this.#avro === undefined ? 'application/json' : 'avro/binary'
    return this.#call('GET', path, undefined, { accept })
  }

  #encodeProperties(properties: TopicProperties): Buffer | string {
    return this.#avro?.encodeProperties(properties) ?? JSON.stringify(properties)
  }

  #encode(request: PublishRequest): Buffer | string {
    return this.#avro?.encodePublish(request) ?? publishJson(request)
  }

  #encodePoll({ from, time, inclusive = true, limit, transaction }: FetchOptions): Buffer | string {
    const id = typeof from === 'string' ? parseMessageId(from) : from && Buffer.from(from)
    const bytes = transaction && encodeTransaction(transaction)
    if (this.#avro !== undefined) {
      const startFrom = id ?? (time === undefined ? null : BigInt(time))
      const given = { startFrom, inclusive, limit: limit ?? null, transaction: bytes ?? null }
      return this.#avro.encodeConsume(given)
    }
    const startFrom =
      id !== undefined
        ? { bytes: id.toString('hex') }
        : time === undefined
          ? null
          : { long: String(time) }
    const transactionText = bytes?.toString('base64') ?? null
    return JSON.stringify({ startFrom, inclusive, limit, transaction: transactionText })
  }

  async #post(
    path: string,
    body: Buffer | string,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<FetchAnswer> {
    return this.#call('POST', path, body, headers, signal)
  }

  async #call(
    method: string,
    path: string,
    body?: Buffer | string,
    headers: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<FetchAnswer> {
    const type = typeof body === 'string' ? 'application/json' : 'avro/binary'
    let answer: FetchAnswer
    try {
      answer = await this.#fetch(`${this.#base}${path}`, {
        method,
        headers: {
          ...this.#headers,
          ...headers,
          ...(body === undefined ? {} : { 'content-type': type }),
        },
        ...(body === undefined ? {} : { body }),
        ...(signal === undefined ? {} : { signal }),
      })
    } catch (cause) {
      const message = `the server at ${this.#base} cannot be reached`
      throw new MessagingError(MessagingErrorCode.unavailable, message, cause)
    }
    if (!answer.ok) throw await errorOf(answer)
    return answer
  }
}

/** Decodes pieces of an answer. */
interface Decoder {
  readonly isDone: boolean
  add(chunk: Uint8Array): Message[]
}

/** Reads an answer as far as messages are asked for. */
class ResponseSource implements MessageSource {
  readonly isHeld = false
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #decoder: Decoder
  readonly #end: AbortController
  #messages: Message[] = []
  #at = 0
  #isEnded = false

  constructor(answer: FetchAnswer, decoder: Decoder, end: AbortController) {
    this.#chunks = answer.body![Symbol.asyncIterator]()
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
      throw new MessagingError(MessagingErrorCode.unavailable, 'the answer broke off', cause)
    }
    this.#at = 0
    this.#messages = next.done === true ? [] : this.#decoder.add(next.value)
    if (next.done !== true) return
    this.#isEnded = true
    if (this.#decoder.isDone) return
    throw new MessagingError(MessagingErrorCode.unavailable, 'the answer broke off')
  }
}

/** Decodes a JSON array of flat objects as it arrives. */
class JsonDecoder implements Decoder {
  #text = ''
  #isDone = false

  get isDone(): boolean {
    return this.#isDone
  }

  add(chunk: Uint8Array): Message[] {
    this.#text += Buffer.from(chunk).toString('latin1')
    const messages: Message[] = []
    let at = 0
    for (;;) {
      const end = this.#text.indexOf('}', at)
      if (end < 0) break
      const start = this.#text.indexOf('{', at)
      const { id, payload } = JSON.parse(this.#text.slice(start, end + 1)) as Record<string, string>
      messages.push({ id: Buffer.from(id, 'hex'), payload: Buffer.from(payload, 'base64') })
      at = end + 1
    }
    this.#text = this.#text.slice(at)
    this.#isDone = this.#text.endsWith(']')
    return messages
  }
}

async function errorOf(answer: FetchAnswer): Promise<Error> {
  const text = await answer.text()
  let fields: { code?: unknown; message?: unknown } = {}
  try {
    fields = JSON.parse(text) as typeof fields
  } catch {
    fields = { message: text }
  }
  const message = typeof fields.message === 'string' ? fields.message : answer.statusText
  const code = String(fields.code)
  if (code === ErrorCode.invalidArgument) return new CellarError(code, message)
  const known = Object.values(MessagingErrorCode).find((each) => each === code)
  if (known !== undefined) return new MessagingError(known, message)
  return new MessagingError(MessagingErrorCode.server, `${answer.status} ${code}: ${message}`)
}

function pathOf({ namespace, topic }: TopicId): string {
  return `/${encodeURIComponent(namespace)}/topics/${encodeURIComponent(topic)}`
}

function positionPath(id: TopicId, consumer: string): string {
  return `${pathOf(id)}/positions/${encodeURIComponent(consumer)}`
}

function hexOf(id: Uint8Array | string): string {
  return typeof id === 'string' ? id : Buffer.from(id).toString('hex')
}
