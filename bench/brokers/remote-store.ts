/**
 * The handle of a broker on the store of a coordinator process: as much of the metadata interface
 * as brokers need. Not part of the package; see `coordinator.ts`.
 */
import { CellarError } from '../../src/entries/index.js'
import { connect } from 'node:net'
import {
  MetadataCache,
  MetadataErrorCode,
  type BatchOperation,
  type CacheSink,
  type CachingStore,
  type Closeable,
  type Expected,
  type FeedCommit,
  type GetResult,
  type MetadataCacheOptions,
  type MetadataSerde,
  type Notification,
  type PutOptions,
  type SessionEvent,
  type Stat,
} from '../../src/systems/metastore/pulsar/index.js'
import { Channel, type Message } from './channel.js'

interface Pending {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
}

const reconnectMilliseconds = 50

/** See the file header. */
export class RemoteStore implements CachingStore {
  readonly capabilities = {
    resumableFeed: false,
    secondaryIndexes: false,
    sequenceExpectations: true,
    atomicDeleteRecursive: true,
    impliedParents: true,
  }
  readonly sessionTimeoutMilliseconds: number
  readonly sessionId = undefined
  readonly #port: number
  readonly #listeners = new Set<(event: Notification) => unknown>()
  readonly #sessionListeners = new Set<(event: SessionEvent) => unknown>()
  readonly #caches = new Set<CacheSink>()
  readonly #pending = new Map<number, Pending>()
  readonly #pinging: NodeJS.Timeout
  #channel: Channel | undefined = undefined
  #session: number | null = null
  #isConnected = false
  #isClosed = false
  #calls = 0
  /** The events, one after the other. */
  #telling: Promise<void> = Promise.resolve()
  #onFirst: () => void = () => undefined

  private constructor(port: number, timeout: number) {
    this.#port = port
    this.sessionTimeoutMilliseconds = timeout
    this.#pinging = setInterval(() => this.#channel?.send({ ping: 1 }), timeout / 3)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Connects to the coordinator of a port, and again whenever the connection is lost. */
  static async open(port: number, timeout: number): Promise<RemoteStore> {
    const store = new RemoteStore(port, timeout)
    await new Promise<void>((resolve) => {
      store.#onFirst = resolve
      store.#connect()
    })
    return store
  }

  get isConnected(): boolean {
    return this.#isConnected
  }

  readonly onListenerError = (error: unknown): void => {
    process.stderr.write(`a listener has failed: ${String(error)}\n`)
  }

  #connect(): void {
    if (this.#isClosed) return
    const socket = connect(this.#port, '127.0.0.1')
    const channel: Channel = new Channel(
      socket,
      (message) => this.#receive(channel, message),
      () => this.#lost(),
    )
    socket.on('connect', () => {
      channel.send({ timeout: this.sessionTimeoutMilliseconds, session: this.#session })
    })
  }

  #receive(channel: Channel, message: Message): void {
    if ('session' in message) this.#connected(channel, message.session as number)
    else if ('event' in message) this.#tell(message.event as Notification)
    else {
      const pending = this.#pending.get(message.id as number)
      this.#pending.delete(message.id as number)
      const failure = message.failure as { message: string; code: MetadataErrorCode } | undefined
      if (failure === undefined) pending?.resolve(message.result ?? undefined)
      else pending?.reject(new CellarError(failure.code, failure.message))
    }
  }

  #connected(channel: Channel, session: number): void {
    const isFirst = this.#session === null
    const isNew = session !== this.#session
    this.#channel = channel
    this.#session = session
    this.#isConnected = true
    this.#onFirst()
    if (isFirst) return
    for (const cache of this.#caches) cache.reset()
    if (isNew) this.#tellSession('SessionLost')
    this.#tellSession('Reconnected')
    if (isNew) this.#tellSession('SessionReestablished')
  }

  #lost(): void {
    const wasConnected = this.#isConnected
    this.#isConnected = false
    this.#channel = undefined
    for (const { reject } of this.#pending.values()) {
      reject(
        this.#isClosed
          ? new CellarError(MetadataErrorCode.alreadyClosed, 'the store')
          : new CellarError(MetadataErrorCode.connectionLost, 'the channel is closed'),
      )
    }
    this.#pending.clear()
    if (wasConnected && !this.#isClosed) this.#tellSession('ConnectionLost')
    setTimeout(() => this.#connect(), reconnectMilliseconds)
  }

  #tellSession(event: SessionEvent): void {
    this.#telling = this.#telling.then(() => {
      for (const listener of this.#sessionListeners) listener(event)
    })
  }

  #tell(event: Notification): void {
    // Caches have read again before listeners are told.
    this.#telling = this.#telling.then(async () => {
      await this.#tellCaches(event.path)
      for (const listener of this.#listeners) listener(event)
    })
  }

