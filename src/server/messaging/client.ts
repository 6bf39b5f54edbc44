/**
 * Messaging over HTTP: the interface of the service, through `fetch`. The encoding is JSON, or Avro
 * with the package `avsc`.
 */
import {
  boolean,
  CellarError,
  checkArray,
  checkText,
  choice,
  declareOptions,
  ErrorCode,
  type OptionsOf,
} from '../../api/index.js'
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
} from '../../systems/messaging/index.js'
import {
  messageIterator,
  type MessageSource,
} from '../../systems/messaging/fetch/message-iterator.js'
import { checkConsumer, checkedPosition } from '../../systems/messaging/fetch/positions.js'
import {
  checkedFetch,
  checkedPublish,
  checkedResponse,
} from '../../systems/messaging/publish/requests.js'
import { checkedProperties } from '../../systems/messaging/topics/topic-properties.js'
import { checkNamespace, checkTopicId } from '../../systems/messaging/topics/topic.js'
import { encodeTransaction } from '../../systems/transactions/index.js'
import { AvroForms } from './avro.js'
import { BlockDecoder } from './avro-stream.js'
import { answerObject, connectionDeclarations, connectionOf } from '../http/connection.js'
import { bytesOf, parseProperties, parseResponse, publishJson, responseJson } from './json-forms.js'
import type { Fetch, FetchAnswer } from '../http/keep-alive-fetch.js'

const clientOptions = declareOptions('a messaging client', {
  ...connectionDeclarations,
  /** Default 'json'. */
  encoding: choice(['json', 'avro'], 'json'),
  /** Whether answers may be compressed with gzip, for slow networks. Default false. */
  gzip: boolean(false),
})

/** Options of a {@link MessagingClient}. */
export interface MessagingClientOptions extends OptionsOf<typeof clientOptions> {}

const pollLimitDefault = 1000
/** The largest limit in Avro, and the longest wait in an address. */
const limitMax = 2 ** 31 - 1
const waitMillisecondsMax = 999_999_999

/** See the file header. The iterators of this client do not report `isHeld`. */
export class MessagingClient implements Messaging {
  readonly #base: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #avro: AvroForms | undefined
  readonly #fetch: Fetch

  /** Connects at the first call. `ERR_INVALID_ARGUMENT`. */
  constructor(options: MessagingClientOptions) {
    const { gzip, encoding, ...rest } = clientOptions.read(options)
    const { url, headers, fetch } = connectionOf(rest)
    this.#base = `${url}/v3/namespaces`
    // The global `fetch` requests gzip by default.
    this.#headers = { ...headers, 'accept-encoding': gzip ? 'gzip' : 'identity' }
    this.#avro = encoding === 'avro' ? new AvroForms() : undefined
    this.#fetch = fetch
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
    const avro = this.#avro
    const read = (body: Buffer): TopicProperties =>
      avro === undefined ? parseProperties(body) : avro.decodeProperties(body)
    return this.#get(pathOf(id), read, true)
  }

  async listTopics(namespace: string): Promise<string[]> {
    checkNamespace(namespace)
    const avro = this.#avro
    const read = (body: Buffer): string[] =>
      avro === undefined ? namesOf(body) : avro.decodeNames(body)
    return this.#get(`/${namespace}/topics`, read, true)
  }

  async listNamespaces(): Promise<string[]> {
    return this.#get('', namesOf)
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
    const given = expected === undefined ? {} : { expected: expected && hexOf(expected) }
    const body = JSON.stringify({ id: hexOf(own), ...given })
    await this.#call('PUT', positionPath(id, consumer), body)
  }

  async deletePosition(id: TopicId, consumer: string): Promise<void> {
    await this.#call('DELETE', positionPath(id, consumer))
  }

