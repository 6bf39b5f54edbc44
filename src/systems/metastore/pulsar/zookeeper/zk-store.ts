/**
 * A handle on ZooKeeper, with the paths, nodes and containers of Pulsar.
 *
 * Events come from one recursive watch. Events during a lost connection are missed, so caches are
 * reset after a reconnection. There is no feed, no index and no atomic recursive delete: see
 * `capabilities`.
 */
import type { BytesLike } from '../../../../api/index.js'
import { after, laterForCaller, systemClock } from '../../kernel/backoff.js'
import { laterWhileRunning, type LeaseClock } from '../../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { checkExpected, checkValue } from '../../metadata/arguments.js'
import { checkBatch, checkPutOptions } from '../../metadata/options.js'
import { asMetadataError, hasCode, metadataError } from '../../metadata/errors.js'
import { childOf, checkPath, nameOf, parentOf } from '../../metadata/paths.js'
import { sequencePath } from '../store/planner.js'
import { StoreHandle } from '../store-handle.js'
import type {
  BatchOperation,
  CachingStore,
  Expected,
  FeedCommit,
  GetResult,
  IndexScan,
  MetadataCapabilities,
  Notification,
  NotificationType,
  PutOptions,
  ReadOptions,
  Stat,
} from '../../metadata/types.js'
import { ZkClient, type ZkClientSettings } from '../../zookeeper/client.js'
import { errorOf, ZkNodes } from './nodes.js'
import { OpCode } from '../../zookeeper/protocol.js'
import { pathOf, runBatch } from './zk-batch.js'
import { counterSuffix, serverNode, ZkWrites } from './zk-writes.js'

/** The parts of a handle. */
export interface ZkStoreParts extends ZkClientSettings {
  /** Prefix of all paths; empty = none. */
  readonly root: string
  readonly onListenerError: ListenerErrorHandler
}

const capabilities: MetadataCapabilities = Object.freeze({
  resumableFeed: false,
  secondaryIndexes: false,
  sequenceExpectations: false,
  atomicDeleteRecursive: false,
  impliedParents: false,
})

/** Types of events by ZooKeeper's numbers. */
const eventTypes: readonly (NotificationType | undefined)[] = [
  undefined,
  'Created',
  'Deleted',
  'Modified',
]
const recursiveMode = 1
const pageRecords = 128
/** Wait before the watch is set again after a failure. */
const watchRetryMilliseconds = 50

/** The credentials of a session on the server. */
export interface ZooKeeperSession {
  /** Id of the session, assigned by the server. */
  readonly id: bigint
  /** Password of the session, assigned by the server. */
  readonly password: Buffer
}

/** A store in a ZooKeeper; see the file header. */
export class ZooKeeperMetadataStore extends StoreHandle implements CachingStore {
  readonly capabilities = capabilities
  readonly #client: ZkClient
  readonly #nodes: ZkNodes
  readonly #writes: ZkWrites
  readonly #root: string
  readonly #clock: LeaseClock
  #isConnected = false
  /** Number of connections so far. */
  #connections = 0
  #isLost = false
  #isClosed = false
  /** The ephemeral records of this session, according to writes and events so far. */
  readonly #ephemerals = new Set<string>()
  /**
   * The deletion of an own ephemeral record, and the events after it. The server may report the
   * deletions of an expired session before the client knows of the expiry.
   */
  #withheld: Notification[] | undefined = undefined
  #first: { resolve: () => void; reject: (error: unknown) => void } | undefined = undefined

