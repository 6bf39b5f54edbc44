/** A handle on a store over tables: checks arguments, owns a session and notifies listeners. */
import type { BytesLike } from '../../../../api/index.js'
import { later, type LeaseClock } from '../../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { checkExpected, checkRecords } from '../../metadata/arguments.js'
import { checkBatch, checkPutOptions, checkSubscribe } from '../../metadata/options.js'
import { asMetadataError, metadataError } from '../../metadata/errors.js'
import type { GroupEvents } from './group-events.js'
import type { RecordImporter } from '../clusters/migration.js'
import type { RecordPage, View } from './node-table.js'
import { checkPath } from '../../metadata/paths.js'
import { cellOf, importOf, stepOf } from './submission.js'
import { sequencePath, type Step } from './planner.js'
import { statOf, type StoredRecord } from './record-format.js'
import { counterRow } from './rows.js'
import type { Session, SessionRegistry } from './sessions.js'
import type { CommitSink, StoreCore } from './store-core.js'
import { failing, StoreHandle } from '../store-handle.js'
import type {
  BatchOperation,
  CachingStore,
  Expected,
  FeedCommit,
  GetResult,
  IndexScan,
  MetadataCapabilities,
  MetadataStoreMetrics,
  Notification,
  PutOptions,
  ReadOptions,
  Stat,
  SubscribeOptions,
} from '../../metadata/types.js'

/** The parts of a handle. */
export interface CellarStoreParts {
  readonly core: StoreCore
  readonly sessions: SessionRegistry
  readonly clock: LeaseClock
  readonly sessionTimeoutMilliseconds: number
  /** A session of an earlier process to resume. */
  readonly sessionId: number | undefined
  readonly onListenerError: ListenerErrorHandler
  /** Releases the resources that all handles share. */
  readonly onClose: () => Promise<void>
}

const capabilities: MetadataCapabilities = Object.freeze({
  resumableFeed: true,
  secondaryIndexes: true,
  sequenceExpectations: true,
  atomicDeleteRecursive: true,
  impliedParents: true,
})

/** Heartbeats per session timeout. */
const heartbeatsPerTimeout = 3

