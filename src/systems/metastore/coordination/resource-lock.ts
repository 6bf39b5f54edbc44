/**
 * One lock: an ephemeral record created by this session.
 *
 * The fencing token is the sequence of the record's creation. Tokens of one path increase from
 * holder to holder. A resource that refuses tokens lower than the greatest one so far is safe from
 * a holder that does not yet know that it lost the lock. For records, `store.batch` does the same:
 * a check with `expected: { creationSequence }` beside the writes. The lock's own writes carry the
 * same expectation, because versions restart with every holder.
 */
import { after } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { CachingStore } from '../pulsar/store/cache-sink.js'
import { asMetadataError, hasCode, MetadataErrorCode, metadataError } from '../pulsar/errors.js'
import type { MetadataSerde } from '../pulsar/serde.js'
import type { Expected, GetResult, Stat } from '../pulsar/types.js'

/** The state of a lock. */
export type LockState = 'Init' | 'Valid' | 'Releasing' | 'Released'

/** The parts of a lock. */
export interface LockParts<T> {
  readonly store: CachingStore
  readonly serde: MetadataSerde<T>
  readonly clock: LeaseClock
  /** Wait between attempts to revalidate the lock. */
  readonly retryMilliseconds: number
  /** Equal owners may take over each other's locks; absent = no takeover. */
  readonly ownerOf: ((value: T) => string) | undefined
  /** Called when the lock is lost or released. */
  readonly onEnd: (lock: ResourceLock<T>) => void
}

const attemptsMax = 2

/** A value, serialized at the call that passed it. */
interface Content<T> {
  readonly value: T
  readonly bytes: Uint8Array
  /** The logical owner, if `ownerOf` is set. */
  readonly owner: string | undefined
}

/** A lock of a {@link LockManager}. */
export class ResourceLock<T> {
  /** Path of the lock's record. */
  readonly path: string
  /** Resolves when the lock is lost or released. */
  readonly expired: Promise<void>
  readonly #parts: LockParts<T>
  #content: Content<T>
  #state: LockState = 'Init'
  #stat: Stat | undefined = undefined
  #isSuspect = false
  #mustRevalidate = false
  /** Incremented by every loss of the connection or the session. */
  #losses = 0
  /** Whether another attempt to revalidate is scheduled. */
  #isRetrying = false
  #resolveExpired!: () => void
  /** The last operation; the operations of a lock are serialized. */
  #last: Promise<unknown> = Promise.resolve()

  /** Made by `LockManager.acquireLock`. */
  constructor(path: string, value: T, parts: LockParts<T>) {
    this.path = path
    this.#parts = parts
    this.#content = this.#contentOf(value)
    this.expired = new Promise((resolve) => (this.#resolveExpired = resolve))
  }

  /** The last value written by this holder. */
  get value(): T {
    return this.#content.value
  }

  /** `Valid` while the lock is held; `Released`, permanently, after it was lost or released. */
  get state(): LockState {
    return this.#state
  }

  /** True while the session is lost or unreachable: another holder may have the lock. */
  get isSuspect(): boolean {
    return this.#isSuspect
  }

  /** The fencing token. Increases if the record has to be created again. */
  get token(): number {
    return this.#stat?.creationSequence ?? 0
  }

  /** Whether the last attempt to revalidate the lock failed. */
  get mustRevalidate(): boolean {
    return this.#mustRevalidate
  }

  /** `ERR_METADATA_LOCK_BUSY`. Called once, by the manager. */
  acquire(): Promise<void> {
    return this.#run(async () => {
      try {
        await this.#claim(this.#content)
      } catch (error) {
        this.#end()
        throw error
      }
      this.#state = 'Valid'
    })
  }

  /**
   * Writes another value. `ERR_METADATA_ILLEGAL_STATE` unless the lock is valid and not suspect: a
   * suspect lock has to be revalidated first.
   */
  async updateValue(value: T): Promise<void> {
    const content = this.#contentOf(value)
    return this.#run(async () => {
      if (this.#state !== 'Valid')
        throw metadataError('illegalState', `the lock ${this.path} is not valid`)
      if (this.#isSuspect) throw metadataError('illegalState', `the lock ${this.path} is in doubt`)
      try {
        this.#stat = await this.#put(content, this.#expectation())
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
        await this.#claimOrEnd(content)
      }
      this.#content = content
    })
  }