  private constructor(parts: ZkStoreParts) {
    super(parts.onListenerError)
    this.#clock = parts.clock
    this.#root = parts.root
    this.#client = new ZkClient(parts, {
      onConnected: (isNew) => void this.#connected(isNew),
      onDisconnected: () => this.#disconnected(),
      onSessionLost: () => this.#sessionLost(),
      onEvent: (type, path) => this.#event(type, this.#nodes.own(path)),
    })
    this.#nodes = new ZkNodes(this.#client, parts.root)
    this.#writes = new ZkWrites(this.#nodes)
  }

  /** Connects. Waits for a server up to the session timeout. */
  static async open(parts: ZkStoreParts): Promise<ZooKeeperMetadataStore> {
    const store = new ZooKeeperMetadataStore(parts)
    let stop: () => void = () => undefined
    const connected = new Promise<void>((resolve, reject) => {
      store.#first = { resolve, reject }
      const wait = laterForCaller.bind(undefined, systemClock)
      stop = laterWhileRunning(wait, parts.timeoutMilliseconds, () =>
        reject(metadataError('connectionLost', 'no ZooKeeper answers')),
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
      stop()
      store.#first = undefined
    }
  }

  get isConnected(): boolean {
    return this.#isConnected && !this.#isClosed
  }

  /** The timeout granted by the server. */
  get sessionTimeoutMilliseconds(): number {
    return this.#client.timeoutMilliseconds
  }

  async get(path: string, options?: ReadOptions): Promise<GetResult | undefined> {
    this.check(path, options)
    return this.#nodes.record(path)
  }

  async getChildren(path: string, options?: ReadOptions): Promise<string[]> {
    this.check(path, options)
    const names = await this.#nodes.children(path)
    const isHidden = (name: string): boolean =>
      name.endsWith(counterSuffix) || (this.#nodes.full(path) === '/' && name === serverNode)
    return names.filter((name) => !isHidden(name)).sort()
  }

  override async exists(path: string, options?: ReadOptions): Promise<boolean> {
    this.check(path, options)
    const stat = await this.#nodes.stat(path)
    return stat !== undefined
  }

  async put(
    path: string,
    value: BytesLike,
    expected?: Expected,
    options?: PutOptions,
  ): Promise<Stat> {
    this.checkOpen()
    checkPath(path)
    const wanted = checkExpected(expected)
    const checked = checkPutOptions(options, wanted)
    const data = checkValue(value)
    const stat = await this.#writes.put(path, data, wanted, checked)
    this.#remember(stat)
    await this.#tellCaches(stat.path)
    return stat
  }

  async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    const wanted = checkExpected(expected)
    const isOwn = this.#ephemerals.delete(path)
    try {
      await this.#writes.delete(path, wanted)
    } catch (error) {
      if (isOwn) this.#ephemerals.add(path)
      throw error
    }
    await this.#tellCaches(path)
  }

  /** Deletes children first, including children that are added during the call. */
  async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    await this.#writes.deleteTree(path, (deleted) => this.#tellCaches(deleted))
  }

  async batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    this.checkOpen()
    const steps = checkBatch(operations)
    const stats = await runBatch(this.#nodes, steps)
    for (const stat of stats) if (stat !== undefined) this.#remember(stat)
    for (const step of steps) {
      if (!('check' in step)) await this.#tellCaches(pathOf(step))
    }
    return stats
  }

  async isOwnerAlive(path: string): Promise<boolean> {
    this.check(path, undefined)
    const stat = await this.#nodes.stat(path)
    return stat !== undefined && stat.owner !== 0n
  }

  async sync(path: string): Promise<void> {
    this.check(path, undefined)
    await this.#nodes.sync(path)
  }

  async *subscribe(): AsyncGenerator<FeedCommit, void> {
    this.checkOpen()
    throw metadataError('unsupported', 'a feed: ZooKeeper forgets its events')
  }

  protected end(): Promise<void> {
    this.#isClosed = true
    return this.#client.close()
  }

  /** @internal Faults for tests. */
  readonly faults = {
    /** Closes the connection until `reconnect`. */
    disconnect: (): void => this.#client.hold(),
    /** Ends `disconnect`. */
    reconnect: (): void => this.#client.release(),
    /** The credentials with which another client can resume or end the session. */
    session: (): ZooKeeperSession => ({
      id: this.#client.sessionId,
      password: this.#client.password,
    }),
  }

  async #connected(isNew: boolean): Promise<void> {
    const connection = ++this.#connections
    const isCurrent = (): boolean => connection === this.#connections && this.#client.isReady
    for (;;) {
      try {
        await this.#watch()
        break
      } catch (error) {
        // A new connection sets the watch again.
        if (!isCurrent()) return
        const isPassing = hasCode(error, 'connectionLost')
        if (this.#first !== undefined && !isPassing) return this.#first.reject(error)
      }
      // Without the watch the handle would hear of no change, so it is not connected.
      await after(this.#clock, watchRetryMilliseconds)
      if (!isCurrent()) return
    }
    if (!isCurrent()) return
    const isFirst = this.#first !== undefined
    this.#isConnected = true
    this.#first?.resolve()
    if (isFirst) return
    if (isNew) this.#ephemerals.clear()
    this.#publishWithheld()
    this.resetCaches()
    this.tellSession('Reconnected')
    if (isNew || this.#isLost) this.tellSession('SessionReestablished')
    this.#isLost = false
  }

  /** Sets the recursive watch. */
  async #watch(): Promise<void> {
    const path = this.#root === '' ? '/' : this.#root
    if (this.#root !== '') await this.#nodes.createParents('/x')
    const { error } = await this.#client.request(OpCode.addWatch, (w) =>
      w.text(path).int(recursiveMode),
    )
    if (error !== 0) throw errorOf(error, path)
  }

  #disconnected(): void {
    if (!this.#isConnected) return
    this.#isConnected = false
    if (!this.#isClosed) this.tellSession('ConnectionLost')
  }

  #sessionLost(): void {
    this.#isLost = true
    if (this.#isClosed) return
    this.tellSession('SessionLost')
    this.#publishWithheld()
  }

  #remember({ path, createdBySelf }: Stat): void {
    if (createdBySelf) this.#ephemerals.add(path)
  }

  #event(type: number, path: string): void {
    if (this.#isClosed || path.endsWith(counterSuffix)) return
    const kind = eventTypes[type]
    if (kind === undefined) return
    const event = { type: kind, path }
    const endsOwn = kind === 'Deleted' && this.#ephemerals.delete(path)
    if (this.#withheld !== undefined) this.#withheld.push(event)
    else if (endsOwn) {
      this.#withheld = [event]
      void this.#confirmSession()
    } else this.#publish(event)
  }

  /** Publishes the withheld events if the session lives. Otherwise the loss publishes them. */
  async #confirmSession(): Promise<void> {
    try {
      await this.#nodes.stat('/')
    } catch {
      return
    }
    this.#publishWithheld()
  }

  #publishWithheld(): void {
    const events = this.#withheld ?? []
    this.#withheld = undefined
    for (const event of events) this.#publish(event)
  }

  #publish(event: Notification): void {
    const { type, path } = event
    this.dispatcher.add(() => this.#tellCaches(path))
    this.tell(event)
    const parent = parentOf(path)
    if (type !== 'Modified' && parent !== undefined && parent !== '/') {
      this.tell({ type: 'ChildrenChanged', path: parent })
    }
  }

  /** The server's events have no records, so caches read the record. */
  #tellCaches(path: string): Promise<void> {
    return this.tellCaches(path, 'unknown', 0)
  }

  protected checkOpen(): void {
    if (this.#isClosed) throw metadataError('alreadyClosed', 'the store')
  }

  protected async newestOfSequence(prefix: string): Promise<string | undefined> {
    const { numbers } = await this.#writes.sequence(prefix)
    return numbers.length === 0 ? undefined : sequencePath(prefix, numbers)
  }

  protected async *childRecords(
    path: string,
    options: ReadOptions | undefined,
  ): AsyncGenerator<GetResult, void> {
    const names = await this.getChildren(path, options)
    for (let at = 0; at < names.length; at += pageRecords) {
      const page = names.slice(at, at + pageRecords).map((name) => childOf(path, name))
      for (const record of await Promise.all(page.map((each) => this.#nodes.record(each)))) {
        if (record !== undefined && !nameOf(record.stat.path).endsWith(counterSuffix)) yield record
      }
    }
  }

  protected async *indexRecords(scan: IndexScan): AsyncGenerator<GetResult, void> {
    for await (const record of this.childRecords(scan.prefix, undefined)) {
      if (scan.fallbackFilter?.(record) !== false) yield record
    }
  }
}
