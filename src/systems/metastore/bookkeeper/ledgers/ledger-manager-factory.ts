/**
 * Factories of ledger managers and generators of ledger ids (BookKeeper: `LedgerManagerFactory`).
 * The ledger layout in the store names the factory of the ledgers, so that no other factory uses
 * them. The factory of this package uses the tables `LEDGER` and `IDGEN`. Source: BookKeeper 4.7,
 * `org.apache.bookkeeper.meta.MSLedgerManagerFactory`.
 *
 * Differences from BookKeeper: the layout is stored in the MetaStore, not in ZooKeeper. `format`
 * and `validateAndNukeExistingCluster` check the layout before any change. The counters of `IDGEN`
 * are never removed: bookies may still store entries of ledgers whose metadata were removed.
 */
import {
  CellarError,
  checked,
  checkObject,
  declareOptions,
  ErrorCode,
  required,
  shown,
  text,
  type OptionsOf,
} from '../../../../api/index.js'
import { metaStoreError, layoutMismatch } from '../../errors.js'
import { checkStore } from '../arguments.js'
import { cleanTable, RecordTable } from '../tables/record-table.js'
import type { MetaStore, MetastoreTable } from '../types.js'
import { NON_FIELDS } from '../value.js'
import { openFactory, type FactoryKind } from './layout-record.js'
import { LedgerIdGenerator, type LedgerIdOptions } from './ledger-ids.js'
import { isExpectedKey, ledgerTable } from './ledger-key.js'
import { copyOfLayout, LedgerLayoutRecord, type LedgerLayout } from './ledger-layout.js'
import { LedgerManager, type LedgerManagerOptions } from './ledger-manager.js'
import type { LedgerMetadata } from './ledger-metadata.js'

/** The factory of one layout of ledgers. */
export interface LedgerManagerFactory {
  /** Version of the layout of this factory. */
  getCurrentVersion(): number
  /**
   * Prepares the factory for a store with this layout. `ERR_LEDGER_LAYOUT_MISMATCH` if the factory
   * does not support its version.
   */
  initialize(store: MetaStore, layout: LedgerLayout): Promise<void>
  /** Opens a generator of ledger ids. */
  newLedgerIdGenerator(options?: LedgerIdOptions): Promise<LedgerIdGenerator>
  /** Opens a ledger manager. */
  newLedgerManager<M = LedgerMetadata>(options?: LedgerManagerOptions<M>): Promise<LedgerManager<M>>
  /**
   * Removes all ledgers and writes the layout again. Ledger ids are not reset. A failed format may
   * have removed some ledgers; it can be repeated.
   */
  format(): Promise<void>
  /**
   * Removes all ledgers and the layout, and closes the factory. Returns false, without a change, if
   * the table has a key that is not a ledger's. REQUIRES: no other client uses the ledgers during
   * the call.
   */
  validateAndNukeExistingCluster(): Promise<boolean>
  /** Closes the factory, but not its managers and generators. */
  close(): Promise<void>
}

/** A class of factories, named by a layout. */
export interface LedgerManagerFactoryClass {
  /** Creates a factory, which the caller initialises. */
  new (): LedgerManagerFactory
}

/** Keys per read of a validation. */
const pageSize = 1000

/** The factory that BookKeeper calls `org.apache.bookkeeper.meta.MSLedgerManagerFactory`. */
export class MSLedgerManagerFactory implements LedgerManagerFactory {
  #opened: { readonly store: MetaStore; readonly layout: LedgerLayout } | undefined

  getCurrentVersion(): number {
    return 1
  }

  async initialize(store: MetaStore, layout: LedgerLayout): Promise<void> {
    checkStore(store)
    const { managerFactoryClass, managerVersion } = copyOfLayout(layout)
    const version = this.getCurrentVersion()
    if (managerVersion !== version) {
      throw layoutMismatch(`the ledgers have version ${shown(managerVersion)}, not ${version}`)
    }
    this.#opened = { store, layout: { managerFactoryClass, managerVersion } }
  }

  async newLedgerIdGenerator(options: LedgerIdOptions = {}): Promise<LedgerIdGenerator> {
    return LedgerIdGenerator.open(this.#initialised().store, options)
  }

  async newLedgerManager<M = LedgerMetadata>(
    options: LedgerManagerOptions<M> = {},
  ): Promise<LedgerManager<M>> {
    return LedgerManager.open<M>(this.#initialised().store, options)
  }

  async format(): Promise<void> {
    await this.#withLayout(async (store, layout, record) => {
      const manager = await LedgerManager.open(store)
      await manager.format().finally(() => manager.close())
      await record.rewrite(layout, (stored) => checkSame(stored, layout))
    })
  }

