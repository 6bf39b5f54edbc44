/**
 * A connection to an ensemble of ZooKeeper servers, with its session.
 *
 * The server answers requests in order, so a queue matches answers to requests. A lost connection
 * fails the pending requests. The client reconnects with the same session until the server reports
 * its expiry; only the server decides this. After a long time without contact the owner is notified
 * that the session may be lost. If the servers themselves were unavailable, the session may still
 * be resumed later. A stall of the own event loop is no silence of the server: what has arrived
 * meanwhile is read first, and the server gets time to answer a ping, within the patience of above.
 *
 * Written for this package because no client for Node supports recursive watches (`addWatch`).
 */
import { connect, type Socket } from 'node:net'
import { assert } from '../../../api/index.js'
import { after } from '../kernel/backoff.js'
import { metadataError } from '../metadata/errors.js'
import { elapsed, later, laterWhileRunning, type LeaseClock } from '../kernel/lease-clock.js'
import { JuteReader, JuteWriter, nextXid, OpCode, ZkError } from './protocol.js'

/** A server. */
export interface ZkAddress {
  readonly host: string
  readonly port: number
}

/** The subscriber of the client: its owner. */
export interface ZkListener {
  /** A session is established; `isNew` if it is not the previous session. */
  onConnected(isNew: boolean): void
  onDisconnected(): void
  /** The session has expired, or may have, after a long time without contact. Called once. */
  onSessionLost(): void
  onEvent(type: number, path: string): void
}

interface Pending {
  readonly xid: number
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

/** The answer to a request. */
export interface Answer {
  readonly error: number
  /** Sequence of the server's newest commit. */
  readonly zxid: bigint
  readonly reader: JuteReader
}

/** Bytes of the length before a message. */
const lengthBytes = 4
const eventXid = -1
const pingXid = -2
const reconnectMilliseconds = 100
/** A session counts as lost after this part of its timeout without contact. */
const lostPart = 5 / 6

/** Settings of a client. */
export interface ZkClientSettings {
  readonly addresses: readonly ZkAddress[]
  readonly timeoutMilliseconds: number
  /** Most bytes of a request. A server closes the connection after a longer request. */
  readonly requestBytesMax: number
  readonly clock: LeaseClock
}

/** See the file header. Its owner reads the state, and the client writes it. */
export class ZkClient {
  sessionId = 0n
  password: Buffer = Buffer.alloc(16)
  /** The timeout granted by the server; before the handshake, the requested timeout. */
  timeoutMilliseconds: number
  /** Whether a session is established. */
  isReady = false
  readonly #settings: ZkClientSettings
  readonly #listener: ZkListener
  readonly #clock: LeaseClock
  #socket: Socket | undefined = undefined
  #closing: Promise<void> | undefined = undefined
  #isClosed = false
  #isHeld = false
  #isConnecting = false
  /** Whether the owner was notified of the loss, and of no session since. */
  #isLost = false
  #next = 0
  #xid = 0
  #lastZxid = 0n
  #lastContact = 0
  /** Milliseconds since the last contact in which the event loop stalled. */
  #stalled = 0
  #pending: Pending[] = []
  /** Received bytes before the end of the next message, and the bytes up to this end. */
  #chunks: Buffer[] = []
  #receivedBytes = 0
  #neededBytes = 0
  #stopBeat: () => void = () => undefined
  #stopAwaiting: () => void = () => undefined

  constructor(settings: ZkClientSettings, listener: ZkListener) {
    this.#settings = settings
    this.timeoutMilliseconds = settings.timeoutMilliseconds
    this.#clock = settings.clock
    this.#listener = listener
  }

  /** Connects, and reconnects until `close`. */
  start(): void {
    this.#lastContact = elapsed(this.#clock)
    void this.#connectLoop()
  }

  /** Resumes a session of another client. */
  resume(sessionId: bigint, password: Buffer): void {
    this.sessionId = sessionId
    this.password = password
  }

