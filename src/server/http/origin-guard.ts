/**
 * Keeps web pages of other servers out, which a browser would let write: a page can send a request
 * anywhere, and by a name that it points at this machine it can even read the answer.
 *
 * - `Host` must be an address, `localhost`, or a name that the server was told. So a page that is
 *   loaded by a name of its own never reaches the server under that name (DNS rebinding).
 * - `Origin`, which browsers add to whatever a page sends, must be this server.
 * - `Sec-Fetch-Site` must not say that another site asks, but for links that somebody follows.
 *
 * Programs that are no browsers send neither `Origin` nor `Sec-Fetch-Site`.
 */
import { isIP } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { forbidden } from './access.js'
import { ServerError, ServerErrorCode } from './http-errors.js'

const hostPattern = /^(\[[0-9a-f:.]+\]|[^:@/\\\s]+)(:[0-9]{1,5})?$/
const originPattern = /^https?:\/\/([^/]+)$/

/** See the file header. */
export class OriginGuard {
  readonly #hosts: ReadonlySet<string>
  /** The value of `Host` that was good the last time; most clients use the same. */
  #known: string | undefined

  /** `hosts`: names of the server beside addresses and `localhost`. */
  constructor(hosts: readonly string[]) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** Why a request is not let in; undefined if it is. */
  refusal({ headers, method }: IncomingMessage): Error | undefined {
    const host = headers.host?.toLowerCase() ?? ''
    if (host !== this.#known) {
      if (!this.#isOwnName(host)) {
        const message = `the server has no name '${host}': its option 'hosts' lists its names`
        return new ServerError(ServerErrorCode.wrongHost, message)
      }
      this.#known = host
    }
    const { origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = headers
    if (origin !== undefined && !this.#isOwnOrigin(origin.toLowerCase(), host)) {
      return forbidden(`for pages of ${origin}`)
    }
    if (site === undefined || site === 'same-origin' || site === 'none') return undefined
    if (mode === 'navigate' && (method === 'GET' || method === 'HEAD')) return undefined
    return forbidden('for pages of other servers')
  }

  #isOwnName(host: string): boolean {
    const name = hostPattern.exec(host)?.[1].replace(/\.$/, '')
    if (name === undefined) return false
    if (name === 'localhost' || name.endsWith('.localhost') || this.#hosts.has(name)) return true
    return isIP(name.replace(/^\[|\]$/g, '')) !== 0
  }

  /** A page of this server, under the name of the request, or one that a proxy shows it by. */
  #isOwnOrigin(origin: string, host: string): boolean {
    const from = originPattern.exec(origin)?.[1]
    if (from === undefined) return false
    return from === host || this.#hosts.has(from.replace(/:[0-9]+$/, ''))
  }
}