/** A store over tables; see `openMetadataStore`. */
export class CellarMetadataStore
  extends StoreHandle
  implements CachingStore, CommitSink, RecordImporter
{
  readonly capabilities = capabilities
  readonly #parts: CellarStoreParts
  readonly #core: StoreCore
  #session!: Session
  #state: 'open' | 'closing' | 'closed' = 'open'
  #isConnected = true
  /** Whether heartbeats and events are suspended. */
  #isPaused = false
  #reestablishing: Promise<void> | undefined = undefined
  /** The session that is being opened in the place of an expired one. */
  #opening: Promise<Session> | undefined = undefined
  #stopHeartbeat: () => void = () => undefined

  private constructor(parts: CellarStoreParts) {
    super(parts.onListenerError)
    this.#parts = parts
    this.#core = parts.core
  }

  /** @internal Opens a session, or resumes the one of `sessionId`. */
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

  get sessionTimeoutMilliseconds(): number {
    return this.#session.timeoutMilliseconds
  }

  /** The session; `openMetadataStore` of another process can resume it before its timeout. */
  override get sessionId(): number {
    return this.#session.id
  }

  /** Sequence of the newest durable commit. */
  get sequence(): number {
    return this.#core.sequence
  }

  async get(path: string, options?: ReadOptions): Promise<GetResult | undefined> {
    this.check(path, options)
    const record = await this.#read(path, (view) => this.#core.nodes.record(path, view))
    return record === undefined ? undefined : this.#resultOf(path, record)
  }

  async getChildren(path: string, options?: ReadOptions): Promise<string[]> {
    this.check(path, options)
    return this.#read(path, (view) => this.#core.nodes.childNames(path, view))
  }

  put(path: string, value: BytesLike, expected?: Expected, options?: PutOptions): Promise<Stat> {
    let step: Step
    try {
      this.checkOpen()
      checkPath(path)
      const wanted = checkExpected(expected)
      const checked = checkPutOptions(options, wanted)
      step = { kind: 'put', path, cell: cellOf(value), expected: wanted, options: checked }
    } catch (error) {
      return Promise.reject(asMetadataError(error))
    }
    const session = this.#session
    return this.#core.commit([step], session).then(([written]) => statOf(written!, session.id))
  }

  async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    const step: Step = { kind: 'delete', path, expected: checkExpected(expected) }
    await this.#core.commit([step], this.#session)
  }

  async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    await this.#core.deleteTree(path)
  }

  async batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    this.checkOpen()
    const session = this.#session
    const written = await this.#core.commit(checkBatch(operations).map(stepOf), session)
    return written.map((each) => each && statOf(each, session.id))
  }

  /**
   * Writes records of another store with their versions and times, in one commit. Replaces existing
   * records. For migrations: ephemeral records are written as persistent ones.
   */
  async importRecords(records: readonly GetResult[]): Promise<void> {
    this.checkOpen()
    const steps = checkRecords(records).map(importOf)
    if (steps.length > 0) await this.#core.commit(steps, this.#session)
  }

  async isOwnerAlive(path: string): Promise<boolean> {
    this.check(path, undefined)
    const record = await this.#read(path, () => this.#core.nodes.record(path))
    return record !== undefined && this.#parts.sessions.isInUse(record.session)
  }

  async sync(path: string): Promise<void> {
    this.check(path, undefined)
    await this.#read(undefined, async () => undefined)
  }

  subscribe(options: SubscribeOptions = {}): AsyncGenerator<FeedCommit, void> {
    try {
      this.checkOpen()
      const { prefix = '/', fromSequence, signal } = checkSubscribe(options)
      const from = Math.max(1, fromSequence ?? this.#core.log.last + 1)
      return this.#core.log.subscribe(prefix, from, signal, () => this.#state === 'open')
    } catch (error) {
      return failing(asMetadataError(error))
    }
  }

  /** The counters of the store since it was opened, for all of its handles together. */
  metrics(): MetadataStoreMetrics {
    return { ...this.#core.metrics(), sessions: this.#parts.sessions.size }
  }

  /**
   * @internal Faults for tests: a lost connection, an expired session, a stopped process. On other
   * backends such faults occur by themselves.
   */
  readonly faults = {
    /** Until `reconnect`, operations fail, events are lost and no heartbeats are sent. */
    disconnect: (): void => {
      if (!this.#isConnected) return
      this.#isConnected = false
      this.tellSession('ConnectionLost')
    },
    /** Ends `disconnect`; with a new session if the old one has expired. */
    reconnect: async (): Promise<void> => {
      if (this.#isConnected) return
      if (!this.#parts.sessions.heartbeat(this.#session)) return this.#reestablish()
      this.#isConnected = true
      this.resetCaches()
      this.tellSession('Reconnected')
    },
    /** Expires the session at once. */
    expireSession: (): void => this.#parts.sessions.expire(this.#session),
    /** Until `resume`, no heartbeats are sent and no events are delivered. */
    pause: (): void => {
      this.#isPaused = true
      this.dispatcher.pause()
    },
    /** Ends `pause`; with a new session if the old one has expired. */
    resume: (): void => {
      this.#isPaused = false
      this.dispatcher.resume()
      if (!this.#session.lease.isHeld) void this.#reestablish()
      else if (this.#isConnected) this.#parts.sessions.heartbeat(this.#session)
    },
    /** Simulates a crash: the ephemeral records remain until the session expires. */
    kill: (): void => {
      this.#state = 'closed'
      this.#session.owner = undefined
      void this.close()
    },
  }

  /** Called by the session registry, before the records of the session are removed. */
  expired(): void {
    if (this.#state !== 'open') return
    const wasConnected = this.#isConnected
    if (wasConnected) this.tellSession('ConnectionLost')
    this.#isConnected = false
    this.tellSession('SessionLost')
    if (wasConnected && !this.#isPaused) void this.#reestablish()
  }

  /** Called by the core for every durable group. */
  applied(group: GroupEvents): void {
    if (this.#state === 'closed' || !this.#isReachable) return
    const hasCaches = this.caches.size > 0
    if (!hasCaches && !this.hasListeners) return
    group.each((sequence, events, records) => {
      if (hasCaches) this.#tellRecords(sequence, events, records)
      for (const event of events) this.tell(event)
    })
  }

  get #isOpen(): boolean {
    return this.#state === 'open'
  }

  /** Whether events reach this handle. Only a lost connection loses events, not a lost session. */
  get #isReachable(): boolean {
    return this.#isConnected || !this.#session.lease.isHeld
  }

  #tellRecords(
    sequence: number,
    events: readonly Notification[],
    records: readonly (StoredRecord | undefined)[],
  ): void {
    for (let i = 0; i < events.length; i++) {
      const { type, path } = events[i]
      if (type === 'ChildrenChanged') continue
      const record = records[i]
      const result = record === undefined ? undefined : this.#resultOf(path, record)
      for (const cache of this.caches) void this.tellCache(cache, path, result, sequence)
    }
  }

  #reestablish(): Promise<void> {
    this.#reestablishing ??= this.#openSession().finally(() => (this.#reestablishing = undefined))
    return this.#reestablishing
  }

  async #openSession(): Promise<void> {
    const { sessions, sessionTimeoutMilliseconds, clock } = this.#parts
    // The events of the end of the old session come first.
    await Promise.resolve()
    while (this.#isOpen) {
      try {
        this.#opening = sessions.open(sessionTimeoutMilliseconds, this)
        this.#session = await this.#opening
      } catch {
        // The disk may be full: retries until a session can be stored.
        const wait = sessionTimeoutMilliseconds / heartbeatsPerTimeout
        await new Promise<void>((resolve) => later(clock, wait, resolve))
        continue
      }
      // A handle that was closed meanwhile ends the new session.
      if (!this.#isOpen) return
      this.#isConnected = true
      this.resetCaches()
      this.tellSession('Reconnected')
      this.tellSession('SessionReestablished')
      return
    }
  }

  #beat(): void {
    const { clock, sessions } = this.#parts
    const wait = this.sessionTimeoutMilliseconds / heartbeatsPerTimeout
    this.#stopHeartbeat = later(clock, wait, () => {
      if (this.#state !== 'open') return
      if (this.#isConnected && !this.#isPaused) sessions.heartbeat(this.#session)
      this.#beat()
    })
  }

  protected async end(): Promise<void> {
    if (this.#state === 'closed') return this.#letGo()
    this.#state = 'closing'
    try {
      await this.#opening?.catch(() => undefined)
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

  protected checkOpen(): void {
    if (this.#state !== 'open') throw metadataError('alreadyClosed', 'the store')
    if (!this.#isConnected && this.#session.lease.isHeld) throw metadataError('connectionLost')
  }

  protected async newestOfSequence(prefix: string): Promise<string | undefined> {
    const row = counterRow('deltas', prefix)
    const numbers = await this.#read(undefined, (view) => this.#core.nodes.counter(row, view))
    return numbers.length === 0 ? undefined : sequencePath(prefix, numbers)
  }

  async #read<T>(path: string | undefined, read: (view: View) => Promise<T>): Promise<T> {
    try {
      return await this.#core.read(path, read)
    } catch (error) {
      throw asMetadataError(error)
    }
  }

  protected async *childRecords(
    path: string,
    options: ReadOptions | undefined,
  ): AsyncGenerator<GetResult, void> {
    this.check(path, options)
    const { nodes } = this.#core
    yield* this.#records((after, view) => nodes.childPage(path, after, view))
  }

  protected async *indexRecords(scan: IndexScan): AsyncGenerator<GetResult, void> {
    this.checkOpen()
    const { nodes } = this.#core
    yield* this.#records((after, view) => nodes.indexPage(scan, after, view))
  }

  /** The records of consecutive pages, read on demand. */
  async *#records(
    read: (after: Buffer | undefined, view: View) => Promise<RecordPage>,
  ): AsyncGenerator<GetResult, void> {
    let after: Buffer | undefined = undefined
    do {
      const begin: Buffer | undefined = after
      const page: RecordPage = await this.#read(undefined, (view) => read(begin, view))
      for (const { path, record } of page.records) {
        this.checkOpen()
        yield this.#resultOf(path, record)
      }
      after = page.last
    } while (after !== undefined)
  }

  #resultOf(path: string, record: StoredRecord): GetResult {
    return { value: record.value, stat: statOf({ path, record }, this.#session.id) }
  }
}
