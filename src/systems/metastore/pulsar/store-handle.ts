/**
 * The common part of handles on any backend: arguments of scans, listeners, caches, session events,
 * and the queue that orders all notifications.
 */
import type { BytesLike } from '../../../api/index.js'
import { systemClock } from '../kernel/backoff.js'
import { later } from '../kernel/lease-clock.js'
import { callListener, safeHandler, type ListenerErrorHandler } from '../kernel/listener-errors.js'
import { checkArguments, checkFunction, checkObjectWith } from '../metadata/arguments.js'
import { checkIndexScan, checkReadOptions } from '../metadata/options.js'
import { MetadataCache } from '../metadata/cache.js'
import type { MetadataCacheOptions } from '../metadata/cache-options.js'
import { Dispatcher, type Registration } from './store/dispatcher.js'
import { asMetadataError, hasCode } from '../metadata/errors.js'
import { checkPath } from '../metadata/paths.js'
import type { MetadataSerde } from '../metadata/serde.js'
import type {
  BatchOperation,
  CacheSink,
  CachingStore,
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
} from '../metadata/types.js'

/** Listeners of one kind, in the order of their registration. */
class Listeners<E> {
  /**
   * Copied on every change: a listener that registers another one does not affect the current
   * event.
   */
  all: readonly Registration<E>[] = []

  add(listener: (event: E) => unknown): () => void {
    checkFunction(listener, 'a listener')
    const registration = { listener, isActive: true }
    this.all = [...this.all, registration]
    return () => {
      registration.isActive = false
      this.all = this.all.filter((each) => each !== registration)
    }
  }
}

/** Longest time that events wait for caches to read a changed record. */
const cacheMilliseconds = 10_000
const sequenceNumbers = /^(-\d{20})+$/

/** The base class of all handles; see the file header. */
export abstract class StoreHandle implements CachingStore {
  /** As {@link MetadataStore.capabilities}. */
  abstract readonly capabilities: MetadataCapabilities
  /** Passes events to the listeners of the handle, in order. */
  protected readonly dispatcher: Dispatcher
  readonly onListenerError: ListenerErrorHandler
  readonly #listeners = new Listeners<Notification>()
  readonly #sessionListeners = new Listeners<SessionEvent>()
  /** Caches over this handle. A change reaches the caches before the listeners. */
  protected readonly caches = new Set<CacheSink>()
  #closed: Promise<void> | undefined = undefined

  constructor(onListenerError: ListenerErrorHandler) {
    this.onListenerError = safeHandler(onListenerError)
    this.dispatcher = new Dispatcher(this.onListenerError)
  }

  abstract get isConnected(): boolean
  abstract get sessionTimeoutMilliseconds(): number

  get sessionId(): number | undefined {
    return undefined
  }

