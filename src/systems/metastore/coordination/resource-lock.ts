/**
 * One lock: an ephemeral record created by this session.
 *
 * The fencing token is the sequence of the record's creation. Tokens of one path increase from
 * holder to holder. A resource that refuses tokens lower than the greatest one so far is safe from
 * a holder that does not yet know that it lost the lock. For records, `store.batch` does the same:
 * a check with `expected: { creationSequence }` beside the writes. The lock's own writes carry the
 * same expectation, because versions restart with every holder.
 */
import { CallOrder } from '../../../comfort/call-order.js'
import { after } from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import { asMetadataError, hasCode, metadataError } from '../metadata/errors.js'
import type { MetadataSerde } from '../metadata/serde.js'
import type { CachingStore, GetResult } from '../metadata/types.js'
import { isGone, isRace, OwnRecord } from './own-record.js'

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
  readonly #record: OwnRecord
  #content: Content<T>
  #state: LockState = 'Init'
  #mustRevalidate = false
  /** Whether another attempt to revalidate is scheduled. */
  #isRetrying = false
  #resolveExpired!: () => void
  readonly #order = new CallOrder()

  /** Made by `LockManager.acquireLock`. */
  constructor(path: string, value: T, parts: LockParts<T>) {
    this.path = path
    this.#parts = parts
    this.#record = new OwnRecord(parts.store, path)
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
    return this.#record.isSuspect
  }

  /** The fencing token. Increases if the record has to be created again. */
  get token(): number {
    return this.#record.token ?? 0
  }

  /** Whether the last attempt to revalidate the lock failed. */
  get mustRevalidate(): boolean {
    return this.#mustRevalidate
  }

  /** `ERR_METADATA_LOCK_BUSY`. Called once, by the manager. */
  acquire(): Promise<void> {
    return this.#order.run(async () => {
      try {
        await this.#claim(this.#content)
      } catch (error) {
        this.retire()
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
    return this.#order.run(async () => {
      if (this.#state !== 'Valid') this.#refuse('is not valid')
      if (this.isSuspect) this.#refuse('is in doubt')
      try {
        await this.#record.update(content.bytes)
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
        await this.#claimOrEnd(content)
      }
      this.#content = content
    })
  }

  /** Releases the lock. Does nothing if it has ended. */
  release(): Promise<void> {
    return this.#order.run(async () => {
      if (this.#state === 'Released') return
      this.#state = 'Releasing'
      try {
        await this.#record.remove()
      } catch (error) {
        if (hasCode(error, 'badVersion')) await this.#releaseOther()
        else if (!isGone(error)) {
          this.#state = 'Valid'
          throw error
        }
      }
      this.retire()
    })
  }

  /**
   * Checks whether the lock is still held, and acquires it again if it is free. Ends the lock if
   * another owner holds it. Retries after other errors.
   */
  revalidate(): Promise<void> {
    return this.#order.run(async () => {
      if (this.#state !== 'Valid') return
      try {
        await this.#record.confirm(() => this.#claimOrEnd(this.#content))
        this.#mustRevalidate = false
      } catch (error) {
        if (this.#hasEnded) return
        this.#mustRevalidate = true
        if (!hasCode(asMetadataError(error), 'alreadyClosed')) this.#retry()
      }
    })
  }

  /** Called when the session is lost or unreachable. */
  suspect(): void {
    if (this.#state === 'Valid') this.#record.suspect()
  }

  /** Ends the lock. Called by the manager when a newer lock of the same session takes its place. */
  retire(): void {
    if (this.#hasEnded) return
    this.#state = 'Released'
    this.#record.isSuspect = false
    this.#resolveExpired()
    this.#parts.onEnd(this)
  }

  #retry(): void {
    if (this.#isRetrying) return
    const { clock, retryMilliseconds } = this.#parts
    this.#isRetrying = true
    void after(clock, retryMilliseconds).then(() => {
      this.#isRetrying = false
      if (this.#mustRevalidate) void this.revalidate()
    })
  }

  get #hasEnded(): boolean {
    return this.#state === 'Released'
  }

  #refuse(why: string): never {
    throw metadataError('illegalState', `the lock ${this.path} ${why}`)
  }

  #contentOf(value: T): Content<T> {
    const { serde, ownerOf } = this.#parts
    const bytes = Buffer.from(serde.serialize(this.path, value))
    return { value, bytes, owner: ownerOf?.(value) }
  }

  async #claimOrEnd(content: Content<T>): Promise<void> {
    try {
      await this.#claim(content)
    } catch (error) {
      if (hasCode(error, 'lockBusy', 'badVersion')) this.retire()
      throw error
    }
  }

  /** Acquires the record for this session, or fails with `ERR_METADATA_LOCK_BUSY`. */
  async #claim(content: Content<T>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#claimOnce(content)
      } catch (error) {
        if (!isRace(error)) throw error
        if (attempt >= attemptsMax) throw metadataError('lockBusy', this.path)
      }
    }
  }

  async #claimOnce(content: Content<T>): Promise<void> {
    const { store } = this.#parts
    if (this.#state === 'Init') {
      try {
        return await this.#record.create(content.bytes)
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
      }
    }
    const found = await store.get(this.path)
    if (found === undefined) return this.#record.create(content.bytes)
    if (found.stat.createdBySelf) return this.#record.adopt(content.bytes, found)
    // If the session lives, the owner is another handle, which would take the lock back.
    const isAbandoned = this.#isSameOwner(content, found) && !(await store.isOwnerAlive(this.path))
    if (!isAbandoned) throw metadataError('lockBusy', this.path)
    return this.#record.takeOver(content.bytes, found.stat)
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

  #isSameOwner({ owner }: Content<T>, { value, stat }: GetResult): boolean {
    const { ownerOf, serde } = this.#parts
    if (ownerOf === undefined || !stat.ephemeral) return false
    try {
      return ownerOf(serde.deserialize(this.path, value, stat)) === owner
    } catch {
      return false
    }
  }
}
