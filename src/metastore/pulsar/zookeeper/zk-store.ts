/**
 * A handle on a ZooKeeper, with the paths, nodes and containers that Pulsar uses.
 *
 * Events come from one recursive watch. They are lost while the connection is away, so caches are
 * reset when it comes back. There is no feed, no index and no atomic recursive delete: see
 * `capabilities`.
 */
import type { BytesLike } from '../../../api/index.js'
import type { LeaseClock } from '../../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import {
  checkBatch,
  checkExpected,
  checkListener,
  checkPutOptions,
  checkReadOptions,
  checkValue,
} from '../arguments.js'
import type { CacheSink, CachingStore } from '../cache-sink.js'
import { Dispatcher } from '../dispatcher.js'
import {
  AlreadyClosedError,
  asMetadataError,
  BadVersionError,
  ConnectionLostError,
  hasCode,
  InvalidArgumentError,
  MetadataErrorCode,
  NotFoundError,
  UnsupportedError,
} from '../errors.js'
import { childOf, checkPath, nameOf, parentOf, sortNames } from '../paths.js'
import { sequencePath } from '../planner.js'
import { consumed } from '../scans.js'
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
} from '../types.js'
import { ZkClient, type ZkAddress } from './client.js'
import { errorOf, expectedVersion, isImplied, nodeVersion, statOfNode, ZkNodes } from './nodes.js'
import { CreateFlag, EventType, OpCode, ZkError, type NodeStat } from './protocol.js'
import { pathOf, ZkBatch } from './zk-batch.js'

/** What a handle is made of. */
export interface ZkStoreParts {
  readonly addresses: readonly ZkAddress[]
  /** A path in front of all others; empty = none. */
  readonly root: string
  readonly sessionTimeoutMilliseconds: number
  readonly clock: LeaseClock
  readonly onListenerError: ListenerErrorHandler
}

const capabilities: MetadataCapabilities = Object.freeze({
  resumableFeed: false,
  secondaryIndexes: false,
  sequenceExpectations: false,
  atomicDeleteRecursive: false,
})

/** Name of the record that counts sequence keys ends so. */
const counterSuffix = '__seq_counter__'
const recursiveMode = 1
const pageRecords = 128

/** A store in a ZooKeeper; see the file header. */
export class ZooKeeperMetadataStore implements CachingStore {
  readonly capabilities = capabilities
  readonly #client: ZkClient
  readonly #nodes: ZkNodes
  readonly #root: string
  readonly #dispatcher: Dispatcher
  readonly #listeners = new Set<(event: Notification) => unknown>()
  readonly #sessionListeners = new Set<(event: SessionEvent) => unknown>()
  readonly #caches = new Set<CacheSink>()
  #isConnected = false
  #isLost = false
  #isClosed = false
  #closed: Promise<void> | undefined = undefined
  #first: { resolve: () => void; reject: (error: unknown) => void } | undefined = undefined