  abstract get(path: string, options?: ReadOptions): Promise<GetResult | undefined>
  abstract getChildren(path: string, options?: ReadOptions): Promise<string[]>
  abstract put(
    path: string,
    value: BytesLike,
    expected?: Expected,
    options?: PutOptions,
  ): Promise<Stat>
  abstract delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void>
  abstract deleteRecursive(path: string, options?: ReadOptions): Promise<void>
  abstract batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]>
  abstract isOwnerAlive(path: string): Promise<boolean>
  abstract sync(path: string): Promise<void>
  abstract subscribe(options?: SubscribeOptions): AsyncGenerator<FeedCommit, void>

  /** Throws if the handle was closed. */
  protected abstract checkOpen(): void
  /** Records of the direct children, in key order. */
  protected abstract childRecords(
    path: string,
    options: ReadOptions | undefined,
  ): AsyncGenerator<GetResult, void>
  /** Records of an index, in the order of their keys. */
  protected abstract indexRecords(scan: IndexScan): AsyncGenerator<GetResult, void>
  /** The newest path of a sequence. */
  protected abstract newestOfSequence(prefix: string): Promise<string | undefined>
  /** Ends the session and releases all resources. Called once. */
  protected abstract end(): Promise<void>

  getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]> {
    return this.getChildren(path, options)
  }

  async exists(path: string, options?: ReadOptions): Promise<boolean> {
    return (await this.get(path, options)) !== undefined
  }

  async deleteIfExists(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    try {
      await this.delete(path, expected, options)
    } catch (error) {
      if (!hasCode(error, 'notFound')) throw error
    }
  }

  scanChildren(path: string, consumer: ScanConsumer, options?: ReadOptions): Promise<void>
  scanChildren(path: string, options?: ReadOptions): AsyncGenerator<GetResult, void>
  scanChildren(
    path: string,
    second?: ScanConsumer | ReadOptions,
    third?: ReadOptions,
  ): AsyncGenerator<GetResult, void> | Promise<void> {
    try {
      if (isConsumer(second)) {
        return consumed(this.childRecords(path, third), second, this.onListenerError)
      }
      return this.childRecords(path, second)
    } catch (error) {
      return failing(asMetadataError(error))
    }
  }

  scanByIndex(scan: IndexScan): AsyncGenerator<GetResult, void>
  scanByIndex(scan: IndexScan, consumer: ScanConsumer): Promise<void>
  scanByIndex(
    scan: IndexScan,
    consumer?: ScanConsumer,
  ): AsyncGenerator<GetResult, void> | Promise<void> {
    let records: AsyncGenerator<GetResult, void>
    try {
      records = this.indexRecords(checkIndexScan(scan))
    } catch (error) {
      records = failing(asMetadataError(error))
    }
    return consumer === undefined ? records : consumed(records, consumer, this.onListenerError)
  }

  async subscribeSequence(prefix: string, listener: (path: string) => unknown): Promise<Closeable> {
    this.checkOpen()
    checkPath(prefix)
    checkFunction(listener, 'a listener')
    let last = ''
    let isClosed = false
    const tell = (path: string): unknown => {
      if (isClosed || path <= last) return undefined
      last = path
      return listener(path)
    }
    const remove = this.registerListener(({ type, path }) => {
      const isOther = type !== 'Created' || !path.startsWith(prefix)
      if (isOther || !sequenceNumbers.test(path.slice(prefix.length))) return undefined
      return tell(path)
    })
    try {
      const newest = await this.newestOfSequence(prefix)
      if (newest !== undefined) this.dispatcher.add(() => this.dispatcher.call(tell, newest))
    } catch (error) {
      remove()
      throw error
    }
    const close = (): void => {
      isClosed = true
      remove()
    }
    return { close }
  }

  registerListener(listener: (event: Notification) => unknown): () => void {
    return this.#listeners.add(listener)
  }

  /** As {@link MetadataStore.registerSessionListener}. */
  registerSessionListener(listener: (event: SessionEvent) => unknown): () => void {
    return this.#sessionListeners.add(listener)
  }

  registerCache(sink: CacheSink): () => void {
    this.caches.add(checkObjectWith(sink, 'the cache', ['changed', 'reset']))
    return () => void this.caches.delete(sink)
  }

  getMetadataCache<T>(
    serde: MetadataSerde<T>,
    options?: MetadataCacheOptions<T>,
  ): MetadataCache<T> {
    return new MetadataCache(this, serde, options)
  }

  close(): Promise<void> {
    this.#closed ??= this.#end()
    return this.#closed
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #end(): Promise<void> {
    for (const cache of [...this.caches]) cache.closed?.()
    return this.end()
  }

  /** Throws if the handle was closed or an argument of a read is invalid. */
  protected check(path: string, options: ReadOptions | undefined): void {
    this.checkOpen()
    checkPath(path)
    checkReadOptions(options)
  }

  /** Whether any listener is registered. */
  protected get hasListeners(): boolean {
    return this.#listeners.all.length > 0
  }

  /** Queues an event for the listeners that are registered at the time of the call. */
  protected tell(event: Notification): void {
    const { all } = this.#listeners
    if (all.length === 0) return
    // One object for all listeners, those of locks, views and elections among them.
    this.dispatcher.add(() => this.dispatcher.callAll(all, Object.freeze(event)))
  }

  /** Queues a session event for the listeners that are registered when it is dispatched. */
  protected tellSession(event: SessionEvent): void {
    this.dispatcher.add(() => this.dispatcher.callAll(this.#sessionListeners.all, event))
  }

  /** Resolves when all caches have processed the change, or after `cacheMilliseconds`. */
  protected async tellCaches(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): Promise<void> {
    if (this.caches.size === 0) return
    const waits: Promise<void>[] = []
    for (const cache of this.caches) {
      const wait = this.tellCache(cache, path, record, sequence)
      if (wait !== undefined) waits.push(wait)
    }
    // A user's cache whose promise never settles must not block the events forever.
    let stop = (): void => undefined
    const limit = new Promise<void>((resolve) => {
      stop = later(systemClock, cacheMilliseconds, resolve)
    })
    await Promise.race([Promise.allSettled(waits), limit])
    stop()
  }

  /** An error of a cache, or of a listener of the cache, must not reach the writer. */
  protected tellCache(
    cache: CacheSink,
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void> {
    try {
      return cache.changed(path, record, sequence)?.catch(this.onListenerError)
    } catch (error) {
      this.onListenerError(error)
    }
  }

  /** Resets the caches: events may have been missed. */
  protected resetCaches(): void {
    for (const cache of this.caches) callListener(this.onListenerError, () => cache.reset())
  }
}

/** Whether an argument is the consumer of a scan rather than its options. */
function isConsumer(given: ScanConsumer | ReadOptions | undefined): given is ScanConsumer {
  return typeof given === 'object' && given !== null && checkArguments(() => 'onNext' in given)
}

/**
 * Passes all records to a consumer. Rejects with the error that `onError` received. An error of
 * `onNext` ends the scan; errors of `onError` and `onCompleted` go to `onListenerError`.
 */
async function consumed(
  records: AsyncGenerator<GetResult, void>,
  consumer: ScanConsumer,
  onListenerError: ListenerErrorHandler,
): Promise<void> {
  checkObjectWith(consumer, 'the consumer', ['onNext'])
  try {
    for await (const record of records) await consumer.onNext(record)
  } catch (error) {
    const failure = asMetadataError(error)
    callListener(onListenerError, consumer.onError?.bind(consumer), failure)
    throw failure
  }
  callListener(onListenerError, consumer.onCompleted?.bind(consumer))
}

/** A generator that fails at once: reports the error of a call that returns a generator. */
export async function* failing(error: unknown): AsyncGenerator<never, void> {
  throw error
}
