/**
 * Puts of a family that keeps one version take the place of older versions in the memtable. What
 * is counted are the cells that reach a flush, and what raw scans show.
 */
import t from 'tap'
import {
  FilterBase,
  FilterCode,
  type EmbeddedTable,
  type FamilyOptions,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const many = 500

async function open(
  family: FamilyOptions = {},
): Promise<{ test: TestDatabase; table: EmbeddedTable }> {
  const options = { memtableBytesMax: 32 * 1024 * 1024, flushBytes: 16 * 1024 * 1024 }
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: family } })
  return { test, table }
}

class WritingFilter extends FilterBase {
  private readonly write: () => void

  constructor(write: () => void) {
    super()
    this.write = write
  }

  override filterCell(): FilterCode {
    this.write()
    return FilterCode.include
  }
}

/** Values of a row, dead cells included: newest first. */
function stored(table: EmbeddedTable, row = 'r'): string[] {
  const scan = table.scanSync({ prefix: row, raw: true, versions: 'all' })
  return [...scan].flatMap((result) =>
    result.cells().map((cell) => (cell.type === 'Put' ? cell.value.toString() : cell.type)),
  )
}

const column = 'f:q'

const writes: Record<string, (table: EmbeddedTable, i: number) => unknown> = {
  increments: (table) => table.incrementSync({ row: 'r', columns: { [column]: 1 } }),
  appends: (table) => table.appendSync({ row: 'r', columns: { [column]: 'x' } }),
  puts: (table) => table.putSync({ row: 'r', cells: { [column]: 'value' } }),
  'puts of other lengths': (table, i) => {
    table.putSync({ row: 'r', cells: { [column]: 'v'.repeat(i % 13) } })
  },
  checks: (table) => {
    const put = { row: 'r', cells: { [column]: 'v' } }
    table.checkAndMutateSync({ row: 'r', column: 'f:none', equals: '' }, { put })
  },
}

for (const [name, write] of Object.entries(writes)) {
  void t.test(`${name} leave one cell for a flush, before and after a recovery`, async (t) => {
    const { test, table } = await open()
    for (let i = 0; i < many; i++) write(table, i)
    t.equal(stored(table).length, 1)
    const before = table.getSync({ row: 'r' }).value(column)
    await test.reopen()
    const again = test.database.table('table')
    t.same(again.getSync({ row: 'r' }).value(column), before)
    t.equal(stored(again).length, 1)
    for (let i = 0; i < many; i++) write(again, i)
    await test.flush()
    const { flushedEntries, droppedEntries } = test.database.statistics()
    t.equal(flushedEntries, 1)
    t.equal(droppedEntries, 0)
    await test.database.close()
  })
}

void t.test('the rows of batches leave one cell each', async (t) => {
  const { test, table } = await open()
  const rows = Array.from({ length: 400 }, (_, i) => ({
    row: `r${i}`,
    mutations: [{ put: { cells: { [column]: 'value' } } }],
  }))
  for (let i = 0; i < 5; i++) table.mutateRowsSync({ rows })
  await test.flush()
  t.equal(test.database.statistics().flushedEntries, rows.length)
  await test.database.close()
})

void t.test('a column that is overwritten takes the memory of one version', async (t) => {
  const { test, table } = await open()
  table.incrementSync({ row: 'r', columns: { 'f:n': 1 } })
  const { memtableBytes } = test.database.statistics()
  for (let i = 0; i < many; i++) table.incrementSync({ row: 'r', columns: { 'f:n': 1 } })
  t.equal(test.database.statistics().memtableBytes, memtableBytes)
  await test.database.close()
})

const kept: Record<string, FamilyOptions> = {
  'of a family with more versions': { versions: 3 },
  'of a family with kept deletes': { keepDeletedCells: true },
  'of a family with write order': { newVersionBehavior: true },
}

for (const [name, family] of Object.entries(kept)) {
  void t.test(`versions ${name} stay`, async (t) => {
    const { test, table } = await open(family)
    for (const value of ['a', 'b', 'c']) table.putSync({ row: 'r', cells: { 'f:q': value } })
    t.same(stored(table), ['c', 'b', 'a'])
    await test.database.close()
  })
}

void t.test('puts with timestamps of their own replace nothing', async (t) => {
  const { test, table } = await open()
  for (const value of ['a', 'b', 'c']) {
    table.putSync({ row: 'r', cells: { 'f:q': value }, timestamp: value.charCodeAt(0) })
  }
  t.same(stored(table), ['c', 'b', 'a'])
  table.deleteSync({ row: 'r', columnVersions: ['f:q'] })
  t.equal(table.getSync({ row: 'r' }).value('f:q')?.toString(), 'b')
  table.putSync({ row: 'r', cells: { 'f:q': 'now' } })
  t.same(stored(table), ['now', 'Delete', 'c', 'b', 'a'], 'nothing before a marker is replaced')
  await test.database.close()
})

