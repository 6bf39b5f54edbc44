/**
 * The HTTP server that the systems over tables share: health, metrics, the OpenAPI description, and
 * the routes of each system. Runs on the package `fastify`.
 *
 * The guards apply to all systems: authentication (gate.ts), origin (origin-guard.ts), bodies and
 * memory (request-bodies.ts, request-memory.ts), time limits (request-clocks.ts), requests sent at
 * once (pipelines.ts) and shutdown (closing.ts). A body needs a content type of its system. A
 * method that an address lacks is refused with 405 (other-methods.ts). The caller closes the
 * databases.
 */
import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyInstance } from 'fastify'
import {
  CellarError,
  checkArray,
  invalidArgument,
  readArguments,
  requirePackage,
} from '../api/index.js'
import { makeGate } from './gate.js'
import { Closing } from './closing.js'
import { ServerErrorCode } from '../http/errors.js'
import { errorAnswer, refuseBytes, sendError } from './http-errors.js'
import { HttpMetrics } from './http-metrics.js'
import { RequestMemory } from '../http/request-memory.js'
import { addRoute } from '../http/operations.js'
import { describeRoutes } from './openapi.js'
import { watchMethods } from './other-methods.js'
import { OriginGuard } from './origin-guard.js'
import { closeWaitingAnswers } from './pipelines.js'
import { bodyParser, noMemory, releaseBody } from './request-bodies.js'
import { watchRequest } from './request-clocks.js'
import { serverSettings, type ServerOptions, type ServerSettings } from './options.js'
import type { ServerSystem } from '../http/server-system.js'
import { checkSystem, healthOf } from './systems.js'

const json = 'application/json'
const emptyBody = Buffer.alloc(0)

/** Characters of one part of an address: record ids are long, and escapes make them longer. */
const parameterLengthMax = 100_000
/** Interval of the check for connections without a complete head, in milliseconds. */
const headCheckMilliseconds = 1000
/** Smaller answers are not counted: their memory is free in the next turn. */
const countedAnswerBytes = 32 << 10

/** A running server. */
export class CellarServer {
  /** The base address, such as `http://127.0.0.1:11015`. */
  readonly url: string
  readonly #closing: Closing

  private constructor(url: string, closing: Closing) {
    this.url = url
    this.#closing = closing
  }

  /**
   * Starts the server; resolves when it listens. `ERR_INVALID_ARGUMENT`, also without a token if
   * other machines reach the server. `ERR_MISSING_PACKAGE` without `fastify`. `ERR_SERVER_START` if
   * the server cannot listen at the address, or the routes of the systems cannot be added.
   */
  static async start(
    given: readonly ServerSystem[],
    options: ServerOptions = {},
  ): Promise<CellarServer> {
    const systems = readArguments(() => checkArray(given, 'systems').map(checkSystem))
    const settings = serverSettings(options)
    const { host, port, principals, closeMilliseconds } = settings
    const memory = new RequestMemory(settings.memoryBytesMax)
    const app = makeApp(settings)
    const metrics = new HttpMetrics(app, memory)
    const closing = new Closing(app, systems, closeMilliseconds)
    addGuards(app, settings, { systems, closing })
    addAnswers(app, memory)
    const parser = bodyParser(settings, memory)
    const description = describeRoutes(app)
    const refuseOtherMethods = watchMethods(app)
    const isUp = { 200: 'the server runs, and its systems serve', 503: 'a system does not serve' }
    const health = { id: 'health', summary: 'health', answers: isUp }
    addRoute(app, 'get', '/health', health, (_request, reply) => {
      const { isServing, shown } = healthOf(systems)
      void reply.code(isServing ? 200 : 503)
      return shown
    })
    const figures = { 200: 'metrics in the text format of Prometheus' }
    const page = { id: 'metrics', summary: 'metrics', answers: figures }
    addRoute(app, 'get', '/metrics', page, async (_request, reply) => {
      const texts = await Promise.all(systems.map(async (system) => system.metrics?.() ?? ''))
      void reply.type('text/plain; version=0.0.4')
      return metrics.text() + texts.join('')
    })
    app.get('/openapi.json', async () => description)
    for (const system of systems) {
      // A scope for each system limits its content types to its own routes.
      void app.register(async (scope) => {
        for (const type of [json, ...(system.mediaTypes ?? [])]) {
          scope.addContentTypeParser(type, parser)
        }
        await system.register(scope, { memory, bodies: parser, principals })
      })
    }
    refuseOtherMethods()
    try {
      await app.listen({ host: await addressOf(host), port })
    } catch (error) {
      await app.close().catch(() => undefined)
      throw startError(error)
    }
    return new CellarServer(urlOf(app), closing)
  }

