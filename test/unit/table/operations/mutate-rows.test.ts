/** Mutations of several rows under one sequence. */
import t from 'tap'
import type { MultiRowMutations } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

async function open(): Promise<TestDatabase> {
  const test = await TestDatabase.open()
  await test.database.createTable('table', { families: { f: { versions: 3 } } })
  return test
}

function rowsOf(test: TestDatabase): string[] {
  return [...test.database.table('table').scanSync()].map((result) => {
    return `${result.row!.toString()}=${result.value('f:q')?.toString()}`
  })
}

const request: MultiRowMutations = {
  rows: [
    { row: 'a', mutations: [{ put: { cells: { 'f:q': '1' } } }] },
    { row: 'b', mutations: [{ delete: {} }] },
    { row: 'c', mutations: [{ put: { cells: { 'f:q': '2' } } }] },
  ],
}

void t.test('all rows change under one sequence, and survive a reopen together', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  table.putSync({ row: 'b', cells: { 'f:q': 'old' } })
  const before = test.database.statistics().lastSequence
  t.equal(await table.mutateRows(request), true)
  t.equal(test.database.statistics().lastSequence, before + 1)
  t.same(rowsOf(test), ['a=1', 'c=2'])
  await test.reopen()
  t.same(rowsOf(test), ['a=1', 'c=2'])
  const server = test.database.table('table').getSync({ row: 'c' }).cell('f:q')!.timestamp
  test.database.table('table').mutateRowsSync(request)
  const later = test.database.table('table').getSync({ row: 'c' }).cell('f:q')!.timestamp
  t.ok(later > server, 'server timestamps grow for each row')
  await test.close()
})

void t.test('one check that does not hold keeps every row as it is', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  table.putSync({ row: 'b', cells: { 'f:q': 'old' } })
  const holds = { row: 'b', column: 'f:q', equals: 'old' }
  const fails = { row: 'x', column: 'f:q', equals: 'something' }
  t.equal(table.mutateRowsSync({ ...request, checks: [holds, fails] }), false)
  t.same(rowsOf(test), ['b=old'])
  t.equal(await table.mutateRows({ ...request, checks: [holds] }), true)
  t.same(rowsOf(test), ['a=1', 'c=2'])
  await test.close()
})

void t.test('a mistake in one row changes none', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  const put = { put: { cells: { 'f:q': '1' } } }
  const bad: [MultiRowMutations, string][] = [
    [{ rows: [] }, 'ERR_INVALID_ARGUMENT'],
    [
      {
        rows: [
          { row: 'a', mutations: [put] },
          { row: '', mutations: [put] },
        ],
      },
      'ERR_INVALID_ARGUMENT',
    ],
    [
      {
        rows: [
          { row: 'a', mutations: [put] },
          { row: 'b', mutations: [] },
        ],
      },
      'ERR_INVALID_ARGUMENT',
    ],
    [
      {
        rows: [
          { row: 'a', mutations: [put] },
          { row: 'b', mutations: [{ increment: { columns: { 'f:n': 1 } } }] },
        ],
      },
      'ERR_INVALID_ARGUMENT',
    ],
    [
      {
        rows: [
          { row: 'a', mutations: [put] },
          { row: 'b', mutations: [{ put: { cells: { 'none:q': '1' } } }] },
        ],
      },
      'ERR_NO_SUCH_COLUMN_FAMILY',
    ],
    [
      {
        rows: [
          { row: 'a', mutations: [put] },
          { row: 'b', mutations: [{ put: { row: 'c', cells: { 'f:q': '1' } } }] },
        ],
      },
      'ERR_WRONG_ROW',
    ],
  ]
  for (const [mutations, code] of bad) {
    t.throws(() => table.mutateRowsSync(mutations), { code })
    await t.rejects(table.mutateRows(mutations), { code })
  }
  t.same(rowsOf(test), [])
  await test.close()
})

void t.test('a call that waits for a block, or fails, takes no timestamp before', async (t) => {
  const test = await open()
  test.database.table('table').putSync({ row: 'b', cells: { 'f:q': 'old' }, timestamp: 5 })
  test.clock.milliseconds = 1000
  await test.reopen()
  const table = test.database.table('table')
  const put = { put: { cells: { 'f:q': '1' } } }
  const rows = [
    { row: 'a', mutations: [put] },
    { row: 'a', mutations: [put] },
    { row: 'b', mutations: [{ delete: { columnVersions: ['f:q'] } }] },
  ]
  const bad = { row: 'c', mutations: [{ put: { cells: { 'none:q': '1' } } }] }
  t.throws(() => table.mutateRowsSync({ rows: [rows[0], bad] }))
  await test.flush()
  await test.reopen()
  const reopened = test.database.table('table')
  const misses = test.database.statistics().blockCache.misses
  await reopened.mutateRows({ rows })
  t.ok(test.database.statistics().blockCache.misses > misses, 'a block was missing')
  const cells = reopened.getSync({ row: 'a', versions: 'all' }).cells()
  t.same(
    cells.map(({ timestamp }) => timestamp),
    [1001, 1000],
  )
  t.same(rowsOf(test), ['a=1'])
  reopened.putSync({ row: 'a', cells: { 'f:q': '2' } })
  t.equal(reopened.getSync({ row: 'a' }).cell('f:q')!.timestamp, 1002)
  await test.close()
})
