/** Limits count what a filter lets through, not what it was shown. */
import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  PageFilter,
  ValueFilter,
  type EmbeddedTable,
} from '../../../../src/entries/index.js'

const wanted = () => new ValueFilter('EQUAL', { binary: 'yes' })

/** Rows 0 to 29: each third says yes in two of its four columns, with two versions. */
async function open(flushed: boolean): Promise<{ database: Database; table: EmbeddedTable }> {
  const options = { executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/db', { ...options, fileSystem: new MemoryFileSystem() })
  const families = { f: { versions: 3 }, g: {} }
  const table = await database.createTable('t', { families })
  for (let i = 0; i < 30; i++) {
    const yes = i % 3 === 0 ? 'yes' : 'no'
    const row = `r${String(i).padStart(2, '0')}`
    for (const timestamp of [1, 2]) {
      const cells = { 'f:a': 'no', 'f:b': yes, 'f:c': 'no', 'f:d': yes, 'g:x': yes }
      await table.put({ row, cells, timestamp })
    }
  }
  if (flushed) await database.flush()
  return { database, table }
}

const columnsOf = (cells: readonly { family: string; qualifier: Buffer }[]): string[] =>
  cells.map(({ family, qualifier }) => `${family}:${qualifier.toString()}`)

for (const flushed of [false, true]) {
  const where = flushed ? 'in files' : 'in memory'

  void t.test(`limit counts rows that pass, ${where}`, async (t) => {
    const { database, table } = await open(flushed)
    const rows = (scan: object) => [...table.scanSync(scan)].map((row) => row.row!.toString())
    t.same(rows({ filter: wanted(), limit: 4 }), ['r00', 'r03', 'r06', 'r09'])
    t.same(rows({ filter: wanted(), limit: 3, reversed: true }), ['r27', 'r24', 'r21'])
    t.equal(rows({ filter: wanted(), limit: 100 }).length, 10)
    const found: string[] = []
    for await (const row of table.scan({ filter: wanted(), limit: 2, startRow: 'r10' })) {
      found.push(row.row!.toString())
    }
    t.same(found, ['r12', 'r15'])
    await database.close()
  })

  void t.test(`cells of a family are counted behind the filter, ${where}`, async (t) => {
    const { database, table } = await open(flushed)
    const get = (more: object) =>
      columnsOf(table.getSync({ row: 'r00', filter: wanted(), ...more }).cells())
    t.same(get({}), ['f:b', 'f:d', 'g:x'])
    t.same(get({ cellsPerFamilyMax: 1 }), ['f:b', 'g:x'])
    t.same(get({ cellsPerFamilyMax: 1, cellsPerFamilyOffset: 1 }), ['f:d'])
    t.same(get({ cellsPerFamilyMax: 5, cellsPerFamilyOffset: 1 }), ['f:d'])
    t.same(get({ versions: 2, cellsPerFamilyMax: 3 }), ['f:b', 'f:b', 'f:d', 'g:x'])
    await database.close()
  })

  void t.test(`batches of a scan are filled with cells that pass, ${where}`, async (t) => {
    const { database, table } = await open(flushed)
    const batches = [...table.scanSync({ filter: wanted(), batch: 2, limit: 2 })]
    t.same(
      batches.map((result) => [result.row!.toString(), columnsOf(result.cells())]),
      [
        ['r00', ['f:b', 'f:d']],
        ['r00', ['g:x']],
        ['r03', ['f:b', 'f:d']],
        ['r03', ['g:x']],
      ].slice(0, batches.length),
    )
    t.ok(batches.length >= 2)
    await database.close()
  })

  void t.test(`a page counts the rows that the scan gives, ${where}`, async (t) => {
    const { database, table } = await open(flushed)
    t.equal([...table.scanSync({ filter: new PageFilter(7) })].length, 7)
    t.equal([...table.scanSync({ filter: new PageFilter(7), limit: 3 })].length, 3)
    await database.close()
  })
}
