/**
 * Rejects cross-site requests of web pages. A browser lets a page send a request to any address. A
 * page whose own name resolves to this machine could even read the answer.
 *
 * - `Host` must be an address, `localhost`, or a configured name of the server. A page that was
 *   loaded under its own name therefore never reaches the server (DNS rebinding).
 * - `Origin`, which browsers add to the requests of a page, must be this server.
 * - `Sec-Fetch-Site` must not name another site, except when a user follows a link.
 *
 * Other programs than browsers send neither `Origin` nor `Sec-Fetch-Site`.
 */
import { CellarError } from '../api/index.js'
import { isIP } from 'node:net'
import type { IncomingMessage } from 'node:http'
import { forbidden, ServerErrorCode } from '../http/errors.js'

const hostPattern = /^(\[[0-9a-f:.]+\]|[^:@/\\\s]+)(:[0-9]{1,5})?$/
const originPattern = /^https?:\/\/([^/]+)$/

export class OriginGuard {
  readonly #hosts: ReadonlySet<string>
  /** The last accepted value of `Host`; most clients always send the same value. */
  #known: string | undefined

  /** `hosts`: names of the server beside addresses and `localhost`. */
  constructor(hosts: readonly string[]) {
    this.#hosts = new Set(hosts.map((host) => host.toLowerCase()))
  }

  /** The reason why a request is refused; undefined for an admitted one. */
  refusal({ headers, method }: IncomingMessage): Error | undefined {
    const host = headers.host?.toLowerCase() ?? ''
    if (host !== this.#known) {
      if (!this.#isOwnName(host)) {
        const message = `the server has no name '${host}': its option 'hosts' lists its names`
        return new CellarError(ServerErrorCode.wrongHost, message)
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

  /**
   * Whether the origin is this server, under the name in the request or under its name at a proxy.
   */
  #isOwnOrigin(origin: string, host: string): boolean {
    const from = originPattern.exec(origin)?.[1]
    if (from === undefined) return false
    return from === host || this.#hosts.has(from.replace(/:[0-9]+$/, ''))
  }
}
