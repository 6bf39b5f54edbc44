/**
 * Listeners to the metadata of ledgers, on the one-shot watchers of a table.
 *
 * Each ledger has one watcher for all of its listeners. Every read arms the watcher; removing the
 * last listener disarms it. A listener is notified of the current state, then of newer states in
 * the order of their versions (intermediate states may be skipped), and once with null when the
 * ledger is removed. A failed read is repeated after a wait. Errors of a listener go to
 * `onListenerError` and affect neither other listeners nor the watch.
 */
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { MetastoreErrorCode, codeOf } from '../../errors.js'
import { ledgerKey } from './ledger-key.js'
import type { MetastoreTable, WatchedEvent } from '../types.js'
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

/** All listeners of one ledger manager. */
export class LedgerListeners<M> {
  readonly #table: MetastoreTable
  readonly #settings: ListenerSettings<M>
  readonly #watches = new Map<bigint, LedgerWatch<M>>()

  constructor(table: MetastoreTable, settings: ListenerSettings<M>) {
    this.#table = table
    this.#settings = settings
  }

  /** Adds a listener, unless it is registered already. */
  add(ledgerId: bigint, listener: LedgerMetadataListener<M>): void {
    let watch = this.#watches.get(ledgerId)
    if (watch === undefined) {
      watch = new LedgerWatch(this.#table, ledgerId, this.#settings, () => {
        this.#watches.delete(ledgerId)
      })
      this.#watches.set(ledgerId, watch)
    }
    watch.add(listener)
  }

  /** Removes a listener; false if it is not registered. */
  remove(ledgerId: bigint, listener: LedgerMetadataListener<M>): boolean {
    return this.#watches.get(ledgerId)?.remove(listener) ?? false
  }

  close(): void {
    for (const watch of this.#watches.values()) watch.close()
  }
}

/** The listeners of one ledger. */
class LedgerWatch<M> {
  readonly #table: MetastoreTable
  readonly #ledgerId: bigint
  readonly #key: string
  readonly #settings: ListenerSettings<M>
  readonly #onEmpty: () => void
  /** The listeners, each with the last version that it was notified of. */
  readonly #told = new Map<LedgerMetadataListener<M>, Version | undefined>()
  #isReading = false
  #readAgain = false
  #isClosed = false

  constructor(
    table: MetastoreTable,
    ledgerId: bigint,
    settings: ListenerSettings<M>,
    onEmpty: () => void,
  ) {
    this.#table = table
    this.#ledgerId = ledgerId
    this.#key = ledgerKey(ledgerId)
    this.#settings = settings
    this.#onEmpty = onEmpty
  }

  add(listener: LedgerMetadataListener<M>): void {
    if (this.#told.has(listener)) return
    this.#told.set(listener, undefined)
    void this.#read()
  }

  remove(listener: LedgerMetadataListener<M>): boolean {
    const wasThere = this.#told.delete(listener)
    if (this.#told.size === 0) this.close()
    return wasThere
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#told.clear()
    this.#table.unwatch(this.#key, this.#watcher)
    this.#onEmpty()
  }

  readonly #watcher = (event: WatchedEvent): void => {
    if (this.#isClosed) return
    if (event.type === 'REMOVED') this.#tellRemoved()
    else void this.#read()
  }

  /** One read at a time; a change during a read requests another. */
  async #read(): Promise<void> {
    this.#readAgain = true
    if (this.#isReading) return
    this.#isReading = true
    while (this.#readAgain && !this.#isClosed) {
      this.#readAgain = false
      if (await this.#readOnce()) continue
      this.#readAgain = true
      await this.#settings.waitToRetry()
    }
    this.#isReading = false
  }

  /** Returns false if the read failed and has to be repeated. */
  async #readOnce(): Promise<boolean> {
    try {
      const row = await this.#table.get(this.#key, { watcher: this.#watcher })
      if (this.#isClosed) this.#table.unwatch(this.#key, this.#watcher)
      else this.#tell({ value: this.#settings.decode(row.value), version: row.version })
      return true
    } catch (error) {
      if (codeOf(error) !== MetastoreErrorCode.noKey) return false
      this.#tellRemoved()
      return true
    }
  }

  #tell(metadata: Versioned<M>): void {
    for (const [listener, told] of [...this.#told]) {
      if (told !== undefined && metadata.version.compare(told) !== 'AFTER') continue
      this.#told.set(listener, metadata.version)
      this.#call(listener, { ...metadata })
    }
  }

  #tellRemoved(): void {
    const listeners = [...this.#told.keys()]
    this.close()
    for (const listener of listeners) this.#call(listener, null)
  }

  #call(listener: LedgerMetadataListener<M>, metadata: Versioned<M> | null): void {
    callListener(this.#settings.onListenerError, listener, this.#ledgerId, metadata)
  }
}
