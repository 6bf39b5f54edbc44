/**
 * The ephemeral record by which a session holds a path: the common part of locks and elections.
 *
 * INVARIANT: every write after the creation expects the creation, so no write reaches the record of
 * a successor, whatever version that record has.
 */
import { assert } from '../../../api/index.js'
import { hasCode } from '../metadata/errors.js'
import type { CachingStore, Expected, GetResult, Stat } from '../metadata/types.js'

/** A session's own record at one path; see the file header. */
export class OwnRecord {
  /** Path of the record. */
  readonly path: string
  /** True while the session is lost or unreachable: another session may hold the path. */
  isSuspect = false
  /** Whether a failed write may have created the record. */
  isInDoubt = false
  readonly #store: CachingStore
  #stat: Stat | undefined = undefined
  /** Incremented by every loss of the connection or the session. */
  #losses = 0

  constructor(store: CachingStore, path: string) {
    this.#store = store
    this.path = path
  }

  /** The fencing token: the sequence of the record's creation; undefined if it is not held. */
  get token(): number | undefined {
    return this.#stat?.creationSequence
  }

  /** Called when the session is lost or unreachable. */
  suspect(): void {
    this.#losses++
    this.isSuspect = true
  }

  /** Runs an attempt that finds out who holds the path, which ends the suspicion. */
  async confirm<R>(attempt: () => Promise<R>): Promise<R> {
    const losses = this.#losses
    const result = await attempt()
    // After another loss in the meantime, the outcome remains in doubt.
    if (losses === this.#losses) this.isSuspect = false
    return result
  }

  /** `ERR_METADATA_BAD_VERSION` if there is a record. */
  async create(bytes: Uint8Array): Promise<void> {
    this.#stat = await this.#put(bytes, -1)
  }

  /** Holds a record that this session created before, after updating its bytes. */
  async adopt(bytes: Uint8Array, { stat, value }: GetResult): Promise<void> {
    const { creationSequence } = stat
    this.#stat = value.equals(bytes) ? stat : await this.#put(bytes, { creationSequence })
    this.isInDoubt = false
  }

  /** Replaces the record of an abandoned session. `ERR_METADATA_BAD_VERSION` if it has changed. */
  async takeOver(bytes: Uint8Array, { creationSequence }: Stat): Promise<void> {
    const [, stat] = await this.#store.batch([
      { delete: this.path, expected: { creationSequence } },
      { put: this.path, value: bytes, expected: -1, ephemeral: true },
    ])
    this.#stat = stat
  }

  /** `ERR_METADATA_BAD_VERSION` if the record is gone, or is the one of a successor. */
  async update(bytes: Uint8Array): Promise<void> {
    const { token } = this
    this.#stat = await this.#put(bytes, this.#expectation())
    assert(this.token === token, 'an update keeps the creation of its record')
  }

  /** As {@link update}, for the removal of the record. */
  async remove(): Promise<void> {
    await this.#store.delete(this.path, this.#expectation())
  }

  /** The path is held no more. */
  forget(): void {
    this.#stat = undefined
  }

  #expectation(): Expected {
    assert(this.#stat !== undefined, 'a session changes no record that it does not hold')
    return { creationSequence: this.#stat.creationSequence }
  }

  async #put(bytes: Uint8Array, expected: Expected): Promise<Stat> {
    try {
      const stat = await this.#store.put(this.path, bytes, expected, { ephemeral: true })
      this.isInDoubt = false
      return stat
    } catch (error) {
      if (isInDoubt(error)) this.isInDoubt = true
      throw error
    }
  }
}

/** Whether a failed write may have been applied. */
export function isInDoubt(error: unknown): boolean {
  return hasCode(error, 'connectionLost', 'storeFailure')
}

/** The record was removed, or will be removed with its session. */
export function isGone(error: unknown): boolean {
  return hasCode(error, 'notFound', 'sessionLost')
}

/** A concurrent writer changed the record first. */
export function isRace(error: unknown): boolean {
  return hasCode(error, 'badVersion', 'notFound')
}

/** The current use of a path by the session. */
export type PathUse = 'none' | 'acquiring' | 'held'

/**
 * Removes the record at a path if this session created the record and does not use it. An attempt
 * in doubt may have created the record, which would exclude others until the session ends. Waits
 * until the store is available. `useOf` is called in the same turn as the delete, so a later
 * attempt is ordered after the delete.
 */
export async function withdraw(
  store: CachingStore,
  path: string,
  useOf: () => PathUse,
  wait: () => Promise<void>,
): Promise<void> {
  for (;;) {
    try {
      const found = await store.get(path)
      if (found?.stat.createdBySelf !== true || useOf() === 'held') return
      if (useOf() === 'none') {
        const { creationSequence } = found.stat
        return await store.delete(path, { creationSequence })
      }
    } catch (error) {
      if (!isInDoubt(error)) return
    }
    await wait()
  }
}

/** Makes one object for each handle of a store, at the first use. */
export function forEachHandle<V extends object>(make: () => V): (store: CachingStore) => V {
  const all = new WeakMap<CachingStore, V>()
  return (store) => {
    let value = all.get(store)
    if (value === undefined) all.set(store, (value = make()))
    return value
  }
}