  async validateAndNukeExistingCluster(): Promise<boolean> {
    return this.#withLayout(async (store, layout, record) => {
      if (!(await emptyIfExpected(await store.createTable(ledgerTable)))) return false
      // The layout is removed last: after an interrupted removal the factory can still be opened to
      // repeat it.
      await record.remove((stored) => checkSame(stored, layout))
      await this.close()
      return true
    })
  }

  async close(): Promise<void> {
    this.#opened = undefined
  }

  #initialised(): { readonly store: MetaStore; readonly layout: LedgerLayout } {
    if (this.#opened === undefined) throw metaStoreError('the ledger factory is not initialised')
    return this.#opened
  }

  /** Runs a function with the layout record, which must hold the layout of the factory, if any. */
  async #withLayout<R>(
    run: (store: MetaStore, layout: LedgerLayout, record: LedgerLayoutRecord) => Promise<R>,
  ): Promise<R> {
    const { store, layout } = this.#initialised()
    const record = await LedgerLayoutRecord.open(store)
    try {
      const stored = await record.read()
      if (stored !== undefined) checkSame(stored, layout)
      return await run(store, layout, record)
    } finally {
      record.close()
    }
  }
}

/** Refuses a layout other than the factory's: another factory has laid out the store again. */
function checkSame(stored: LedgerLayout, own: LedgerLayout): void {
  const [found, wanted] = [stored, own].map(
    ({ managerFactoryClass, managerVersion }) =>
      `${managerFactoryClass} in version ${managerVersion}`,
  )
  if (found === wanted) return
  throw layoutMismatch(`the ledgers were laid out by ${found}, not by ${wanted}`)
}

/** Removes all rows of the table and closes it; false if it has an unexpected key. */
async function emptyIfExpected(table: MetastoreTable): Promise<boolean> {
  const records = new RecordTable(table, (error) => error as Error)
  try {
    for await (const page of records.pages(pageSize, NON_FIELDS)) {
      if (!page.every(({ key }) => isExpectedKey(key))) return false
    }
    await cleanTable(table)
    return true
  } catch (error) {
    throw metaStoreError('the ledgers could not be validated and removed', error)
  } finally {
    table.close()
  }
}

const factoryOptions = declareOptions('a ledger manager factory', {
  /** The initialised store. */
  store: required(checked(checkStore)),
  /**
   * Class of the factory; absent = the class in the layout, or
   * `org.apache.bookkeeper.meta.MSLedgerManagerFactory`.
   */
  managerFactoryClass: text(undefined),
  /** Factories by class, besides `org.apache.bookkeeper.meta.MSLedgerManagerFactory`. */
  factories: checked(checkObject<Readonly<Record<string, LedgerManagerFactoryClass>>>),
})

/** Options of {@link createLedgerManagerFactory}. */
export interface LedgerFactoryOptions extends OptionsOf<typeof factoryOptions> {}

const ownName = 'org.apache.bookkeeper.meta.MSLedgerManagerFactory'

/**
 * The initialised factory of a store. The first caller's factory is written into the ledger layout.
 * Of concurrent callers one writes the layout and the others compare.
 *
 * `ERR_LEDGER_LAYOUT_MISMATCH` if class or version differ from the layout, `ERR_LEDGER_META_STORE`
 * if the layout cannot be read, `ERR_INVALID_ARGUMENT` if there is no factory of the given class.
 * Then nothing was changed.
 */
export async function createLedgerManagerFactory(
  options: LedgerFactoryOptions,
): Promise<LedgerManagerFactory> {
  const { store, managerFactoryClass, factories } = factoryOptions.read(options)
  const unknown = (name: string): Error => {
    const message = `there is no ledger manager factory ${name}`
    if (managerFactoryClass === undefined) {
      return layoutMismatch(`${message}, which the layout names`)
    }
    return new CellarError(ErrorCode.invalidArgument, message)
  }
  const kind: FactoryKind<LedgerManagerFactory, LedgerLayout> = {
    own: [ownName, MSLedgerManagerFactory],
    unknown,
    mismatch: layoutMismatch,
    layoutOf: (managerFactoryClass, made) => {
      return { managerFactoryClass, managerVersion: made.getCurrentVersion() }
    },
    nameOf: (layout) => layout.managerFactoryClass,
    initialize: (factory, layout) => factory.initialize(store, layout),
  }
  return openFactory(await LedgerLayoutRecord.open(store), kind, managerFactoryClass, factories)
}
