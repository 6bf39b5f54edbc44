/**
 * A store that several clusters keep alike (`MetadataEventSynchronizer`): every put and delete is
 * published before it is applied, and those of other clusters are applied here.
 *
 * The clusters agree on no order. Of two writes of one record the later by wall clock stays, and of
 * two at the same millisecond the one whose cluster has the greater name.
 */
import type { BytesLike } from '../../api/index.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../kernel/listener-errors.js'
import { checkValue } from './arguments.js'
import type { CachingStore } from './cache-sink.js'
import { hasCode, MetadataErrorCode } from './errors.js'
import { childOf } from './paths.js'
import { RelayHandle } from './relay-handle.js'
import type { BatchOperation, Expected, PutOptions, ReadOptions, Stat } from './types.js'

/** A write as clusters tell each other. */
export interface MetadataEvent {
  /** Path of the record. */
  readonly path: string
  /** Undefined = deleted. */
  readonly value: Buffer | undefined
  /** How the record was put; empty for a deletion. */
  readonly options: PutOptions
  /** The version that the writer expected; undefined = any. */
  readonly expectedVersion: number | undefined
  /** Wall clock of the writer, milliseconds since the Unix epoch. */
  readonly lastUpdatedTimestamp: number
  /** The cluster of the writer. */
  readonly sourceCluster: string | undefined
}

/** What carries events between clusters, such as a topic that is replicated. */
export interface MetadataEventSynchronizer {
  /** This cluster. */
  readonly clusterName: string | undefined
  /** Publishes a write. A rejection fails the write, which is then not applied. */
  notify(event: MetadataEvent): Promise<void>
  /** Calls a function with each event of any cluster, in order, awaiting it. */
  registerSyncListener(listener: (event: MetadataEvent) => Promise<void>): () => void
}

/** Whether an event must not change a record; `existing` is undefined if there is none. */
export function isIgnoredEvent(
  event: MetadataEvent,
  existing: Pick<Stat, 'version' | 'modificationTimestamp'> | undefined,
  clusterName: string | undefined,
): boolean {
  const { sourceCluster, options, lastUpdatedTimestamp, expectedVersion } = event
  if (sourceCluster === undefined || clusterName === undefined) return true
  if (options.ephemeral === true || options.sequential === true) return true
  if (existing === undefined) return false
  if (lastUpdatedTimestamp < existing.modificationTimestamp) return true
  if (sourceCluster !== clusterName) {
    return lastUpdatedTimestamp === existing.modificationTimestamp && sourceCluster < clusterName
  }
  return (
    expectedVersion !== undefined && expectedVersion > 0 && expectedVersion !== existing.version
  )
}

/** See the file header. */
export class SynchronizedMetadataStore extends RelayHandle implements CachingStore {
  protected readonly target: CachingStore
  readonly #synchronizer: MetadataEventSynchronizer
  readonly #clock: LeaseClock
  readonly #ends: readonly (() => void)[]

  /** Made by `openMetadataStore` with the option `synchronizer`. */
  constructor(
    store: CachingStore,
    synchronizer: MetadataEventSynchronizer,
    clock: LeaseClock,
    onListenerError: ListenerErrorHandler,
  ) {
    super(onListenerError)
    this.target = store
    this.#synchronizer = synchronizer
    this.#clock = clock
    this.#ends = [
      this.attach(store),
      synchronizer.registerSyncListener((event) => this.applyEvent(event)),
    ]
  }

  override async put(
    path: string,
    value: BytesLike,
    expected?: Expected,
    options?: PutOptions,
  ): Promise<Stat> {
    const bytes = checkValue(value)
    await this.#publish(path, bytes, expected, options)
    return super.put(path, bytes, expected, options)
  }

  override async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    await this.#publish(path, undefined, expected, undefined)
    await super.delete(path, expected, options)
  }

  override async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    await this.#publishTree(path)
    await super.deleteRecursive(path, options)
  }

  override async batch(
    operations: readonly BatchOperation[],
  ): Promise<readonly (Stat | undefined)[]> {
    for (const each of operations) {
      if ('put' in each) {
        const { put, value, expected, ephemeral } = each
        await this.#publish(put, checkValue(value), expected, { ephemeral })
      } else if ('delete' in each) {
        await this.#publish(each.delete, undefined, each.expected, undefined)
      }
    }
    return super.batch(operations)
  }

  /** Applies an event of any cluster, unless it must be ignored; see {@link isIgnoredEvent}. */
  async applyEvent(event: MetadataEvent): Promise<void> {
    const { path, value, options } = event
    for (;;) {
      const existing = (await this.target.get(path))?.stat
      if (isIgnoredEvent(event, existing, this.#synchronizer.clusterName)) return
      try {
        // Expecting what was compared: a write that came between is compared again.
        if (value !== undefined)
          await this.target.put(path, value, existing?.version ?? -1, options)
        else if (existing !== undefined) await this.target.delete(path, existing.version)
        return
      } catch (error) {
        const isRace =
          hasCode(error, MetadataErrorCode.badVersion) || hasCode(error, MetadataErrorCode.notFound)
        if (!isRace) throw error
      }
    }
  }

  protected async end(): Promise<void> {
    for (const end of this.#ends) end()
    await this.target.close()
  }

  async #publishTree(path: string): Promise<void> {
    for (const name of await this.target.getChildren(path)) {
      await this.#publishTree(childOf(path, name))
    }
    if (await this.target.exists(path)) {
      await this.#publish(path, undefined, undefined, undefined)
    }
  }

  #publish(
    path: string,
    value: Buffer | undefined,
    expected: Expected | undefined,
    options: PutOptions | undefined,
  ): Promise<void> {
    return this.#synchronizer.notify({
      path,
      value,
      options: options ?? {},
      expectedVersion: typeof expected === 'number' ? expected : undefined,
      lastUpdatedTimestamp: this.#clock.now(),
      sourceCluster: this.#synchronizer.clusterName,
    })
  }
}
