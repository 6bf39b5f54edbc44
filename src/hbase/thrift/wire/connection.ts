/**
 * A connection to a gateway: one call at a time.
 *
 * A connection whose call failed is closed: an answer that comes late must not be taken for that of
 * a later call. While no call runs, the connection does not keep the process alive.
 */
import { performance } from 'node:perf_hooks'
import { createConnection, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { CellarError } from '../../../api/index.js'
import { Codec } from './codec.js'
import { noAnswer, wasSent } from './errors.js'
import { BufferedReader, FramedReader, type MessageReader } from './message-reader.js'
import type { Method } from './methods.js'
import type { GatewaySettings, HBaseSettings } from './options.js'

/** An encoded call. */
export interface Request {
  readonly method: Method
  readonly sequence: number
  /** With the length in front. */
  readonly message: Buffer
  /** Whether a repetition has no further effect. */
  readonly isIdempotent: boolean
}

/**
 * Calls `late` after the time, unless it is ended. An answer that has arrived by then is read
 * first: a stall of the own event loop is no silence of the gateway.
 */
function timeout(milliseconds: number, late: () => void): { end(): void } {
  let isEnded = false
  const check = (): void => void (isEnded || late())
  const timer = setTimeout(() => setImmediate(check), Math.max(0, milliseconds))
  return {
    end: () => {
      isEnded = true
      clearTimeout(timer)
    },
  }
}

/** The end of the time for a call, by the monotonic clock. */
export function millisecondsLeft(deadline: number): number {
  return deadline - performance.now()
}

interface Waiting {
  readonly request: Request
  readonly resolve: (message: Buffer) => void
  readonly reject: (error: Error) => void
}

/** A connection with at most one call at a time. */
export class Connection {
  readonly #socket: Socket
  readonly #reader: MessageReader
  readonly #codec: Codec
  readonly #framed: boolean
  readonly #place: string
  #waiting: Waiting | undefined = undefined
  #isOpen = true

  private constructor(socket: Socket, settings: HBaseSettings, codec: Codec, place: string) {
    const { messageBytesMax, transport } = settings
    this.#socket = socket
    this.#codec = codec
    this.#framed = transport === 'framed'
    this.#place = place
    this.#reader = this.#framed
      ? new FramedReader(messageBytesMax)
      : new BufferedReader(messageBytesMax)
    socket.on('data', (bytes: Buffer) => this.#receive(bytes))
    socket.on('error', (error) => this.#end(`the connection broke: ${error.message}`, error))
    socket.on('close', () => this.#end('the gateway closed the connection'))
    socket.unref()
  }

  /** Connects. Rejects with {@link noAnswer}. */
  static async open(
    address: GatewaySettings,
    settings: HBaseSettings,
    codec: Codec,
    deadline: number,
  ): Promise<Connection> {
    const place = `${address.host}:${address.port}`
    const left = Math.min(settings.connectMilliseconds, millisecondsLeft(deadline))
    const socket = await openSocket(address, settings, left, place)
    return new Connection(socket, settings, codec, place)
  }

  /** Whether the next call can be sent. */
  get isOpen(): boolean {
    return this.#isOpen
  }

  /** Sends a call and decodes its answer. REQUIRES that no call runs. */
  async call(request: Request, milliseconds: number): Promise<unknown> {
    if (!this.#isOpen) throw noAnswer(`${this.#place}: the connection is closed`, false)
    const timer = timeout(milliseconds, () => {
      this.#end(`no answer to '${request.method.name}' within ${Math.round(milliseconds)} ms`)
    })
    this.#socket.ref()
    try {
      const message = await new Promise<Buffer>((resolve, reject) => {
        this.#waiting = { request, resolve, reject }
        this.#socket.write(this.#framed ? request.message : Codec.unframed(request.message))
      })
      return this.#codec.decode(request.method, request.sequence, message)
    } catch (error) {
      this.close()
      if (wasSent(error) !== undefined) throw error
      const text = error instanceof CellarError ? error.message : String(error)
      throw noAnswer(`${this.#place}: ${text}`, true, error)
    } finally {
      timer.end()
      this.#waiting = undefined
      this.#socket.unref()
    }
  }

  /** Closes the connection. A call that runs fails. */
  close(): void {
    this.#end('the connection was closed')
  }

  #receive(bytes: Buffer): void {
    const waiting = this.#waiting
    if (waiting === undefined) return this.#end('the gateway answered without a call')
    try {
      const message = this.#reader.push(bytes)
      if (message === undefined) return
      this.#waiting = undefined
      waiting.resolve(message)
    } catch (error) {
      this.#end((error as Error).message, error)
    }
  }

  #end(reason: string, cause?: unknown): void {
    if (!this.#isOpen) return
    this.#isOpen = false
    const waiting = this.#waiting
    this.#waiting = undefined
    this.#socket.destroy()
    waiting?.reject(noAnswer(`${this.#place}: ${reason}`, true, cause))
  }
}

function openSocket(
  { host, port }: GatewaySettings,
  { tls }: HBaseSettings,
  milliseconds: number,
  place: string,
): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const secured = tls === undefined ? undefined : connectTls({ ...tls, host, port })
    const socket = secured ?? createConnection({ host, port })
    socket.setNoDelay(true)
    const fail = (reason: string, cause?: unknown): void => {
      timer.end()
      socket.destroy()
      reject(noAnswer(`${place}: ${reason}`, false, cause))
    }
    const timer = timeout(milliseconds, () => fail('no connection in time'))
    const refused = (error: Error): void => fail(`cannot connect: ${error.message}`, error)
    socket.once('error', refused)
    socket.once(secured === undefined ? 'connect' : 'secureConnect', () => {
      timer.end()
      socket.off('error', refused)
      resolve(socket)
    })
  })
}
