/**
 * Where ledger managers and generators of ledger ids come from (BookKeeper:
 * `LedgerManagerFactory`). The ledger layout in the store says which factory laid out the ledgers,
 * so that no other factory touches them.
 *
 * Differences from BookKeeper: the layout lies in the MetaStore, not in ZooKeeper; `format` and
 * `validateAndNukeExistingCluster` look at the layout before they change anything.
 */
import { CellarError, ErrorCode, OptionNames } from '../../../../api/index.js'
import { chooseFactory } from './factory-choice.js'
import { layoutMismatch } from './ledger-errors.js'
import type { LedgerIdGenerator, LedgerIdOptions } from './ledger-ids.js'
import { LedgerLayoutRecord, type LedgerLayout } from './ledger-layout.js'
import type { LedgerManager, LedgerManagerOptions } from './ledger-manager.js'
import type { LedgerMetadata } from './ledger-metadata.js'
import { MSLedgerManagerFactory } from './ms-ledger-manager-factory.js'
import type { MetaStore } from '../types.js'

/** Makes what belongs to one layout of ledgers. */
export interface LedgerManagerFactory {
  /** Version in which this factory lays out ledgers. */
  getCurrentVersion(): number
  /**
   * Prepares the factory for a store that has this layout. `ERR_LEDGER_LAYOUT_MISMATCH` if the
   * factory cannot use ledgers of that version.
   */
  initialize(store: MetaStore, layout: LedgerLayout): Promise<void>
  /** Opens a generator of ledger ids. */
  newLedgerIdGenerator(options?: LedgerIdOptions): Promise<LedgerIdGenerator>
  /** Opens a ledger manager. */
  newLedgerManager<M = LedgerMetadata>(options?: LedgerManagerOptions<M>): Promise<LedgerManager<M>>
  /**
   * Removes all ledgers and writes the layout anew. Ledger ids go on where they were. A format that
   * fails on the way may have removed some ledgers; it can be repeated.
   */
  format(): Promise<void>
  /**
   * Removes all ledgers and the layout, and ends the factory. False, and nothing is changed, if the
   * store has keys that no ledger has. Nobody else may use the ledgers meanwhile.
   */
  validateAndNukeExistingCluster(): Promise<boolean>
  /** Ends the factory; what it opened goes on. */
  close(): Promise<void>
}

/** A class of factories, as a layout names it. */
export interface LedgerManagerFactoryClass {
  /** Makes a factory, which is initialised afterwards. */
  new (): LedgerManagerFactory
}

/** How to get the factory of a store. */
export interface LedgerFactoryOptions {
  /** Initialised. */
  readonly store: MetaStore
  /** Class of the factory; absent: what the layout says, or BookKeeper's name of ours. */
  readonly managerFactoryClass?: string | undefined
  /** Factories by class, besides `org.apache.bookkeeper.meta.MSLedgerManagerFactory`. */
  readonly factories?: Readonly<Record<string, LedgerManagerFactoryClass>> | undefined
}

const names = new OptionNames<LedgerFactoryOptions>('a ledger manager factory', {
  store: true,
  managerFactoryClass: true,
  factories: true,
})

const defaultName = 'org.apache.bookkeeper.meta.MSLedgerManagerFactory'

/**
 * The factory of a store, initialised. The first caller's factory is written into the ledger
 * layout; of callers that come at once, one writes and all others compare.
 *
 * `ERR_LEDGER_LAYOUT_MISMATCH` if class or version differ from the layout,
 * `ERR_LEDGER_META_STORE` if the layout cannot be read, `ERR_INVALID_ARGUMENT` if there is no
 * factory of the given class. Then nothing was changed.
 */
export async function createLedgerManagerFactory(
  options: LedgerFactoryOptions,
): Promise<LedgerManagerFactory> {
  const { store, managerFactoryClass } = names.check(options)
  const record = await LedgerLayoutRecord.open(store)
  try {
    const { factory, layout } = await chooseFactory<LedgerManagerFactory, LedgerLayout>(record, {
      wantedName: managerFactoryClass,
      defaultName,
      make: (name) => makeFactory(name, options),
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
