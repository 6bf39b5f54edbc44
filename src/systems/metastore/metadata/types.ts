/**
 * Pulsar's metadata interface (PIP-45), for any backend.
 *
 * A store holds records by path. A record has bytes and a {@link Stat}. A path that only has
 * descendants is an implied parent: its own parent lists it as a child, but there is no record at
 * it.
 */
import type { BytesLike } from '../../../api/index.js'
import type { ListenerErrorHandler } from '../kernel/listener-errors.js'
import type { MetadataCache } from './cache.js'
import type { MetadataCacheOptions } from './cache-options.js'
import type {
  BatchOperation,
  IndexScan,
  PutOptions,
  ReadOptions,
  SubscribeOptions,
} from './options.js'
import type { MetadataSerde } from './serde.js'

export type { BatchOperation, IndexScan, PutOptions, ReadOptions, SubscribeOptions }

/** The metadata of a record: everything except its bytes. */
export interface Stat {
  /** The stored path of the record, including sequence numbers. */
  readonly path: string
  /** 0 for the first write, incremented by each later write; restarts at 0 after a delete. */
  readonly version: number
  /** Milliseconds since the Unix epoch. */
  readonly creationTimestamp: number
  /** Milliseconds since the Unix epoch. */
  readonly modificationTimestamp: number
  /** Whether the record is removed when the session that created it ends. */
  readonly ephemeral: boolean
  /** Whether the record is ephemeral and belongs to the session of this handle. */
  readonly createdBySelf: boolean
  /** Whether the record was never updated. */
  readonly firstVersion: boolean
  /** Sequence of the last commit that wrote the record: store-wide, increasing, never reused. */
  readonly sequence: number
  /** Sequence of the commit that created the record: the fencing token of locks and leaders. */
  readonly creationSequence: number
}

/** A record. */
export interface GetResult {
  /** The bytes of the record. Caches share them: the caller must not modify them. */
  readonly value: Buffer
  /** Version, times and owner of the record. */
  readonly stat: Stat
}

/**
 * The state of a record that a write requires: -1 for no record, a version of 0 or more, the
 * sequence of the last write, or the sequence of the creation. No later record at the same path has
 * either sequence.
 */
export type Expected =
  | number
  | {
      /** `Stat.sequence` of the last write of the record. */
      readonly sequence: number
    }
  | {
      /**
       * `Stat.creationSequence` of the record, in any version: the token of a lock or a leader. On
       * ZooKeeper the handle reads the creation before the write. The server then compares the
       * version, and for an ephemeral record of the same handle that its session is alive.
       */
      readonly creationSequence: number
    }

/** The kind of a change at a path. */
export type NotificationType = 'Created' | 'Modified' | 'Deleted' | 'ChildrenChanged'

/** An event. Handles receive the events of all writers, including their own. */
export interface Notification {
  /** The kind of the change. */
  readonly type: NotificationType
  /** Path of the record, or of the parent for `ChildrenChanged`. */
  readonly path: string
}

/** All events of one commit. */
export interface FeedCommit {
  /** Sequence of the commit; a feed resumes after the commit from `sequence + 1`. */
  readonly sequence: number
  /** The events in the order of the steps of the commit; never empty. */
  readonly events: readonly Notification[]
}

/** Changes of the state of a session, as its handle observes them. */
export type SessionEvent = 'ConnectionLost' | 'Reconnected' | 'SessionLost' | 'SessionReestablished'

/** Receives the records of a scan, then its end: exactly one of `onCompleted` and `onError`. */
export interface ScanConsumer {
  /** If the function returns a promise, the scan waits for it. */
  onNext(record: GetResult): void | Promise<void>
  /** Called once if the scan fails; no record follows. */
  onError?(error: unknown): unknown
  /** Called once after the last record. */
  onCompleted?(): unknown
}

/** The capabilities of a backend. */
export interface MetadataCapabilities {
  /** `subscribe` can resume from any retained sequence. */
  readonly resumableFeed: boolean
  /** Secondary indexes are stored. Without this, scans by index filter all children. */
  readonly secondaryIndexes: boolean
  /**
   * `expected` accepts `{ sequence }`, and the commit itself compares `{ creationSequence }`.
   * Without this, the handle reads the creation before the write; see {@link Expected}.
   */
  readonly sequenceExpectations: boolean
  /** `deleteRecursive` is one commit. */
  readonly atomicDeleteRecursive: boolean
  /**
   * A path that only has descendants is not a record, and disappears with its last descendant.
   * Without this, such a path is a record without bytes, removed some time after its last child.
   */
  readonly impliedParents: boolean
}

/** Counters of a store since it was opened, unless noted otherwise. */
export interface MetadataStoreMetrics {
  /** Batches of the database, each with one sync for all commits in it. */
  readonly groups: number
  /** Commits that are durable. */
  readonly commits: number
  /** Events of these commits. */
  readonly events: number
  /** Bytes that these commits wrote to the feed. */
  readonly feedBytes: number
  /** Calls refused without a write: another version, an exceeded limit, a missing record. */
  readonly refusedCalls: number
  /** Groups that the database failed to make durable. */
  readonly failedGroups: number
  /** Calls that currently wait for their group. */
  readonly waitingCalls: number
  /**
   * Whether the outcome of a failed group is unknown. The next write resolves the outcome first.
   */
  readonly isInDoubt: boolean
  /** Total milliseconds of all groups, from submitting the batch to its sync. */
  readonly writeMilliseconds: number
  /** Sessions that are currently alive. */
  readonly sessions: number
}

