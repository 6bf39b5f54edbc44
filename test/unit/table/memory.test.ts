/** The database in memory: the engine, and options that belong to a directory. */
import t from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { openMetadataStore } from '../../../src/entries/metastore-pulsar.js'

void t.test('a database in memory flushes, merges and answers as one on disk', async (t) => {
  await using database = await openMemoryDatabase({ clock: new ManualClock() })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 100; i++) await table.put({ row: `r${i}`, cells: { 'f:q': String(i) } })
  await database.flush()
  await table.put({ row: 'r7', cells: { 'f:q': 'seven' } })
  await table.delete({ row: 'r8' })
  await database.flush()
  await database.compact('t')
  t.equal(table.getSync({ row: 'r7' }).value('f:q', 'utf8'), 'seven')
  t.ok(table.getSync({ row: 'r8' }).isEmpty)
  t.equal((await table.scan().all()).length, 99)
  t.ok(database.capabilities.coprocessors)
})

void t.test('two databases in memory share nothing', async (t) => {
  await using one = await openMemoryDatabase()
  await using other = await openMemoryDatabase()
  await one.createTable('t', { families: { f: {} } })
  await t.rejects(async () => other.table('t'), { code: 'ERR_TABLE_NOT_FOUND' })
})

void t.test('options of a directory, and unknown ones, are refused', async (t) => {
  for (const options of [{ readOnly: true }, { executor: 'worker' }, { fileSystem: {} }]) {
    await t.rejects(openMemoryDatabase(options as object), {
      code: 'ERR_INVALID_ARGUMENT',
      message: /belongs to a database in a directory/,
    })
  }
  const typo = { memtableBytes: 1 } as object
  await t.rejects(openMemoryDatabase(typo), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(openMemoryDatabase(null as never), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('the URLs cellar: and memory: open databases without an opener', async (t) => {
  const directory = t.testdir()
  const version = async (url: string): Promise<number> => {
    const store = await openMetadataStore(url)
    const stat = await store.put('/a', Buffer.from('x'), undefined)
    await store.close()
    return stat.version
  }
  t.equal(await version(`cellar:${directory}/db`), 0)
  t.equal(await version(`cellar:${directory}/db`), 1, 'the directory keeps its records')
  t.equal(await version('memory:a'), 0)
  t.equal(await version('memory:a'), 0, 'memory lives as long as there are handles')
})

void t.test('an open table holds little memory of its own', async (t) => {
  const database = await openMemoryDatabase()
  const before = process.memoryUsage().arrayBuffers
  const tables = []
  for (let index = 0; index < 300; index++) {
    tables.push(await database.ensureTable(`t${index}`, { families: { f: {} } }))
  }
  const bytes = (process.memoryUsage().arrayBuffers - before) / tables.length
  t.ok(bytes < 50_000, `${Math.round(bytes)} bytes a table`)
  for (const row of ['a'.repeat(64), 'a'.repeat(65), '\0'.repeat(32_767)]) {
    const qualifier = 'q'.repeat(5000)
    await tables[0].put({ row, cells: { [`f:${qualifier}`]: 'value' } })
    t.equal((await tables[0].get({ row })).value(`f:${qualifier}`, 'utf8'), 'value')
    t.equal(await tables[0].exists({ row, columns: [`f:${qualifier}`] }), true)
  }
  await database.close()
})
