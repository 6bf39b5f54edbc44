/** A server that speaks as much of ZooKeeper's protocol as tests of the adapter need. */
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net'
import type { Test } from 'tap'
import {
  JuteReader,
  JuteWriter,
  OpCode,
} from '../../../src/systems/metastore/zookeeper/protocol.js'

/** What the server knows of a node. */
export interface FakeStat {
  readonly czxid?: number
  readonly version?: number
  readonly owner?: bigint
}

/**
 * The answer to a request: an error number, 0 = done without a body; a stat as the body; or bytes
 * of a node, with a stat after them.
 */
export type FakeAnswer = number | FakeStat | Buffer

/** A request as the server has read it. */
export interface FakeRequest {
  readonly code: number
  /** The first text of the body, mostly the path. */
  readonly path: string
}

const sessionId = 7n

function writeStat(writer: JuteWriter, stat: FakeStat): void {
  const { czxid = 1, version = 0, owner = 0n } = stat
  writer.long(BigInt(czxid)).long(BigInt(czxid)).long(1n).long(1n)
  writer.int(version).int(0).int(0).long(owner).int(0).int(0).long(1n)
}

/** See the file header. Requests succeed unless `answer` says otherwise. */
export class FakeZooKeeper {
  /** The sessions that clients have asked for, in their order; 0 = a new one. */
  readonly asked: bigint[] = []
  readonly requests: FakeRequest[] = []
  /** Answers a request. */
  answer: (request: FakeRequest) => FakeAnswer = () => 0
  /** Whether sessions that clients come back to have expired. */
  hasExpired = false
  /** Whether the server says nothing, and leaves all connections as they are. */
  isSilent = false
  /** Milliseconds before the server answers the handshake of a client. */
  greetingMilliseconds = 0
  #given = sessionId
  readonly #timeout: number
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  #isAway = false

  private constructor(timeoutMilliseconds: number) {
    this.#timeout = timeoutMilliseconds
    this.#server = createServer((socket) => this.#serve(socket))
  }

  static async start(t: Test, timeoutMilliseconds: number): Promise<FakeZooKeeper> {
    const fake = new FakeZooKeeper(timeoutMilliseconds)
    await new Promise<void>((resolve) => fake.#server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      fake.leave()
      return new Promise((resolve) => fake.#server.close(resolve))
    })
    return fake
  }

  get url(): string {
    return `zk:127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Cuts all connections, and those that clients make, until `comeBack`. */
  leave(): void {
    this.#isAway = true
    for (const socket of this.#sockets) socket.destroy()
  }

  comeBack(): void {
    this.#isAway = false
  }

  /** Tells all clients of an event. */
  tell(type: number, path: string): void {
    const event = new JuteWriter().int(-1).long(1n).int(0).int(type).int(3).text(path)
    for (const socket of this.#sockets) socket.write(event.frame())
  }

  /** Passes bytes to all clients, whatever they are. */
  send(bytes: Buffer): void {
    for (const socket of this.#sockets) socket.write(bytes)
  }

  #serve(socket: Socket): void {
    if (this.#isAway) return void socket.destroy()
    this.#sockets.add(socket)
    let isReady = false
    let received = Buffer.alloc(0)
    socket.on('error', () => socket.destroy())
    socket.on('close', () => this.#sockets.delete(socket))
    socket.on('data', (bytes: Buffer) => {
      received = Buffer.concat([received, bytes])
      while (received.length >= 4 && received.length >= 4 + received.readInt32BE(0)) {
        const end = 4 + received.readInt32BE(0)
        const reader = new JuteReader(received.subarray(4, end))
        received = received.subarray(end)
        if (this.isSilent) continue
        if (isReady) this.#respond(socket, reader)
        else {
          isReady = true
          this.#greet(socket, reader)
        }
      }
    })
  }

  #greet(socket: Socket, reader: JuteReader): void {
    reader.int32()
    reader.int64()
    reader.int32()
    const asked = reader.int64()
    this.asked.push(asked)
    const isOver = this.hasExpired && asked !== 0n
    if (isOver) this.#given++
    const writer = new JuteWriter().int(0)
    writer.int(isOver ? 0 : this.#timeout).long(isOver ? 0n : this.#given)
    const frame = writer.buffer(Buffer.alloc(16)).frame()
    if (this.greetingMilliseconds === 0) socket.write(frame)
    else setTimeout(() => socket.write(frame), this.greetingMilliseconds)
  }

  #respond(socket: Socket, reader: JuteReader): void {
    const xid = reader.int32()
    const code = reader.int32()
    const path = !reader.isAtEnd && code !== OpCode.multi ? reader.text() : ''
    const request = { code, path }
    if (code !== OpCode.ping) this.requests.push(request)
    const answer = this.answer(request)
    if (socket.destroyed) return
    const writer = new JuteWriter()
      .int(xid)
      .long(1n)
      .int(typeof answer === 'number' ? answer : 0)
    if (Buffer.isBuffer(answer)) writeStat(writer.buffer(answer), {})
    else if (typeof answer !== 'number') writeStat(writer, answer)
    socket.write(writer.frame())
  }
}
