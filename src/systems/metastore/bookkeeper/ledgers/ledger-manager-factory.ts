/**
 * Factories of ledger managers and generators of ledger ids (BookKeeper: `LedgerManagerFactory`).
 * The ledger layout in the store names the factory of the ledgers, so that no other factory uses
 * them.
 *
 * Differences from BookKeeper: the layout is stored in the MetaStore, not in ZooKeeper. `format`
 * and `validateAndNukeExistingCluster` check the layout before any change.
 */
import {
  CellarError,
  checked,
  checkObject,
  declareOptions,
  ErrorCode,
  required,
  text,
  type OptionsOf,
} from '../../../../api/index.js'
import { checkStore } from '../arguments.js'
import { chooseFactory } from './layout-record.js'
import { layoutMismatch } from '../../errors.js'
import type { LedgerIdGenerator, LedgerIdOptions } from './ledger-ids.js'
import { LedgerLayoutRecord, type LedgerLayout } from './ledger-layout.js'
import type { LedgerManager, LedgerManagerOptions } from './ledger-manager.js'
import type { LedgerMetadata } from './ledger-metadata.js'
import { MSLedgerManagerFactory } from './ms-ledger-manager-factory.js'
import type { MetaStore } from '../types.js'

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

const defaultName = 'org.apache.bookkeeper.meta.MSLedgerManagerFactory'

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
  const settings = factoryOptions.read(options)
  const { store, managerFactoryClass } = settings
  const record = await LedgerLayoutRecord.open(store)
  try {
    const { factory, layout } = await chooseFactory<LedgerManagerFactory, LedgerLayout>(record, {
      wantedName: managerFactoryClass,
      defaultName,
      make: (name) => makeFactory(name, settings),
      layoutOf: (name, made) => ({
        managerFactoryClass: name,
        managerVersion: made.getCurrentVersion(),
      }),
      nameOf: (stored) => stored.managerFactoryClass,
      mismatch: layoutMismatch,
    })
    await factory.initialize(store, layout)
    return factory
  } finally {
    record.close()
  }
}

function makeFactory(name: string, options: LedgerFactoryOptions): LedgerManagerFactory {
  const { factories = {}, managerFactoryClass } = options
  if (Object.hasOwn(factories, name)) return new factories[name]()
  if (name === defaultName) return new MSLedgerManagerFactory()
  const message = `there is no ledger manager factory ${String(name)}`
  if (managerFactoryClass === undefined) throw layoutMismatch(`${message}, which the layout names`)
  throw new CellarError(ErrorCode.invalidArgument, message)
}
