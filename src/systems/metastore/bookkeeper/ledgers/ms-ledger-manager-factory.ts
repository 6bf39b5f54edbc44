/**
 * The factory of ledgers in a MetaStore: tables `LEDGER` and `IDGEN`, and the ledger layout.
 * Source: BookKeeper 4.7, `org.apache.bookkeeper.meta.MSLedgerManagerFactory`.
 *
 * The counters of `IDGEN` are never removed: bookies may still store entries of ledgers whose
 * metadata were removed. BookKeeper removes its counter with the cluster.
 */
import { shown } from '../../../../api/index.js'
import { checkStore } from '../arguments.js'
import { cleanTable } from '../tables/clean-table.js'
import { LedgerErrorCode, metaStoreError, layoutMismatch, isOneOf } from '../../errors.js'
import { LedgerIdGenerator, type LedgerIdOptions } from './ledger-ids.js'
import { isExpectedKey, ledgerTable } from './ledger-key.js'
import { copyOfLayout, LedgerLayoutRecord, type LedgerLayout } from './ledger-layout.js'
import type { LedgerManagerFactory } from './ledger-manager-factory.js'
import { LedgerManager, type LedgerManagerOptions } from './ledger-manager.js'
import type { LedgerMetadata } from './ledger-metadata.js'
import type { MetaStore, MetastoreTable } from '../types.js'
import { NON_FIELDS } from '../value.js'

const currentVersion = 1

/** Keys per read of a validation. */
const pageSize = 1000

/** The arguments of `initialize`. */
interface LaidOutStore {
  readonly store: MetaStore
  readonly layout: LedgerLayout
}

/** The factory that BookKeeper calls `org.apache.bookkeeper.meta.MSLedgerManagerFactory`. */
export class MSLedgerManagerFactory implements LedgerManagerFactory {
  #opened: LaidOutStore | undefined

  getCurrentVersion(): number {
    return currentVersion
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
    const { store, layout } = this.#initialised()
    await withLayout(store, async (record) => {
      const check = sameAs(layout)
      await checkStored(record, check)
      const manager = await LedgerManager.open(store)
      try {
        await manager.format()
      } finally {
        manager.close()
      }
      await record.rewrite(layout, check)
    })
  }

  async validateAndNukeExistingCluster(): Promise<boolean> {
    const { store, layout } = this.#initialised()
    return withLayout(store, async (record) => {
      const check = sameAs(layout)
      await checkStored(record, check)
      if (!(await emptyIfExpected(await store.createScannableTable(ledgerTable)))) return false
      // The layout is removed last: after an interrupted removal the factory can still be opened to
      // repeat it.
      await record.remove(check)
      await this.close()
      return true
    })
  }

  async close(): Promise<void> {
    this.#opened = undefined
  }

  #initialised(): LaidOutStore {
    if (this.#opened === undefined) throw metaStoreError('the ledger factory is not initialised')
    return this.#opened
  }
}

async function withLayout<R>(
  store: MetaStore,
  run: (record: LedgerLayoutRecord) => Promise<R>,
): Promise<R> {
  const record = await LedgerLayoutRecord.open(store)
  try {
    return await run(record)
  } finally {
    record.close()
  }
}

/** Refuses a layout other than the factory's: another factory has laid out the store again. */
function sameAs(own: LedgerLayout): (stored: LedgerLayout) => void {
  return ({ managerFactoryClass, managerVersion }) => {
    const isSame =
      managerFactoryClass === own.managerFactoryClass && managerVersion === own.managerVersion
    if (isSame) return
    throw layoutMismatch(
      `the ledgers were laid out by ${managerFactoryClass} in version ${managerVersion}, ` +
        `not by ${own.managerFactoryClass} in version ${own.managerVersion}`,
    )
  }
}

async function checkStored(
  record: LedgerLayoutRecord,
  check: (stored: LedgerLayout) => void,
): Promise<void> {
  const stored = await record.read()
  if (stored !== undefined) check(stored)
}

/** Removes all rows of the table and closes it; false if it has an unexpected key. */
async function emptyIfExpected(table: MetastoreTable): Promise<boolean> {
  try {
    if (!(await hasOnlyExpectedKeys(table))) return false
    await cleanTable(table)
    return true
  } catch (error) {
    if (isOneOf(error, LedgerErrorCode)) throw error
    throw metaStoreError('the ledgers could not be validated and removed', error)
  } finally {
    table.close()
  }
}

async function hasOnlyExpectedKeys(table: MetastoreTable): Promise<boolean> {
  const cursor = await table.openCursor(NON_FIELDS)
  try {
    while (cursor.hasMoreEntries()) {
      const items = await cursor.asyncReadEntries(pageSize)
      if (items.length === 0) throw metaStoreError('a cursor promised more keys and had none')
      if (!items.every(({ key }) => isExpectedKey(key))) return false
    }
    return true
  } finally {
    cursor.close()
  }
}
