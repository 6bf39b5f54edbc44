/** A handle over another handle. Forwards its events to own listeners and caches. */
import type { BytesLike } from '../../../../api/index.js'
import { checkCallable } from '../../kernel/listener-errors.js'
import { StoreHandle } from '../store-handle.js'
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
  PutOptions,
  ReadOptions,
  Stat,
  SubscribeOptions,
} from '../../metadata/types.js'

/** See the file header. */
export abstract class RelayHandle extends StoreHandle implements CacheSink {
  /** The handle that performs the operations. */
  protected abstract get target(): CachingStore

  /** Performs a write. Throws `ERR_INVALID_ARGUMENT` unless `write` is a function. */
  protected write<T>(write: (store: CachingStore) => Promise<T>): Promise<T> {
    return checkCallable(write, 'a write')(this.target)
  }

  get capabilities(): MetadataCapabilities {
    return this.target.capabilities
  }

  get isConnected(): boolean {
    return this.target.isConnected
  }

  get sessionTimeoutMilliseconds(): number {
    return this.target.sessionTimeoutMilliseconds
  }

  override get sessionId(): number | undefined {
    return this.target.sessionId
  }

  get(path: string, options?: ReadOptions): Promise<GetResult | undefined> {
    return this.target.get(path, options)
  }

  override exists(path: string, options?: ReadOptions): Promise<boolean> {
    return this.target.exists(path, options)
  }

  getChildren(path: string, options?: ReadOptions): Promise<string[]> {
    return this.target.getChildren(path, options)
  }

  override getChildrenFromStore(path: string, options?: ReadOptions): Promise<string[]> {
    return this.target.getChildrenFromStore(path, options)
  }

  put(path: string, value: BytesLike, expected?: Expected, options?: PutOptions): Promise<Stat> {
    return this.write((store) => store.put(path, value, expected, options))
  }

  delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    return this.write((store) => store.delete(path, expected, options))
  }

  deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    return this.write((store) => store.deleteRecursive(path, options))
  }

  batch(operations: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    return this.write((store) => store.batch(operations))
  }

  isOwnerAlive(path: string): Promise<boolean> {
    return this.target.isOwnerAlive(path)
  }

  sync(path: string): Promise<void> {
    return this.target.sync(path)
  }

  subscribe(options?: SubscribeOptions): AsyncGenerator<FeedCommit, void> {
    return this.target.subscribe(options)
  }

  override async subscribeSequence(
    prefix: string,
    listener: (path: string) => unknown,
  ): Promise<Closeable> {
    return this.target.subscribeSequence(prefix, listener)
  }

  /** Called by the target. */
  changed(
    path: string,
    record: GetResult | undefined | 'unknown',
    sequence: number,
  ): void | Promise<void> {
    return this.tellCaches(path, record, sequence)
  }

  /** Called by the target. */
  reset(): void {
    this.resetCaches()
  }

  /** Forwards the events of a handle. Returns a function that stops the forwarding. */
  protected attach(store: CachingStore): () => void {
    const ends = [
      store.registerCache(this),
      store.registerListener((event) => this.tell(event)),
      store.registerSessionListener((event) => this.tellSession(event)),
    ]
    return () => {
      for (const end of ends) end()
    }
  }

  /** The target itself refuses calls after it was closed. */
  protected checkOpen(): void {
    return undefined
  }

  protected childRecords(
    path: string,
    options: ReadOptions | undefined,
  ): AsyncGenerator<GetResult, void> {
    return this.target.scanChildren(path, options)
  }

  protected indexRecords(scan: IndexScan): AsyncGenerator<GetResult, void> {
    return this.target.scanByIndex(scan)
  }

  protected newestOfSequence(): Promise<string | undefined> {
    return Promise.resolve(undefined)
  }
}