void t.test('a snapshot and a scan keep what they see, and nothing else', async (t) => {
  const { test, table } = await open()
  const put = (value: string): void => {
    table.putSync({ row: 'r', cells: { 'f:q': value } })
  }
  table.putSync({ row: 'q', cells: { 'f:q': 'first' } })
  put('a')
  const snapshot = test.database.snapshot()
  put('b')
  put('c')
  const scan = table.scanSync({})
  t.equal(scan.next().value?.row?.toString(), 'q')
  put('d')
  put('e')
  t.same(stored(table), ['e', 'c', 'a'])
  t.equal(table.getSync({ row: 'r', snapshot }).value('f:q')?.toString(), 'a')
  t.equal(scan.next().value?.value('f:q')?.toString(), 'c')
  scan.close()
  snapshot.close()
  put('f')
  t.same(stored(table), ['f', 'c', 'a'], 'only the next older version is looked at')
  t.equal(table.getSync({ row: 'r' }).value('f:q')?.toString(), 'f')
  await test.database.close()
})

void t.test('a scan goes on behind cells that were replaced under it', async (t) => {
  const { test, table } = await open()
  const rows = Array.from({ length: 300 }, (_, i) => `r${String(i).padStart(3, '0')}`)
  for (const row of rows) table.putSync({ row, cells: { 'f:q': 'old' } })
  for (const reversed of [false, true]) {
    const scan = table.scan({ reversed, batch: 1 })
    const seen: string[] = []
    for await (const result of scan) {
      seen.push(result.row!.toString())
      for (const row of rows) table.putSync({ row, cells: { 'f:q': `new ${seen.length}` } })
      if (seen.length > 20) break
    }
    const expected = (reversed ? [...rows].reverse() : rows).slice(0, seen.length)
    t.same(seen, expected)
  }
  await test.database.close()
})

void t.test('a get whose filter writes sees what it saw at its start', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { 'f:a': 'old', 'f:b': 'old' } })
  const filter = new WritingFilter(() => {
    table.putSync({ row: 'r', cells: { 'f:a': 'new', 'f:b': 'new' } })
  })
  const found = table.getSync({ row: 'r', filter }).cells()
  t.same(
    found.map((cell) => cell.value.toString()),
    ['old', 'old'],
  )
  await test.database.close()
})

void t.test('a marker of the very timestamp brings the older version to light', async (t) => {
  for (const isFlushed of [false, true]) {
    const { test, table } = await open()
    const time = 5000
    test.clock.milliseconds = time - 1
    table.putSync({ row: 'r', cells: { 'f:q': 'old' } })
    table.deleteSync({
      row: 'r',
      columnVersions: [{ family: 'f', qualifier: 'q', timestamp: time }],
    })
    if (isFlushed) await test.flush()
    if (isFlushed) table.putSync({ row: 'r', cells: { 'f:q': 'old' }, timestamp: time - 1 })
    test.clock.milliseconds = time
    table.putSync({ row: 'r', cells: { 'f:q': 'masked' } })
    t.equal(table.getSync({ row: 'r' }).value('f:q')?.toString(), 'old')
    await test.database.close()
  }
})

void t.test('a marker in the mutation of the put brings the older version to light', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { [column]: 'old' } })
  test.clock.milliseconds += 10
  const timestamp = test.clock.milliseconds
  table.mutateRowSync({
    row: 'r',
    mutations: [
      { append: { columns: { [column]: 'er' } } },
      { delete: { familyVersions: [{ family: 'f', timestamp }] } },
    ],
  })
  const read = (): string | undefined => {
    return test.database.table('table').getSync({ row: 'r' }).value(column, 'utf8')
  }
  t.equal(read(), 'old')
  await test.reopen()
  t.equal(read(), 'old')
  await test.flush()
  t.equal(read(), 'old')
  await test.database.close()
})

void t.test('a put with a TTL replaces only what expires before it', async (t) => {
  const { test, table } = await open()
  table.putSync({ row: 'r', cells: { 'f:q': 'for good' } })
  table.putSync({ row: 'r', cells: { 'f:q': 'short' }, ttlMilliseconds: 10 })
  test.clock.milliseconds += 5
  table.putSync({ row: 'r', cells: { 'f:q': 'shorter' }, ttlMilliseconds: 10 })
  t.same(stored(table), ['shorter', 'for good'])
  test.clock.milliseconds += 1000
  t.equal(table.getSync({ row: 'r' }).value('f:q')?.toString(), 'for good')
  await test.database.close()
})

void t.test('the change feed has every mutation', async (t) => {
  const { test, table } = await open()
  const from = test.database.statistics().lastSequence
  for (let i = 0; i < 5; i++) table.putSync({ row: 'r', cells: { 'f:q': `${i}` } })
  const seen: string[] = []
  for await (const change of test.database.changes({ fromSequence: from + 1 })) {
    seen.push(...change.cells.map((cell) => cell.value.toString()))
    if (seen.length === 5) break
  }
  t.same(seen, ['0', '1', '2', '3', '4'])
  await test.database.close()
})
