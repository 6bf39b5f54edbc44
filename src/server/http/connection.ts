/** The address and the headers of a client's requests. */
import { checkFunction, checkMethods, shown } from '../../api/index.js'
import { invalidArgument } from './http-errors.js'
import { keepAliveFetch, type Fetch, type FetchAnswer } from './keep-alive-fetch.js'

/** Options that the clients share. */
interface ConnectionOptions {
  readonly url: string
  readonly token?: string | undefined
  readonly fetch?: Fetch | undefined
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

/** `ERR_INVALID_ARGUMENT` for an invalid address, token or function. */
export function connectionOf({ url, token, fetch }: ConnectionOptions): Connection {
  if (typeof url !== 'string' || !/^https?:\/\//i.test(url) || !URL.canParse(url)) {
    throw invalidArgument(
      `url must be an address such as http://127.0.0.1:11015, got ${shown(url)}`,
    )
  }
  // Other characters are not allowed in a header.
  if (token !== undefined && (typeof token !== 'string' || !/^[\x21-\x7e]+$/.test(token))) {
    throw invalidArgument('token must be a text of printable ASCII without spaces')
  }
  return {
    url: url.replace(/\/$/, ''),
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    fetch: checkedFetch(checkFunction(fetch, 'fetch')),
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
