/** A handle on a store over tables: checks arguments, owns a session and tells listeners. */
import type { BytesLike } from '../../api/index.js'
import { at, type LeaseClock } from '../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../kernel/listener-errors.js'
import {
  checkBatch,
  checkExpected,
  checkListener,
  checkPutOptions,
  checkReadOptions,
  checkValue,
  noPutOptions,
} from './arguments.js'
import type { CacheSink, CachingStore } from './cache-sink.js'
import { Dispatcher } from './dispatcher.js'
import {
  AlreadyClosedError,
  asMetadataError,
  ConnectionLostError,
  hasCode,
  InvalidArgumentError,
  MetadataErrorCode,
} from './errors.js'
import { checkIndexScan, type PlacedRecord } from './node-table.js'
import { checkPath } from './paths.js'
import { sequencePath, type Step, type Written } from './planner.js'
import { statOf, type StoredRecord } from './record-format.js'
import { counterRow } from './rows.js'
import { consumed } from './scans.js'
import type { Session, SessionRegistry } from './sessions.js'
import type { AppliedCommit, CommitSink, StoreCore } from './store-core.js'
import type {
  BatchOperation,
  Closeable,
  Expected,
  FeedCommit,
  GetResult,
  IndexScan,
  MetadataCapabilities,
  Notification,
  PutOptions,
  ReadOptions,
  ScanConsumer,
  SessionEvent,
  Stat,
  SubscribeOptions,
} from './types.js'

/** What a handle is made of. */
export interface CellarStoreParts {
  readonly core: StoreCore
  readonly sessions: SessionRegistry
  readonly clock: LeaseClock
  readonly sessionTimeoutMilliseconds: number
  /** A session of an earlier process to take up. */
  readonly sessionId: number | undefined
  readonly onListenerError: ListenerErrorHandler
  /** Lets go of what all handles share. */
  readonly onClose: () => Promise<void>
}

const capabilities: MetadataCapabilities = Object.freeze({
  resumableFeed: true,
  secondaryIndexes: true,
  sequenceExpectations: true,
  atomicDeleteRecursive: true,
})

/** Heartbeats in the time of one session timeout. */
const heartbeatsPerTimeout = 3

/** A store over tables; see `openMetadataStore`. */
export class CellarMetadataStore implements CachingStore, CommitSink {
  readonly capabilities = capabilities
  readonly #parts: CellarStoreParts
  readonly #core: StoreCore
  readonly #dispatcher: Dispatcher
  readonly #listeners = new Set<(event: Notification) => unknown>()
  readonly #sessionListeners = new Set<(event: SessionEvent) => unknown>()
  readonly #caches = new Set<CacheSink>()
  #session!: Session
  #state: 'open' | 'closing' | 'closed' = 'open'
  #isConnected = true
  /** Heartbeats and events stand still. */
  #isPaused = false
  #reestablishing: Promise<void> | undefined = undefined
  #stopHeartbeat: () => void = () => undefined
  #closed: Promise<void> | undefined = undefined

  private constructor(parts: CellarStoreParts) {
    this.#parts = parts
    this.#core = parts.core
    this.#dispatcher = new Dispatcher(parts.onListenerError)
  }

  static async open(parts: CellarStoreParts): Promise<CellarMetadataStore> {
    const store = new CellarMetadataStore(parts)
    const { sessions, sessionId, sessionTimeoutMilliseconds } = parts
    store.#session =
      sessionId === undefined
        ? await sessions.open(sessionTimeoutMilliseconds, store)
        : sessions.resume(sessionId, store)
    store.#core.addSink(store)
    store.#beat()
    return store
  }

  get isConnected(): boolean {
    return this.#isConnected && this.#state === 'open'
  }

  /** The session; `openMetadataStore` of another process can take it up before its timeout. */
  get sessionId(): number {
    return this.#session.id
  }

  /** Sequence of the newest durable commit. */
  get sequence(): number {
    return this.#core.sequence
  }

