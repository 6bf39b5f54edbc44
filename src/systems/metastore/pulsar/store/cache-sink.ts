/** How caches learn of changes: before any listener, with the new record if the store has it. */
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import type { MetadataCache, MetadataCacheOptions } from '../cache.js'
import type { MetadataSerde } from '../serde.js'
import type { GetResult, MetadataStore } from '../types.js'

/** A cache over a store. */
export interface CacheSink {
  /**
   * A record has changed. `record` is the new one; undefined = it was removed; 'unknown' = the
   * cache has to read it, and listeners wait for the promise. `sequence` is that of the change; 0
   * if the store does not know it.
   */
  changed(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void>
  /** Changes may have been lost: nothing that is cached can be trusted. */
  reset(): void
  /** The handle was closed: no change is heard any more. */
  closed?(): void
}

/** A store that tells caches. */
export interface CachingStore extends MetadataStore {
  /** Told what listeners of the store throw, and those of caches, views, locks and elections. */
  readonly onListenerError: ListenerErrorHandler
  /**
   * A cache of typed values in front of this handle, which is closed with it; see
   * {@link MetadataCache}. `ERR_METADATA_INVALID_ARGUMENT` for an unknown option.
   */
  getMetadataCache<T>(serde: MetadataSerde<T>, options?: MetadataCacheOptions<T>): MetadataCache<T>
  /** Returns what takes the registration back. */
  registerCache(sink: CacheSink): () => void
}