  /** Releases the lock. Does nothing if it has ended. */
  release(): Promise<void> {
    return this.#run(async () => {
      if (this.#state === 'Released') return
      this.#state = 'Releasing'
      try {
        await this.#parts.store.delete(this.path, this.#expectation())
      } catch (error) {
        if (hasCode(error, 'badVersion')) await this.#releaseOther()
        else if (!isGone(error)) {
          this.#state = 'Valid'
          throw error
        }
      }
      this.#end()
    })
  }

  /**
   * Checks whether the lock is still held, and acquires it again if it is free. Ends the lock if
   * another owner holds it. Retries after other errors.
   */
  revalidate(): Promise<void> {
    return this.#run(async () => {
      if (this.#state !== 'Valid') return
      const losses = this.#losses
      try {
        await this.#claimOrEnd(this.#content)
        // After another loss in the meantime, the lock remains suspect.
        if (losses === this.#losses) this.#isSuspect = false
        this.#mustRevalidate = false
      } catch (error) {
        if (this.#ended) return
        this.#mustRevalidate = true
        this.#retry(asMetadataError(error))
      }
    })
  }

  /** Called when the session is lost or unreachable. */
  suspect(): void {
    if (this.#state !== 'Valid') return
    this.#losses++
    this.#isSuspect = true
  }

  /** Called when a newer lock object of the same session holds the lock. */
  retire(): void {
    this.#end()
  }

  #retry({ code }: { readonly code: string }): void {
    if (code === MetadataErrorCode.alreadyClosed || this.#isRetrying) return
    const { clock, retryMilliseconds } = this.#parts
    this.#isRetrying = true
    void after(clock, retryMilliseconds).then(() => {
      this.#isRetrying = false
      if (this.#mustRevalidate) void this.revalidate()
    })
  }

  get #ended(): boolean {
    return this.#state === 'Released'
  }

  #run<R>(operation: () => Promise<R>): Promise<R> {
    const result = this.#last.then(operation, operation)
    this.#last = result.catch(() => undefined)
    return result
  }

  #end(): void {
    if (this.#state === 'Released') return
    this.#state = 'Released'
    this.#isSuspect = false
    this.#resolveExpired()
    this.#parts.onEnd(this)
  }

  /** Matches the record of this holder in any version, but not the record of the next holder. */
  #expectation(): Expected {
    return { creationSequence: this.#stat!.creationSequence }
  }

  #contentOf(value: T): Content<T> {
    const { serde, ownerOf } = this.#parts
    const bytes = Buffer.from(serde.serialize(this.path, value))
    return { value, bytes, owner: ownerOf?.(value) }
  }

  #put({ bytes }: Content<T>, expected: Expected): Promise<Stat> {
    return this.#parts.store.put(this.path, bytes, expected, { ephemeral: true })
  }

  async #claimOrEnd(content: Content<T>): Promise<void> {
    try {
      await this.#claim(content)
    } catch (error) {
      const isLost = hasCode(error, 'lockBusy', 'badVersion')
      if (isLost) this.#end()
      throw error
    }
  }

  /** Acquires the record for this session, or fails with `ERR_METADATA_LOCK_BUSY`. */
  async #claim(content: Content<T>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        this.#stat = await this.#claimOnce(content)
        return
      } catch (error) {
        const isRace = hasCode(error, 'badVersion', 'notFound')
        if (!isRace) throw error
        if (attempt >= attemptsMax) throw metadataError('lockBusy', this.path)
      }
    }
  }

  async #claimOnce(content: Content<T>): Promise<Stat> {
    const { store } = this.#parts
    if (this.#state === 'Init') {
      try {
        return await this.#put(content, -1)
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
      }
    }
    const found = await store.get(this.path)
    if (found === undefined) return this.#put(content, -1)
    if (!found.stat.ephemeral) throw metadataError('lockBusy', this.path)
    if (found.stat.createdBySelf) return this.#adopt(content, found)
    if (!this.#isSameOwner(content, found)) throw metadataError('lockBusy', this.path)
    // If the session lives, the owner is another handle, which would take the lock back.
    if (await store.isOwnerAlive(this.path)) throw metadataError('lockBusy', this.path)
    return this.#takeOver(content, found.stat)
  }

  /** Replaces the record of an abandoned session by a record of this session. */
  async #takeOver({ bytes }: Content<T>, { creationSequence }: Stat): Promise<Stat> {
    const [, stat] = await this.#parts.store.batch([
      { delete: this.path, expected: { creationSequence } },
      { put: this.path, value: bytes, expected: -1, ephemeral: true },
    ])
    return stat!
  }

  /** Takes over a record of the same session. */
  async #adopt(content: Content<T>, { stat, value }: GetResult): Promise<Stat> {
    if (value.equals(content.bytes)) return stat
    return this.#put(content, { creationSequence: stat.creationSequence })
  }

  /**
   * Removes a different record at the path if this session created it without an acknowledgement.
   */
  async #releaseOther(): Promise<void> {
    const { store } = this.#parts
    const found = await store.get(this.path)
    if (found?.stat.createdBySelf !== true) return
    const { creationSequence } = found.stat
    try {
      await store.delete(this.path, { creationSequence })
    } catch (error) {
      if (!isGone(error) && !hasCode(error, 'badVersion')) throw error
    }
  }

  #isSameOwner({ owner }: Content<T>, found: GetResult): boolean {
    const { ownerOf, serde } = this.#parts
    if (ownerOf === undefined) return false
    try {
      return ownerOf(serde.deserialize(this.path, found.value, found.stat)) === owner
    } catch {
      return false
    }
  }
}

/** The record was removed, or will be removed with its session. */
function isGone(error: unknown): boolean {
  return hasCode(error, 'notFound', 'sessionLost')
}
