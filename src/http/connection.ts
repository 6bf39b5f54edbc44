/** The address and the headers of a client's requests. */
import {
  callback,
  checked,
  checkMethods,
  required,
  shown,
  invalidArgument,
  type Settings,
} from '../api/index.js'
import { keepAliveFetch, type Fetch, type FetchAnswer } from './keep-alive-fetch.js'

/** The declarations of the options that the clients share. */
export const connectionDeclarations = {
  /** The base address of the server, such as `http://127.0.0.1:11015`. */
  url: required(checked(checkUrl)),
  /** Sent with each request as `Authorization: Bearer TOKEN`. Default: none. */
  token: checked(checkHeader),
  /** The function for requests, such as the global `fetch`. Default: `node:http`, kept alive. */
  fetch: callback<Fetch>(),
}

/** Checked options of a client. */
export interface Connection {
  /** The address without a trailing slash. */
  readonly url: string
  /** Sent with every request. */
  readonly headers: Readonly<Record<string, string>>
  /** Rejects as well if the function of the caller returns no `Response`. */
  readonly fetch: Fetch
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

/** The connection of a client with these options. */
export function connectionOf(given: Settings<typeof connectionDeclarations>): Connection {
  const { url, token, fetch } = given
  return {
    url: url.replace(/\/$/, ''),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    fetch: checkedFetch(fetch),
  }
}

function checkedFetch(given: Fetch | undefined): Fetch {
  if (given === undefined) return keepAliveFetch()
  return async (url, request) => {
    const answer: FetchAnswer = await given(url, request)
    checkMethods(answer, 'the answer of fetch', ['arrayBuffer'])
    return answer
  }
}

/** The JSON object of an answer. Throws for another body; each client maps the error. */
export function answerObject(body: Buffer): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(body.toString('utf8'))
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>
  throw invalidArgument('the answer is no JSON object')
}
