/**
 * The end of a server: further requests are refused, those under way are answered, and connections
 * end as soon as they are idle. After a deadline the rest is cut off.
 */
import type { FastifyInstance, FastifyReply } from 'fastify'
import { ServerError, ServerErrorCode } from './http-errors.js'

/** See the file header. */
export class Closing {
  readonly #app: FastifyInstance
  readonly #systems: readonly { close?(): void }[]
  readonly #milliseconds: number
  #ended: Promise<void> | undefined

  /** `systems` are told to let readers go that wait; `milliseconds` is the deadline. */
  constructor(app: FastifyInstance, systems: readonly { close?(): void }[], milliseconds: number) {
    this.#app = app
    this.#systems = systems
    this.#milliseconds = milliseconds
  }

  /** Why no further request is taken; undefined as long as they are. */
  refusal(reply: FastifyReply): Error | undefined {
    if (this.#ended === undefined) return undefined
    void reply.header('connection', 'close')
    return new ServerError(ServerErrorCode.closing, 'the server ends')
  }

  /** A request was answered: its connection may end now. */
  answered(): void {
    if (this.#ended !== undefined) setImmediate(() => this.#app.server.closeIdleConnections())
  }

  /** Ends the server, also if the `close` of a system throws; then that error is thrown. */
  async end(): Promise<void> {
    this.#ended ??= this.#end()
    await this.#ended
  }

  async #end(): Promise<void> {
    const failures: unknown[] = []
    for (const system of this.#systems) {
      try {
        system.close?.()
      } catch (error) {
        failures.push(error)
      }
    }
    const { server } = this.#app
    const timer = setTimeout(() => server.closeAllConnections(), this.#milliseconds)
    try {
      await this.#app.close()
    } finally {
      clearTimeout(timer)
    }
    if (failures.length > 0) throw failures[0]
  }
}
