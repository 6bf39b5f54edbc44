/** The connections to one gateway: at most `connectionsMax`. Further calls wait in turn. */
import { deferred, type Deferred } from '../../../base/deferred.js'
import { closedError } from '../../../base/errors.js'
import { RemoteException, type Codec } from './codec.js'
import { Connection, millisecondsLeft, type Request } from './connection.js'
import { noAnswer } from './errors.js'
import { methods } from './methods.js'
import type { GatewaySettings, HBaseSettings } from './options.js'

/** The answer of a Thrift2 gateway to `getThriftServerType`. */
const thriftTwo = 2

export class Gateway {
  /** Host and port, for messages. */
  readonly place: string
  readonly #address: GatewaySettings
  readonly #settings: HBaseSettings
  readonly #codec: Codec
  readonly #idle: Connection[] = []
  readonly #open = new Set<Connection>()
  /** Calls that wait for a connection, or for room for one. */
  readonly #queue: Deferred<void>[] = []
  /** Connections that are open or being opened. */
  #count = 0
  #isClosed = false

  constructor(address: GatewaySettings, settings: HBaseSettings, codec: Codec) {
    this.place = `${address.host}:${address.port}`
    this.#address = address
    this.#settings = settings
    this.#codec = codec
  }

  /** Carries out a call. Rejects with {@link noAnswer} if there is none. */
  async call(request: Request, deadline: number): Promise<unknown> {
    const connection = await this.#acquire(deadline)
    const { answerMilliseconds } = this.#settings
    try {
      return await connection.call(
        request,
        Math.min(answerMilliseconds, millisecondsLeft(deadline)),
      )
    } finally {
      this.#release(connection)
    }
  }

  /** Closes all connections. Calls that run fail. */
  close(): void {
    this.#isClosed = true
    for (const connection of this.#open) connection.close()
    for (const waiting of this.#queue.splice(0)) waiting.resolve()
  }

  async #acquire(deadline: number): Promise<Connection> {
    for (;;) {
      if (this.#isClosed) throw closedError('the connection to HBase')
      const idle = this.#idle.pop()
      if (idle?.isOpen === true) return idle
      if (idle !== undefined) this.#forget(idle)
      else if (this.#count < this.#settings.connectionsMax) return this.#connect(deadline)
      else await this.#turn(deadline)
    }
  }

  /** Waits until a connection or room for one is free. */
  async #turn(deadline: number): Promise<void> {
    const waiting = deferred<void>()
    const late = setTimeout(() => {
      const place = this.#queue.indexOf(waiting)
      if (place < 0) return
      this.#queue.splice(place, 1)
      waiting.reject(noAnswer(`${this.place}: all connections are busy`, false))
    }, millisecondsLeft(deadline))
    this.#queue.push(waiting)
    try {
      await waiting.promise
    } finally {
      clearTimeout(late)
    }
  }

  async #connect(deadline: number): Promise<Connection> {
    this.#count++
    let connection: Connection | undefined
    try {
      connection = await Connection.open(this.#address, this.#settings, this.#codec, deadline)
      this.#open.add(connection)
      await this.#greet(connection, deadline)
      if (this.#isClosed) throw closedError('the connection to HBase')
      return connection
    } catch (error) {
      connection?.close()
      if (connection === undefined) this.#leave()
      else this.#forget(connection)
      throw error
    }
  }

  /** Asks what the gateway is, so that another service is named as such. */
  async #greet(connection: Connection, deadline: number): Promise<void> {
    const { answerMilliseconds, connectMilliseconds, transport } = this.#settings
    const left = Math.min(answerMilliseconds, connectMilliseconds, millisecondsLeft(deadline))
    const method = methods.getThriftServerType
    const message = this.#codec.encode(method, {}, 0)
    const request: Request = { method, sequence: 0, message, isIdempotent: true }
    let answer: unknown
    try {
      answer = await connection.call(request, left)
    } catch (cause) {
      const { message: reason } = cause as Error
      const hint = `is ${this.place} a Thrift2 gateway with the transport '${transport}'?`
      throw noAnswer(`${reason}; ${hint}`, false, cause)
    }
    if (answer === thriftTwo) return
    const what =
      answer instanceof RemoteException
        ? `does not know '${method.name}', which HBase has from version 2.1 on`
        : 'is a gateway of Thrift 1; start `hbase thrift2`'
    throw noAnswer(`${this.place} ${what}`, false)
  }

  #release(connection: Connection): void {
    if (connection.isOpen) this.#idle.push(connection)
    else this.#forget(connection)
    this.#queue.shift()?.resolve()
  }

  #forget(connection: Connection): void {
    if (this.#open.delete(connection)) this.#leave()
  }

  #leave(): void {
    this.#count--
    this.#queue.shift()?.resolve()
  }
}
