/** Steps of atomic batches whose loss would show in rare cases only. */
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { Database, type Observer } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const zero = (): number => 0

for (const order of [
  ['synced', 'unlogged'],
  ['unlogged', 'synced'],
]) {
  void t.test(`the strongest durability of ${order.join(', then ')} counts`, async (t) => {
    const fileSystem = new SimulatedDisk()
    const options = { fileSystem, executor: 'inline' } as const
    const database = await Database.open('/db', options)
    const families = { f: {} }
    await database.createTable('synced', { families, durability: 'FSYNC_WAL' })
    await database.createTable('unlogged', { families, durability: 'SKIP_WAL' })
    const mutations = order.map((table) => {
      return { table, row: 'r', mutations: [{ put: { cells: { 'f:q': table } } }] }
    })
    await database.atomic({ mutations })
    const image = fileSystem.crash('dropUnsynced', zero)
    await database.close()
    const after = await Database.open('/db', { ...options, fileSystem: image })
    for (const table of order) t.ok(after.table(table).existsSync({ row: 'r' }), table)
    await after.close()
  })
}

void t.test('a batch waits for an earlier call on a row that it only checks', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  const table = await test.database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:stored': 'x' } })
  await test.reopen()
  const { database } = test
  const reopened = database.table('t')
  await reopened.put({ row: 'r', cells: { 'f:q': 'old' } })
  await database.flush()
  await reopened.put({ row: 'r', cells: { 'f:q': 'old' } })
  // The block of the stored column is not in memory, so this call waits.
  const stored = { row: 'r', column: 'f:stored', equals: 'x' } as const
  const first = reopened.checkAndMutate(stored, { put: { cells: { 'f:q': 'new' } } })
  t.equal(database.statistics().waitingCalls, 1, 'the call waits')
  const second = database.atomic({
    checks: [{ table: 't', row: 'r', column: 'f:q', equals: 'new' }],
    mutations: [{ table: 't', row: 'other', mutations: [{ put: { cells: { 'f:q': 'v' } } }] }],
  })
  t.ok((await first).success)
  t.ok((await second).success, 'the check sees the put of the earlier call')
  await test.close()
})

void t.test('observers that empty the part of one table leave the others', async (t) => {
  const observer: Observer = {
    prePut: (context, { row }) => {
      if (String(row) === 'refused') context.bypass()
    },
  }
  const test = await TestDatabase.open({ options: { coprocessors: [{ name: 'some', observer }] } })
  const { database } = test
  const names = ['a', 'b', 'c']
  for (const name of names) await database.createTable(name, { families: { f: {} } })
  for (const emptied of names) {
    const mutations = names.map((table) => {
      const row = table === emptied ? 'refused' : `without ${emptied}`
      return { table, row, mutations: [{ put: { cells: { 'f:q': 'v' } } }] }
    })
    t.ok((await database.atomic({ mutations })).success)
    for (const name of names) {
      t.equal(database.table(name).existsSync({ row: `without ${emptied}` }), name !== emptied)
      t.notOk(database.table(name).existsSync({ row: 'refused' }))
    }
  }
  await test.close()
})
