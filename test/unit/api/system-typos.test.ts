/** Misspelt options of the systems that stand on tables. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarLevel } from '../../../src/entries/level.js'
import { MessagingService, type TopicId } from '../../../src/systems/messaging/index.js'
import {
  collectLedgers,
  createLedgerManagerFactory,
  createMetadataManagerFactory,
  LedgerIdGenerator,
  LedgerManager,
  TopicManager,
} from '../../../src/systems/metastore/index.js'
import {
  jsonSerde,
  LeaderElection,
  LockManager,
  MetadataCache,
  MetadataTableView,
  metadataStoreOf,
  type CachingStore,
} from '../../../src/systems/metastore/pulsar/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import { CellarServer } from '../../../src/server/index.js'
import {
  PruneState,
  runTransaction,
  TransactionalTable,
  TransactionManager,
  transactionProcessor,
  TransactionPruningService,
  TransactionVisibilityFilter,
} from '../../../src/systems/transactions/index.js'
import { modelStore } from '../../helpers/metastore/metastores.js'
import { checkTypos, type CallWith } from '../../helpers/typos.js'

type Calls = Record<string, CallWith>

const as = <T>(value: unknown): T => value as T

function openDatabase(): Promise<Database> {
  return Database.open('/database', { fileSystem: new MemoryFileSystem(), executor: 'inline' })
}

void t.test('transactions', async (t) => {
  const db = await openDatabase()
  t.teardown(() => db.close())
  await db.createTable('t', { families: { f: {} } })
  const manager = await TransactionManager.open(db)
  t.teardown(() => manager.close())
  const transaction = await manager.startShort()
  const calls: Calls = {
    open: (more) => TransactionManager.open(db, { table: 'other', ...more }),
    startShort: (more) => manager.startShort(more),
    commit: (more) => manager.commit(transaction, more),
    table: (more) => new TransactionalTable(db, 't', more),
    run: (more) => runTransaction(as(manager), [], () => 1, more),
    filter: (more) => new TransactionVisibilityFilter(transaction, more),
    processor: (more) =>
      transactionProcessor({ tables: ['t'], transactions: () => undefined, ...more }),
    pruning: (more) => new TransactionPruningService({ manager, plugins: [], ...more }),
    pruneState: (more) => PruneState.open(more),
  }
  t.ok((await checkTypos(t, calls)) > 25)
  t.equal(manager.statistics().started, 1, 'nothing was started')
})

void t.test('messaging and its server', async (t) => {
  const db = await openDatabase()
  t.teardown(() => db.close())
  const service = await MessagingService.open(db)
  t.teardown(() => service.close())
  const id: TopicId = { namespace: 'n', topic: 't' }
  await service.createTopic(id)
  const calls: Calls = {
    open: (more) => MessagingService.open(db, more),
    fetch: (more) => service.fetch(id, more),
    poll: (more) => service.poll(id, more),
    server: (more) => CellarServer.start([], more),
  }
  t.ok((await checkTypos(t, calls)) > 20)
})

void t.test('ledgers and hubs', async (t) => {
  const store = await modelStore()
  t.teardown(() => store.close())
  const calls: Calls = {
    ledgers: (more) => LedgerManager.open(store, more),
    ids: (more) => LedgerIdGenerator.open(store, more),
    factory: (more) => createLedgerManagerFactory({ store, ...more }),
    metadata: (more) => createMetadataManagerFactory({ store, ...more }),
    collection: (more) => collectLedgers(as({ getLedgerRanges: () => [] }), [], more),
    hub: (more) => new TopicManager(as(more)),
  }
  t.ok((await checkTypos(t, calls)) > 10)
})

void t.test("Pulsar's metadata", async (t) => {
  const db = await openDatabase()
  const store = await metadataStoreOf(db)
  t.teardown(() => store.close())
  const caching = store as CachingStore
  const serde = jsonSerde()
  const calls: Calls = {
    get: (more) => store.get('/a', more),
    put: (more) => store.put('/a', 'v', undefined, more),
    delete: (more) => store.delete('/a', undefined, more),
    cache: (more) => new MetadataCache(caching, serde, more),
    locks: (more) => new LockManager(caching, serde, more),
    election: (more) => new LeaderElection(caching, serde, '/e', undefined, more),
    view: (more) => new MetadataTableView(caching, serde, { prefix: '/', ...more }),
  }
  t.ok((await checkTypos(t, calls, ['ERR_METADATA_INVALID_ARGUMENT'])) > 15)
  t.equal(await store.get('/a'), undefined, 'nothing was written')
})

void t.test('repository and Level', async (t) => {
  const db = await openDatabase()
  t.teardown(() => db.close())
  const manager = await RepositoryManager.open(db)
  const { types } = manager
  const records = await manager.repository().createTable('people')
  const calls: Calls = {
    open: (more) => RepositoryManager.open(db, more),
    scan: (more) => records.scan(more),
    'a field type': (more) => types.createFieldType(as({ name: 'n$f', ...more })),
  }
  t.ok((await checkTypos(t, calls)) > 8)
  // abstract-level hands names on that it does not know, so only near ones are refused.
  t.throws(() => new CellarLevel('/none', as<object>({ tabel: 'x' })), {
    code: 'ERR_INVALID_ARGUMENT',
    message: "unknown option 'tabel' of a Level; did you mean 'table'?",
  })
})
