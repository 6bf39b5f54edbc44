/** What a system gives to the server, and gets from it. */
import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { checkArray, checkFunction, checkMethods, checkObject, checkText } from '../api/index.js'
import type { Principal } from './http/access.js'
import type { RequestMemory } from './http/request-memory.js'

/** What the server shares with its systems. */
export interface ServerContext {
  /** Who may use the server beside the administrator with the server's token. */
  readonly principals: readonly Principal[]
  /** For answers that are streams: what waits for a reader counts here. */
  readonly memory: RequestMemory
  /** The parser of bodies, for content types that a system decides about by itself. */
  readonly bodies: (
    request: FastifyRequest,
    payload: IncomingMessage,
    done: (error: Error | null, body?: Buffer) => void,
  ) => void
}

/** Whether a system does its work. */
export interface SystemHealth {
  /**
   * 'ok'; 'degraded': it serves, but a part of it has failed; 'standby': another process leads, and
   * every call is refused; 'failed': no call succeeds.
   */
  readonly status: 'ok' | 'degraded' | 'standby' | 'failed'
}

/** A part of the server: the routes of one system. */
export interface ServerSystem {
  /** Name of the system in metrics and in messages. */
  readonly name: string
  /** Adds routes; a promise is waited for. */
  register(app: FastifyInstance, context: ServerContext): unknown
  /** Content types that its bodies may have, beside `application/json`. Default: none. */
  readonly mediaTypes?: readonly string[] | undefined
  /** Its part of the OpenAPI description, by path. */
  readonly paths: Readonly<Record<string, unknown>>
  /** Schemas that the paths refer to as `#/components/schemas/NAME`. Default: none. */
  readonly schemas?: Readonly<Record<string, unknown>> | undefined
  /** Lines in the text format of Prometheus. */
  metrics?(): string | Promise<string>
  /** Shown at `/health` to everybody. Default: ok. */
  health?(): SystemHealth
  /**
   * Routes that begin with it are open to every principal, and the system checks what each may do.
   * Default: only administrators may use the routes of the system.
   */
  readonly sharedPrefix?: string | undefined
  /** Addresses that need no token: pages that ask for one. */
  readonly publicPaths?: readonly string[] | undefined
  /** Lets go of readers that wait, before the server closes. */
  close?(): void
}

const texts = ['mediaTypes', 'publicPaths'] as const
const methods = ['metrics', 'health', 'close'] as const

/** Checks a system that a caller gives. `ERR_INVALID_ARGUMENT`. */
export function checkSystem(system: ServerSystem): ServerSystem {
  checkMethods(system, 'a system', ['register'])
  const name = checkText(system.name, 'the name of a system')
  checkObject(system.paths, `the paths of ${name}`)
  if (system.schemas !== undefined) checkObject(system.schemas, `the schemas of ${name}`)
  if (system.sharedPrefix !== undefined) checkText(system.sharedPrefix, 'sharedPrefix')
  for (const each of texts) {
    for (const text of checkArray(system[each] ?? [], each)) checkText(text, `each of ${each}`)
  }
  for (const method of methods) checkFunction<unknown>(Reflect.get(system, method), method)
  return system
}

/** From the best to the worst. */
const statuses = ['ok', 'degraded', 'standby', 'failed'] as const

/** What `/health` shows: the worst status, and that of each system. */
export function healthOf(systems: readonly ServerSystem[]): {
  readonly isServing: boolean
  readonly shown: object
} {
  const each = systems.map((system) => [system.name, system.health?.().status ?? 'ok'] as const)
  const worst = Math.max(0, ...each.map(([, status]) => statuses.indexOf(status)))
  const status = statuses[worst]
  const isServing = status === 'ok' || status === 'degraded'
  return { isServing, shown: { status, systems: Object.fromEntries(each) } }
}