  /**
   * Sends a request. The connection may be lost before the answer. With `session`, the request is
   * only sent in that session; otherwise `ERR_METADATA_SESSION_LOST`. The server refuses requests
   * of an ended session, so such a request is performed while the session lives.
   */
  request(code: number, write?: (writer: JuteWriter) => void, session?: bigint): Promise<Answer> {
    if (this.#isClosed) return Promise.reject(metadataError('alreadyClosed', 'the store'))
    if (session !== undefined && session !== this.sessionId) {
      return Promise.reject(metadataError('sessionLost'))
    }
    if (!this.isReady) return Promise.reject(metadataError('connectionLost'))
    const xid = nextXid(this.#xid)
    const writer = new JuteWriter().int(xid).int(code)
    write?.(writer)
    const frame = writer.frame()
    const { requestBytesMax } = this.#settings
    if (frame.length > requestBytesMax) {
      const message = `a request of ${frame.length} bytes; the limit is ${requestBytesMax}`
      return Promise.reject(metadataError('invalidArgument', message))
    }
    this.#xid = xid
    return new Promise((resolve, reject) => {
      this.#pending.push({ xid, resolve, reject })
      this.#socket!.write(frame)
    })
  }

  /** Ends the session, once for all calls. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    if (this.isReady) await this.request(OpCode.closeSession).catch(() => undefined)
    this.#isClosed = true
    this.#stopAwaiting()
    this.#drop()
  }

  /** Closes the connection until `release`; for tests. */
  hold(): void {
    this.#isHeld = true
    this.#drop()
  }

  release(): void {
    this.#isHeld = false
    void this.#connectLoop()
  }

  async #connectLoop(): Promise<void> {
    if (this.#isConnecting) return
    this.#isConnecting = true
    const { addresses } = this.#settings
    while (!this.#isClosed && !this.#isHeld && !this.isReady) {
      const address = addresses[this.#next++ % addresses.length]
      await this.#connect(address).catch(() => undefined)
      if (this.isReady) break
      await after(this.#clock, reconnectMilliseconds)
    }
    this.#isConnecting = false
  }

  /** Resolves when the handshake has succeeded or failed. */
  #connect({ host, port }: ZkAddress): Promise<void> {
    return new Promise((resolve) => {
      const socket = connect({ host, port, noDelay: true })
      this.#socket = socket
      this.#keep(Buffer.alloc(0))
      // As long as possible: a busy server that is left early has made a session for nothing.
      const wait = this.timeoutMilliseconds / this.#settings.addresses.length
      const stop = laterWhileRunning(later.bind(undefined, this.#clock), wait, () =>
        socket.destroy(),
      )
      socket.on('connect', () => {
        const writer = new JuteWriter().int(0).long(this.#lastZxid).int(this.timeoutMilliseconds)
        writer.long(this.sessionId).buffer(this.password).bool(false)
        socket.write(writer.frame())
      })
      socket.on('data', (bytes: Buffer) => {
        this.#receive(socket, bytes)
        if (this.isReady) stop()
        if (this.isReady) resolve()
      })
      socket.on('error', () => socket.destroy())
      socket.on('close', () => {
        stop()
        if (this.#socket === socket) this.#lost()
        resolve()
      })
    })
  }

  #receive(socket: Socket, bytes: Buffer): void {
    if (this.#socket !== socket) return
    this.#lastContact = elapsed(this.#clock)
    this.#stalled = 0
    this.#chunks.push(bytes)
    this.#receivedBytes += bytes.length
    // Joins the chunks once for each message, however many chunks a long message has.
    if (this.#receivedBytes < this.#neededBytes) return
    const received = this.#chunks.length === 1 ? bytes : Buffer.concat(this.#chunks)
    let at = 0
    while (received.length - at >= lengthBytes) {
      const begin = at + lengthBytes
      const end = begin + received.readInt32BE(at)
      if (end > received.length) break
      try {
        const reader = new JuteReader(received.subarray(begin, end))
        if (this.isReady) this.#answer(reader)
        else this.#handshake(reader)
      } catch {
        // A malformed message closes the connection, which fails the pending requests.
        socket.destroy()
        return
      }
      if (this.#socket !== socket) return
      at = end
    }
    this.#keep(received.subarray(at))
  }

  /** Keeps the bytes of an incomplete message. */
  #keep(rest: Buffer): void {
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#receivedBytes = rest.length
    const isShort = rest.length < lengthBytes
    this.#neededBytes = isShort ? lengthBytes : lengthBytes + rest.readInt32BE(0)
  }

  #handshake(reader: JuteReader): void {
    reader.int32()
    const timeout = reader.int32()
    const sessionId = reader.int64()
    const password = reader.buffer()
    if (timeout <= 0 || sessionId === 0n) {
      // The session has expired; the next connection creates a new one.
      this.#loseSession()
      this.sessionId = 0n
      this.password = Buffer.alloc(16)
      this.#drop()
      return
    }
    const isNew = sessionId !== this.sessionId
    this.#isLost = false
    this.timeoutMilliseconds = timeout
    this.sessionId = sessionId
    this.password = Buffer.from(password)
    this.isReady = true
    this.#stopAwaiting()
    this.#beat()
    this.#listener.onConnected(isNew)
  }

  #answer(reader: JuteReader): void {
    const xid = reader.int32()
    const zxid = reader.int64()
    const error = reader.int32()
    if (zxid > this.#lastZxid) this.#lastZxid = zxid
    if (xid === pingXid) return
    if (xid === eventXid) {
      const type = reader.int32()
      reader.int32()
      this.#listener.onEvent(type, reader.text())
      return
    }
    const pending = this.#pending.at(0)
    assert(pending?.xid === xid, 'a server answers requests in order')
    this.#pending.shift()
    pending.resolve({ error, zxid, reader })
    if (error === ZkError.sessionExpired) this.#drop()
  }

  get #silence(): number {
    return elapsed(this.#clock) - this.#lastContact
  }

  #beat(): void {
    this.#stopBeat()
    const { timeoutMilliseconds: timeout } = this
    const interval = timeout / 3
    // Not later than the end of the patience, or the loss would be reported too late.
    const left = Math.min(2 * interval + this.#stalled, timeout * lostPart) - this.#silence
    const wait = Math.min(interval, left)
    const due = elapsed(this.#clock) + wait
    const socket = this.#socket
    this.#stopBeat = later(this.#clock, wait, () => {
      this.#stalled += Math.max(0, elapsed(this.#clock) - due)
      // After a stall, timers run before what has arrived is read.
      setImmediate(() => {
        if (this.#socket === socket && this.isReady) this.#judge()
      })
    })
  }

  /** Drops a silent connection, or sends a ping. */
  #judge(): void {
    const { timeoutMilliseconds: timeout } = this
    if (this.#silence >= Math.min((2 * timeout) / 3 + this.#stalled, timeout * lostPart)) {
      this.#drop()
      return
    }
    this.#socket?.write(new JuteWriter().int(pingXid).int(OpCode.ping).frame())
    this.#beat()
  }

  /**
   * Reports the session as lost after a long time without contact, unless a connection succeeds.
   */
  #awaitLoss(): void {
    const wait = this.timeoutMilliseconds * lostPart - (elapsed(this.#clock) - this.#lastContact)
    this.#stopAwaiting()
    this.#stopAwaiting = later(this.#clock, wait, () => {
      if (!this.isReady && !this.#isClosed) this.#loseSession()
    })
  }

  #loseSession(): void {
    if (this.#isLost || this.sessionId === 0n) return
    this.#isLost = true
    this.#listener.onSessionLost()
  }

  #drop(): void {
    const socket = this.#socket
    socket?.destroy()
    if (socket !== undefined) this.#lost()
  }

  #lost(): void {
    this.#socket = undefined
    const wasReady = this.isReady
    this.isReady = false
    this.#stopBeat()
    const pending = this.#pending
    this.#pending = []
    for (const { reject } of pending) {
      reject(
        this.#isClosed
          ? metadataError('alreadyClosed', 'the store')
          : metadataError('connectionLost'),
      )
    }
    if (!wasReady || this.#isClosed) return
    this.#listener.onDisconnected()
    this.#awaitLoss()
    void this.#connectLoop()
  }
}
