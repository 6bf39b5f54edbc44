/** A database with a transactional table of two families, a manager, and the processor. */
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem, type FamilyOptions } from '../../../../src/entries/index.js'
import {
  runTransaction,
  TransactionalTable,
  transactionalFamily,
  TransactionManager,
  transactionProcessor,
  type TransactionalTableOptions,
  type TransactionManagerOptions,
  type TransactionProcessorOptions,
} from '../../../../src/systems/transactions/index.js'

/** What {@link openTransactional} takes. */
export interface TransactionalSetup {
  readonly families?: Readonly<Record<string, FamilyOptions>>
  readonly manager?: TransactionManagerOptions
  readonly processor?: Partial<TransactionProcessorOptions>
  readonly fileSystem?: MemoryFileSystem
  readonly clock?: ManualClock
}

/** Opens everything; jobs run only when they are asked for. */
export async function openTransactional(setup: TransactionalSetup = {}) {
  const { clock = new ManualClock(1_489_707_864_000) } = setup
  const { fileSystem = new MemoryFileSystem() } = setup
  const database = await Database.open('/d', {
    fileSystem,
    clock,
    executor: 'inline',
    compactionEnabled: false,
  })
  const families = setup.families ?? { f: transactionalFamily(), g: transactionalFamily() }
  await database.ensureTable('t', { families })
  const manager = await TransactionManager.open(database, {
    clock,
    sweepMilliseconds: 0,
    ...setup.manager,
  })
  const transactions = () => manager.snapshot()
  await database.registerCoprocessor(
    transactionProcessor({ tables: ['t'], transactions, ...setup.processor }),
  )
  const table = (options?: TransactionalTableOptions): TransactionalTable =>
    new TransactionalTable(database, 't', options)
  /** Runs work with a table of its own, in a transaction of its own. */
  const run = <T>(
    work: (table: TransactionalTable) => Promise<T>,
    options?: TransactionalTableOptions,
  ): Promise<T> => {
    const own = table(options)
    return runTransaction(manager, [own], () => work(own), { retriesMax: 0 })
  }
  const close = async (): Promise<void> => {
    await manager.close()
    await database.close()
  }
  return { database, manager, clock, fileSystem, table, run, close }
}

/** The cells of a result, as `column=value`. */
export function shownCells(result: {
  cells(): { family: string; qualifier: Buffer; value: Buffer }[]
}): string[] {
  return result.cells().map(({ family, qualifier, value }) => {
    return `${family}:${qualifier.toString()}=${value.toString()}`
  })
}
