/**
 * Reads of families with a time to live, while their cells expire, and of several versions: gets
 * and scans that take rows as a whole or cell by cell, beside the same reads by the rules of the
 * matcher, which a filter asks for.
 *
 * CELLAR_SEED repeats a run; CELLAR_EXPIRED_STEPS is its length.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import { QualifierFilter, type EmbeddedTable, type Result } from '../../../../src/entries/index.js'
import { lengthOf } from '../../../helpers/length.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_129)
const steps = lengthOf('CELLAR_EXPIRED_STEPS', 1000, 20_000)
const columns = Array.from({ length: 6 }, (_, i) => `f:c${i}`)
const rows = Array.from({ length: 12 }, (_, i) => `r${i}`)

/** With room for locations and copies of rows. */
function open(): Promise<TestDatabase> {
  return TestDatabase.open({ options: { blockCacheBytesMax: 4 * 1024 * 1024 } })
}

function cellsOf(results: Iterable<Result>): string {
  const cells = [...results].flatMap((result) => result.cells())
  return cells
    .map(({ row, qualifier, timestamp, value }) => [row, qualifier, timestamp, value].join(' '))
    .join('\n')
}

/** The same cells by the rules, and by each other way. */
function scans(table: EmbeddedTable, versions: number): string[] {
  const filter = new QualifierFilter('GREATER_OR_EQUAL', '')
  const reversed = [...table.scanSync({ reversed: true, versions })].reverse()
  return [
    cellsOf(table.scanSync({ filter, versions })),
    cellsOf(table.scanSync({ versions })),
    cellsOf(table.scanSync({ batch: 4, versions })),
    cellsOf(reversed),
    // The second get of a row finds its location, or a copy of the row.
    cellsOf(rows.toSorted().map((row) => table.getSync({ row, versions }))),
    cellsOf(rows.toSorted().map((row) => table.getSync({ row, versions }))),
  ]
}

function gets(table: EmbeddedTable, row: string, some: string[], versions: number): string[] {
  const filter = new QualifierFilter('GREATER_OR_EQUAL', '')
  const read = { row, columns: some, versions }
  const single = some.map((column) => table.getSync({ row, columns: [column], versions }))
  return [{ ...read, filter }, read, read]
    .map((options) => cellsOf([table.getSync(options)]))
    .concat(cellsOf(single))
}

