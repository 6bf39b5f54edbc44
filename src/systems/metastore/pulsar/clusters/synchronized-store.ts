/**
 * A store that several clusters keep alike (`MetadataEventSynchronizer`): every put and delete that
 * was committed is published, and those of other clusters are applied here.
 *
 * Every write has a stamp: a time and the cluster. The time is that of the wall clock, and above
 * the time of every write of the record that the writer has seen. The write with the greatest stamp
 * stays, first by time, then by the name of the cluster, in whatever order the events arrive. So
 * clusters that have the same events have the same records. A record below {@link stampsPath} keeps
 * the stamp of each path, also of a deleted one; the stamp is part of the commit of its write.
 */
import type { BytesLike } from '../../../../api/index.js'
import { Backoff, systemRandom } from '../../kernel/backoff.js'
import type { LeaseClock } from '../../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import {
  checkBatch,
  checkCachingStore,
  checkEvent,
  checkExpected,
  checkFunction,
  checkPutOptions,
  checkSynchronizer,
  checkValue,
} from '../arguments.js'
import type { CachingStore } from '../store/cache-sink.js'
import { hasCode, MetadataErrorCode, MetadataStoreError } from '../errors.js'
import { childOf } from '../paths.js'
import { RelayHandle } from './relay-handle.js'
import type { BatchOperation, Expected, PutOptions, ReadOptions, Stat } from '../types.js'

/** Parent of the stamps: the stamp of `/a/b` is at `stampsPath` and `/a/b`. */
export const stampsPath = '/pulsar/metadata-synchronizer'

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
  /**
   * Wall clock of the writer, milliseconds since the Unix epoch; later than every earlier write of
   * the record that the writer knew.
   */
  readonly lastUpdatedTimestamp: number
  /** The cluster of the writer. */
  readonly sourceCluster: string | undefined
}

/** What carries events between clusters, such as a topic that is replicated. */
export interface MetadataEventSynchronizer {
  /** This cluster. */
  readonly clusterName: string | undefined
  /**
   * Publishes a write that was committed. After a rejection the event is published again, for 30
   * seconds; then the call of the writer fails, and the write stays in this cluster alone.
   */
  notify(event: MetadataEvent): Promise<void>
  /** Calls a function with each event of any cluster, in order, awaiting it. */
  registerSyncListener(listener: (event: MetadataEvent) => Promise<void>): () => void
}

/**
 * Pulsar's rule for a record without a stamp, which no synchronized handle has written: whether an
 * event must not change the record; `existing` is undefined if there is none.
 */
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

/** When a path was written last, and where. */
interface Stamp {
  readonly time: number
  readonly cluster: string
}

/** A stamp as it is stored. */
interface StoredStamp {
  readonly stamp: Stamp | undefined
  /** What the next write of the stamp expects. */
  readonly expected: Expected
}

type Write = Extract<BatchOperation, { readonly put: string } | { readonly delete: string }>

const deletedAtOnce = 100

/** See the file header. */
export class SynchronizedMetadataStore extends RelayHandle implements CachingStore {
  protected readonly target: CachingStore
  readonly #synchronizer: MetadataEventSynchronizer
  readonly #clock: LeaseClock
  readonly #ends: readonly (() => void)[]
  readonly #publishing = new Set<Promise<void>>()

  /** Made by `openMetadataStore` with the option `synchronizer`. */
  constructor(
    store: CachingStore,
    synchronizer: MetadataEventSynchronizer,
    clock: LeaseClock,
    onListenerError: ListenerErrorHandler,
  ) {
    super(checkFunction(onListenerError, 'onListenerError'))
    this.target = checkCachingStore(store)
    this.#synchronizer = checkSynchronizer(synchronizer)
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
    this.check(path, undefined)
    const wanted = checkExpected(expected)
    const checked = checkPutOptions(options, wanted)
    const bytes = checkValue(value)
    const { sequential, sequenceKeysDeltas, ephemeral, secondaryIndexes } = checked
    if (sequenceKeysDeltas !== undefined) return this.#putNumbered(path, bytes, wanted, checked)
    if (sequential === true || ephemeral === true) return super.put(path, bytes, wanted, checked)
    const indexes = secondaryIndexes === undefined ? {} : { secondaryIndexes }
    const step = { put: path, value: bytes, ...indexes }
    const [stat] = await this.#commit([wanted === undefined ? step : { ...step, expected: wanted }])
    return stat!
  }

