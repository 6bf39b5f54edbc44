/**
 * The watchers of a table: armed for one event, any number for each key.
 *
 * Watchers run in a microtask after the promise of the operation is settled: after the callers that
 * await this promise and before those that await the next one.
 */
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import type { MetastoreWatcher, WatchedEventType } from '../types.js'

/** The owner of watchers: a handle of a table. */
export interface WatcherOwner {
  readonly onListenerError: ListenerErrorHandler
}

export class Watchers {
  readonly #byKey = new Map<string, Map<MetastoreWatcher, WatcherOwner>>()

  /** Number of keys that are watched. */
  get size(): number {
    return this.#byKey.size
  }

  /** Whether a key is watched. */
  has(key: string): boolean {
    return this.#byKey.has(key)
  }

  /** Arms a watcher of a handle. */
  arm(key: string, watcher: MetastoreWatcher, owner: WatcherOwner): void {
    const armed = this.#byKey.get(key)
    if (armed !== undefined) armed.set(watcher, owner)
    else this.#byKey.set(key, new Map([[watcher, owner]]))
  }

  /** Disarms a watcher; false if it was not armed. */
  disarm(key: string, watcher: MetastoreWatcher): boolean {
    const armed = this.#byKey.get(key)
    const known = armed?.delete(watcher) ?? false
    if (armed?.size === 0) this.#byKey.delete(key)
    return known
  }

  /** Disarms all watchers of a handle. */
  disarmAll(owner: WatcherOwner): void {
    for (const [key, armed] of this.#byKey) {
      for (const [watcher, its] of armed) if (its === owner) armed.delete(watcher)
      if (armed.size === 0) this.#byKey.delete(key)
    }
  }

  /** Notifies the watchers of a key and disarms them. */
  notify(key: string, type: WatchedEventType): void {
    const armed = this.#byKey.get(key)
    if (armed === undefined) return
    this.#byKey.delete(key)
    queueMicrotask(() => {
      const event = Object.freeze({ type, key })
      for (const [watcher, owner] of armed) callListener(owner.onListenerError, watcher, event)
    })
  }
}