for (const family of [
  { ttlMilliseconds: 10_000 },
  { ttlMilliseconds: 10_000, versions: 3, minVersions: 2 },
  { ttlMilliseconds: 10_000, versions: 2, keepDeletedCells: 'TTL' },
  { ttlMilliseconds: 10_000, bloomFilter: 'ROWCOL', blockBytes: 1024 },
  { versions: 3, blockBytes: 1024 },
] as const) {
  void t.test(`all ways to read, ${JSON.stringify(family)}, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const next = (bound: number): number => random.below(bound)
    const test = await open()
    const { clock } = test
    const table = await test.database.createTable('t', { families: { f: family } })
    const differences: string[] = []
    let shown = 0
    let hidden = 0
    for (let step = 0; step < steps; step++) {
      const row = rows[next(rows.length)]
      const some = columns.slice(next(columns.length))
      const put = { row, cells: Object.fromEntries(some.map((column) => [column, `${step}`])) }
      const choice = next(100)
      if (choice < 45) table.putSync(put)
      else if (choice < 55) table.putSync({ ...put, timestamp: clock.milliseconds - next(12_000) })
      else if (choice < 58) table.putSync({ ...put, ttlMilliseconds: 1 + next(5000) })
      else if (choice < 60) table.deleteSync({ row, columns: some })
      else if (choice < 62) table.deleteSync({ row })
      else if (choice < 68) await test.flush()
      else if (choice < 70) await test.compact(next(2) === 0)
      else if (choice < 85) clock.milliseconds += next(1500)
      else {
        const versions = 1 + next(3)
        const isScan = next(2) === 0
        const ways = isScan ? scans(table, versions) : gets(table, row, some, versions)
        const [ruled] = ways
        ways.forEach((way, i) => {
          if (way !== ruled) differences.push(`step ${step}, way ${i}: '${ruled}' and '${way}'`)
        })
        shown += ruled.length
        hidden += ruled === '' ? 1 : 0
      }
    }
    t.same(differences.slice(0, 2), [])
    const hides = hidden > 5 || !('ttlMilliseconds' in family)
    t.ok(shown > 10_000 && hides, `${shown} characters of cells, ${hidden} empty reads`)
    await test.close()
  })
}

void t.test('a row expires while its place is known', async (t) => {
  const test = await open()
  const { clock } = test
  const table = await test.database.createTable('t', {
    families: { f: { ttlMilliseconds: 10_000 } },
  })
  const read = (): number => table.getSync({ row: 'r' }).size
  table.putSync({ row: 'r', cells: { 'f:1': 'v', 'f:2': 'v' } })
  await test.flush()
  t.same([read(), read()], [2, 2])
  clock.milliseconds += 10_000
  t.equal(read(), 2, 'the age of the TTL is not above it')
  table.putSync({ row: 'r', cells: { 'f:2': 'new', 'f:3': 'new' } })
  t.same([read(), read()], [3, 3])
  clock.milliseconds += 1
  t.same([read(), [...table.scanSync()].map(({ size }) => size)], [2, [2]])
  // A family that gets a TTL: copies of its rows have none.
  await test.database.alterTable('t', { families: { f: { ttlMilliseconds: Infinity } } })
  t.equal(read(), 3, 'nothing was compacted')
  t.equal(read(), 3)
  await test.database.alterTable('t', { families: { f: { ttlMilliseconds: 10_000 } } })
  t.same([read(), read()], [2, 2])
  await test.close()
})

void t.test('of a row some cells expire before others', async (t) => {
  const test = await open()
  const { clock } = test
  const families = { f: { ttlMilliseconds: 10_000 } }
  const table = await test.database.createTable('t', { families })
  const timestamp = clock.milliseconds - 5000
  for (const row of rows) {
    table.putSync({ row, cells: { 'f:1': 'v', 'f:3': 'v' } })
    table.putSync({ row, cells: { 'f:2': 'old' }, timestamp })
  }
  await test.flush()
  clock.milliseconds += 6000
  const names = (row: Result): string =>
    row
      .cells()
      .map(({ qualifier }) => qualifier)
      .join()
  const shown = () => [...table.scanSync()].map(names)
  t.same(
    shown(),
    rows.map(() => '1,3'),
  )
  t.equal(names(table.getSync({ row: 'r1' })), '1,3')
  // Beside them an old cell in a memtable, laid over the whole row of an SSTable.
  await test.compact(true)
  for (const row of rows) {
    table.putSync({ row, cells: { 'f:0': 'new' } })
    table.putSync({ row, cells: { 'f:4': 'old' }, timestamp })
  }
  // The first get brings the block into the cache.
  for (let i = 0; i < 3; i++) t.equal(names(table.getSync({ row: 'r1' })), '0,1,3')
  t.same(
    shown(),
    rows.map(() => '0,1,3'),
  )
  await test.close()
})

void t.test('a row that was copied before anything could expire', async (t) => {
  const test = await open()
  const { clock } = test
  clock.milliseconds = 5000
  const families = { f: { ttlMilliseconds: 10_000 } }
  const table = await test.database.createTable('t', { families })
  table.putSync({ row: 'r', cells: { 'f:1': 'v', 'f:2': 'v' } })
  await test.flush()
  table.putSync({ row: 'r', cells: { 'f:3': 'v' } })
  // Copies are made now and then, until one is used.
  const sizes = () => new Set(Array.from({ length: 300 }, () => table.getSync({ row: 'r' }).size))
  t.same([...sizes()], [3])
  clock.milliseconds = 16_000
  t.same([...sizes()], [0])
  await test.close()
})

void t.test(
  'in the order of writing an expired cell may bring back what is still stored',
  async (t) => {
    const least = { versions: 3, minVersions: 1, ttlMilliseconds: 10_000 }
    for (const [what, family] of Object.entries({ 'own TTL': { versions: 1 }, least })) {
      for (const isCompacted of [false, true]) {
        const test = await open()
        const families = { f: { ...family, newVersionBehavior: true } }
        const table = await test.database.createTable('t', { families })
        const now = test.clock.now()
        const ttlMilliseconds = what === 'own TTL' ? 5 : undefined
        table.putSync({ row: 'r', cells: { 'f:q': 'old' }, timestamp: now - 20_000 })
        table.putSync({ row: 'r', cells: { 'f:q': 'new' }, timestamp: now, ttlMilliseconds })
        const values = (): (string | undefined)[] => {
          const cells = table.getSync({ row: 'r', versions: 'all' }).cells()
          return cells.map(({ value }) => value.toString())
        }
        t.same(values(), ['new'])
        await test.flush()
        t.same(values(), ['new'])
        if (isCompacted) await test.compact(true)
        if (what === 'own TTL') test.clock.milliseconds += 100
        else
          table.deleteSync({
            row: 'r',
            columnVersions: [{ family: 'f', qualifier: 'q', timestamp: now }],
          })
        t.same(values(), isCompacted ? [] : ['old'], `${what}, compacted: ${isCompacted}`)
        await test.close()
      }
    }
  },
)
