/**
 * BookKeeper's ledger manager over a MetaStore: the metadata of ledgers, by id.
 *
 * Table `LEDGER`, one row per ledger (`ledger-key.ts`), one field `.META`. Differences from
 * BookKeeper's `MSLedgerManager` follow its documented contract. An existing ledger is
 * `ERR_LEDGER_EXISTS`. A wrong version on remove is `ERR_LEDGER_METADATA_VERSION`. `write` never
 * creates a ledger. Ids of 63 bits are in order. A listing is complete or fails.
 */
import {
  boolean,
  callback,
  declareOptions,
  implementation,
  integer,
  shown,
  type CellarError,
  type OptionsOf,
} from '../../../../api/index.js'
import {
  checkCallable,
  type ListenerErrorHandler,
  warnOfListener,
} from '../../kernel/listener-errors.js'
import { checkStore } from '../arguments.js'
import { cleanTable } from '../tables/record-table.js'
import {
  MetastoreErrorCode,
  LedgerErrorCode,
  codeOf,
  failed,
  metaStoreError,
  isOneOf,
} from '../../errors.js'
import { endKey, ledgerKey, ledgerTable } from './ledger-key.js'
import { LedgerListeners, type LedgerMetadataListener } from './ledger-listeners.js'
import {
  ledgerMetadataCodec,
  type LedgerMetadata,
  type LedgerMetadataCodec,
} from './ledger-metadata.js'
import { LedgerRangeIterator } from './ledger-ranges.js'
import type { MetaStore, MetastoreScannableTable } from '../types.js'
import { Value } from '../value.js'
import { isKnownVersion, LongVersion, Version, type Versioned } from '../tables/version.js'

const field = '.META'

const managerOptions = declareOptions('a ledger manager', {
  /** Most ledgers in one range and in one read of a listing, at least 1. Default 50. */
  metastoreMaxEntriesPerScan: integer({ min: 1, default: 50 }),
  /**
   * Whether removing a missing ledger succeeds, so that a request can be repeated after its answer
   * was lost. Default false: `ERR_LEDGER_NO_SUCH_LEDGER`.
   */
  removeIsIdempotent: boolean(false),
  /** Waits before a listener's failed read is repeated; default: 200 ms. */
  waitToRetry: callback<() => Promise<void>>(waitShortly),
  /** Receives the errors of listeners. Default: `process.emitWarning`. */
  onListenerError: callback<ListenerErrorHandler>(warnOfListener),
  /** See {@link LedgerManagerOptions}. */
  codec: implementation<LedgerMetadataCodec<never>>(['encode', 'decode']),
})

/** Settings of a ledger manager. */
export interface LedgerManagerOptions<M> extends Omit<OptionsOf<typeof managerOptions>, 'codec'> {
  /** Default: {@link ledgerMetadataCodec}, for which `M` is `LedgerMetadata`. */
  readonly codec?: LedgerMetadataCodec<M> | undefined
}

/**
 * Creates, reads, writes, removes and lists ledgers. Errors have codes of {@link LedgerErrorCode}.
 */
export class LedgerManager<M = LedgerMetadata> {
  readonly #table: MetastoreScannableTable
  readonly #codec: LedgerMetadataCodec<M>
  readonly #pageSize: number
  readonly #removeIsIdempotent: boolean
  readonly #listeners: LedgerListeners<M>

