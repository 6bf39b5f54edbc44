/**
 * The watchers of a table: armed for one event, any number per key.
 *
 * They are told in a microtask after the promise of the operation was settled, so after whoever
 * waits for that promise and before whoever waits for the next one.
 */
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import type { MetastoreWatcher, WatchedEventType } from '../types.js'

/** On whose behalf watchers are armed. */
export interface WatcherOwner {
  readonly onListenerError: ListenerErrorHandler
}

export class Watchers {
  readonly #byKey = new Map<string, Map<MetastoreWatcher, WatcherOwner>>()

  /** Number of keys that are watched. */
  get size(): number {
    return this.#byKey.size
  }

  /** Arms a watcher on behalf of a handle. */
  arm(key: string, watcher: MetastoreWatcher, owner: WatcherOwner): void {
    const armed = this.#byKey.get(key)
    if (armed !== undefined) armed.set(watcher, owner)
    else this.#byKey.set(key, new Map([[watcher, owner]]))
  }

  /** Takes a watcher back; false if it was not armed. */
  disarm(key: string, watcher: MetastoreWatcher): boolean {
    const armed = this.#byKey.get(key)
    const known = armed?.delete(watcher) ?? false
    if (armed?.size === 0) this.#byKey.delete(key)
    return known
  }

  /** Takes back all watchers of a handle. */
  disarmAll(owner: WatcherOwner): void {
    for (const [key, armed] of this.#byKey) {
      for (const [watcher, its] of armed) if (its === owner) armed.delete(watcher)
      if (armed.size === 0) this.#byKey.delete(key)
    }
  }

  /** Tells the watchers of a key, and forgets them. */
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