  private constructor(parts: ZkStoreParts) {
    this.#dispatcher = new Dispatcher(parts.onListenerError)
    this.#root = parts.root
    this.#client = new ZkClient(parts.addresses, parts.sessionTimeoutMilliseconds, parts.clock, {
      onConnected: (isNew) => void this.#connected(isNew),
      onDisconnected: () => this.#disconnected(),
      onExpired: () => this.#expired(),
      onEvent: (type, path) => this.#event(type, this.#nodes.own(path)),
    })
    this.#nodes = new ZkNodes(this.#client, parts.root)
  }

  /** Connects. Waits for a server as long as it takes, up to the session timeout. */
  static async open(parts: ZkStoreParts): Promise<ZooKeeperMetadataStore> {
    const store = new ZooKeeperMetadataStore(parts)
    let stop: NodeJS.Timeout | undefined
    const connected = new Promise<void>((resolve, reject) => {
      store.#first = { resolve, reject }
      stop = setTimeout(
        () => reject(new ConnectionLostError('no ZooKeeper answers')),
        parts.sessionTimeoutMilliseconds,
      )
    })
    store.#client.start()
    try {
      await connected
      return store
    } catch (error) {
      await store.close()
      throw asMetadataError(error)
    } finally {
      clearTimeout(stop)
      store.#first = undefined
    }
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.#isClosed
  }

  async get(path: string, options?: ReadOptions): Promise<GetResult | undefined> {
    this.#check(path, options)
    return this.#nodes.record(path)
  }

  async getChildren(path: string, options?: ReadOptions): Promise<string[]> {
    this.#check(path, options)
    const names = await this.#nodes.children(path)
    const isHidden = (name: string): boolean =>
      name.endsWith(counterSuffix) || (this.#nodes.full(path) === '/' && name === 'zookeeper')
    return sortNames(names.filter((name) => !isHidden(name)))
  }

  getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]> {
    return this.getChildren(path, options)
  }

  async exists(path: string, options?: ReadOptions): Promise<boolean> {
    this.#check(path, options)
    const stat = await this.#nodes.stat(path)
    return stat !== undefined && !isImplied(stat)
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
    const data = checkValue(value)
    const version = expectedVersion(expected)
    if (checked.sequenceKeysDeltas !== undefined) {
      return this.#putSequenceKey(path, data, checked.sequenceKeysDeltas, checked.ephemeral)
    }
    const flags = checked.ephemeral === true ? CreateFlag.ephemeral : CreateFlag.persistent
    if (checked.sequential === true) {
      const {
        error,
        path: final,
        stat,
      } = await this.#nodes.create(path, data, flags | CreateFlag.sequential)
      if (error !== 0) throw errorOf(error, path)
      return this.#written(final!, stat!)
    }
    if (version === undefined) return this.#upsert(path, data, flags)
    if (version === -1) return this.#createRecord(path, data, flags)
    return this.#update(path, data, version)
  }

  async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.#check(path, options)
    checkExpected(expected)
    const version = expectedVersion(expected)
    const stat = await this.#nodes.stat(path)
    if (stat === undefined || isImplied(stat)) throw new NotFoundError(path)
    if (version === -1) throw new BadVersionError(path, 'the record exists')
    const wanted = version === undefined ? -1 : nodeVersion(stat, version)
    const { error } = await this.#nodes.run({ op: 'delete', path, version: wanted })
    if (error !== 0) throw errorOf(error, path)
    await this.#nodes.removeEmptyParents(path)
    await this.#tellCaches(path)
  }

  async deleteIfExists(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    try {
      await this.delete(path, expected, options)
    } catch (error) {
      if (!hasCode(error, MetadataErrorCode.notFound)) throw error
    }
  }

  /** Children first; somebody who writes below the path meanwhile is met again. */
  async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.#check(path, options)
    await this.#deleteTree(path)
    await this.#nodes.removeEmptyParents(path)
  }

  async batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    this.#checkOpen()
    const steps = checkBatch(operations)
    const stats = await new ZkBatch(this.#nodes, steps).run(() => this.#client.sessionId)
    for (const step of steps) {
      if ('delete' in step) await this.#nodes.removeEmptyParents(step.delete)
      if (!('check' in step)) await this.#tellCaches(pathOf(step))
    }
    return stats
  }

  async sync(path: string): Promise<void> {
    this.#check(path, undefined)
    await this.#nodes.sync(path)
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
    const records = this.#scanFiltered(scan)
    return consumer === undefined ? records : consumed(records, consumer)
  }

  async subscribeSequence(prefix: string, listener: (path: string) => void): Promise<Closeable> {
    this.#checkOpen()
    checkPath(prefix)
    checkListener(listener)
    let last = ''
    const numbered = /^(-\d{20})+$/
    const tell = (path: string): void => {
      if (path <= last) return
      last = path
      listener(path)
    }
    const remove = this.registerListener(({ type, path }) => {
      if (type !== 'Created' || !path.startsWith(prefix)) return
      if (numbered.test(path.slice(prefix.length))) tell(path)
    })
    const numbers = await this.#sequence(prefix)
    if (numbers.stat !== undefined) {
      const newest = sequencePath(prefix, numbers.numbers)
      this.#dispatcher.add(() => this.#dispatcher.call(tell, newest))
    }
    return { close: remove }
  }

  registerListener(listener: (event: Notification) => unknown): () => void {
    checkListener(listener)
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

  async *subscribe(): AsyncGenerator<FeedCommit, void> {
    this.#checkOpen()
    throw new UnsupportedError('a feed: ZooKeeper forgets its events')
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#closed ??= this.#client.close()
    return this.#closed
  }

  /** Faults for tests. */
  readonly faults = {
    /** Cuts the connection and makes none. */
    disconnect: (): void => this.#client.hold(),
    reconnect: (): void => this.#client.release(),
    /** What another client needs to take up or to end the session. */
    session: (): { id: bigint; password: Buffer } => ({
      id: this.#client.sessionId,
      password: this.#client.password,
    }),
  }

  async #connected(isNew: boolean): Promise<void> {
    try {
      const path = this.#root === '' ? '/' : this.#root
      if (this.#root !== '') await this.#nodes.createParents('/x')
      const { error } = await this.#client.request(OpCode.addWatch, (w) =>
        w.text(path).int(recursiveMode),
      )
      if (error !== 0) throw errorOf(error, path)
    } catch (error) {
      // Without the watch nothing would be heard; the next connection tries again.
      this.#first?.reject(error)
      return
    }
    const isFirst = this.#first !== undefined
    this.#isConnected = true
    this.#first?.resolve()
    if (isFirst) return
    for (const cache of this.#caches) cache.reset()
    this.#tellSession('Reconnected')
    if (isNew || this.#isLost) this.#tellSession('SessionReestablished')
    this.#isLost = false
  }

  #disconnected(): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    this.#tellSession('ConnectionLost')
  }

  #expired(): void {
    this.#isLost = true
    this.#tellSession('SessionLost')
  }

  #tellSession(event: SessionEvent): void {
    if (this.#isClosed) return
    this.#dispatcher.add(() => {
      for (const listener of [...this.#sessionListeners]) this.#dispatcher.call(listener, event)
    })
  }

  #event(type: number, path: string): void {
    if (this.#isClosed || path.endsWith(counterSuffix)) return
    const kind =
      type === EventType.created
        ? 'Created'
        : type === EventType.deleted
          ? 'Deleted'
          : type === EventType.changed
            ? 'Modified'
            : undefined
    if (kind === undefined) return
    this.#dispatcher.add(() => this.#tellCaches(path))
    this.#tell({ type: kind, path })
    const parent = parentOf(path)
    if (kind !== 'Modified' && parent !== undefined && parent !== '/') {
      this.#tell({ type: 'ChildrenChanged', path: parent })
    }
  }

  #tell(event: Notification): void {
    this.#dispatcher.add(() => {
      for (const listener of [...this.#listeners]) this.#dispatcher.call(listener, event)
    })
  }

  /** Resolves when all caches have what the store has. */
  async #tellCaches(path: string): Promise<void> {
    if (this.#caches.size === 0) return
    await Promise.all([...this.#caches].map(async (cache) => cache.changed(path, 'unknown', 0)))
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new AlreadyClosedError('the store')
  }

  #check(path: string, options: ReadOptions | undefined): void {
    this.#checkOpen()
    checkPath(path)
    checkReadOptions(options)
  }

  async #written(path: string, stat: NodeStat): Promise<Stat> {
    await this.#tellCaches(path)
    return statOfNode(path, stat, this.#client.sessionId)
  }

  async #upsert(path: string, data: Buffer, flags: number): Promise<Stat> {
    for (;;) {
      const set = await this.#nodes.run({ op: 'setData', path, data, version: -1 })
      if (set.error === 0) return this.#written(path, set.stat!)
      if (set.error !== ZkError.noNode) throw errorOf(set.error, path)
      const created = await this.#nodes.create(path, data, flags)
      if (created.error === 0) return this.#written(path, created.stat!)
      if (created.error !== ZkError.nodeExists) throw errorOf(created.error, path)
    }
  }

  async #createRecord(path: string, data: Buffer, flags: number): Promise<Stat> {
    const created = await this.#nodes.create(path, data, flags)
    if (created.error === 0) return this.#written(path, created.stat!)
    if (created.error !== ZkError.nodeExists) throw errorOf(created.error, path)
    const stat = await this.#nodes.stat(path)
    if (stat === undefined || !isImplied(stat)) throw errorOf(created.error, path)
    if (flags === CreateFlag.ephemeral) {
      throw new InvalidArgumentError(`${path} has children, and cannot become ephemeral`)
    }
    const set = await this.#nodes.run({ op: 'setData', path, data, version: 0 })
    if (set.error !== 0) throw errorOf(set.error, path)
    return this.#written(path, set.stat!)
  }

  async #update(path: string, data: Buffer, version: number): Promise<Stat> {
    const stat = await this.#nodes.stat(path)
    if (stat === undefined || isImplied(stat)) {
      throw new BadVersionError(path, 'there is no record')
    }
    const wanted = nodeVersion(stat, version)
    const set = await this.#nodes.run({ op: 'setData', path, data, version: wanted })
    if (set.error === ZkError.noNode) throw new BadVersionError(path, 'there is no record')
    if (set.error !== 0) throw errorOf(set.error, path)
    return this.#written(path, set.stat!)
  }

  async #sequence(prefix: string): Promise<{ numbers: readonly bigint[]; stat: Stat | undefined }> {
    const found = await this.#nodes.record(prefix + counterSuffix)
    if (found === undefined) return { numbers: [], stat: undefined }
    return { numbers: found.value.toString().split('-').map(BigInt), stat: found.stat }
  }

  /** The counter and the record are one multi. */
  async #putSequenceKey(
    prefix: string,
    value: Buffer,
    deltas: readonly number[],
    ephemeral: boolean | undefined,
  ): Promise<Stat> {
    for (;;) {
      const { numbers: before, stat } = await this.#sequence(prefix)
      const numbers = deltas.map((delta, i) => (before[i] ?? 0n) + BigInt(delta))
      const all = [...numbers, ...before.slice(deltas.length)]
      const path = sequencePath(prefix, numbers)
      const counter = prefix + counterSuffix
      try {
        const [, written] = await new ZkBatch(this.#nodes, [
          { put: counter, value: Buffer.from(all.join('-')), expected: stat?.version ?? -1 },
          { put: path, value, expected: -1, ephemeral },
        ]).run(() => this.#client.sessionId)
        await this.#tellCaches(path)
        return written!
      } catch (error) {
        if (!hasCode(error, MetadataErrorCode.badVersion)) throw error
      }
    }
  }

  async #deleteTree(path: string): Promise<void> {
    for (;;) {
      const names = await this.#nodes.children(path)
      const isServers = this.#nodes.full(path) === '/'
      const own = names.filter((name) => !isServers || name !== 'zookeeper')
      await Promise.all(own.map((name) => this.#deleteTree(childOf(path, name))))
      if (this.#nodes.full(path) === '/' || path === '/') return
      const { error } = await this.#nodes.run({ op: 'delete', path, version: -1 })
      if (error === 0) return this.#tellCaches(path)
      if (error === ZkError.noNode) return
      if (error !== ZkError.notEmpty) throw errorOf(error, path)
    }
  }

  async *#scan(path: string, options: ReadOptions | undefined): AsyncGenerator<GetResult, void> {
    const names = await this.getChildren(path, options)
    for (let at = 0; at < names.length; at += pageRecords) {
      const page = names.slice(at, at + pageRecords).map((name) => childOf(path, name))
      for (const record of await Promise.all(page.map((each) => this.#nodes.record(each)))) {
        if (record !== undefined && !nameOf(record.stat.path).endsWith(counterSuffix)) yield record
      }
    }
  }

  async *#scanFiltered(scan: IndexScan): AsyncGenerator<GetResult, void> {
    for await (const record of this.#scan(scan.prefix, undefined)) {
      if (scan.fallbackFilter?.(record) !== false) yield record
    }
  }
}
