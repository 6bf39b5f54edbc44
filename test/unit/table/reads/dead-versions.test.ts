/**
 * Reads take a bounded number of steps for each column, however many versions of it are stored:
 * what is counted are the moves of cursors.
 */
import t from 'tap'
import type { EmbeddedTable, FamilyOptions } from '../../../../src/entries/index.js'
import { countMoves } from '../../../helpers/cells/cursor-moves.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const few = 100
const many = 2000
const options = { memtableBytesMax: 32 * 1024 * 1024, flushBytes: 16 * 1024 * 1024 }
/** Rows `few` and `many`: columns with so many versions, between a row before and one behind. */
async function fill(
  family: FamilyOptions,
  qualifiers: readonly string[],
): Promise<{ test: TestDatabase; table: EmbeddedTable }> {
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: family } })
  for (const row of ['a', 'z']) table.putSync({ row, cells: { 'f:a': 'v', 'f:c': 'v' } })
  for (const [row, versions] of [
    ['few', few],
    ['many', many],
  ] as const) {
    for (let i = 0; i < versions; i++) {
      const cells = Object.fromEntries(qualifiers.map((name) => [`f:${name}`, `v${i}`]))
      table.putSync({ row, cells, timestamp: 1000 + i })
    }
    table.putSync({ row, cells: { 'f:single': 'v' } })
  }
  return { test, table }
}

const reads: Record<string, (table: EmbeddedTable, row: string) => unknown> = {
  'get of a row': (table, row) => table.getSync({ row }),
  'get of a column': (table, row) => table.getSync({ row, columns: ['f:b'] }),
  'get of two columns': (table, row) => table.getSync({ row, columns: ['f:b', 'f:single'] }),
  'get of versions': (table, row) => table.getSync({ row, versions: 3 }),
  'get of a version': (table, row) => table.getSync({ row, timestamp: 1002 }),
  'get of a time range': (table, row) => table.getSync({ row, timeRange: [0, 1005] }),
  existence: (table, row) => table.existsSync({ row }),
  scan: (table, row) => [...table.scanSync({ startRow: row, limit: 1 })],
  'scan of all': (table) => [...table.scanSync({})],
  'scan of versions': (table, row) => [...table.scanSync({ startRow: row, limit: 1, versions: 2 })],
  'reversed scan': (table, row) => [...table.scanSync({ startRow: row, limit: 1, reversed: true })],
  check: (table, row) => {
    const check = { row, column: 'f:b', operator: 'EQUAL', value: 'no' } as const
    return table.checkAndMutateSync(check, { put: { row, cells: { 'f:b': 'v' } } })
  },
}

/** Moves that a read of the row with many versions may take more than one with few. */
const movesMore = 4

const families: Record<string, FamilyOptions> = {
  'one version': { versions: 1 },
  'three versions': { versions: 3 },
}

for (const [kind, family] of Object.entries(families)) {
  for (const qualifiers of [['b'], [''], ['a', 'b', 'c']]) {
    const title = `${kind} of the columns ${JSON.stringify(qualifiers)}`
    void t.test(`steps do not grow with the versions stored: ${title}`, async (t) => {
      const { test, table } = await fill(family, qualifiers)
      for (const [name, read] of Object.entries(reads)) {
        const least = countMoves(() => read(table, 'few'))
        const most = countMoves(() => read(table, 'many'))
        t.ok(least > 0, `${name} moves`)
        t.ok(most <= least + movesMore, `${name}: ${most} moves, ${least} with few versions`)
      }
      await test.database.close()
    })
  }
}

void t.test('an increment takes as many steps whatever was before it', async (t) => {
  const test = await TestDatabase.open({ options })
  const table = await test.database.createTable('table', { families: { f: {} } })
  const increment = (): unknown => table.incrementSync({ row: 'r', columns: { 'f:n': 1 } })
  for (let i = 0; i < few; i++) increment()
  const least = countMoves(increment)
  for (let i = 0; i < many; i++) increment()
  const most = countMoves(increment)
  t.ok(most <= least, `${most} moves, ${least} after few`)
  const row = countMoves(() => table.getSync({ row: 'r' }))
  t.ok(row <= 8, `${row} moves of a get`)
  t.equal(table.getSync({ row: 'r' }).value('f:n')?.readBigInt64BE(), BigInt(few + many + 2))
  await test.database.close()
})
