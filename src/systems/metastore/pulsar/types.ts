/**
 * Pulsar's metadata interface (PIP-45), for any backend.
 *
 * A store holds records by path. A record has bytes and a {@link Stat}; a path that only has
 * descendants is an implied parent: listed among the children of its own parent, and no record.
 */
import type { BytesLike } from '../../../api/index.js'

/** What a store knows about a record besides its bytes. */
export interface Stat {
  /** Path of the record as it is stored, with the numbers of sequences. */
  readonly path: string
  /** 0 for the first write, one more for each write after; starts again after a delete. */
  readonly version: number
  /** Milliseconds since the Unix epoch. */
  readonly creationTimestamp: number
  /** Milliseconds since the Unix epoch. */
  readonly modificationTimestamp: number
  /** Whether the record ends with the session that created it. */
  readonly ephemeral: boolean
  /** Whether the record is ephemeral and belongs to the session of this handle. */
  readonly createdBySelf: boolean
  /** Whether the record was never updated. */
  readonly firstVersion: boolean
  /** Sequence of the commit that wrote the record last: store-wide, growing, never used twice. */
  readonly sequence: number
  /** Sequence of the commit that created the record: the fencing token of locks and leaders. */
  readonly creationSequence: number
}

/** A record. */
export interface GetResult {
  /** The bytes of the record. Caches share them, so the caller does not change them. */
  readonly value: Buffer
  /** Version, times and owner of the record. */
  readonly stat: Stat
}

/**
 * What a write expects of the record: -1 that it does not exist, a version of 0 or more, the
 * sequence of its last write, or the one of its creation. No later record at the same path has
 * either sequence.
 */
export type Expected =
  | number
  | {
      /** `Stat.sequence` of the write that the record must still have. */
      readonly sequence: number
    }
  | {
      /**
       * `Stat.creationSequence` of the record, in whatever version: the token of a lock or a
       * leader. On ZooKeeper the creation is looked up; the server then compares the version, and
       * for an ephemeral record of the same handle that its session is alive.
       */
      readonly creationSequence: number
    }

/** Options of reads. */
export interface ReadOptions {
  /** Records with equal keys lie together on backends with partitions. A hint; no effect here. */
  readonly partitionKey?: string | undefined
}

/** Options of puts. */
export interface PutOptions extends ReadOptions {
  /** The record ends with the session. Only a put that creates the record has to say so. */
  readonly ephemeral?: boolean | undefined
  /** Appends a growing number of ten digits to the path. */
  readonly sequential?: boolean | undefined
  /**
   * Keys by name of index. Replaces all index entries of the record; absent keeps them, an empty
   * object removes them.
   */
  readonly secondaryIndexes?: Readonly<Record<string, string>> | undefined
  /**
   * The path is a prefix: the stored path is `prefix-` and one number of 20 digits for each
   * element, each grown by that element. The first is at least 1, the others at least 0.
   */
  readonly sequenceKeysDeltas?: readonly number[] | undefined
}

/** One step of {@link MetadataStore.batch}. */
export type BatchOperation =
  | {
      /** Path of a record that has to be as expected; nothing is written. */
      readonly check: string
      /** What the step expects of the record. Absent = whatever it is. */
      readonly expected: Expected
    }
  | ({
      /** Path of the record to write. */
      readonly put: string
      /** The new bytes of the record. */
      readonly value: BytesLike
      /** What the step expects of the record. Absent = whatever it is. */
      readonly expected?: Expected
    } & Pick<PutOptions, 'ephemeral' | 'secondaryIndexes'>)
  | {
      /** Path of the record to remove; the step fails if the record is missing or has children. */
      readonly delete: string
      /** What the step expects of the record. Absent = whatever it is. */
      readonly expected?: Expected
    }

/** What happened to a path. */
export type NotificationType = 'Created' | 'Modified' | 'Deleted' | 'ChildrenChanged'

/** An event, for everybody's writes, those of the same handle included. */
export interface Notification {
  /** What happened. */
  readonly type: NotificationType
  /** Path of the record, or of the parent for `ChildrenChanged`. */
  readonly path: string
}

/** All events of one commit. */
export interface FeedCommit {
  /** `sequence + 1` is where a feed goes on behind the commit. */
  readonly sequence: number
  /** The events in the order of the commit's steps; never empty. */
  readonly events: readonly Notification[]
}

/** Which commits a feed shows. */
export interface SubscribeOptions {
  /** Only events of this path and below it. Default `/`. */
  readonly prefix?: string | undefined
  /** The first sequence of interest, inclusive. Default: what is committed from now on. */
  readonly fromSequence?: number | undefined
  /** Ends the feed. */
  readonly signal?: AbortSignal | undefined
}

/** The life of a session as its handle sees it. */
export type SessionEvent = 'ConnectionLost' | 'Reconnected' | 'SessionLost' | 'SessionReestablished'

/** Which records {@link MetadataStore.scanByIndex} gives. */
export interface IndexScan extends ReadOptions {
  /** Only direct children of this path. */
  readonly prefix: string
  /** Name of the index, as in `PutOptions.secondaryIndexes`. */
  readonly index: string
  /** The lowest key, inclusive. Default: no bound. */
  readonly from?: string | undefined
  /** The highest key, inclusive. Default: no bound. */
  readonly to?: string | undefined
  /**
   * Tells the records of the range from others on a backend without indexes, which lists all
   * children. A backend with indexes does not call the function.
   */
  readonly fallbackFilter?: ((record: GetResult) => boolean) | undefined
}

/** Told of the records of a scan, then of its end: exactly one of `onCompleted` and `onError`. */
export interface ScanConsumer {
  /** The scan waits for a promise that is returned. */
  onNext(record: GetResult): void | Promise<void>
  /** Called once if the scan fails; no record follows. */
  onError?(error: unknown): unknown
  /** Called once after the last record. */
  onCompleted?(): unknown
}

