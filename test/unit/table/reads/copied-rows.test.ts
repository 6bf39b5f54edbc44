/**
 * Copies of rows that reads have put together (`RowCopies`): when the next read takes them, and
 * what ends them. Where invariants are checked, each copy that is taken is compared with its row;
 * so all other tests of reads and writes look at copies too.
 */
import t from 'tap'
import type { EmbeddedTable } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const cacheBytes = 4 * 1024 * 1024

async function open(versions = 1): Promise<{ test: TestDatabase; table: EmbeddedTable }> {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: cacheBytes } })
  const families = { f: { versions }, g: {} }
  const table = await test.database.createTable('t', { families })
  await table.put({ row: 'r', cells: { 'f:a': 'a1', 'f:b': 'b1' } })
  await table.put({ row: 's', cells: { 'f:a': 'other' } })
  await test.flush()
  return { test, table }
}

/** The values of a row as text, read until a copy would be taken. */
function read(table: EmbeddedTable, options: object = {}): string {
  const texts = [1, 2, 3].map(() => {
    const result = table.getSync({ row: 'r', ...options })
    return result
      .cells()
      .map(({ qualifier, value }) => `${qualifier.toString()}=${value.toString()}`)
      .join(' ')
  })
  t.ok(
    texts.every((text) => text === texts[0]),
    'reads agree',
  )
  return texts[0]
}

void t.test('a row of a memtable and an SSTable is read from its copy', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { 'f:b': 'b2', 'f:c': 'c2' } })
  t.equal(read(table), 'a=a1 b=b2 c=c2')
  t.same(
    table.getSync({ row: 'r', columns: ['f:b'] }).value('f:b'),
    Buffer.from('b2'),
    'one column',
  )
  t.ok(table.existsSync({ row: 'r' }))
  await test.close()
})

void t.test('a row of a memtable alone is read from its copy', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'm', cells: { 'f:a': '1' } })
  const reads = (): number => {
    const before = test.database.statistics().blockCache.hits
    t.same(table.getSync({ row: 'm' }).value('f:a'), Buffer.from('1'))
    return test.database.statistics().blockCache.hits - before
  }
  t.same([reads(), reads(), reads()], [0, 1, 1])
  table.putSync({ row: 'm', cells: { 'f:a': '1' } })
  t.same([reads(), reads()], [0, 1], 'a put ends the copy')
  table.putSync({ row: 'n', cells: { 'f:a': '1' } })
  t.equal(reads(), 1, 'a put of another row does not')
  await test.close()
})

void t.test('each kind of write ends the copy', async (t) => {
  const { test, table } = await open()
  const { database } = test
  const writes: [(table: EmbeddedTable) => unknown, string][] = [
    [(table) => table.putSync({ row: 'r', cells: { 'f:b': 'b2' } }), 'a=a1 b=b2'],
    [(table) => table.putSync({ row: 'r', cells: { 'f:b': 'b3' } }), 'a=a1 b=b3'],
    [(table) => table.putSync({ row: 'r', cells: { 'f:0': '0' } }), '0=0 a=a1 b=b3'],
    [(table) => table.appendSync({ row: 'r', columns: { 'f:a': '+' } }), '0=0 a=a1+ b=b3'],
    [(table) => table.deleteSync({ row: 'r', columns: ['f:0'] }), 'a=a1+ b=b3'],
    [
      (table) => database.atomicSync([{ table, row: 'r', put: { cells: { 'f:z': 'z' } } }]),
      'a=a1+ b=b3 z=z',
    ],
    [
      (table) => table.putSync({ row: 'r', cells: { 'f:z': 'old' }, timestamp: 1 }),
      'a=a1+ b=b3 z=z',
    ],
    [(table) => table.deleteSync({ row: 'r', families: ['f'] }), ''],
    [(table) => table.putSync({ row: 'r', cells: { 'f:b': 'b4' } }), 'b=b4'],
    [() => test.flush(), 'b=b4'],
    [(table) => table.putSync({ row: 'r', cells: { 'f:c': 'c4' } }), 'b=b4 c=c4'],
    [() => database.compact('t'), 'b=b4 c=c4'],
    [() => database.truncateTable('t'), ''],
  ]
  for (const [write, expected] of writes) {
    read(table)
    test.clock.milliseconds += 10
    await write(table)
    t.equal(read(table), expected)
  }
  await test.close()
})

void t.test(
  'a snapshot never sees a copy of a newer state, and none of its reads is kept',
  async (t) => {
    const { test, table } = await open(3)
    const { database } = test
    table.putSync({ row: 'r', cells: { 'f:b': 'b2' } })
    await test.flush()
    const snapshot = database.snapshot()
    t.equal(read(table, { snapshot }), 'a=a1 b=b2')
    table.putSync({ row: 'r', cells: { 'f:b': 'b3', 'f:c': 'c3' } })
    t.equal(read(table, { snapshot }), 'a=a1 b=b2')
    t.equal(read(table), 'a=a1 b=b3 c=c3')
    t.equal(read(table, { snapshot }), 'a=a1 b=b2')
    // The newest cells lie in an SSTable that the snapshot does not look at.
    await test.flush()
    t.equal(read(table, { snapshot }), 'a=a1 b=b2')
    t.equal(read(table), 'a=a1 b=b3 c=c3')
    table.putSync({ row: 'r', cells: { 'f:d': 'd4' } })
    t.equal(read(table, { snapshot }), 'a=a1 b=b2')
    t.equal(read(table), 'a=a1 b=b3 c=c3 d=d4')
    t.equal(read(table, { isolation: 'READ_UNCOMMITTED' }), 'a=a1 b=b3 c=c3 d=d4')
    snapshot.close()
    await test.close()
  },
)

void t.test('a row with cells that expire is not copied', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { 'f:b': 'b2' }, ttlMilliseconds: 100 })
  t.equal(read(table), 'a=a1 b=b2')
  test.clock.milliseconds += 200
  t.equal(read(table), 'a=a1 b=b1', 'the older version comes back, as in HBase')
  table.putSync({ row: 'm', cells: { 'f:b': 'b2' }, ttlMilliseconds: 100 })
  for (let times = 0; times < 2; times++) t.equal(table.getSync({ row: 'm' }).size, 1)
  test.clock.milliseconds += 200
  t.ok(table.getSync({ row: 'm' }).isEmpty)
  await test.close()
})

void t.test('families have copies of their own', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { 'f:b': 'b2', 'g:x': 'x2' } })
  await test.flush()
  table.putSync({ row: 'r', cells: { 'f:b': 'b3', 'g:y': 'y3' } })
  t.equal(read(table), 'a=a1 b=b3 x=x2 y=y3')
  t.equal(read(table, { columns: ['g'] }), 'x=x2 y=y3')
  table.putSync({ row: 'r', cells: { 'g:y': 'y4' } })
  t.equal(read(table), 'a=a1 b=b3 x=x2 y=y4')
  await test.close()
})
