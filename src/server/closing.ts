/**
 * The shutdown of a server: new requests are refused, requests in progress are answered, and idle
 * connections close. After a deadline all remaining connections close.
 */
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { CellarError } from '../api/index.js'
import { ServerErrorCode } from '../http/errors.js'

export class Closing {
  readonly #app: FastifyInstance
  readonly #systems: readonly { close?(): void }[]
  readonly #milliseconds: number
  /** The open connections, and the bytes that had arrived when they began. */
  readonly #connections = new Map<Socket, number>()
  #ended: Promise<void> | undefined

  /** `systems` are asked to release their waiting readers; `milliseconds` is the deadline. */
  constructor(app: FastifyInstance, systems: readonly { close?(): void }[], milliseconds: number) {
    this.#app = app
    this.#systems = systems
    this.#milliseconds = milliseconds
    const add = (socket: Socket): void => {
      this.#connections.set(socket, socket.bytesRead)
      socket.once('close', () => this.#connections.delete(socket))
    }
    // With TLS a connection has two sockets: one of TCP, and one of TLS after the handshake.
    app.server.on('connection', add)
    app.server.on('secureConnection', add)
  }

  /** The reason why a request is refused; undefined while the server is open. */
  refusal(reply: FastifyReply): Error | undefined {
    if (this.#ended === undefined) return undefined
    void reply.header('connection', 'close')
    return new CellarError(ServerErrorCode.closing, 'the server ends')
  }

  /** Called after each answer: its connection may close now. */
  answered(): void {
    if (this.#ended !== undefined) setImmediate(() => this.#app.server.closeIdleConnections())
  }

  /** Closes the server. An error from the `close` of a system is thrown at the end. */
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
    // For Node a connection is not idle before its first request, which may never come.
    for (const [socket, bytes] of this.#connections) {
      if (socket.bytesRead === bytes) socket.destroy()
    }
    const timer = setTimeout(() => {
      // Node's `closeAllConnections` leaves connections without a complete handshake open.
      for (const socket of this.#connections.keys()) socket.destroy()
    }, this.#milliseconds)
    try {
      await this.#app.close()
    } finally {
      clearTimeout(timer)
    }
    if (failures.length > 0) throw failures[0]
  }
}