  /**
   * Accepts no more requests, releases waiting readers, and answers the requests in progress.
   * Connections that are still open after `closeMilliseconds` are closed.
   */
  async close(): Promise<void> {
    await this.#closing.end()
  }
}

/**
 * The one address of `localhost`, IPv4 if it has both: under that name fastify would open a second
 * server, which has no limits and which no shutdown ends.
 */
async function addressOf(host: string): Promise<string> {
  return host === 'localhost' ? (await lookup(host, { verbatim: false })).address : host
}

/** The base address of a server that listens. */
function urlOf({ server, initialConfig }: FastifyInstance): string {
  const { address, port, family } = server.address() as AddressInfo
  const protocol = initialConfig.https === undefined ? 'http' : 'https'
  return `${protocol}://${family === 'IPv6' ? `[${address}]` : address}:${port}`
}

function startError(error: unknown): Error {
  if (error instanceof CellarError) return error
  const message = `the server cannot start: ${errorAnswer(error).message}`
  return new CellarError(ServerErrorCode.start, message, { cause: error })
}

function makeApp({ connectionsMax, bodyMilliseconds, tls }: ServerSettings): FastifyInstance {
  const { fastify } = requirePackage<typeof import('fastify')>('fastify', 'the server')
  const timeouts = {
    headersTimeout: bodyMilliseconds,
    // Long bodies have their time from request-clocks.ts; this limit must not be below the other.
    requestTimeout: 0,
    connectionsCheckingInterval: headCheckMilliseconds,
  }
  const handshakes = { handshakeTimeout: bodyMilliseconds, minVersion: 'TLSv1.2' } as const
  const app = fastify({
    clientErrorHandler: refuseBytes,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: parameterLengthMax },
    frameworkErrors: (_error, _request, reply) => void sendError(reply, wrongEscapes()),
    ...(tls === undefined
      ? { http: timeouts }
      : { https: { ...timeouts, ...handshakes, cert: tls.certificate, key: tls.key } }),
  }) as FastifyInstance
  app.server.maxConnections = connectionsMax
  closeWaitingAnswers(app.server)
  app.removeAllContentTypeParsers()
  app.setErrorHandler((error, request, reply) => {
    const { code } = error as { code?: unknown }
    if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
      request.raw.resume()
      const message = `bodies of the type '${request.headers['content-type'] ?? ''}' are not taken`
      return sendError(reply, new CellarError(ServerErrorCode.mediaType, message))
    }
    return sendError(reply, error)
  })
  app.setNotFoundHandler((_request, reply) => {
    const code = ServerErrorCode.notFound
    return reply.code(404).send({ code, message: 'there is no such path' })
  })
  return app
}

/** Adds the guards, which are the same for the routes of all systems. */
function addGuards(
  app: FastifyInstance,
  settings: ServerSettings,
  { systems, closing }: { systems: readonly ServerSystem[]; closing: Closing },
): void {
  const gate = makeGate(settings, systems)
  const guard = new OriginGuard(settings.hosts)
  app.addHook('onRequest', (request, reply, done) => {
    watchRequest(settings, request, reply)
    reply.raw.once('close', () => {
      releaseBody(request.raw)
      closing.answered()
    })
    done(
      closing.refusal(reply) ??
        guard.refusal(request.raw) ??
        gate(request) ??
        (hasWrongQuery(request.url) ? wrongEscapes() : undefined),
    )
  })
  app.addHook('preHandler', (request, _reply, done) => {
    request.body ??= emptyBody
    done()
  })
}

/** Whether the query of an address has escapes that are no UTF-8: the parser would keep them. */
function hasWrongQuery(url: string): boolean {
  const at = url.indexOf('?')
  if (at < 0 || !url.includes('%', at)) return false
  try {
    decodeURIComponent(url.slice(at))
    return false
  } catch {
    return true
  }
}

function wrongEscapes(): CellarError {
  return invalidArgument('the address has escapes that are no UTF-8, or a part that is too long')
}

/** Counts answers that wait for their readers; a system counts its own streams. */
function addAnswers(app: FastifyInstance, memory: RequestMemory): void {
  app.addHook('onSend', (_request, reply, payload, done) => {
    const isCounted = typeof payload === 'string' || Buffer.isBuffer(payload)
    if (!isCounted || payload.length < countedAnswerBytes) {
      done(null, payload)
      return
    }
    const lease = memory.take(payload.length)
    if (lease !== undefined) {
      reply.raw.once('close', () => lease.release())
      done(null, payload)
      return
    }
    done(noMemory())
  })
}
