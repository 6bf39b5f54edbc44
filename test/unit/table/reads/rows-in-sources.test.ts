/**
 * Scans over plain rows whose cells lie in several sources, which are put together as wholes,
 * beside a map of the newest cells: forward, backwards, in pieces, filtered, and awaited, with
 * blocks that are missing and flushes between two rows.
 *
 * CELLAR_SEED repeats a run.
 *
 * @runs campaign
 */
import t from 'tap'
import { seededRandom } from '../../../../bench/harness/draws/random.js'
import {
  PageFilter,
  QualifierFilter,
  type Result,
  type ScanOptions,
} from '../../../../src/entries/index.js'
import { blockMissing } from '../../../../src/storage/cursor/cursor.js'
import { RowMergeCursor } from '../../../../src/storage/scan/plain/row-merge-cursor.js'
import { RowOverlay } from '../../../../src/storage/sstable/rows/row-overlay.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20_261_130)

const columns = Array.from({ length: 45 }, (_, i) => `c${String(i).padStart(2, '0')}`)
const rowNames = Array.from({ length: 16 }, (_, i) => `r${String(i).padStart(2, '0')}`)

/** The newest values by column, by row. */
type Model = Map<string, Map<string, string>>

function shownRow(row: string, cells: Iterable<readonly [string, string]>): string {
  return `${row}: ${[...cells].map((cell) => cell.join('=')).join(' ')}`
}

function wanted(model: Model): string[] {
  const rows = [...model].filter(([, cells]) => cells.size > 0)
  return rows.map(([row, cells]) => shownRow(row, [...cells].sort())).sort()
}

function shown(results: Iterable<Result>): string[] {
  return Array.from(results, (result) => {
    const cells = result
      .cells()
      .map((cell) => [String(cell.qualifier), String(cell.value)] as const)
    return shownRow(String(result.row), cells)
  })
}

/** Number of rows that are put together of several sources while `action` runs. */
async function countLaid(action: () => Promise<void>): Promise<number> {
  const prototype = RowOverlay.prototype as { begin: (...row: [Buffer, number, number]) => void }
  const { begin } = prototype
  let count = 0
  prototype.begin = function (...row): void {
    if (row[0].length > 0) count++
    begin.apply(this, row)
  }
  try {
    await action()
  } finally {
    prototype.begin = begin
  }
  return count
}

const ways: readonly ScanOptions[] = [
  {},
  { batch: 4 },
  { filter: new QualifierFilter('GREATER_OR_EQUAL', '') },
  { filter: new PageFilter(1000) },
  { maxResultBytes: 2000 },
]

for (const family of [{}, { ttlMilliseconds: 1_000_000_000 }, { bloomFilter: 'ROWCOL' }] as const) {
  void t.test(`rows in several sources, ${JSON.stringify(family)}, seed ${seed}`, async (t) => {
    const random = seededRandom(seed)
    const options = { blockCacheBytesMax: 16 * 1024 }
    const test = await TestDatabase.open({ options })
    const families = { f: { blockBytes: 1024, ...family } }
    const table = await test.database.createTable('t', { families })
    const model: Model = new Map(rowNames.map((row) => [row, new Map()]))
    const putSome = (row: string): void => {
      const width = [1, 2, 6, 12, 45][random.below(5)]
      const from = random.below(columns.length)
      const cells: Record<string, string> = {}
      for (const column of columns.slice(from, from + width)) {
        const value = `${random.below(1000)}`.padEnd(random.below(30), '.')
        cells[`f:${column}`] = value
        model.get(row)!.set(column, value)
      }
      test.clock.milliseconds += random.below(2)
      table.putSync({ row, cells })
    }
    const change = (): void => {
      const row = rowNames[random.below(rowNames.length)]
      if (random.below(40) > 0) putSome(row)
      else if (random.below(2) === 0) {
        const column = columns[random.below(columns.length)]
        table.deleteSync({ row, columns: [`f:${column}`] })
        model.get(row)!.delete(column)
      } else {
        table.deleteSync({ row })
        model.get(row)!.clear()
      }
    }
    const laid = await countLaid(async () => {
      for (let round = 0; round < 30; round++) {
        for (let i = 0; i < 14; i++) change()
        if (random.below(3) === 0) await test.flush()
        if (round % 12 === 11) await test.compact(true)
        const expected = wanted(model)
        for (const way of ways) {
          const results = [...table.scanSync({ ...way, allowPartialResults: false })]
          if (way.batch === undefined) t.same(shown(results), expected, JSON.stringify(way))
          else {
            const cells = results.flatMap((result) => shown([result])[0].split(': ')[1].split(' '))
            t.same(
              cells,
              expected.flatMap((row) => row.split(': ')[1].split(' ')),
              'in pieces',
            )
          }
          if (way.batch !== undefined || way.filter instanceof PageFilter) continue
          const reversed = shown(table.scanSync({ ...way, reversed: true }))
          t.same(reversed.reverse(), expected, `reversed ${JSON.stringify(way)}`)
        }
        const reversed = random.below(2) === 0
        const awaited: Result[] = []
        for await (const result of table.scan({ caching: 3, cacheBlocks: false, reversed })) {
          awaited.push(result)
          // The cursors are replaced between two rows.
          if (random.below(10) === 0) await test.flush()
        }
        if (reversed) awaited.reverse()
        t.same(shown(awaited), expected, `awaited, reversed: ${reversed}`)
      }
    })
    t.ok(laid > 500, `${laid} rows were put together`)
    await test.close()
  })
}

