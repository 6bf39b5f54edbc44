/** The interface between the server and a system, and the source of the object that it serves. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkMethods } from '../api/index.js'
import type { Principal } from './access.js'
import { withStatus } from './errors.js'
import type { RequestMemory } from './request-memory.js'

/** The parts of the server that its systems share. */
export interface ServerContext {
  /** The users of the server beside the administrator with the server's token. */
  readonly principals: readonly Principal[]
  /** For streamed answers: bytes that wait for a reader count here. */
  readonly memory: RequestMemory
  /** The parser of bodies, for content types that only the system knows. */
  readonly bodies: (
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (error: Error | null, body?: Buffer) => void,
  ) => void
}

/** The health of a system. */
export interface SystemHealth {
  /**
   * 'ok'; 'degraded': the system serves, but a part of it has failed; 'standby': another process
   * leads, and every call is refused; 'failed': no call succeeds.
   */
  readonly status: 'ok' | 'degraded' | 'standby' | 'failed'
}

/** A part of the server: the routes of one system. */
export interface ServerSystem {
  /** Name of the system in metrics and in messages. */
  readonly name: string
  /**
   * Adds routes; the server awaits a promise. A route with `config: { operation }`, an `Operation`,
   * is part of the OpenAPI description.
   */
  register(app: FastifyInstance, context: ServerContext): unknown
  /** Content types of its bodies, beside `application/json`. Default: none. */
  readonly mediaTypes?: readonly string[] | undefined
  /** Lines in the text format of Prometheus. */
  metrics?(): string | Promise<string>
  /** Shown at `/health` without a token. Default: ok. */
  health?(): SystemHealth
  /**
   * Routes with this prefix are open to every principal, and the system checks permissions.
   * Default: only administrators may use the routes of the system.
   */
  readonly sharedPrefix?: string | undefined
  /** Addresses that need no token: pages that ask for a token. */
  readonly publicPaths?: readonly string[] | undefined
  /** Releases waiting readers before the server closes. */
  close?(): void
}

/** An object, or a function that returns the object; undefined while another process leads. */
export type Source<T extends object> = T | (() => T | undefined)

/**
 * The function that finds the object of a source. `ERR_INVALID_ARGUMENT` for an object without
 * these methods; if a function returns such an object, requests are answered with the status 500.
 */
export function finderOf<T extends object>(
  source: Source<T>,
  what: string,
  methods: readonly (keyof T & string)[],
): () => T | undefined {
  if (typeof source !== 'function') {
    const found = checkMethods(source, what, methods)
    return () => found
  }
  return () => {
    const found = source()
    if (found === undefined) return undefined
    try {
      return checkMethods(found, what, methods)
    } catch (error) {
      throw withStatus(500, error)
    }
  }
}
