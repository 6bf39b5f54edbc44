/**
 * A store that is replicated between clusters (`MetadataEventSynchronizer`): committed puts and
 * deletes are published, and those of other clusters are applied.
 *
 * Last writer wins. Every write has a stamp: a time and the name of the cluster. The time is the
 * wall clock, but greater than the time of every write of the record that the writer has seen. The
 * write with the greatest stamp wins, by time and then by cluster, in any order of arrival. So
 * clusters that received the same events have the same records. A record below {@link stampsPath}
 * stores the stamp of each path, also of a deleted path. The stamp is written in the same commit as
 * the record.
 */
import type { BytesLike } from '../../../../api/index.js'
import { Backoff, backoffDefaults, systemRandom } from '../../kernel/backoff.js'
import type { LeaseClock } from '../../kernel/lease-clock.js'
import type { ListenerErrorHandler } from '../../kernel/listener-errors.js'
import {
  checkBytes,
  checkCachingStore,
  checkExpected,
  checkFunction,
  checkObjectWith,
  checkValue,
  checkArguments,
} from '../../metadata/arguments.js'
import { checkBatch, checkPutOptions } from '../../metadata/options.js'
import { hasCode, metadataError } from '../../metadata/errors.js'
import { checkPath, childOf, isWithin } from '../../metadata/paths.js'
import { expectationOf } from '../../metadata/record-access.js'
import { RelayHandle } from './relay-handle.js'
import {
  checkNoStamp,
  checkPlausible,
  isLater,
  readStamp,
  stampsPath,
  stampStep,
  type Stamp,
} from './stamps.js'
import type {
  BatchOperation,
  CachingStore,
  Expected,
  PutOptions,
  ReadOptions,
  Stat,
} from '../../metadata/types.js'

/** A write, as published to other clusters. */
export interface MetadataEvent {
  /** Path of the record. */
  readonly path: string
  /** Undefined = deleted. */
  readonly value: Buffer | undefined
  /** Options of the put; empty for a deletion. */
  readonly options: PutOptions
  /** The version that the writer expected; undefined = any. */
  readonly expectedVersion: number | undefined
  /**
   * Wall clock of the writer in milliseconds since the Unix epoch, but later than every earlier
   * write of the record that the writer knew.
   */
  readonly lastUpdatedTimestamp: number
  /** The cluster of the writer. */
  readonly sourceCluster: string | undefined
}

/** The transport of events between clusters, such as a replicated topic. */
export interface MetadataEventSynchronizer {
  /** Name of this cluster. */
  readonly clusterName: string | undefined
  /**
   * Publishes a committed write. After a rejection the event is published again, for 30 seconds.
   * Then the call of the writer fails, and the write exists only in this cluster.
   */
  notify(event: MetadataEvent): Promise<void>
  /** Calls a function with each event of any cluster, in order. Awaits the promise of each call. */
  registerSyncListener(listener: (event: MetadataEvent) => Promise<void>): () => void
}