  async get(path: string, options?: ReadOptions): Promise<GetResult | undefined> {
    this.#checkRead(path, options)
    const record = await this.#read(path, () => this.#core.nodes.record(path))
    return record === undefined ? undefined : this.#resultOf(path, record)
  }

  async getChildren(path: string, options?: ReadOptions): Promise<string[]> {
    this.#checkRead(path, options)
    return this.#read(path, () => this.#core.nodes.childNames(path))
  }

  getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]> {
    return this.getChildren(path, options)
  }

  async exists(path: string, options?: ReadOptions): Promise<boolean> {
    return (await this.get(path, options)) !== undefined
  }

  async put(
    path: string,
    value: BytesLike,
    expected?: Expected,
    options?: PutOptions,
  ): Promise<Stat> {
    this.#checkOpen()
    checkPath(path)
    checkExpected(expected)
    const checked = checkPutOptions(options, expected)
    const step: Step = { kind: 'put', path, value: checkValue(value), expected, options: checked }
    const [written] = await this.#core.commit([step], this.#session)
    return this.#statOf(written!)
  }

  async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.#checkRead(path, options)
    checkExpected(expected)
    await this.#core.commit([{ kind: 'delete', path, expected }], this.#session)
  }

  async deleteIfExists(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    try {
      await this.delete(path, expected, options)
    } catch (error) {
      if (!hasCode(error, MetadataErrorCode.notFound)) throw error
    }
  }

  async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.#checkRead(path, options)
    await this.#core.deleteTree(path)
  }

  async batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    this.#checkOpen()
    const steps = checkBatch(operations).map(stepOf)
    const written = await this.#core.commit(steps, this.#session)
    return written.map((each) => (each === undefined ? undefined : this.#statOf(each)))
  }

  async sync(path: string): Promise<void> {
    this.#checkRead(path, undefined)
    await this.#core.settled(undefined)
  }

  scanChildren(path: string, options?: ReadOptions): AsyncGenerator<GetResult, void>
  scanChildren(path: string, consumer: ScanConsumer, options?: ReadOptions): Promise<void>
  scanChildren(
    path: string,
    second?: ScanConsumer | ReadOptions,
    third?: ReadOptions,
  ): AsyncGenerator<GetResult, void> | Promise<void> {
    if (second !== undefined && 'onNext' in second) {
      return consumed(this.#scan(path, third), second)
    }
    return this.#scan(path, second)
  }

  scanByIndex(scan: IndexScan): AsyncGenerator<GetResult, void>
  scanByIndex(scan: IndexScan, consumer: ScanConsumer): Promise<void>
  scanByIndex(
    scan: IndexScan,
    consumer?: ScanConsumer,
  ): AsyncGenerator<GetResult, void> | Promise<void> {
    const records = this.#scanIndex(scan)
    return consumer === undefined ? records : consumed(records, consumer)
  }

  async subscribeSequence(prefix: string, listener: (path: string) => void): Promise<Closeable> {
    this.#checkOpen()
    checkPath(prefix)
    checkListener(listener)
    let last = ''
    const tell = (path: string): void => {
      if (path <= last) return
      last = path
      listener(path)
    }
    const numbered = new RegExp(`^(-\\d{20})+$`)
    const remove = this.registerListener(({ type, path }) => {
      if (
        type === 'Created' &&
        path.startsWith(prefix) &&
        numbered.test(path.slice(prefix.length))
      ) {
        tell(path)
      }
    })
    const numbers = await this.#core.nodes.counter(counterRow('deltas', prefix))
    if (numbers.length > 0) {
      const newest = sequencePath(prefix, numbers)
      this.#dispatcher.add(() => this.#dispatcher.call(tell, newest))
    }
    return { close: remove }
  }

  registerListener(listener: (event: Notification) => unknown): () => void {
    checkListener(listener)
    // One function may be registered twice; each registration is taken back by itself.
    const own = (event: Notification): unknown => listener(event)
    this.#listeners.add(own)
    return () => void this.#listeners.delete(own)
  }

  registerSessionListener(listener: (event: SessionEvent) => unknown): () => void {
    checkListener(listener)
    const own = (event: SessionEvent): unknown => listener(event)
    this.#sessionListeners.add(own)
    return () => void this.#sessionListeners.delete(own)
  }

  registerCache(sink: CacheSink): () => void {
    this.#caches.add(sink)
    return () => void this.#caches.delete(sink)
  }

  async *subscribe(options: SubscribeOptions = {}): AsyncGenerator<FeedCommit, void> {
    this.#checkOpen()
    const { prefix = '/', fromSequence, signal } = options
    checkPath(prefix)
    if (fromSequence !== undefined && !(Number.isSafeInteger(fromSequence) && fromSequence >= 0)) {
      throw new InvalidArgumentError('fromSequence is an integer >= 0')
    }
    const from = Math.max(1, fromSequence ?? this.#core.log.last + 1)
    yield* this.#core.log.subscribe(prefix, from, signal, () => this.#state === 'open')
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  /**
   * Faults for tests: a lost connection, an expired session, a process that stands still. Real
   * stores of other backends have these without being asked.
   */
  readonly faults = {
    /** Operations fail, events are lost and no heartbeats are sent, until `reconnect`. */
    disconnect: (): void => {
      if (!this.#isConnected) return
      this.#isConnected = false
      this.#tellSession('ConnectionLost')
    },
    /** Ends what `disconnect` began; with a new session if the old one has expired. */
    reconnect: async (): Promise<void> => {
      if (this.#isConnected) return
      if (!this.#parts.sessions.heartbeat(this.#session)) return this.#reestablish()
      this.#isConnected = true
      this.#resetCaches()
      this.#tellSession('Reconnected')
    },
    /** Expires the session at once. */
    expireSession: (): void => this.#parts.sessions.expire(this.#session),
    /** No heartbeats are sent and no events delivered, until `resume`. */
    pause: (): void => {
      this.#isPaused = true
      this.#dispatcher.pause()
    },
    resume: (): void => {
      this.#isPaused = false
      this.#dispatcher.resume()
      if (!this.#session.isAlive) void this.#reestablish()
    },
    /** The process dies: nothing is removed before the session expires. */
    kill: (): void => {
      this.#state = 'closed'
      this.#session.owner = undefined
      this.#closed ??= this.#letGo()
    },
  }

  /** Called by the registry of sessions, before the records of the session are removed. */
  expired(): void {
    if (this.#state !== 'open') return
    const wasConnected = this.#isConnected
    if (wasConnected) this.#tellSession('ConnectionLost')
    this.#isConnected = false
    this.#tellSession('SessionLost')
    if (wasConnected && !this.#isPaused) void this.#reestablish()
  }

  /** Called by the core for every group of commits. */
  applied(commits: readonly AppliedCommit[]): void {
    if (this.#state === 'closed' || !this.#isReachable) return
    for (const { events, records, sequence } of commits) {
      if (this.#caches.size > 0) this.#tellCaches(records, sequence)
      if (this.#listeners.size === 0) continue
      for (const event of events) {
        for (const listener of this.#listeners) {
          this.#dispatcher.add(() => {
            if (this.#listeners.has(listener)) this.#dispatcher.call(listener, event)
          })
        }
      }
    }
  }

  /** A lost session is told with its deletions; only a lost connection loses events. */
  get #isReachable(): boolean {
    return this.#isConnected || !this.#session.isAlive
  }

  #tellCaches(records: AppliedCommit['records'], sequence: number): void {
    for (const [path, record] of records) {
      const result = record === undefined ? undefined : this.#resultOf(path, record)
      for (const cache of this.#caches) void cache.changed(path, result, sequence)
    }
  }

  #resetCaches(): void {
    for (const cache of this.#caches) cache.reset()
  }

  #tellSession(event: SessionEvent): void {
    this.#dispatcher.add(() => {
      for (const listener of [...this.#sessionListeners]) this.#dispatcher.call(listener, event)
    })
  }

  #reestablish(): Promise<void> {
    this.#reestablishing ??= this.#openSession().finally(() => (this.#reestablishing = undefined))
    return this.#reestablishing
  }

  async #openSession(): Promise<void> {
    const { sessions, sessionTimeoutMilliseconds, clock } = this.#parts
    // The end of the old session comes first.
    await Promise.resolve()
    while (this.#state === 'open') {
      try {
        this.#session = await sessions.open(sessionTimeoutMilliseconds, this)
      } catch {
        // The disk may be full: the handle stays without a session until there is room again.
        const wait = sessionTimeoutMilliseconds / heartbeatsPerTimeout
        await new Promise<void>((resolve) => at(clock.now() + wait, clock, resolve))
        continue
      }
      this.#isConnected = true
      this.#resetCaches()
      this.#tellSession('Reconnected')
      this.#tellSession('SessionReestablished')
      return
    }
  }

  #beat(): void {
    const { clock, sessions, sessionTimeoutMilliseconds } = this.#parts
    const next = clock.now() + sessionTimeoutMilliseconds / heartbeatsPerTimeout
    this.#stopHeartbeat = at(next, clock, () => {
      if (this.#state !== 'open') return
      if (this.#isConnected && !this.#isPaused) sessions.heartbeat(this.#session)
      this.#beat()
    })
  }

  async #close(): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'closing'
    try {
      await this.#parts.sessions.close(this.#session)
    } catch (error) {
      throw asMetadataError(error)
    } finally {
      await this.#letGo()
    }
  }

  async #letGo(): Promise<void> {
    this.#state = 'closed'
    this.#stopHeartbeat()
    this.#core.removeSink(this)
    await this.#parts.onClose()
  }

  #checkOpen(): void {
    if (this.#state !== 'open') throw new AlreadyClosedError('the store')
    if (!this.#isConnected && this.#session.isAlive) throw new ConnectionLostError()
  }

  #checkRead(path: string, options: ReadOptions | undefined): void {
    this.#checkOpen()
    checkPath(path)
    checkReadOptions(options)
  }

  /** Reads, and waits until what was read is durable. */
  async #read<T>(path: string, read: () => Promise<T>): Promise<T> {
    try {
      const found = await read()
      await this.#core.settled(path)
      return found
    } catch (error) {
      throw asMetadataError(error)
    }
  }

  async *#scan(path: string, options: ReadOptions | undefined): AsyncGenerator<GetResult, void> {
    this.#checkRead(path, options)
    yield* this.#pages(this.#core.nodes.childRecords(path))
  }

  async *#scanIndex(scan: IndexScan): AsyncGenerator<GetResult, void> {
    this.#checkRead(scan.prefix, undefined)
    checkIndexScan(scan)
    yield* this.#pages(this.#core.nodes.indexRecords(scan))
  }

  async *#pages(pages: AsyncGenerator<PlacedRecord[], void>): AsyncGenerator<GetResult, void> {
    try {
      for await (const page of pages) {
        await this.#core.settled(undefined)
        for (const { path, record } of page) {
          this.#checkOpen()
          yield this.#resultOf(path, record)
        }
      }
    } catch (error) {
      throw asMetadataError(error)
    }
  }

  #resultOf(path: string, record: StoredRecord): GetResult {
    return { value: record.value, stat: statOf(path, record, this.#session.id) }
  }

  #statOf({ path, record }: Written): Stat {
    return statOf(path, record, this.#session.id)
  }
}

function stepOf(operation: BatchOperation): Step {
  if ('check' in operation) {
    return { kind: 'check', path: operation.check, expected: operation.expected }
  }
  if ('delete' in operation) {
    return { kind: 'delete', path: operation.delete, expected: operation.expected }
  }
  const { put, value, expected, ephemeral, secondaryIndexes } = operation
  const hasOptions = ephemeral !== undefined || secondaryIndexes !== undefined
  const options = hasOptions ? { ephemeral, secondaryIndexes } : noPutOptions
  return { kind: 'put', path: put, value: value as Buffer, expected, options }
}