  override async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    const wanted = checkExpected(expected)
    await this.#commit([
      wanted === undefined ? { delete: path } : { delete: path, expected: wanted },
    ])
  }

  /** Record by record, so that each is published: no commit has them all. */
  override async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    for (;;) {
      const paths = await this.#recordsWithin(path)
      if (paths.length === 0) return
      for (let i = 0; i < paths.length; i += deletedAtOnce) {
        const steps = paths.slice(i, i + deletedAtOnce).map((each) => ({ delete: each }))
        try {
          await this.#commit(steps)
        } catch (error) {
          // Somebody else has added a child or removed a record: what there is, is read again.
          if (!isRace(error)) throw error
          break
        }
      }
    }
  }

  override async batch(
    operations: readonly BatchOperation[],
  ): Promise<readonly (Stat | undefined)[]> {
    return this.#commit(checkBatch(operations))
  }

  /** Applies an event of any cluster, unless a later write is there already. */
  async applyEvent(event: MetadataEvent): Promise<void> {
    const copy = checkEvent(event)
    const { path, value, options, lastUpdatedTimestamp, sourceCluster } = copy
    const { clusterName } = this.#synchronizer
    for (;;) {
      const { stamp, expected } = await this.#stampOf(path)
      const existing = (await this.target.get(path))?.stat
      // Without a stamp nobody of the clusters has written the record.
      const known = stamp === undefined ? existing : undefined
      if (isIgnoredEvent(copy, known, clusterName)) return
      const its = { time: lastUpdatedTimestamp, cluster: sourceCluster! }
      if (stamp !== undefined && !isLater(its, stamp)) return
      const steps: BatchOperation[] = [stampStep(path, its, expected)]
      if (value !== undefined) {
        const { secondaryIndexes } = options
        const indexes = secondaryIndexes === undefined ? {} : { secondaryIndexes }
        const before = existing === undefined ? -1 : this.#expectation(existing)
        steps.push({ put: path, value, expected: before, ...indexes })
      } else if (existing !== undefined) {
        steps.push({ delete: path, expected: this.#expectation(existing) })
      }
      try {
        await this.target.batch(steps)
        return
      } catch (error) {
        // A write came between, and is compared again.
        if (!isRace(error) || hasCode(error, MetadataErrorCode.notEmpty)) throw error
      }
    }
  }

  protected async end(): Promise<void> {
    for (const end of this.#ends) end()
    await Promise.allSettled([...this.#publishing])
    await this.target.close()
  }

  /** The number is part of the path, so the stamp comes after the record. */
  async #putNumbered(
    path: string,
    value: Buffer,
    expected: Expected | undefined,
    options: PutOptions,
  ): Promise<Stat> {
    const stat = await super.put(path, value, expected, options)
    if (options.ephemeral === true) return stat
    const stamp = this.#stampAfter(undefined)
    await this.target.batch([stampStep(stat.path, stamp, undefined)])
    const { secondaryIndexes } = options
    const step = { put: stat.path, value, ...(secondaryIndexes && { secondaryIndexes }) }
    await this.#publish(step, stamp)
    return stat
  }

  /** Commits steps with their stamps, and publishes the last one of each path. */
  async #commit(steps: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    const shared = new Map<string, Write>()
    for (const step of steps) {
      if ('put' in step && step.ephemeral !== true) shared.set(step.put, step)
      if ('delete' in step) shared.set(step.delete, step)
    }
    for (;;) {
      const stamps: { readonly write: Write; readonly stamp: Stamp }[] = []
      const known = new Map<string, Expected>()
      const all = [...steps]
      for (const [path, write] of shared) {
        const { stamp: before, expected } = await this.#stampOf(path)
        const stamp = this.#stampAfter(before)
        known.set(path, expected)
        stamps.push({ write, stamp })
        all.push(stampStep(path, stamp, expected))
      }
      try {
        const stats = await this.target.batch(all)
        await Promise.all(stamps.map(({ write, stamp }) => this.#publish(write, stamp)))
        return stats.slice(0, steps.length)
      } catch (error) {
        if (!hasCode(error, MetadataErrorCode.badVersion)) throw error
        // The caller's expectation failed, unless another write has changed a stamp.
        if (!(await this.#hasChanged(known))) throw error
      }
    }
  }

  async #hasChanged(known: ReadonlyMap<string, Expected>): Promise<boolean> {
    for (const [path, expected] of known) {
      if ((await this.#stampOf(path)).expected !== expected) return true
    }
    return false
  }

  async #stampOf(path: string): Promise<StoredStamp> {
    const found = await this.target.get(stampPathOf(path))
    if (found === undefined) return { stamp: undefined, expected: -1 }
    // On ZooKeeper the parent of another stamp is a record without bytes.
    const { length } = found.value
    const stamp = length === 0 ? undefined : (JSON.parse(found.value.toString()) as Stamp)
    return { stamp, expected: found.stat.version }
  }

  #stampAfter(before: Stamp | undefined): Stamp {
    const time = Math.max(this.#clock.now(), before === undefined ? 0 : before.time + 1)
    return { time, cluster: this.#synchronizer.clusterName ?? '' }
  }

  #expectation({ sequence, version }: Stat): Expected {
    return this.target.capabilities.sequenceExpectations ? { sequence } : version
  }

  /** Records that do not end with a session, children before their parents. */
  async #recordsWithin(path: string): Promise<string[]> {
    const paths: string[] = []
    for (const name of await this.target.getChildren(path)) {
      const child = childOf(path, name)
      if (child !== stampsPath) paths.push(...(await this.#recordsWithin(child)))
    }
    if (await this.target.exists(path)) paths.push(path)
    return paths
  }

  #publish(write: Write, stamp: Stamp): Promise<void> {
    const isPut = 'put' in write
    const indexes = isPut ? write.secondaryIndexes : undefined
    const event: MetadataEvent = {
      path: isPut ? write.put : write.delete,
      value: isPut ? checkValue(write.value) : undefined,
      options: indexes === undefined ? {} : { secondaryIndexes: indexes },
      expectedVersion: typeof write.expected === 'number' ? write.expected : undefined,
      lastUpdatedTimestamp: stamp.time,
      sourceCluster: this.#synchronizer.clusterName,
    }
    const published = this.#notify(event)
    this.#publishing.add(published)
    const forget = (): void => void this.#publishing.delete(published)
    published.then(forget, forget)
    return published
  }

  async #notify(event: MetadataEvent): Promise<void> {
    const backoff = new Backoff({}, { clock: this.#clock, random: systemRandom })
    for (;;) {
      try {
        return await this.#synchronizer.notify(event)
      } catch (error) {
        if (await backoff.wait()) continue
        const message = `${event.path} was written, and could not be published`
        throw new MetadataStoreError(MetadataErrorCode.storeFailure, message, error)
      }
    }
  }
}

function stampPathOf(path: string): string {
  return path === '/' ? stampsPath : stampsPath + path
}

function stampStep(path: string, stamp: Stamp, expected: Expected | undefined): BatchOperation {
  const step = { put: stampPathOf(path), value: JSON.stringify(stamp) }
  return expected === undefined ? step : { ...step, expected }
}

function isLater(one: Stamp, other: Stamp): boolean {
  return one.time > other.time || (one.time === other.time && one.cluster > other.cluster)
}

function isRace(error: unknown): boolean {
  const { badVersion, notFound, notEmpty } = MetadataErrorCode
  return [badVersion, notFound, notEmpty].some((code) => hasCode(error, code))
}
