/**
 * Listeners to the metadata of ledgers, on the one-shot watchers of a table.
 *
 * Each ledger has one watcher for all of its listeners. Every read arms the watcher; removing the
 * last listener disarms it. A listener is notified of the current state, then of newer states in
 * the order of their versions (intermediate states may be skipped), and once with null when the
 * ledger is removed. A failed read is repeated after a wait. Metadata that cannot be decoded are
 * reported to `onListenerError` once, and the next change is awaited: reading them again would not
 * help. Errors of a listener go to `onListenerError` and affect neither other listeners nor the
 * watch. A closed table or a failed wait ends the watch; the error goes to `onListenerError`.
 */
import { assert } from '../../../../api/index.js'
import {
  callListener,
  safeHandler,
  type ListenerErrorHandler,
} from '../../kernel/listener-errors.js'
import { codeOf, isAbsent, MetastoreErrorCode } from '../../errors.js'
import { ledgerKey } from './ledger-key.js'
import type { MetastoreTable, MetastoreWatcher } from '../types.js'
import type { Value } from '../value.js'
import type { Version, Versioned } from '../tables/version.js'

/** Receives the metadata of a ledger, or null when the ledger is removed. */
export type LedgerMetadataListener<M> = (ledgerId: bigint, metadata: Versioned<M> | null) => void

/** The settings that listeners share with their manager. */
export interface ListenerSettings<M> {
  readonly decode: (value: Value) => M
  /** Waits before a failed read is repeated. */
  readonly waitToRetry: () => Promise<void>
  readonly onListenerError: ListenerErrorHandler
}

/** The listeners of one ledger. */
interface Watch<M> {
  readonly key: string
  /** The listeners, each with the last version that it was notified of. */
  readonly told: Map<LedgerMetadataListener<M>, Version | undefined>
  readonly watcher: MetastoreWatcher
  /** The newest version that could not be decoded. */
  undecodable: Version | undefined
  isReading: boolean
  readAgain: boolean
}

/** All listeners of one ledger manager; see the file header. */
export class LedgerListeners<M> {
  readonly #table: MetastoreTable
  readonly #settings: ListenerSettings<M>
  readonly #watches = new Map<bigint, Watch<M>>()

  constructor(table: MetastoreTable, settings: ListenerSettings<M>) {
    this.#table = table
    this.#settings = settings
  }

  /** Adds a listener, unless it is registered already. */
  add(ledgerId: bigint, listener: LedgerMetadataListener<M>): void {
    let watch = this.#watches.get(ledgerId)
    if (watch === undefined) this.#watches.set(ledgerId, (watch = this.#watchOf(ledgerId)))
    if (watch.told.has(listener)) return
    watch.told.set(listener, undefined)
    void this.#read(ledgerId, watch)
  }

  /** Removes a listener; false if it is not registered. */
  remove(ledgerId: bigint, listener: LedgerMetadataListener<M>): boolean {
    const watch = this.#watches.get(ledgerId)
    const wasThere = watch?.told.delete(listener) ?? false
    if (watch?.told.size === 0) this.#end(ledgerId, watch)
    return wasThere
  }

  close(): void {
    for (const [ledgerId, watch] of this.#watches) this.#end(ledgerId, watch)
  }

  #watchOf(ledgerId: bigint): Watch<M> {
    const watch: Watch<M> = {
      key: ledgerKey(ledgerId),
      told: new Map(),
      watcher: ({ type }) => {
        if (!this.#isOpen(ledgerId, watch)) return
        if (type === 'REMOVED') this.#tellRemoved(ledgerId, watch)
        else void this.#read(ledgerId, watch)
      },
      undecodable: undefined,
      isReading: false,
      readAgain: false,
    }
    return watch
  }

  #isOpen(ledgerId: bigint, watch: Watch<M>): boolean {
    return this.#watches.get(ledgerId) === watch
  }

  #end(ledgerId: bigint, watch: Watch<M>): void {
    assert(this.#isOpen(ledgerId, watch), 'a watch ends once')
    this.#watches.delete(ledgerId)
    watch.told.clear()
    this.#table.unwatch(watch.key, watch.watcher)
  }

  /** One read at a time; a change during a read requests another. */
  async #read(ledgerId: bigint, watch: Watch<M>): Promise<void> {
    watch.readAgain = true
    if (watch.isReading) return
    watch.isReading = true
    try {
      while (watch.readAgain && this.#isOpen(ledgerId, watch)) {
        watch.readAgain = false
        if (await this.#readOnce(ledgerId, watch)) continue
        watch.readAgain = true
        await this.#settings.waitToRetry()
      }
    } catch (error) {
      safeHandler(this.#settings.onListenerError)(error)
      if (this.#isOpen(ledgerId, watch)) this.#end(ledgerId, watch)
    }
    watch.isReading = false
  }

  /** Returns false if the read failed and has to be repeated. Throws if the table is closed. */
  async #readOnce(ledgerId: bigint, watch: Watch<M>): Promise<boolean> {
    const { key, watcher } = watch
    try {
      const { value, version } = await this.#table.get(key, { watcher })
      if (this.#isOpen(ledgerId, watch)) this.#tell(ledgerId, watch, value, version)
      else this.#table.unwatch(key, watcher)
      return true
    } catch (error) {
      if (codeOf(error) === MetastoreErrorCode.illegalOp) throw error
      if (!isAbsent(error)) return false
      if (this.#isOpen(ledgerId, watch)) this.#tellRemoved(ledgerId, watch)
      else this.#table.unwatch(key, watcher)
      return true
    }
  }

  #tell(ledgerId: bigint, watch: Watch<M>, value: Value, version: Version): void {
    const { told, undecodable } = watch
    for (const [listener, before] of [...told]) {
      // A listener before it may have unregistered it.
      if (!told.has(listener)) continue
      if (before !== undefined && version.compare(before) !== 'AFTER') continue
      let metadata: M
      try {
        // Decoded for each listener, which may keep and change its own.
        metadata = this.#settings.decode(value)
      } catch (error) {
        if (undecodable !== undefined && version.compare(undecodable) !== 'AFTER') return
        watch.undecodable = version
        safeHandler(this.#settings.onListenerError)(error)
        return
      }
      told.set(listener, version)
      this.#call(listener, ledgerId, { value: metadata, version })
    }
  }

  #tellRemoved(ledgerId: bigint, watch: Watch<M>): void {
    const listeners = [...watch.told.keys()]
    this.#end(ledgerId, watch)
    for (const listener of listeners) this.#call(listener, ledgerId, null)
  }

  #call(listener: LedgerMetadataListener<M>, id: bigint, metadata: Versioned<M> | null): void {
    callListener(this.#settings.onListenerError, listener, id, metadata)
  }
}
