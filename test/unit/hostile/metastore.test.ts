/**
 * The entry `cellardb/metastore` with values that no caller should give: see hostile-calls.ts.
 *
 * @runs campaign
 */
import { MemoryHubRegistry } from '../../helpers/metastore/memory-hubs.js'
import t from 'tap'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import * as metastore from '../../../src/systems/metastore/index.js'
import { modelStore } from '../../helpers/metastore/metastores.js'
import { checkEntry, isCellarError, isOfCalledClass } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'

t.setTimeout(1_800_000)

const { Version } = metastore
const ignore = (): void => undefined
const ledger: metastore.LedgerMetadata = {
  quorumSize: 2,
  ensembleSize: 3,
  length: 0n,
  state: 'OPEN',
}

function isOfMetastore(error: unknown): boolean {
  return isCellarError(error) || isOfCalledClass(error)
}

function cursorOf(table: metastore.CallbackTable): Promise<metastore.CallbackCursor> {
  return new Promise((resolve) => {
    table.openCursor(metastore.ALL_FIELDS, (_code, cursor) => resolve(cursor!), undefined)
  })
}

async function openStores(): Promise<LiveObjects> {
  const database = await openMemoryDatabase()
  const store = new metastore.CellarMetaStore()
  await store.init({ database, onListenerError: ignore }, 1)
  const table = await store.createScannableTable('t')
  await table.put('a', new metastore.Value({ f: 'v' }), Version.NEW)
  await table.put('b', new metastore.Value({ f: 'v' }), Version.NEW)
  const callbacks = new metastore.CallbackTable(table, ignore)
  const objects = {
    store,
    table,
    cursor: await table.openCursor(),
    callbacks,
    'callbacks of a table': new metastore.CallbackTable(table, ignore),
    'callbacks of a cursor': await cursorOf(callbacks),
    value: new metastore.Value({ f: 'v' }),
    version: new metastore.LongVersion(5),
    'version of none': Version.NEW,
    'any version': Version.ANY,
  }
  return { objects, close: () => database.close() }
}

async function openLedgers(): Promise<LiveObjects> {
  const store = await modelStore()
  const factory = await metastore.createLedgerManagerFactory({ store })
  const manager = await factory.newLedgerManager()
  await manager.createLedger(1n, ledger)
  const objects = {
    factory,
    'another factory': new metastore.MSLedgerManagerFactory(),
    layout: await metastore.LedgerLayoutRecord.open(store),
    manager,
    'generator of ids': await factory.newLedgerIdGenerator(),
    ranges: manager.getLedgerRanges(),
    codec: metastore.ledgerMetadataCodec,
  }
  return { objects, close: () => store.close() }
}

async function openHubs(): Promise<LiveObjects> {
  const store = await modelStore()
  const factory = await metastore.createMetadataManagerFactory({ store, region: 'r' })
  const owners = await factory.newTopicOwnershipManager()
  const subscriptions = await factory.newSubscriptionDataManager()
  const registry = new MemoryHubRegistry(() => 0)
  const registration = registry.register('a:1')
  const topics = new metastore.TopicManager({ ownership: owners, hubs: registry, registration })
  const leases = await metastore.LeaseHubRegistry.open(store, {
    now: () => Date.now(),
    random: () => 0,
  })
  const objects = {
    factory,
    'another factory': new metastore.MsMetadataManagerFactory(),
    owners,
    subscriptions,
    ledgers: await factory.newTopicPersistenceManager(),
    layout: await metastore.FactoryLayout.open(store, 'r'),
    registry,
    registration,
    topics,
    leases,
    lease: await leases.register('b:1'),
  }
  return { objects, close: () => store.close() }
}

void t.test('stores', (t) => checkEntry(t, { exports: metastore, open: openStores }, isOfMetastore))
void t.test('ledgers', (t) => checkEntry(t, { exports: {}, open: openLedgers }, isOfMetastore))
void t.test('hubs', (t) => checkEntry(t, { exports: {}, open: openHubs }, isOfMetastore))
