/** What puts resolve to: the timestamp of their cells, and their sequence in the change feed. */
import t, { type Test } from 'tap'
import {
  Database as Engine,
  defineTable,
  MemoryFileSystem,
  type EmbeddedTable,
  type Observer,
  type Put,
  type PutReceipt,
} from '../../../../src/entries/index.js'
import type { Change, Database } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { ownDatabase } from '../../../../src/entries/hbase.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

const families = { f: { versions: 5 } }

function onBackends(name: string, run: (t: Test, db: Database) => Promise<void>): void {
  for (const [backend, open] of Object.entries({
    engine: (): Promise<Database> => Engine.open('/db', { fileSystem: new MemoryFileSystem() }),
    memory: (): Promise<Database> => openMemoryDatabase(),
    owned: async (): Promise<Database> => {
      return ownDatabase(reduceToRows(await openMemoryDatabase()), { name: 'o' })
    },
  })) {
    void t.test(`${name}: ${backend}`, async (t) => {
      const db = await open()
      t.teardown(() => db.close())
      await run(t, db)
    })
  }
}

async function changesOf(db: Database, fromSequence = 1): Promise<Change[]> {
  const changes: Change[] = []
  for await (const change of db.changes({ fromSequence, toSequence: 'now' })) changes.push(change)
  return changes
}

onBackends('a receipt has the timestamp of the cells and the place in the feed', async (t, db) => {
  const table = await db.admin.ensureTable('t', { families })
  const receipts: PutReceipt[] = []
  for (const value of ['1', '2']) {
    receipts.push(await table.put({ row: 'r', cells: { 'f:q': value } }))
  }
  const { timestamp } = (await table.get({ row: 'r' })).cell('f:q')!
  t.equal(receipts[1].timestamp, timestamp)
  t.ok(receipts[1].timestamp! > receipts[0].timestamp!)
  const seen = (await changesOf(db)).map(({ sequence, timestamp }) => ({ timestamp, sequence }))
  t.strictSame(seen, receipts)
  t.strictSame(await changesOf(db, receipts[1].sequence! + 1), [], 'nothing comes after it')
  const own = await table.put({ row: 'r', cells: { 'f:q': '3' }, timestamp: 7 })
  t.strictSame(own, { timestamp: undefined, sequence: receipts[1].sequence! + 1 })
  const cells = { 'f:q': { value: '4', timestamp: 8 } }
  t.equal((await table.put({ row: 'r', cells })).timestamp, undefined)
  await t.rejects(table.put({ row: 'r', cells: {} }), { code: 'ERR_INVALID_ARGUMENT' })
  const { sequence } = await table.put({ row: 'r', cells: { 'f:q': '5' } })
  t.equal(sequence, receipts[1].sequence! + 3, 'a refused put has no sequence')
})

onBackends('typed tables give the receipt, also where columns have lifetimes', async (t, db) => {
  const sessions = await defineTable({
    name: 'sessions',
    columns: { user: 'utf8', token: { encoding: 'utf8', ttlMilliseconds: 86_400_000 } },
  }).open(db)
  const receipt = await sessions.put({ id: 's', user: 'ada', token: 'x' })
  const [change] = await changesOf(db)
  t.strictSame(receipt, { timestamp: change.timestamp, sequence: change.sequence })
  t.strictSame(
    change.cells.map(({ qualifier, ttlMilliseconds }) => [String(qualifier), ttlMilliseconds]),
    [
      ['user', 0],
      ['token', 86_400_000],
    ],
  )
})

void t.test('puts that wait give the receipts of their own rows', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families })
  const value = Buffer.alloc(64 * 1024)
  const pending: Promise<PutReceipt>[] = []
  for (let i = 0; i < 120; i++) {
    pending.push(table.put({ row: `r${i}`, cells: { 'f:q': value } }))
  }
  t.ok(test.database.statistics().lastSequence < 120, 'some of them wait')
  const receipts = await Promise.all(pending)
  const changes = await changesOf(test.database)
  t.strictSame(
    receipts.map(({ sequence }) => String(changes[sequence! - 1].cells[0].row)),
    receipts.map((_, i) => `r${i}`),
  )
  t.ok(receipts.every(({ timestamp, sequence }) => changes[sequence! - 1].timestamp === timestamp))
  const sync = table.putSync({ row: 's', cells: { 'f:q': '' } })
  t.equal(sync.sequence, test.database.statistics().lastSequence)
  t.equal(sync.timestamp, table.getSync({ row: 's' }).cell('f:q')!.timestamp)
  await test.close()
})

/** Makes a database whose table 't' has an observer. */
async function observed(observer: (table: () => EmbeddedTable) => Observer): Promise<TestDatabase> {
  const test = await TestDatabase.open()
  await test.database.createTable('t', { families })
  await test.database.createTable('log', { families })
  await test.database.registerCoprocessor({
    name: 'observer',
    tables: ['t'],
    observer: observer(() => test.database.table('log')),
  })
  return test
}

void t.test('mutations of observers do not change the receipt', async (t) => {
  const test = await observed((log) => ({
    preBatchMutate: (_, batch) => {
      batch.add({ put: { row: 'added', cells: { 'f:q': '' }, timestamp: 1 } })
    },
    postPut: () => {
      log().putSync({ row: 'later', cells: { 'f:q': '' } })
    },
  }))
  const table = test.database.table('t')
  const puts: Readonly<Record<string, (put: Put) => PutReceipt | Promise<PutReceipt>>> = {
    promise: (put) => table.put(put),
    synchronous: (put) => table.putSync(put),
  }
  for (const [form, putOne] of Object.entries(puts)) {
    const receipt = await putOne({ row: 'r', cells: { 'f:q': form } })
    t.equal(receipt.timestamp, table.getSync({ row: 'r' }).cell('f:q')!.timestamp)
    t.equal(receipt.sequence, test.database.statistics().lastSequence - 1)
  }
  await test.close()
})

void t.test('a put that an observer replaces has an empty receipt', async (t) => {
  const test = await observed(() => ({ prePut: (context) => context.bypass() }))
  const table = test.database.table('t')
  const empty = { timestamp: undefined, sequence: undefined }
  t.strictSame(await table.put({ row: 'r', cells: { 'f:q': '1' } }), empty)
  t.strictSame(table.putSync({ row: 'r', cells: { 'f:q': '1' } }), empty)
  await test.close()
})
