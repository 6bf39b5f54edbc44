/**
 * A Thrift2 gateway whose answers a test writes, for answers that a live gateway gives seldom: lost
 * ones, half ones, late ones. It knows one table with the family `f`.
 */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import { Codec } from '../../../src/hbase/thrift/wire/codec.js'
import { BufferedReader } from '../../../src/hbase/thrift/wire/message-reader.js'
import {
  ioError,
  illegalArgument,
  methods,
  type Method,
} from '../../../src/hbase/thrift/wire/methods.js'
import { loadThrift } from '../../../src/hbase/thrift/wire/package.js'
import { struct } from '../../../src/hbase/thrift/wire/structs.js'

/** What the gateway does with a call. */
export type Reaction =
  | { readonly answer: unknown; readonly afterMilliseconds?: number }
  | { readonly error: string; readonly canRetry?: boolean }
  | { readonly argumentError: string }
  /** The connection is closed without an answer, or after half of it, or nothing happens. */
  | 'cut'
  | 'half'
  | 'silent'
  | { readonly bytes: Buffer }

/** Decides about a call by its name and the number of calls of that name before. */
export type Script = (name: string, before: number, message: Buffer) => Reaction | undefined

const family = { name: Buffer.from('f'), maxVersions: 3 }
const descriptor = { tableName: { qualifier: Buffer.from('t') }, columns: [family] }

/** Answers that a script need not give. */
const usual: Readonly<Record<string, Reaction>> = {
  getTableDescriptor: { answer: descriptor },
  closeScanner: { answer: undefined },
}

/** A gateway on a free port of 127.0.0.1. */
export class ScriptedGateway {
  /** Names of the calls in their order, without greetings. */
  readonly calls: string[] = []
  /** The messages of the calls. */
  readonly messages: Buffer[] = []
  connectionsMost = 0
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  readonly #codec = new Codec(loadThrift())

  private constructor(script: Script, serverType: number) {
    this.#server = createServer((socket) => this.#serve(socket, script, serverType))
  }

  /** `serverType`: the version of Thrift service that the gateway says it is. */
  static async start(script: Script, serverType = 2): Promise<ScriptedGateway> {
    const gateway = new ScriptedGateway(script, serverType)
    await new Promise<void>((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve))
    return gateway
  }

  get address(): { readonly host: string; readonly port: number } {
    return { host: '127.0.0.1', port: (this.#server.address() as AddressInfo).port }
  }

  /** How many calls of a method came. */
  count(name: string): number {
    return this.calls.filter((each) => each === name).length
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #serve(socket: Socket, script: Script, serverType: number): void {
    const reader = new BufferedReader(2 ** 26)
    this.#sockets.add(socket)
    this.connectionsMost = Math.max(this.connectionsMost, this.#sockets.size)
    socket.on('error', () => undefined)
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (bytes) => {
      const message = reader.push(bytes)
      if (message === undefined) return
      const nameEnd = 8 + message.readInt32BE(4)
      const name = message.toString('utf8', 8, nameEnd)
      const before = this.count(name)
      const sequence = message.readInt32BE(nameEnd)
      if (name === 'getThriftServerType') {
        return this.#react(socket, name, sequence, { answer: serverType })
      }
      this.calls.push(name)
      this.messages.push(message)
      this.#react(socket, name, sequence, script(name, before, message) ?? usual[name] ?? 'cut')
    })
  }

  #react(socket: Socket, name: string, sequence: number, reaction: Reaction): void {
    if (reaction === 'silent') return
    if (reaction === 'cut') return void socket.destroy()
    if (reaction === 'half') {
      const bytes = this.#reply(name, sequence, { error: 'half' })
      return void socket.end(bytes.subarray(0, bytes.length / 2))
    }
    if ('bytes' in reaction) return void socket.write(reaction.bytes)
    const wait = 'answer' in reaction ? (reaction.afterMilliseconds ?? 0) : 0
    setTimeout(() => socket.write(this.#reply(name, sequence, reaction)), wait)
  }

  /** The message of an answer: a call whose arguments are the answer, with another kind. */
  #reply(name: string, sequence: number, reaction: Exclude<Reaction, string>): Buffer {
    const method = (methods as Readonly<Record<string, Method>>)[name]
    const parameters = struct({
      // The type of no answer is not written: there is no member to write.
      0: ['answer', method.answer ?? 'bool'],
      1: ['io', ioError],
      2: ['argument', illegalArgument],
    })
    const members = {
      ...('answer' in reaction ? { answer: reaction.answer } : {}),
      ...('error' in reaction
        ? { io: { message: reaction.error, canRetry: reaction.canRetry ?? false } }
        : {}),
      ...('argumentError' in reaction ? { argument: { message: reaction.argumentError } } : {}),
    }
    const message = this.#codec.encode({ ...method, parameters }, members, sequence)
    const bytes = Codec.unframed(message)
    bytes[3] = 2
    return bytes
  }
}
