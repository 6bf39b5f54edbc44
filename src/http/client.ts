/** The client side of a system: its connection, its requests, and the errors of the server. */
import {
  callback,
  CellarError,
  checked,
  checkMethods,
  ErrorCode,
  invalidArgument,
  required,
  shown,
  type Settings,
} from '../api/index.js'
import { keepAliveFetch, type Fetch, type FetchAnswer, type FetchRequest } from './fetch.js'

/** The declarations of the options that the clients share. */
export const connectionDeclarations = {
  /** The base address of the server, such as `http://127.0.0.1:11015`. */
  url: required(checked(checkUrl)),
  /** Sent with each request as `Authorization: Bearer TOKEN`. Default: none. */
  token: checked(checkHeader),
  /** The function for requests, such as the global `fetch`. Default: `node:http`, kept alive. */
  fetch: callback<Fetch>(),
}

/** The service of a client: its place below the address of the server, and its error codes. */
export interface RemoteService {
  readonly path: string
  /** The codes of errors that the server may answer with, beside `ERR_INVALID_ARGUMENT`. */
  readonly codes: Readonly<Record<string, string>>
  /** The code if the server cannot be reached, or the answer breaks off. */
  readonly unavailable: string
  /** The code of malformed answers and of errors with other codes. */
  readonly malformed: string
  /** Reads the details of an error from its answer. Default: none. */
  readonly details?: (answer: JsonFields) => unknown
}

/** An object of JSON. */
export type JsonFields = Readonly<Record<string, unknown>>

/** A request beside its method and path. */
export type ClientRequest = Partial<Omit<FetchRequest, 'method'>>

export class HttpClient {
  readonly #base: string
  readonly #headers: Record<string, string>
  readonly #fetch: Fetch
  readonly #service: RemoteService

  /** `headers` are sent with every request. */
  constructor(
    { url, token, fetch }: Settings<typeof connectionDeclarations>,
    service: RemoteService,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.#base = new URL(url).href.replace(/\/$/, '') + service.path
    this.#headers = { 'accept-encoding': 'identity', ...headers }
    if (token !== undefined) this.#headers['authorization'] = `Bearer ${token}`
    this.#fetch = fetch ?? keepAliveFetch()
    this.#service = service
  }

  /** Sends a request. Rejects with the error of the answer; see {@link RemoteService}. */
  async send(method: string, path: string, request: ClientRequest = {}): Promise<FetchAnswer> {
    const headers = { ...this.#headers, ...request.headers }
    let answer: FetchAnswer
    try {
      answer = await this.#fetch(this.#base + path, { method, ...request, headers })
      checkMethods(answer, 'the answer of fetch', ['arrayBuffer'])
    } catch (cause) {
      throw this.#unavailable(`the server at ${this.#base} cannot be reached`, cause)
    }
    if (!answer.ok) throw this.#errorOf(answer, await this.bytes(answer))
    return answer
  }

  /** Sends a request and reads the body of its answer. */
  async call<T>(
    method: string,
    path: string,
    read: (body: Buffer) => T,
    request?: ClientRequest,
  ): Promise<T> {
    const body = await this.bytes(await this.send(method, path, request))
    return this.understand(() => read(body))
  }

  /** The next bytes of an answer, or all of them. */
  async arrived<T>(bytes: () => Promise<T>): Promise<T> {
    try {
      return await bytes()
    } catch (cause) {
      throw this.#unavailable('the answer broke off', cause)
    }
  }

  understand<T>(decode: () => T): T {
    try {
      return decode()
    } catch (cause) {
      throw new CellarError(this.#service.malformed, 'the answer is malformed', { cause })
    }
  }

  async bytes(answer: FetchAnswer): Promise<Buffer> {
    return Buffer.from(await this.arrived(() => answer.arrayBuffer()))
  }

  #unavailable(message: string, cause: unknown): CellarError {
    return new CellarError(this.#service.unavailable, message, { cause })
  }

  /** The error in an answer; a proxy may answer with another body than the server. */
  #errorOf({ status }: FetchAnswer, body: Buffer): CellarError {
    const { codes, malformed, details } = this.#service
    let fields: JsonFields = {}
    try {
      fields = answerObject(body)
    } catch {
      fields = { message: body.toString('utf8') }
    }
    const code = String(fields['code'])
    const message = String(fields['message'])
    if (code === ErrorCode.invalidArgument || Object.values(codes).includes(code)) {
      return new CellarError(code, message, { details: details?.(fields) })
    }
    return new CellarError(malformed, `${status} ${code}: ${message}`)
  }
}

/** The JSON object of an answer. Throws for another body. */
export function answerObject(body: Buffer): JsonFields {
  const value: unknown = JSON.parse(body.toString('utf8'))
  if (typeof value === 'object' && value !== null) return value as JsonFields
  throw invalidArgument('the answer is no JSON object')
}

function checkUrl(url: string, what: string): string {
  if (typeof url === 'string' && /^https?:\/\//i.test(url) && URL.canParse(url)) return url
  throw invalidArgument(
    `${what} must be an address such as http://127.0.0.1:11015, got ${shown(url)}`,
  )
}

/** Other characters are not allowed in a header. */
function checkHeader(token: string, what: string): string {
  if (typeof token === 'string' && /^[\x21-\x7e]+$/.test(token)) return token
  throw invalidArgument(`${what} must be a text of printable ASCII without spaces`)
}
