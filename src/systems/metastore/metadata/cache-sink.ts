/** Notifications of caches: before all listeners, with the new record if the store has it. */
import type { ListenerErrorHandler } from '../kernel/listener-errors.js'
import type { MetadataCache, MetadataCacheOptions } from './cache.js'
import type { MetadataSerde } from './serde.js'
import type { GetResult, MetadataStore } from './types.js'

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
  /** Notifications may have been lost: all cached records may be outdated. */
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