  private constructor(table: MetastoreScannableTable, options: LedgerManagerOptions<M>) {
    const settings = managerOptions.read(options as OptionsOf<typeof managerOptions>)
    this.#table = table
    this.#codec = (settings.codec ?? ledgerMetadataCodec) as unknown as LedgerMetadataCodec<M>
    this.#pageSize = settings.metastoreMaxEntriesPerScan
    this.#removeIsIdempotent = settings.removeIsIdempotent
    this.#listeners = new LedgerListeners(table, {
      decode: (value) => this.#decode(value),
      waitToRetry: settings.waitToRetry,
      onListenerError: settings.onListenerError,
    })
  }

  /**
   * Opens the table of ledgers; `store` is initialised. Does not check the layout record:
   * `createLedgerManagerFactory` does.
   */
  static async open<M = LedgerMetadata>(
    store: MetaStore,
    options: LedgerManagerOptions<M> = {},
  ): Promise<LedgerManager<M>> {
    const table = await checkStore(store).createScannableTable(ledgerTable)
    const manager = new LedgerManager<M>(table, options)
    await markEnd(table)
    return manager
  }

  /**
   * Creates a ledger and returns the version of its metadata. `ERR_LEDGER_EXISTS` if it exists,
   * unless the creator token is equal: then an earlier attempt of this creation succeeded.
   */
  async createLedger(ledgerId: bigint, metadata: M): Promise<Version> {
    const key = ledgerKey(ledgerId)
    const value = this.#encode(metadata)
    const token = this.#codec.creatorToken?.(metadata)
    try {
      return await this.#table.put(key, value, Version.NEW)
    } catch (error) {
      if (codeOf(error) !== MetastoreErrorCode.keyExists) throw failure(ledgerId, error)
      if (token !== undefined) {
        const stored = await this.readLedger(ledgerId)
        if (this.#codec.creatorToken?.(stored.value) === token) return stored.version
      }
      const message = `ledger ${ledgerId} exists already`
      throw failed(LedgerErrorCode.ledgerExists, message, error)
    }
  }

  /** The metadata of a ledger with their version. `ERR_LEDGER_NO_SUCH_LEDGER`. */
  async readLedger(ledgerId: bigint): Promise<Versioned<M>> {
    const key = ledgerKey(ledgerId)
    try {
      const { value, version } = await this.#table.get(key)
      return { value: this.#decode(value), version }
    } catch (error) {
      throw failure(ledgerId, error)
    }
  }

  /**
   * Replaces the metadata if they have the given version, and returns the new version. `NEW`, `ANY`
   * and versions of another kind fail with `ERR_LEDGER_METADATA_VERSION` without a store call.
   */
  async writeLedger(ledgerId: bigint, metadata: M, version: Version): Promise<Version> {
    const key = ledgerKey(ledgerId)
    if (!(version instanceof LongVersion)) throw wrongVersion(ledgerId, version)
    const value = this.#encode(metadata)
    try {
      return await this.#table.put(key, value, version)
    } catch (error) {
      throw failure(ledgerId, error)
    }
  }

  /** Removes a ledger if it has the given version; `ANY` matches every version. */
  async removeLedger(ledgerId: bigint, version: Version): Promise<void> {
    const key = ledgerKey(ledgerId)
    if (version !== Version.ANY && !(version instanceof LongVersion)) {
      throw wrongVersion(ledgerId, version)
    }
    try {
      await this.#table.remove(key, version)
    } catch (error) {
      if (this.#removeIsIdempotent && codeOf(error) === MetastoreErrorCode.noKey) return
      throw failure(ledgerId, error)
    }
  }

  /**
   * Calls `processor` with each ledger of the current snapshot, ascending, one at a time. The first
   * failure of the processor or of the listing ends the listing and rejects the promise.
   */
  async asyncProcessLedgers(processor: (ledgerId: bigint) => Promise<void> | void): Promise<void> {
    checkCallable(processor, 'the processor')
    for await (const { ids } of this.getLedgerRanges()) {
      for (const ledgerId of ids) await processor(ledgerId)
    }
  }

  /** All ledgers of the current snapshot, in order. */
  getLedgerRanges(): LedgerRangeIterator {
    return new LedgerRangeIterator(this.#table, this.#pageSize)
  }

  /**
   * Notifies `listener` of the current metadata, of later metadata, and once with null when the
   * ledger is removed or does not exist. The null notification unregisters the listener.
   */
  registerLedgerMetadataListener(ledgerId: bigint, listener: LedgerMetadataListener<M>): void {
    ledgerKey(ledgerId)
    checkCallable(listener, 'the listener')
    this.#listeners.add(ledgerId, listener)
  }

  /** Unregisters a listener; false if it is not registered. */
  unregisterLedgerMetadataListener(ledgerId: bigint, listener: LedgerMetadataListener<M>): boolean {
    return this.#listeners.remove(ledgerId, listener)
  }

  /**
   * Removes all ledgers. The counters of `LedgerIdGenerator` are kept, so ids are not reused. A
   * listing that is opened during the call may fail, but is never incomplete.
   */
  async format(): Promise<void> {
    try {
      await cleanTable(this.#table)
    } catch (error) {
      throw metaStoreError('not all ledgers could be removed', error)
    }
    await markEnd(this.#table)
  }

  /** Unregisters all listeners and closes this handle of the table. */
  close(): void {
    this.#listeners.close()
    this.#table.close()
  }

  #encode(metadata: M): Value {
    return new Value({ [field]: this.#codec.encode(metadata) })
  }

  #decode(value: Value): M {
    const bytes = value.getField(field)
    if (bytes === null) throw metaStoreError('a row of the ledger table holds no metadata')
    return this.#codec.decode(bytes)
  }
}

/** Writes the end mark, without which a listing is incomplete. */
async function markEnd(table: MetastoreScannableTable): Promise<void> {
  try {
    await table.put(endKey, new Value(), Version.NEW)
  } catch (error) {
    if (codeOf(error) !== MetastoreErrorCode.keyExists) {
      throw metaStoreError('the ledger table could not be prepared', error)
    }
  }
}

/** Converts the error of a store call to the error of a ledger. */
function failure(ledgerId: bigint, error: unknown): CellarError {
  if (isOneOf(error, LedgerErrorCode)) return error
  const code = codeOf(error)
  if (code === MetastoreErrorCode.noKey) {
    const message = `there is no ledger ${ledgerId}`
    return failed(LedgerErrorCode.noSuchLedger, message, error)
  }
  if (code === MetastoreErrorCode.badVersion) {
    const message = `the metadata of ledger ${ledgerId} have another version`
    return failed(LedgerErrorCode.metadataVersion, message, error)
  }
  return metaStoreError(`the metadata of ledger ${ledgerId} cannot be had`, error)
}

function wrongVersion(ledgerId: bigint, version: Version): CellarError {
  const given = isKnownVersion(version) ? version.toString() : shown(version)
  const message = `ledger ${ledgerId}: ${given} is not the version of metadata`
  return failed(LedgerErrorCode.metadataVersion, message)
}

function waitShortly(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, 200).unref()
  })
}