/** A resource that can be closed. */
export interface Closeable {
  /** Closes the resource. A second call does nothing. */
  close(): void
}

/**
 * A handle on a store. Handles on the same store see the same records; each has a session of its
 * own. All errors are reported by promises, with a code of `MetadataErrorCode`.
 */
export interface MetadataStore {
  /** The capabilities of the backend beyond the common calls. */
  readonly capabilities: MetadataCapabilities
  /** Whether the handle is connected to its store. */
  readonly isConnected: boolean
  /** Time without contact after which the session of the handle ends. */
  readonly sessionTimeoutMilliseconds: number
  /**
   * The session of the handle; the option `sessionId` resumes a session after its process died.
   * Undefined on backends whose sessions cannot be resumed in this way, such as ZooKeeper.
   */
  readonly sessionId: number | undefined
  /** The record; undefined if there is none. */
  get(path: string, options?: ReadOptions): Promise<GetResult | undefined>
  /** Sorted names of the direct children, implied ones included. */
  getChildren(path: string, options?: ReadOptions): Promise<string[]>
  /** As `getChildren`, bypassing all caches: for decisions that remove data. */
  getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]>
  /** Whether there is a record. An implied parent is not a record. */
  exists(path: string, options?: ReadOptions): Promise<boolean>
  /**
   * Writes a record. `ERR_METADATA_BAD_VERSION` unless the record is in the `expected` state;
   * absent = any state. The `path` of the result is the stored path.
   */
  put(path: string, value: BytesLike, expected?: Expected, options?: PutOptions): Promise<Stat>
  /** `ERR_METADATA_NOT_FOUND`, `ERR_METADATA_BAD_VERSION`, `ERR_METADATA_NOT_EMPTY`. */
  delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void>
  /** As `delete`, but an absent record is no error. */
  deleteIfExists(path: string, expected?: Expected, options?: ReadOptions): Promise<void>
  /** Removes the record and everything below it. */
  deleteRecursive(path: string, options?: ReadOptions): Promise<void>
  /** Applies all steps or none, in one commit. The result has the stat of each put, by position. */
  batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]>
  /**
   * Whether the session that owns the ephemeral record at a path may still be in use; false if
   * there is no such record. A store over tables recognizes the sessions of processes that died.
   * ZooKeeper removes the records of a session together with the session, so the answer is true for
   * every ephemeral record.
   */
  isOwnerAlive(path: string): Promise<boolean>
  /**
   * Later reads of this handle see all writes that were acknowledged before the call, of any
   * client.
   */
  sync(path: string): Promise<void>
  /** As the other form, with a consumer. The promise settles with the outcome of the scan. */
  scanChildren(path: string, consumer: ScanConsumer, options?: ReadOptions): Promise<void>
  /** Direct children that are records, in key order, read on demand. */
  scanChildren(path: string, options?: ReadOptions): AsyncGenerator<GetResult, void>
  /** Records in the order of their keys in an index. */
  scanByIndex(scan: IndexScan): AsyncGenerator<GetResult, void>
  /** Records in the order of their keys in an index, with a consumer. */
  scanByIndex(scan: IndexScan, consumer: ScanConsumer): Promise<void>
  /** Notifies a listener of the newest path of a sequence; intermediate paths may be skipped. */
  subscribeSequence(prefix: string, listener: (path: string) => unknown): Promise<Closeable>
  /** Calls a function for every event, in commit order. Returns a function that unregisters it. */
  registerListener(listener: (event: Notification) => unknown): () => void
  /** Calls a function for every session event. Returns a function that unregisters it. */
  registerSessionListener(listener: (event: SessionEvent) => unknown): () => void
  /** Commits in order, resumable from any retained sequence; otherwise `ERR_METADATA_FEED_GAP`. */
  subscribe(options?: SubscribeOptions): AsyncGenerator<FeedCommit, void>
  /** Ends the session: its ephemeral records are removed in one commit. */
  close(): Promise<void>
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}

/** A cache over a store: the subscriber of the changes of records. */
export interface CacheSink {
  /**
   * Notifies the cache of a changed record. `record` is the new record. Undefined = the record was
   * removed. 'unknown' = the cache has to read the record, and listeners wait for the promise.
   * `sequence` is the sequence of the change; 0 if the store does not know it.
   */
  changed(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void>
  /**
   * Notifications may have been lost: all cached records may be outdated. After a migration the
   * handle reads another store: its sequences cannot be compared with earlier ones.
   */
  reset(): void
  /** The handle was closed: no more notifications follow. */
  closed?(): void
}

/** A store that notifies caches. */
export interface CachingStore extends MetadataStore {
  /** Receives the errors of listeners of the store, caches, views, locks and elections. */
  readonly onListenerError: ListenerErrorHandler
  /**
   * A cache of typed values over this handle, closed with the handle; see {@link MetadataCache}.
   * `ERR_METADATA_INVALID_ARGUMENT` for an unknown option.
   */
  getMetadataCache<T>(serde: MetadataSerde<T>, options?: MetadataCacheOptions<T>): MetadataCache<T>
  /** Registers a cache. Returns a function that unregisters the cache. */
  registerCache(sink: CacheSink): () => void
}
