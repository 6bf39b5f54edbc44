/**
 * The entry `cellardb/transactions` with values that no caller should give.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import * as transactions from '../../../src/systems/transactions/index.js'
import { checkEntry } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { checkMembers } from './hostile-members.js'

t.setTimeout(1_800_000)

async function open(): Promise<LiveObjects> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const families = { f: transactions.transactionalFamily() }
  await database.createTable('t', { families })
  await database.createTable('state', { families: { d: {} } })
  const manager = await transactions.TransactionManager.open(database, { sweepMilliseconds: 0 })
  await manager.startShort()
  const transaction = await manager.startShort()
  const table = new transactions.TransactionalTable(database, 't')
  const free = new transactions.TransactionalTable(database, 't')
  const context = new transactions.TransactionContext(manager, [table])
  await context.start()
  await table.put({ row: 'r', cells: { 'f:q': 'v' } })
  const scoped = new transactions.TransactionContext(manager)
  await scoped.start()
  let scope: object = {}
  let endScope = (): void => undefined
  const started = new Promise<void>((resolve) => {
    void transactions
      .runTransaction(manager, (given) => {
        scope = given
        resolve()
        return new Promise<void>((end) => (endScope = end))
      })
      .catch(() => undefined)
  })
  await started
  const state = await transactions.PruneState.open({ table: database.table('state') })
  const plugins = [transactions.pruneStatePlugin(state, () => [database.table('t')])]
  const objects = {
    manager,
    transaction,
    'list of pointers': transaction.inProgress,
    'table in a transaction': table,
    'table outside of transactions': free,
    'context in a transaction': context,
    'context outside of transactions': new transactions.TransactionContext(manager, [free]),
    scope,
    'state of prunings': state,
    'pruning service': new transactions.TransactionPruningService({ manager, plugins }),
    'pruning plugin': plugins[0],
  }
  const close = async (): Promise<void> => {
    endScope()
    await manager.close()
    await database.close()
  }
  return { objects, close }
}

void t.test('transactions', (t) => checkEntry(t, { exports: transactions, open }))

void t.test('options and other arguments of transactions', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const families = { f: transactions.transactionalFamily() }
  await database.createTable('t', { families })
  const manager = await transactions.TransactionManager.open(database, { sweepMilliseconds: 0 })
  const table = new transactions.TransactionalTable(database, 't')
  const context = new transactions.TransactionContext(manager, [table])
  await context.start()
  const run = async (options: transactions.ExecutorOptions): Promise<void> => {
    await transactions.runTransaction(manager, () => undefined, options)
  }
  const json = transactions.transactionToJson(await manager.startShort())
  const clock = { now: () => 1_489_707_864_000 }
  const snapshot = () => manager.snapshot()
  await checkMembers(t, {
    manager: {
      call: async (options: transactions.TransactionManagerOptions) => {
        const opened = await transactions.TransactionManager.open(database, options)
        try {
          await opened.commit(await opened.startShort())
        } finally {
          await opened.close()
        }
      },
      values: [
        {
          table: 'other',
          clock,
          durability: 'ASYNC_WAL',
          timeoutMilliseconds: 1000,
          timeoutMillisecondsMax: 1000,
          longTimeoutMilliseconds: 1000,
          sweepMilliseconds: 0,
          lifetimeMilliseconds: 1000,
          changesMax: 5,
          changeBytesMax: 5,
          clientRetention: 'OFF',
        },
      ],
    },
    transaction: {
      call: (fields: transactions.TransactionFields) => {
        const made = new transactions.Transaction(fields)
        made.isVisible(1n)
        return [transactions.encodeTransaction(made), transactions.transactionToJson(made)]
      },
      values: [
        {
          ...{ readPointer: 1n, transactionId: 2n, writePointer: 2n, invalids: [1n] },
          ...{ inProgress: [1n], firstShortInProgress: 1n, type: 'LONG' },
          ...{ checkpointWritePointers: [3n], visibilityLevel: 'SNAPSHOT_ALL' },
        },
      ],
    },
    'transaction of JSON': { call: transactions.transactionFromJson, values: [json] },
    start: {
      call: async (options: transactions.StartOptions) =>
        manager.abort(await manager.startShort(options)),
      values: [{ timeoutMilliseconds: 5, client: 'c' }],
    },
    'long start': {
      call: async (options: transactions.StartOptions) => manager.startLong(options),
      values: [{ client: 'c' }],
    },
    'change set': {
      call: async (changes: string[]) => manager.canCommit(await manager.startShort(), changes),
      values: [['a', Buffer.from('b')]],
    },
    commit: {
      call: async (options: transactions.CommitOptions) => {
        await manager.commit(await manager.startShort(), options)
      },
      values: [
        {
          writes: [{ table: 't', row: 'r', mutations: [{ put: { cells: { 'f:q': 'v' } } }] }],
          carry: undefined,
        },
      ],
    },
    'run of a transaction': {
      call: run,
      values: [
        {
          ...{ timeoutMilliseconds: 5, client: 'c', type: 'SHORT', visibilityLevel: 'SNAPSHOT' },
          ...{ retriesMax: 0, retryMilliseconds: 0, database },
        },
      ],
    },
    get: {
      call: (get: transactions.TransactionalGet) => table.get(get),
      values: [{ row: 'r', columns: ['f:q', { family: 'f', qualifier: 'q' }], filter: undefined }],
    },
    scan: {
      call: async (scan: transactions.TransactionalScan) => {
        const scanner = await table.scan(scan)
        await scanner.next()
        scanner.close()
      },
      values: [{ startRow: 'a', stopRow: 'z', limit: 1, visibilityLevel: 'SNAPSHOT' }],
    },
    put: {
      call: (put: transactions.TransactionalPut) => table.put(put),
      values: [{ row: 'r', cells: [{ column: 'f:q', value: 'v' }] }],
    },
    delete: {
      call: (deletion: transactions.TransactionalDelete) => table.delete(deletion),
      values: [{ row: 'r', columns: ['f:q'], families: ['f'] }],
    },
    'options of a table': {
      call: (options: transactions.TransactionalTableOptions) =>
        new transactions.TransactionalTable(database, 't', options),
      values: [{ conflictLevel: 'ROW', bufferBytesMax: 5, checkLifetime: () => undefined }],
    },
    'visibility filter': {
      call: (options: transactions.VisibilityOptions) =>
        new transactions.TransactionVisibilityFilter(context.current!, options),
      values: [{ ttlMilliseconds: { f: 5 }, deletionsOnly: new Set(['f']), filter: undefined }],
    },
    processor: {
      call: transactions.transactionProcessor,
      values: [{ tables: ['t'], transactions: snapshot, state: undefined, onError: undefined }],
    },
    'state of prunings': {
      call: (options: transactions.PruneStateOptions) => transactions.PruneState.open(options),
      values: [{ table: undefined, lifetimeMilliseconds: 5, graceMilliseconds: 5 }],
    },
    'pruning service': {
      call: (options: transactions.PruningServiceOptions) =>
        new transactions.TransactionPruningService(options).run(),
      values: [{ manager, plugins: [], clock, bufferMilliseconds: 0 }],
    },
  })
  await context.abort()
  await run({})
  await manager.close()
  await database.close()
})