  async listPositions(id: TopicId): Promise<ConsumerPosition[]> {
    return this.#get(`${pathOf(id)}/positions`, (body) => {
      return arrayOf(body).map((position) => {
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
            'cellar-producer': producer.id,
            'cellar-producer-sequence': String(producer.sequence),
          }
    const answer = await this.#post(`${pathOf(id)}/publish`, this.#encode(given), headers)
    const avro = this.#avro
    return readAnswer(answer, (body) => {
      if (body.length === 0) return undefined
      return avro === undefined ? parseResponse(body) : avro.decodeResponse(body)
    })
  }

  async store(id: TopicId, request: PublishRequest): Promise<void> {
    await this.#post(`${pathOf(id)}/store`, this.#encode(checkedPublish(request)))
  }

  async rollback(id: TopicId, response: PublishResponse): Promise<void> {
    const given = checkedResponse(response)
    const body = this.#avro?.encodeResponse(given) ?? responseJson(given)
    await this.#post(`${pathOf(id)}/rollback`, body)
  }

  async fetch(id: TopicId, given: FetchOptions = {}): Promise<MessageIterator> {
    const options = checkedFetch(given)
    const { waitMilliseconds = 0, signal } = options
    const wait = Math.min(Math.ceil(waitMilliseconds), waitMillisecondsMax)
    const query = wait > 0 ? `?wait=${wait}` : ''
    const path = `${pathOf(id)}/poll${query}`
    // `close` must end the connection even while a read waits for the next bytes.
    const end = new AbortController()
    const ends = signal === undefined ? end.signal : AbortSignal.any([signal, end.signal])
    const { body } = await this.#post(path, this.#encodePoll(options), {}, ends)
    const decoder = this.#avro === undefined ? new JsonDecoder() : new BlockDecoder()
    // The server enforces the limit, so the answer ends there and the connection can be reused.
    return messageIterator(new ResponseSource(body, decoder, end), Infinity, signal)
  }

  async poll(id: TopicId, options: FetchOptions = {}): Promise<Message[]> {
    const iterator = await this.fetch(id, { limit: pollLimitDefault, ...checkedFetch(options) })
    const messages: Message[] = []
    for (;;) {
      const batch = await iterator.nextBatch(pollLimitDefault)
      if (batch.length === 0) return messages
      for (const message of batch) messages.push(message)
    }
  }

  /** Sends a GET; in Avro if the address has an Avro form and this client prefers Avro. */
  async #get<T>(path: string, read: (body: Buffer) => T, hasAvro = false): Promise<T> {
    const accept = hasAvro && this.#avro !== undefined ? 'avro/binary' : 'application/json'
    return readAnswer(await this.#call('GET', path, undefined, { accept }), read)
  }

  #encodeProperties(properties: TopicProperties): Buffer | string {
    const given = Object.fromEntries(checkedProperties(properties))
    return this.#avro?.encodeProperties(given) ?? JSON.stringify(given)
  }

  #encode(request: PublishRequest): Buffer | string {
    return this.#avro?.encodePublish(request) ?? publishJson(request)
  }

  #encodePoll({ from, time, inclusive = true, limit, transaction }: FetchOptions): Buffer | string {
    const id = typeof from === 'string' ? parseMessageId(from) : from && Buffer.from(from)
    const bytes = transaction && encodeTransaction(transaction)
    if (this.#avro !== undefined) {
      const startFrom = id ?? (time === undefined ? null : BigInt(time))
      const count = limit === undefined ? null : Math.min(limit, limitMax)
      const given = { startFrom, inclusive, limit: count, transaction: bytes ?? null }
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
      throw new CellarError(MessagingErrorCode.unavailable, message, { cause })
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

/** Reads an answer as far as the caller requests messages. */
class ResponseSource implements MessageSource {
  readonly isHeld = false
  readonly #chunks: AsyncIterator<Uint8Array>
  readonly #decoder: Decoder
  readonly #end: AbortController
  #messages: Message[] = []
  #at = 0
  #isEnded = false

  constructor(body: FetchAnswer['body'], decoder: Decoder, end: AbortController) {
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
      const fields = JSON.parse(this.#text.slice(start, end + 1)) as Record<string, unknown>
      messages.push({
        id: idOf(fields),
        payload: bytesOf(fields['payload'], 'a payload', 'base64'),
      })
      at = end + 1
    }
    this.#text = this.#text.slice(at)
    this.#isDone = this.#text.endsWith(']')
    return messages
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
  return bytesOf(id, 'the id', 'hex')
}

function arrayOf(body: Buffer): unknown[] {
  return checkArray(answerObject(body) as never, 'the answer')
}

function namesOf(body: Buffer): string[] {
  return arrayOf(body).map((name) => checkText(name, 'a name'))
}

function pathOf(id: TopicId): string {
  const { namespace, topic } = checkTopicId(id)
  return `/${namespace}/topics/${topic}`
}

function positionPath(id: TopicId, consumer: string): string {
  checkConsumer(consumer)
  return `${pathOf(id)}/positions/${encodeURIComponent(checkText(consumer, 'a consumer'))}`
}

function hexOf(id: Buffer): string {
  return id.toString('hex')
}