/**
 * Pulsar's rule for a record without a stamp, written by an unsynchronized handle: whether to
 * ignore an event. `existing` is undefined if there is no record.
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
    this.#synchronizer = checkObjectWith(synchronizer, 'the synchronizer', [
      'notify',
      'registerSyncListener',
    ])
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
    checkNoStamp(path)
    const wanted = checkExpected(expected)
    const checked = checkPutOptions(options, wanted)
    const bytes = checkValue(value)
    const { sequential, sequenceKeysDeltas, ephemeral, secondaryIndexes } = checked
    if (sequenceKeysDeltas !== undefined) return this.#putNumbered(path, bytes, wanted, checked)
    if (sequential === true) return super.put(path, bytes, wanted, checked)
    // Such a put may also change a record that exists and belongs to no session.
    const isOfSession = ephemeral === true && (await this.#isEphemeral(path)) !== false
    if (isOfSession) return super.put(path, bytes, wanted, checked)
    const step = { put: path, value: bytes, expected: wanted, secondaryIndexes }
    const [stat] = await this.#commit([step])
    return stat!
  }

  override async delete(path: string, expected?: Expected, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    await this.#commit([{ delete: path, expected: checkExpected(expected) }])
  }

  /**
   * Deletes and publishes each record; not one commit for all records. `ERR_METADATA_NOT_EMPTY` for
   * a record above the stamps, after all others were deleted.
   */
  override async deleteRecursive(path: string, options?: ReadOptions): Promise<void> {
    this.check(path, options)
    for (;;) {
      const found = await this.#recordsWithin(path)
      const paths = found.filter((each) => !isWithin(stampsPath, each))
      if (paths.length === 0) {
        // The stamps may be children of these records, which then cannot be removed.
        for (const each of found) await this.deleteIfExists(each)
        return
      }
      for (let i = 0; i < paths.length; i += deletedAtOnce) {
        const steps = paths.slice(i, i + deletedAtOnce).map((each) => ({ delete: each }))
        try {
          await this.#commit(steps)
        } catch (error) {
          // Another writer added a child or removed a record: the records are listed again.
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

  /**
   * Applies an event of any cluster, unless a later write was applied before.
   * `ERR_METADATA_INVALID_ARGUMENT` for an implausible time: all later writes would need a later
   * one, and the numbers of times have an end.
   */
  async applyEvent(event: MetadataEvent): Promise<void> {
    const copy = checkEvent(event)
    const { path, value, options, lastUpdatedTimestamp, sourceCluster } = copy
    const { clusterName } = this.#synchronizer
    for (;;) {
      const { stamp, expected } = await readStamp(this.target, path)
      const existing = (await this.target.get(path))?.stat
      // The record of a session belongs to this cluster alone.
      if (existing?.ephemeral === true) return
      // Without a stamp, no synchronized handle has written the record.
      const known = stamp === undefined ? existing : undefined
      if (isIgnoredEvent(copy, known, clusterName)) return
      const its = { time: lastUpdatedTimestamp, cluster: sourceCluster! }
      if (stamp !== undefined && !isLater(its, stamp)) return
      checkPlausible(its, stamp)
      const steps: BatchOperation[] = [stampStep(path, its, expected)]
      if (value !== undefined) {
        const { secondaryIndexes } = options
        const before = expectationOf(this.target, existing)
        steps.push({ put: path, value, expected: before, secondaryIndexes })
      } else if (existing !== undefined) {
        steps.push({ delete: path, expected: expectationOf(this.target, existing) })
      }
      try {
        await this.target.batch(steps)
        return
      } catch (error) {
        // A concurrent write: the event is compared with the new state.
        if (!isRace(error) || hasCode(error, 'notEmpty')) throw error
      }
    }
  }

  protected async end(): Promise<void> {
    for (const end of this.#ends) end()
    await Promise.allSettled([...this.#publishing])
    await this.target.close()
  }

  /** Writes the stamp in a second commit, because its path includes the assigned number. */
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
    await this.#publish({ put: stat.path, value, secondaryIndexes }, stamp)
    return stat
  }

  /**
   * Commits steps with their stamps, and publishes the last step of each path. Records of sessions
   * belong to this cluster alone: neither their puts nor their deletes are published.
   */
  async #commit(steps: readonly BatchOperation[]): Promise<readonly (Stat | undefined)[]> {
    for (const step of steps) {
      if (!('check' in step)) checkNoStamp('put' in step ? step.put : step.delete)
    }
    for (;;) {
      const stamps: { readonly write: Write; readonly stamp: Stamp }[] = []
      const known = new Map<string, Expected>()
      const all = [...steps]
      for (const [path, write] of await this.#sharedOf(steps)) {
        const { stamp: before, expected } = await readStamp(this.target, path)
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
        if (!hasCode(error, 'badVersion')) throw error
        // Retries if the conflict was about a stamp; otherwise the caller's expectation failed.
        if (!(await this.#hasChanged(known))) throw error
      }
    }
  }

  /** The last step of each path whose record does not belong to a session. */
  async #sharedOf(steps: readonly BatchOperation[]): Promise<Map<string, Write>> {
    const shared = new Map<string, Write>()
    /** Whether the record of a path is ephemeral; undefined = there is no record. */
    const kinds = new Map<string, boolean | undefined>()
    for (const step of steps) {
      if ('check' in step) continue
      const isPut = 'put' in step
      const path = isPut ? step.put : step.delete
      if (!kinds.has(path)) kinds.set(path, await this.#isEphemeral(path))
      const isOfSession = kinds.get(path) ?? (isPut && step.ephemeral === true)
      if (!isOfSession) shared.set(path, step)
      kinds.set(path, isPut ? isOfSession : undefined)
    }
    return shared
  }

  async #isEphemeral(path: string): Promise<boolean | undefined> {
    return (await this.target.get(path))?.stat.ephemeral
  }

  async #hasChanged(known: ReadonlyMap<string, Expected>): Promise<boolean> {
    for (const [path, expected] of known) {
      if ((await readStamp(this.target, path)).expected !== expected) return true
    }
    return false
  }

  #stampAfter(before: Stamp | undefined): Stamp {
    const time = Math.max(this.#clock.now(), before === undefined ? 0 : before.time + 1)
    return { time, cluster: this.#synchronizer.clusterName ?? '' }
  }

  /** Paths of the records below a path and at it, children before their parents. */
  async #recordsWithin(path: string, paths: string[] = []): Promise<string[]> {
    for (const name of await this.target.getChildren(path)) {
      const child = childOf(path, name)
      if (child !== stampsPath) await this.#recordsWithin(child, paths)
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
    const backoff = new Backoff(backoffDefaults, { clock: this.#clock, random: systemRandom })
    for (;;) {
      try {
        return await this.#synchronizer.notify(event)
      } catch (error) {
        if (await backoff.wait()) continue
        const message = `${event.path} was written, and could not be published`
        throw metadataError('storeFailure', message, error)
      }
    }
  }
}

function isRace(error: unknown): boolean {
  return hasCode(error, 'badVersion', 'notFound', 'notEmpty')
}

/** Copies and checks an event of a cluster. */
function checkEvent(event: MetadataEvent): MetadataEvent {
  const copy = checkArguments(() => ({ ...event, options: { ...event.options } }))
  checkPath(copy.path)
  checkNoStamp(copy.path)
  if (copy.value !== undefined) checkBytes(copy.value)
  if (!Number.isSafeInteger(copy.lastUpdatedTimestamp)) {
    throw metadataError('invalidArgument', 'the time of an event is an integer')
  }
  if (copy.sourceCluster !== undefined && typeof copy.sourceCluster !== 'string') {
    throw metadataError('invalidArgument', 'the cluster of an event is a string')
  }
  return copy
}