  async #tellCaches(path: string): Promise<void> {
    for (const cache of this.#caches) await cache.changed(path, 'unknown', 0)
  }

  #call(call: string, ...values: readonly unknown[]): Promise<unknown> {
    const channel = this.#channel
    if (this.#isClosed)
      return Promise.reject(new CellarError(MetadataErrorCode.alreadyClosed, 'the store'))
    if (channel === undefined)
      return Promise.reject(
        new CellarError(MetadataErrorCode.connectionLost, 'the channel is closed'),
      )
    const id = ++this.#calls
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject })
      channel.send({ id, call, values })
    })
  }

  async get(path: string): Promise<GetResult | undefined> {
    return (await this.#call('get', path)) as GetResult | undefined
  }

  async getChildren(path: string): Promise<string[]> {
    return (await this.#call('getChildren', path)) as string[]
  }

  getChildrenFromStore(path: string): Promise<string[]> {
    return this.getChildren(path)
  }

  async exists(path: string): Promise<boolean> {
    return (await this.#call('exists', path)) as boolean
  }

  async isOwnerAlive(path: string): Promise<boolean> {
    return (await this.#call('isOwnerAlive', path)) as boolean
  }

  async put(
    path: string,
    value: string | Uint8Array,
    expected?: Expected,
    options?: PutOptions,
  ): Promise<Stat> {
    const stat = (await this.#call('put', path, Buffer.from(value), expected, options)) as Stat
    await this.#tellCaches(stat.path)
    return stat
  }

  async delete(path: string, expected?: Expected): Promise<void> {
    await this.#call('delete', path, expected)
    await this.#tellCaches(path)
  }

  async deleteIfExists(path: string, expected?: Expected): Promise<void> {
    await this.#call('deleteIfExists', path, expected)
    await this.#tellCaches(path)
  }

  async deleteRecursive(path: string): Promise<void> {
    await this.#call('deleteRecursive', path)
  }

  async batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    const steps = operations.map((step) =>
      'put' in step ? { ...step, value: Buffer.from(step.value) } : step,
    )
    return (await this.#call('batch', steps)) as readonly (Stat | undefined)[]
  }

  async sync(path: string): Promise<void> {
    await this.#call('sync', path)
  }

  scanChildren(): never {
    throw new CellarError(MetadataErrorCode.unsupported, 'scans over the channel')
  }

  scanByIndex(): never {
    throw new CellarError(MetadataErrorCode.unsupported, 'scans over the channel')
  }

  subscribeSequence(): Promise<Closeable> {
    throw new CellarError(MetadataErrorCode.unsupported, 'sequences over the channel')
  }

  subscribe(): AsyncGenerator<FeedCommit, void> {
    throw new CellarError(MetadataErrorCode.unsupported, 'a feed over the channel')
  }

  registerListener(listener: (event: Notification) => unknown): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  registerSessionListener(listener: (event: SessionEvent) => unknown): () => void {
    this.#sessionListeners.add(listener)
    return () => void this.#sessionListeners.delete(listener)
  }

  getMetadataCache<T>(
    serde: MetadataSerde<T>,
    options?: MetadataCacheOptions<T>,
  ): MetadataCache<T> {
    return new MetadataCache(this, serde, options)
  }

  registerCache(sink: CacheSink): () => void {
    this.#caches.add(sink)
    return () => void this.#caches.delete(sink)
  }

  /** Ends the session. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    await this.#call('close').catch(() => undefined)
    this.#isClosed = true
    clearInterval(this.#pinging)
    this.#channel?.destroy()
  }
}