void t.test('cursors that are replaced at a missing block after such a row', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  const families = { f: { blockBytes: 1024 } }
  const table = await test.database.createTable('t', { families })
  const rows = Array.from({ length: 12 }, (_, i) => `r${String(i).padStart(2, '0')}`)
  // Each row fills a block, so the step past it needs another one.
  const value = 'v'.repeat(450)
  for (const row of rows) table.putSync({ row, cells: { 'f:a': value, 'f:b': value } })
  await test.flush()
  for (const row of rows) table.putSync({ row, cells: { 'f:b': `new ${row}` } })
  await test.flush()
  for (const row of rows) table.putSync({ row, cells: { 'f:a': `newest ${row}` } })
  const expected = rows.map((row) => `${row}: a=newest ${row} b=new ${row}`)
  const prototype = RowMergeCursor.prototype as { next: () => void }
  const { next } = prototype
  let throws = 0
  let flushesAt = 0
  prototype.next = function (): void {
    try {
      next.call(this)
    } catch (error) {
      if (error === blockMissing && ++throws === flushesAt) {
        const loader = blockMissing.loader!
        const loadBlock = async (index: number): Promise<void> => {
          await test.flush()
          await loader.loadBlock(index)
        }
        blockMissing.loader = { loadBlock, releaseBlock: (index) => loader.releaseBlock(index) }
      }
      throw error
    }
  }
  t.teardown(() => (prototype.next = next))
  t.same(shown(await table.scan().toArray()), expected)
  const met = throws
  t.ok(met > 10, `${met} steps met a missing block`)
  for (flushesAt = 1; flushesAt <= met; flushesAt++) {
    throws = 0
    for (const row of rows) table.putSync({ row, cells: { 'f:a': `newest ${row}` } })
    t.same(shown(await table.scan().toArray()), expected, `a flush at missing block ${flushesAt}`)
    if (flushesAt % 4 === 0) await test.compact(true)
    if (flushesAt % 4 !== 0) continue
    for (const row of rows) table.putSync({ row, cells: { 'f:b': `new ${row}` } })
    await test.flush()
  }
  await test.close()
})

void t.test('rows in several sources keep the versions that are wanted', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: { versions: 3 } } })
  for (const value of ['1', '2', '3']) {
    test.clock.milliseconds++
    for (const row of ['a', 'b']) table.putSync({ row, cells: { 'f:1': value, 'f:2': value } })
    if (value !== '3') await test.flush()
  }
  const row = '1=3 1=2 1=1 2=3 2=2 2=1'
  for (const reversed of [false, true]) {
    const expected = [`a: ${row}`, `b: ${row}`]
    if (reversed) expected.reverse()
    for (const filter of [undefined, new PageFilter(2)]) {
      t.same(shown(table.scanSync({ versions: 3, reversed, filter })), expected)
    }
  }
  await test.close()
})

void t.test('a filter that throws after such a row leaves other scans right', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('t', { families: { f: {} } })
  for (const row of ['a', 'b']) table.putSync({ row, cells: { 'f:1': 'old', 'f:2': 'old' } })
  await test.flush()
  for (const row of ['a', 'b']) table.putSync({ row, cells: { 'f:2': 'new' } })
  class Throwing extends QualifierFilter {
    override filterCell(): never {
      throw new Error('not today')
    }
  }
  const filter = new Throwing('EQUAL', '1')
  t.throws(() => [...table.scanSync({ filter })], { message: 'not today' })
  t.same(shown(table.scanSync()), ['a: 1=old 2=new', 'b: 1=old 2=new'])
  await test.close()
})
