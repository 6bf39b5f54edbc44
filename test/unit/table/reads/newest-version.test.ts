/** A get of named columns reads no block of a file that cannot hold the newest version. */
import t from 'tap'
import type { EmbeddedTable, FamilyOptions, Get } from '../../../../src/entries/index.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { callsOf, type CallForm } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const files = 10

/** Ten files, each with a newer version of columns a and b of all rows; column c in the oldest. */
async function tenFiles(
  family: FamilyOptions,
  timestampOf: (file: number) => number,
): Promise<TestDatabase> {
  const options = { blockCacheBytesMax: 0, memtableBytesMax: 64 * 1024 * 1024 }
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: family } })
  for (let file = 0; file < files; file++) {
    for (let row = 0; row < 50; row++) {
      const value = `${file}`.repeat(50)
      const cells = { 'f:a': value, 'f:b': value, ...(file === 0 ? { 'f:c': 'old' } : {}) }
      table.putSync({ row: `r${row}`, cells, timestamp: timestampOf(file) })
    }
    await test.flush()
  }
  return test
}

async function blocksOf(test: TestDatabase, form: CallForm, get: Get): Promise<[number, string]> {
  const calls = callsOf(test.database.table('table'), form)
  const before = test.database.statistics().blocksRead
  const result = showResult(plainResult(await calls.get(get)))
  return [test.database.statistics().blocksRead - before, result]
}

for (const form of ['sync', 'async'] as const) {
  for (const bloomFilter of ['NONE', 'ROW', 'ROWCOL'] as const) {
    void t.test(`one block of ten files (${form}, ${bloomFilter})`, async (t) => {
      const test = await tenFiles({ versions: 5, bloomFilter }, (file) => 100 + file)
      const value = '9'.repeat(50)
      const [blocks, cells] = await blocksOf(test, form, { row: 'r7', columns: ['f:a'] })
      t.equal(cells, `row [r7|f:a@109=${value}]`)
      t.equal(blocks, 1)
      const both = await blocksOf(test, form, { row: 'r7', columns: ['f:b', 'f:a'] })
      t.equal(both[0], 1, 'both columns lie in one block of the newest file')
      const three = await blocksOf(test, form, { row: 'r7', columns: ['f:a'], versions: 3 })
      t.equal(three[0], 3, 'three versions, three files')
      t.match(three[1], /@109=9+, .*@108=8+, .*@107=7+/)
      const past = { row: 'r7', columns: ['f:a'], timeRange: [0, 104] as const }
      t.same((await blocksOf(test, form, past))[0], 1)
      await test.close()
    })
  }

  void t.test(`no block if the memtable has the newest version (${form})`, async (t) => {
    const test = await tenFiles({ versions: 5 }, (file) => 100 + file)
    const table: EmbeddedTable = test.database.table('table')
    table.putSync({ row: 'r7', cells: { 'f:a': 'new' }, timestamp: 200 })
    const read = await blocksOf(test, form, { row: 'r7', columns: ['f:a'] })
    t.same(read, [0, 'row [r7|f:a@200=new]'])
    table.putSync({ row: 'r8', cells: { 'f:a': 'older' }, timestamp: 105 })
    const older = await blocksOf(test, form, { row: 'r8', columns: ['f:a'] })
    t.same(older, [1, `row [r8|f:a@109=${'9'.repeat(50)}]`], 'only the file that may be newer')
    table.deleteSync({ row: 'r9', timestamp: 104 })
    const masked = await blocksOf(test, form, { row: 'r9', columns: ['f:a'] })
    t.equal(masked[0], 1)
    t.match(masked[1], /@109/)
    await test.close()
  })

  void t.test(`of cells with equal timestamps the last written is newest (${form})`, async (t) => {
    const test = await tenFiles({}, () => 100)
    const read = await blocksOf(test, form, { row: 'r7', columns: ['f:a'] })
    t.same(read, [1, `row [r7|f:a@100=${'9'.repeat(50)}]`])
    const last = await blocksOf(test, form, { row: 'r7', columns: ['f:c'] })
    t.equal(last[1], 'row [r7|f:c@100=old]', 'found in the oldest file all the same')
    await test.close()
  })
}

void t.test(
  'a get of columns of several families seeks in each the column it asks for',
  async (t) => {
    const test = await TestDatabase.open()
    const table = await test.database.createTable('table', { families: { f: {}, g: {} } })
    await table.put({ row: 'a', cells: { 'f:a': '1', 'f:c': '2', 'g:a': '3', 'g:c': '4' } })
    await test.flush()
    const found = (columns: readonly string[]): string[] =>
      table
        .getSync({ row: 'a', columns })
        .cells()
        .map(({ value }) => value.toString())
    t.same(found(['f:a', 'g:c']), ['1', '4'])
    t.same(found(['f:c', 'g:a']), ['2', '3'])
    t.same(found(['f:a', 'g:x']), ['1'])
    t.same(found(['f:b', 'g:a']), ['3'])
    await test.close()
  },
)
