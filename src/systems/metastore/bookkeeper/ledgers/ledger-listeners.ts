/**
 * Listeners to the metadata of ledgers, on the one-shot watchers of a table.
 *
 * One watcher a ledger, however many listeners; it is armed by every read and taken back with the
 * last listener. A listener is told the state it starts with, then newer ones in the order of their
 * versions (states in between may be skipped), and null once when the ledger is gone. A read that
 * fails is repeated after a while. What a listener throws goes to
 * `onListenerError`; the other listeners of the ledger and the watch go on.
 */
import { callListener, type ListenerErrorHandler } from '../../kernel/listener-errors.js'
import { codeOf, MetastoreErrorCode } from '../errors.js'
import { ledgerKey } from './ledger-key.js'
import type { MetastoreTable, WatchedEvent } from '../types.js'
import type { Value } from '../value.js'
import type { Version, Versioned } from '../tables/version.js'

/** Told the metadata of a ledger, or null when it is gone. */
export type LedgerMetadataListener<M> = (ledgerId: bigint, metadata: Versioned<M> | null) => void

/** What the listeners need of their manager. */
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

  /** Adds a listener; one that is there already stays once. */
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

  /** Removes a listener; false if it is not there. */
  remove(ledgerId: bigint, listener: LedgerMetadataListener<M>): boolean {
    return this.#watches.get(ledgerId)?.remove(listener) ?? false
  }

  /** Removes all. */
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
  /** With the version that each was told last. */
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

  /** One read at a time; a change during a read asks for another. */
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

  /** False if the read failed and has to be repeated. */
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