/** What a backend can do. */
export interface MetadataCapabilities {
  /** `subscribe` goes on from any retained sequence. */
  readonly resumableFeed: boolean
  /** Secondary indexes are stored; without, scans by index filter all children. */
  readonly secondaryIndexes: boolean
  /**
   * `expected` takes `{ sequence }`, and the commit itself compares `{ creationSequence }`.
   * Without, creations are looked up before the write; see {@link Expected}.
   */
  readonly sequenceExpectations: boolean
  /** `deleteRecursive` is one commit. */
  readonly atomicDeleteRecursive: boolean
  /**
   * A path that only has descendants is no record, and goes with its last descendant. Without, it
   * is a record without bytes, and goes some time later.
   */
  readonly impliedParents: boolean
}

/** What a store has done since it was opened. Counts, unless something else is said. */
export interface MetadataStoreMetrics {
  /** Batches of the database, each with one sync for all commits in it. */
  readonly groups: number
  /** Commits that are durable. */
  readonly commits: number
  /** Events of these commits. */
  readonly events: number
  /** Bytes of the feed that these commits have written. */
  readonly feedBytes: number
  /** Calls that were refused: a version, a limit, a missing record. Nothing was written. */
  readonly refusedCalls: number
  /** Groups that the database could not make durable. */
  readonly failedGroups: number
  /** Calls that wait for their group at this moment. */
  readonly waitingCalls: number
  /** Whether writes fail at this moment, since one before has failed. */
  readonly isInDoubt: boolean
  /** Milliseconds that all groups together took from their batch to its sync. */
  readonly writeMilliseconds: number
  /** Sessions that are alive at this moment. */
  readonly sessions: number
}

/** Something that can be ended. */
export interface Closeable {
  /** Ends it. A second call does nothing. */
  close(): void
}

/**
 * A handle on a store. Handles on the same store see the same records; each has a session of its
 * own. All errors come through promises as `MetadataStoreError`.
 */
export interface MetadataStore {
  /** What the backend can do beyond the common calls. */
  readonly capabilities: MetadataCapabilities
  /** Whether the handle reaches its store. */
  readonly isConnected: boolean
  /** Time without contact after which the session of the handle ends. */
  readonly sessionTimeoutMilliseconds: number
  /**
   * The session of the handle; the option `sessionId` takes it up after the process died. Undefined
   * on backends whose sessions cannot be taken up in this way, such as ZooKeeper.
   */
  readonly sessionId: number | undefined
  /** The record; undefined if there is none. */
  get(path: string, options?: ReadOptions): Promise<GetResult | undefined>
  /** Sorted names of the direct children, implied ones included. */
  getChildren(path: string, options?: ReadOptions): Promise<string[]>
  /** As `getChildren`, past every cache: for decisions that destroy something. */
  getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]>
  /** Whether there is a record. An implied parent is none. */
  exists(path: string, options?: ReadOptions): Promise<boolean>
  /**
   * Writes a record. `ERR_METADATA_BAD_VERSION` unless it is as expected; absent = whatever it is.
   * The `path` of the result is the stored one.
   */
  put(path: string, value: BytesLike, expected?: Expected, options?: PutOptions): Promise<Stat>
  /** `ERR_METADATA_NOT_FOUND`, `ERR_METADATA_BAD_VERSION`, `ERR_METADATA_NOT_EMPTY`. */
  delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void>
  /** As `delete`, but an absent record is no error. */
  deleteIfExists(path: string, expected?: Expected, options?: ReadOptions): Promise<void>
  /** Removes the record and everything below it. */
  deleteRecursive(path: string, options?: ReadOptions): Promise<void>
  /** All steps or none, in one commit. The result has the stat of each put by position. */
  batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]>
  /**
   * Whether somebody may still use the session that owns the ephemeral record at a path; false if
   * there is no such record. A store over tables knows which sessions were left behind by processes
   * that died. ZooKeeper removes the records of a session with the session, so there the answer is
   * true for every ephemeral record.
   */
  isOwnerAlive(path: string): Promise<boolean>
  /** Later reads of this handle see everything that anybody was acknowledged before. */
  sync(path: string): Promise<void>
  /** Direct children that are records, in key order, read as the consumer asks for them. */
  scanChildren(path: string, options?: ReadOptions): AsyncGenerator<GetResult, void>
  /** As the other form, for a consumer; the promise ends as the consumer was told. */
  scanChildren(path: string, consumer: ScanConsumer, options?: ReadOptions): Promise<void>
  /** Records by the order of their keys in an index. */
  scanByIndex(scan: IndexScan): AsyncGenerator<GetResult, void>
  /** Records by the order of their keys in an index. */
  scanByIndex(scan: IndexScan, consumer: ScanConsumer): Promise<void>
  /** Tells the newest path of a sequence; some in between may be left out. */
  subscribeSequence(prefix: string, listener: (path: string) => unknown): Promise<Closeable>
  /** Calls a function for every event, in the order of the commits. Returns what takes it back. */
  registerListener(listener: (event: Notification) => unknown): () => void
  /** Calls a function for every event in the life of the session. Returns what takes it back. */
  registerSessionListener(listener: (event: SessionEvent) => unknown): () => void
  /**
   * Commits in order, resumable from any sequence that is retained; `ERR_METADATA_FEED_GAP`
   * otherwise.
   */
  subscribe(options?: SubscribeOptions): AsyncGenerator<FeedCommit, void>
  /** Ends the session: its ephemeral records are removed in one commit. */
  close(): Promise<void>
  /** As `close`, for `await using`. */
  [Symbol.asyncDispose](): Promise<void>
}
