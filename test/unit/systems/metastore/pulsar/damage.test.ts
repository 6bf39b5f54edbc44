/** Stored bytes that no writer makes: an error with a code and the place, never a raw one. */
import t from 'tap'
import { openMemoryDatabase } from '../../../../../src/entries/memory.js'
import type { Database } from '../../../../../src/entries/index.js'
import {
  metadataStoreOf,
  MetadataErrorCode,
  MigrationCoordinator,
  openMetadataStore,
  type CellarMetadataStore,
} from '../../../../../src/entries/metastore-pulsar.js'
import { migrationPath } from '../../../../../src/systems/metastore/pulsar/clusters/migration.js'
import { stampsPath } from '../../../../../src/systems/metastore/pulsar/clusters/stamps.js'
import {
  CellarMetaStore,
  MetastoreErrorCode,
  Value,
  Version,
} from '../../../../../src/systems/metastore/index.js'

const { storeFailure, contentDeserialization } = MetadataErrorCode

async function filled(): Promise<Database> {
  const database = await openMemoryDatabase()
  const store = await metadataStoreOf(database)
  await store.put('/a/b', 'y')
  await store.put('/s/q', 'z', -1, { sequenceKeysDeltas: [1] })
  await store.close()
  return database
}

/** The rows of a table, each with its single column. */
async function rowsOf(database: Database, table: string): Promise<[Buffer, string][]> {
  const rows = await database.table(table).scan().toArray()
  return rows.map((result) => {
    const [{ family, qualifier }] = result.cells()
    return [Buffer.from(result.row!), `${family}:${qualifier.toString()}`]
  })
}

async function feed(store: CellarMetadataStore): Promise<void> {
  for await (const { sequence } of store.subscribe({ fromSequence: 1 })) if (sequence > 1) return
}

void t.test('rows of the feed whose keys are damaged', async (t) => {
  for (const key of ['00', '00000000000000', '000000000000000000', '00000000000000ff00ff']) {
    const database = await filled()
    const [[, column]] = await rowsOf(database, 'pulsar.feed')
    await database.table('pulsar.feed').put({
      row: Buffer.from(key, 'hex'),
      cells: { [column]: 'x' },
    })
    const store = await metadataStoreOf(database).catch((error: unknown) => error as Error)
    const reading = store instanceof Error ? Promise.reject(store) : feed(store)
    await t.rejects(reading, { message: new RegExp(`feed .* 0x${key}`) }, key)
    await database.close()
  }
})

void t.test('numbers of sequences, children and sessions', async (t) => {
  const database = await filled()
  for (const [row, column] of await rowsOf(database, 'pulsar.control')) {
    if (row.toString() === 'layout') continue
    const before = await database.table('pulsar.control').get({ row })
    await database.table('pulsar.control').put({ row, cells: { [column]: Buffer.from('ffff') } })
    const work = async (): Promise<void> => {
      const store = await metadataStoreOf(database)
      try {
        await store.put('/s/q', 'z', -1, { sequenceKeysDeltas: [1] })
      } finally {
        await store.close()
      }
    }
    const expected = {
      code: storeFailure,
      message: /0x66666666/,
      cause: { code: 'ERR_CORRUPTION' },
    }
    await t.rejects(work(), expected, row.toString())
    await database.table('pulsar.control').put({ row, cells: { [column]: before.value(column)! } })
  }
  await database.close()
})

void t.test('versions of rows of a metastore', async (t) => {
  const database = await openMemoryDatabase()
  const open = async (): Promise<CellarMetaStore> => {
    const store = new CellarMetaStore()
    await store.init({ database }, 1)
    return store
  }
  let store = await open()
  await (await store.createTable('t')).put('key', new Value({ f: 'v' }), Version.NEW)
  await store.close()
  for (const bytes of ['', '00', 'ff00000000000001', '0020000000000000']) {
    const value = Buffer.from(bytes, 'hex')
    await database.table('metastore.t').put({ row: 'key', cells: { 'r:': value } })
    store = await open()
    const table = await store.createTable('t')
    const code = MetastoreErrorCode.operationFailure
    const expected = { code, message: /row ".*key.*damaged number/ }
    await t.rejects(table.get('key'), expected, bytes)
    await store.close()
  }
  await database.close()
})

void t.test('the state of a migration, and stamps of clusters', async (t) => {
  const store = await openMetadataStore('memory:damaged')
  const synchronized = await openMetadataStore('memory:damaged', {
    synchronizer: {
      clusterName: 'one',
      notify: async () => undefined,
      registerSyncListener: () => () => undefined,
    },
  })
  const texts = ['{', '[]', 'null', '5', '{"phase":"COPYING"}', '{"phase":"no","targetUrl":"t"}']
  for (const text of [...texts, '{"time":"5","cluster":"c"}', '{"time":null,"cluster":"c"}']) {
    await store.put(migrationPath, text)
    const migration = new MigrationCoordinator(store, 'target', {
      openTarget: () => t.fail('a damaged state begins no migration') as never,
    })
    const ofState = { code: contentDeserialization, message: new RegExp(migrationPath) }
    await t.rejects(migration.startMigration(), ofState, text)
    await t.rejects(migration.reset(), ofState, text)
    await store.put(`${stampsPath}/r`, text)
    const ofStamp = { code: contentDeserialization, message: new RegExp(`${stampsPath}/r`) }
    await t.rejects(synchronized.put('/r', 'v'), ofStamp, text)
    t.equal(await store.exists('/r'), false, 'nothing is written')
  }
  await synchronized.close()
  await store.close()
})
