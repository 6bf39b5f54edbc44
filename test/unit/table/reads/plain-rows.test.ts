/**
 * Plain rows, which scans and compactions pass on as a whole, beside the same rows cell by cell:
 * a scan with pieces, a reversed scan, a scan by the rules, and what was there before a compaction.
 * `verify` compares the marks of the files with their keys.
 *
 * CELLAR_SEED repeats a run. CELLAR_PLAIN_ROW_STEPS: its steps.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import {
  Database,
  PageFilter,
  QualifierFilter,
  type EmbeddedTable,
  type ScanOptions,
  type Snapshot,
} from '../../../../src/entries/index.js'
import { cellsOf } from '../../../helpers/cells-of.js'
import { lengthOf } from '../../../helpers/length.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_129)
const steps = lengthOf('CELLAR_PLAIN_ROW_STEPS', 800, 5000)

const columns = Array.from({ length: 12 }, (_, i) => `f:${'c'.repeat(1 + (i % 3))}${i}`)

/** The ways to read the same cells: the second and the third by cells, the others by rows. */
function allWays(table: EmbeddedTable, options: ScanOptions): string[] {
  const filter = new QualifierFilter('GREATER_OR_EQUAL', '')
  const reversed = [...table.scanSync({ ...options, reversed: true })].reverse()
  return [
    cellsOf(table.scanSync(options)),
    cellsOf(table.scanSync({ ...options, batch: 5 })),
    cellsOf(table.scanSync({ ...options, filter })),
    cellsOf(table.scanSync({ ...options, filter: new PageFilter(1000) })),
    cellsOf(reversed),
  ]
}

function firstDifference(one: string, other: string): string {
  const lines = other.split('\n')
  const at = one.split('\n').findIndex((line, i) => line !== lines[i])
  return `'${one.split('\n')[at]}' and '${lines[at]}'`
}

for (const family of [
  { versions: 1, blockBytes: 1024 },
  { versions: 3, blockBytes: 2048, keepDeletedCells: true },
  { versions: 1, blockBytes: 4096, bloomFilter: 'ROWCOL' },
  { versions: 2, blockBytes: 1024, newVersionBehavior: true, bloomFilter: 'NONE' },
  { versions: 1, blockBytes: 1024, ttlMilliseconds: 1_000_000_000, compression: 'NONE' },
] as const) {
  void t.test(`rows as a whole and by cells, ${JSON.stringify(family)}, ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const next = (bound: number): number => random.below(bound)
    const test = await TestDatabase.open()
    const { database, fileSystem, directory } = test
    const table = await database.createTable('t', { families: { f: family } })
    const rows = Array.from({ length: 50 }, (_, i) => `r${i}${'\0'.repeat(i % 3)}`)
    const snapshots: Snapshot[] = []
    let compared = 0
    for (let step = 0; step < steps; step++) {
      const row = rows[next(rows.length)]
      const choice = next(1000)
      const value = `${step}`.padEnd(next(40), '.')
      const from = next(columns.length)
      const some = columns.slice(next(2) === 0 ? 0 : from)
      const put = { row, cells: Object.fromEntries(some.map((column) => [column, value])) }
      if (choice < 500) table.putSync(put)
      else if (choice < 560) table.putSync({ row, cells: { [some[0]]: value } })
      else if (choice < 600) table.putSync({ ...put, timestamp: 1 + next(50) })
      else if (choice < 610) table.putSync({ ...put, ttlMilliseconds: 1_000_000 })
      else if (choice < 612) table.putSync({ ...put, timestamp: 2n ** 60n })
      // Too long for a block.
      else if (choice < 630)
        table.putSync({ row, cells: { ...put.cells, 'f:z': 'z'.repeat(4000) } })
      else if (choice < 640) table.deleteSync({ row, columns: [some[0]] })
      else if (choice < 645) table.deleteSync({ row })
      else if (choice < 670) await test.flush()
      else if (choice < 680) {
        const before = cellsOf(table.scanSync())
        await test.compact(next(2) === 0)
        const after = cellsOf(table.scanSync())
        if (before !== after) t.fail(`step ${step}: compaction`)
      } else if (choice < 690) {
        if (snapshots.length > 2) snapshots.shift()!.close()
        snapshots.push(database.snapshot())
      } else if (choice < 760) {
        const snapshot = [undefined, ...snapshots][next(snapshots.length + 1)]
        const ends = [rows[next(rows.length)], rows[next(rows.length)]].sort()
        const range = next(2) === 0 ? {} : { startRow: ends[0], stopRow: ends[1] }
        const ways = allWays(table, { ...range, snapshot })
        // A reversed scan has its bounds the other way round.
        if (range.startRow !== undefined) ways.pop()
        const [whole, ...others] = ways
        others.forEach((other, way) => {
          if (other !== whole) t.fail(`step ${step}, way ${way}: ${firstDifference(whole, other)}`)
        })
        compared++
      }
    }
    t.ok(compared > 20, `${compared} scans`)
    for (const snapshot of snapshots) snapshot.close()
    await test.flush()
    await test.close()
    const { sound, problems, entries } = await Database.verify(directory, { fileSystem })
    t.ok(sound && entries > 100, JSON.stringify(problems))
  })
}

void t.test('a snapshot sees of a row only what was there, also in a plain row', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: {} } })
  for (const row of ['a', 'b', 'c']) table.putSync({ row, cells: { 'f:1': 'before' } })
  const snapshot = test.database.snapshot()
  table.putSync({ row: 'b', cells: { 'f:2': 'later' } })
  await test.flush()
  const shown = (options: ScanOptions) => [...table.scanSync(options)].map((row) => row.size)
  t.same(shown({ snapshot }), [1, 1, 1])
  t.same(shown({}), [1, 2, 1])
  snapshot.close()
  await test.close()
})

void t.test('awaited scans meet missing blocks between rows, and show each row once', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0, quickReads: false } })
  const table = await test.database.createTable('t', { families: { f: { blockBytes: 1024 } } })
  for (let i = 0; i < 100; i++) {
    const cells = { 'f:1': `${i}`, 'f:2': 'x'.repeat(i), 'f:3': 'z' }
    table.putSync({ row: String(i).padStart(3, '0'), cells })
  }
  await test.flush()
  const wanted = cellsOf(table.scanSync())
  for (const filter of [undefined, new PageFilter(1000)]) {
    for (const reversed of [false, true]) {
      const results = await table.scan({ filter, reversed }).toArray()
      t.equal(cellsOf(reversed ? results.reverse() : results), wanted)
    }
  }
  await test.close()
})

void t.test('a compaction drops expired cells, also of plain rows', async (t) => {
  const test = await TestDatabase.open()
  const families = { f: { ttlMilliseconds: 10_000 } }
  const table = await test.database.createTable('t', { families })
  table.putSync({ row: 'old', cells: { 'f:1': 'v', 'f:2': 'v' } })
  await test.flush()
  test.clock.milliseconds += 20_000
  table.putSync({ row: 'young', cells: { 'f:1': 'v', 'f:2': 'v' } })
  await test.flush()
  await test.compact(true)
  t.same(
    [...table.scanSync({ raw: true })].map((result) => result.row?.toString()),
    ['young'],
  )
  await test.close()
})
