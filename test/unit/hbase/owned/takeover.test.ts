/** Two owners of one database: the standby goes on, the first one is poisoned, damage is told. */
import t from 'tap'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import type { OwnedDatabase } from '../../../../src/hbase/owned/owned-database.js'
import {
  chunkRow,
  type LogPlace,
  type RowChange,
} from '../../../../src/hbase/owned/log/log-store.js'
import { claim, makeChunk } from '../../../../src/hbase/owned/log/takeover.js'
import { ensureLogTable, TableLogStore } from '../../../../src/hbase/owned/table-log-store.js'
import { Database } from '../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { SimulatedDisk } from '../../../doubles/testing.js'
import { withTableCalls } from '../../../helpers/planted.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

const options = { name: 'shop', heartbeatMilliseconds: 10_000, takeoverMilliseconds: 50 }

function twoRows(value: string): Parameters<OwnedDatabase['atomic']>[0] {
  const put = [{ put: { cells: { 'f:q': value } } }]
  return {
    mutations: [
      { table: 'a', row: 'r', mutations: put },
      { table: 'b', row: value, mutations: put },
    ],
  }
}

void t.test('a standby takes over, and the first owner cannot write any more', async (t) => {
  const store = await openMemoryDatabase()
  const failures: unknown[] = []
  const onFailure = (error: { code: string }): unknown => failures.push(error.code)
  const first = await ownDatabase(reduceToRows(store), { ...options, onFailure })
  for (const name of ['a', 'b']) await first.createTable(name, { families: { f: {} } })
  await Promise.all(Array.from({ length: 50 }, (_, i) => first.atomic(twoRows(`first ${i}`))))

  const second = await ownDatabase(reduceToRows(store), options)
  t.equal(second.epoch, first.epoch + 1)
  await t.rejects(first.atomic(twoRows('late')), { code: 'ERR_POISONED' })
  await t.rejects(first.atomic(twoRows('later')), { code: 'ERR_POISONED' })
  t.strictSame(failures, ['ERR_LOCKED'])

  const { sequence } = await second.atomic(twoRows('second'))
  t.equal(sequence, 51, 'the log goes on')
  const sequences: number[] = []
  for await (const change of second.changes({ fromSequence: 1 })) {
    t.equal(change.cells.length, 2, 'a batch is whole')
    sequences.push(change.sequence)
    if (change.sequence === 51) break
  }
  t.equal(sequences.length, 51)
  const some = { fromSequence: 49, toSequence: 'now', table: 'b', family: 'f' } as const
  const now = second.changes(some)
  await second.atomic(twoRows('after the call'))
  const ended: string[] = []
  for await (const { sequence: at, cells } of now) ended.push(`${at}:${cells.length}`)
  t.strictSame(ended, ['49:1', '50:1', '51:1'], 'a feed that ends, of one table')
  for await (const { sequence: at } of second.changes({ fromSequence: 1, toSequence: 3 }))
    t.ok(at < 4)
  await t.rejects(second.changes({ family: 'g' }).next(), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  t.equal((await second.table('b').scan().toArray()).length, 52)
  await first.close()
  await second.close()
  await store.close()
})

void t.test('batches that were logged and not applied are applied by the next owner', async (t) => {
  const store = await openMemoryDatabase()
  const first = await ownDatabase(reduceToRows(store), options)
  for (const name of ['a', 'b']) await first.createTable(name, { families: { f: {} } })
  await first.atomic(twoRows('one'))
  // As if the owner had died between the log and the tables.
  await store.table('a').delete({ row: 'r', timestamp: 1 })
  await store.truncateTable('a')
  await store.truncateTable('b')
  const second = await ownDatabase(reduceToRows(store), options)
  t.equal((await second.table('a').get({ row: 'r' })).value('f:q', 'utf8'), 'one')
  t.equal((await second.table('b').get({ row: 'one' })).value('f:q', 'utf8'), 'one')
  await second.close()
  await first.close()
  await store.close()
})

void t.test('a damaged batch is reported, and nothing of it is applied', async (t) => {
  const store = await openMemoryDatabase()
  const first = await ownDatabase(reduceToRows(store), options)
  for (const name of ['a', 'b']) await first.createTable(name, { families: { f: {} } })
  await first.atomic(twoRows('one'))
  await store.truncateTable('a')
  const log = store.table('cellar_owned')
  const row = 'shop/log/00000000000001'
  const [cell] = (await log.get({ row })).columnCells('b')
  const value = Buffer.from(cell.value)
  value[value.length - 1] ^= 1
  const column = { family: 'b', qualifier: cell.qualifier }
  await log.put({ row, cells: [{ column, value, timestamp: cell.timestamp }] })
  await t.rejects(ownDatabase(reduceToRows(store), options), { code: 'ERR_CORRUPTION' })
  t.ok((await store.table('a').get({ row: 'r' })).isEmpty)
  await first.close()
  await store.close()
})

void t.test('a snapshot shows the rows of its moment', async (t) => {
  const store = await openMemoryDatabase()
  const database = await ownDatabase(reduceToRows(store), options)
  for (const name of ['a', 'b']) await database.createTable(name, { families: { f: {} } })
  await database.atomic(twoRows('one'))
  const snapshot = database.snapshot()
  await database.atomic(twoRows('two'))
  await database.table('b').delete({ row: 'one' })
  const [a, b] = [database.table('a'), database.table('b')]
  t.equal((await a.get({ row: 'r', snapshot })).value('f:q', 'utf8'), 'one')
  t.equal((await a.get({ row: 'r' })).value('f:q', 'utf8'), 'two')
  const rows = async (given: object): Promise<string[]> =>
    (await b.scan(given).toArray()).map(({ row }) => String(row))
  t.strictSame(await rows({ snapshot }), ['one'])
  t.strictSame(await rows({}), ['two'])
  snapshot.close()
  await database.close()
  await store.close()
})

void t.test('a late call cannot make a removed row of the log anew', async (t) => {
  const store = await openMemoryDatabase()
  await ensureLogTable(store, 'logs', 'SYNC_WAL')
  const log = new TableLogStore(store.table('logs'))
  const made: RowChange = {
    expected: undefined,
    state: Buffer.from('made'),
    version: 1,
    batches: [{ sequence: 1, bytes: Buffer.from('batch') }],
  }
  t.equal(await log.change('chunk', made), true)
  t.match(await log.read('chunk', 'all'), { state: Buffer.from('made') })
  await log.remove('chunk')
  await store.admin.majorCompact('logs')
  await log.change('chunk', made)
  await store.admin.majorCompact('logs')
  const { state, batches } = await log.read('chunk', 'all')
  t.equal(state, undefined)
  t.equal(batches.size, 0)
  const next = { ...made, expected: made.state, state: Buffer.from('next'), version: 2 }
  t.equal(await log.change('chunk', next), false, 'and nobody can append to it')
  await store.close()
})

void t.test('an earlier owner cannot begin a chunk that a later one has removed', async (t) => {
  const store = await openMemoryDatabase()
  await ensureLogTable(store, 'logs', 'SYNC_WAL')
  const place: LogPlace = {
    store: new TableLogStore(store.table('logs')),
    name: 'shop',
    patience: async (error) => {
      throw error
    },
  }
  const first = await claim(place, 'first', undefined)
  const second = await claim(place, 'second', first)
  t.equal(second!.state.epoch, 2)
  const chunk = await makeChunk(place, 7, { epoch: 2, first: 1 })
  t.equal(chunk!.number, 7)
  // Behind the marker of the removed row the state of the first owner is not seen by anybody.
  await place.store.remove(chunkRow(place, 7))
  await t.rejects(makeChunk(place, 7, { epoch: 1, first: 1 }), { code: 'ERR_LOCKED' })
  await store.close()
})

void t.test('a snapshot is closed while the rows of a write are kept for it', async (t) => {
  const store = await openMemoryDatabase()
  let reading: (() => void) | undefined
  let go: Promise<void> | undefined
  const slow = withTableCalls(reduceToRows(store), (call, name) => {
    if (name !== 'getList') return call
    return async (...given) => {
      const results = await call(...given)
      reading?.()
      await go
      return results
    }
  })
  const database = await ownDatabase(slow, options)
  const table = await database.createTable('a', { families: { f: {} } })
  for (const isKnown of [false, true]) {
    const snapshot = database.snapshot()
    if (isKnown) await table.put({ row: 'first', cells: { 'f:q': 'makes the place of images' } })
    let release!: () => void
    go = new Promise((resolve) => (release = resolve))
    const begun = new Promise<void>((resolve) => (reading = resolve))
    const put = table.put({ row: 'second', cells: { 'f:q': `${isKnown}` } })
    await begun
    snapshot.close()
    await new Promise((resolve) => setTimeout(resolve, 20))
    release()
    go = undefined
    reading = undefined
    await put
    t.equal(database.failure, undefined)
    t.equal((await table.get({ row: 'second' })).value('f:q', 'utf8'), `${isKnown}`)
  }
  await database.close()
  await store.close()
})

void t.test('a killed store loses no part of a batch, whatever its tables skip', async (t) => {
  const fileSystem = new SimulatedDisk()
  const settings = { executor: 'inline', compactionEnabled: false } as const
  const store = await Database.open('/db', { fileSystem, ...settings })
  const first = await ownDatabase(store, { ...options, heartbeatMilliseconds: 10 })
  await first.createTable('a', { families: { f: {} } })
  await first.createTable('b', { families: { f: {} } })
  await first.atomic(twoRows('logged'))
  await first.admin.modifyTable('b', { durability: 'SKIP_WAL' })
  await first.atomic(twoRows('skipped'))
  // A heartbeat notes that the batches are applied.
  await new Promise((resolve) => setTimeout(resolve, 100))
  const left = await Database.open('/db', { fileSystem: fileSystem.kill(), ...settings })
  const second = await ownDatabase(left, options)
  t.equal((await second.table('a').get({ row: 'r' })).value('f:q', 'utf8'), 'skipped')
  t.equal((await second.table('b').scan().toArray()).length, 2)
  for (const each of [second, left, first, store]) await each.close()
})
