/**
 * The HTTP server that the systems over tables share: health, metrics, the OpenAPI description, and
 * the routes of each system. By the package `fastify`.
 *
 * It is bound to the loopback unless told otherwise, and can demand a token. Bodies are bounded,
 * also those that are compressed. The databases stay the caller's.
 */
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { promisify } from 'node:util'
import { gunzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { OptionNames, requirePackage } from '../api/index.js'
import { MessagingError, MessagingErrorCode } from '../messaging/index.js'
import { Gate, type Principal } from './access.js'
import { errorAnswer, invalidArgument } from './http-errors.js'

/** A part of the server: the routes of one system. */
export interface ServerSystem {
  /** Name of the system in metrics and in messages. */
  readonly name: string
  /** Adds routes. The principals are those beside the administrator's token. */
  register(app: FastifyInstance, principals: readonly Principal[]): void
  /** Its part of the OpenAPI description, by path. */
  readonly paths: Readonly<Record<string, unknown>>
  /** Lines in the text format of Prometheus. */
  metrics?(): string
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

/** Options of {@link CellarServer}. */
export interface ServerOptions {
  /** Default '127.0.0.1'. */
  readonly host?: string | undefined
  /** Default 11015; 0 = one that is free. */
  readonly port?: number | undefined
  /**
   * Demanded as `Authorization: Bearer TOKEN` of everything but `/health` and public pages; whoever
   * has it is an administrator. Default: none, and without `principals` everybody is one.
   */
  readonly token?: string | undefined
  /** Who else may use the server, each with a token and with permissions. Default: nobody. */
  readonly principals?: readonly Principal[] | undefined
  /** Bytes of a body as it is sent, and after decompression. Default 10 MiB and 64 MiB. */
  readonly requestBytesMax?: number | undefined
  /** Bytes of a body after decompression. Default 64 MiB. */
  readonly decompressedBytesMax?: number | undefined
  /** Milliseconds after which a consumer that reads nothing is cut off. Default 60 s. */
  readonly stallMilliseconds?: number | undefined
}

const names = new OptionNames<ServerOptions>('a server', {
  host: true,
  port: true,
  token: true,
  principals: true,
  requestBytesMax: true,
  decompressedBytesMax: true,
  stallMilliseconds: true,
})

const decompress = promisify(gunzip)
const emptyBody = Buffer.alloc(0)

/** Characters of one part of an address: ids of records are long, and longer in an address. */
const parameterLengthMax = 100_000

/** A running server. */
export class CellarServer {
  readonly #app: FastifyInstance
  readonly #systems: readonly ServerSystem[]

  private constructor(app: FastifyInstance, systems: readonly ServerSystem[]) {
    this.#app = app
    this.#systems = systems
  }

  /** Starts; resolves when it listens. `ERR_MISSING_PACKAGE` without `fastify`. */
  static async start(
    systems: readonly ServerSystem[],
    options: ServerOptions = {},
  ): Promise<CellarServer> {
    names.check(options)
    const { requestBytesMax = 10 << 20, decompressedBytesMax = 64 << 20 } = options
    const gate = new Gate(options, systems)
    const { host = '127.0.0.1', port = 11_015, stallMilliseconds = 60_000 } = options
    const { fastify } = requirePackage<typeof import('fastify')>('fastify', 'the server')
    const app = fastify({
      bodyLimit: requestBytesMax,
      forceCloseConnections: true,
      routerOptions: { maxParamLength: parameterLengthMax },
    })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
    app.addHook('onRequest', (request, reply, done) => {
      reply.raw.setTimeout(stallMilliseconds, () => request.raw.destroy())
      done(gate.refusal(request))
    })
    // Most bodies are plain: without a promise.
    app.addHook('preHandler', (request, _reply, done) => {
      const encoding = request.headers['content-encoding'] ?? 'identity'
      request.body ??= emptyBody
      // A route that takes a stream looks after its size and its encoding.
      if (encoding === 'identity' || request.body instanceof Readable) {
        done()
        return
      }
      decompressed(request.body as Buffer, encoding, decompressedBytesMax).then((body) => {
        request.body = body
        done()
      }, done)
    })
    app.setErrorHandler((error, _request, reply) => sendError(reply, error))
    app.setNotFoundHandler((_request, reply) => {
      return reply.code(404).send({ code: 'ERR_NOT_FOUND', message: 'there is no such path' })
    })
    app.get('/health', async () => ({ status: 'ok' }))
    app.get('/metrics', async (_request, reply) => {
      const text = systems.map((system) => system.metrics?.() ?? '').join('')
      return reply.type('text/plain; version=0.0.4').send(text)
    })
    app.get('/openapi.json', async () => openApi(systems))
    for (const system of systems) system.register(app, options.principals ?? [])
    await app.listen({ host, port })
    return new CellarServer(app, systems)
  }

  /** Where it listens, such as `http://127.0.0.1:11015`. */
  get url(): string {
    const { address, port, family } = this.#app.server.address() as AddressInfo
    return `http://${family === 'IPv6' ? `[${address}]` : address}:${port}`
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    for (const system of this.#systems) system.close?.()
    await this.#app.close()
  }
}

/** Answers with an error. */
export function sendError(reply: FastifyReply, error: unknown): FastifyReply {
  const { status, code, message } = errorAnswer(error)
  return reply.code(status).type('application/json').send(JSON.stringify({ code, message }))
}

/** A body without its encoding; `ERR_REQUEST_TOO_LARGE` beyond so many bytes. */
async function decompressed(body: Buffer, encoding: string, bytesMax: number): Promise<Buffer> {
  if (body.length === 0) return body
  if (encoding !== 'gzip') throw invalidArgument(`the encoding '${encoding}' is not known`)
  try {
    return await decompress(body, { maxOutputLength: bytesMax })
  } catch (cause) {
    if ((cause as { code?: string }).code !== 'ERR_BUFFER_TOO_LARGE') {
      throw invalidArgument('the body is no gzip')
    }
    const message = `a decompressed body has at most ${bytesMax} bytes`
    throw new MessagingError(MessagingErrorCode.tooLarge, message)
  }
}

function openApi(systems: readonly ServerSystem[]): unknown {
  const json = (description: string): unknown => ({ responses: { 200: { description } } })
  const paths: Record<string, unknown> = {
    '/health': { get: json('the server runs') },
    '/metrics': { get: json('metrics in the text format of Prometheus') },
  }
  for (const system of systems) Object.assign(paths, system.paths)
  return { openapi: '3.1.0', info: { title: 'Cellar', version: '0.1.0' }, paths }
}
