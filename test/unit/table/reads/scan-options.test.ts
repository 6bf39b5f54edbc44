/**
 * Options of scans and gets that no numbered case covers.
 *
 * @runs long
 */
import t from 'tap'
import {
  FilterBase,
  FilterList,
  PageFilter,
  parseFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  SkipFilter,
  ValueFilter,
  type Filter,
  type Get,
  type Result,
  type Scan,
} from '../../../../src/entries/index.js'
import { plainResult, showCell, showResult } from '../../../helpers/cells/plain-cells.js'
import { callsOf, type CallForm } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const forms: readonly CallForm[] = ['sync', 'async']

function numbered(i: number): string {
  return `r${String(i).padStart(5, '0')}`
}

/** Rows of two families; the first one has few small cells, the second one large ones. */
async function openTwo(rows: number, cacheBytes = 0): Promise<TestDatabase> {
  const options = { blockCacheBytesMax: cacheBytes, memtableBytesMax: 64 * 1024 * 1024 }
  const test = await TestDatabase.open({ options })
  const families = { a: { blockBytes: 1024 }, b: { blockBytes: 1024 } }
  const table = await test.database.createTable('table', { families })
  for (let i = 0; i < rows; i++) {
    const cells = {
      'a:flag': i % 100 === 7 ? 'yes' : 'no',
      'b:x': `${i}`.repeat(60),
      'b:y': `${i}`.repeat(60),
    }
    table.putSync({ row: numbered(i), cells })
  }
  await test.flush()
  return test
}

function show(results: readonly Result[]): string[] {
  return results.map((result) => showResult(plainResult(result)))
}

const flag = (filterIfMissing: boolean): Filter =>
  new SingleColumnValueFilter({
    column: 'a:flag',
    operator: 'EQUAL',
    value: 'yes',
    filterIfMissing,
  })

for (const form of forms) {
  void t.test(`partial results put together are the rows (${form})`, async (t) => {
    const test = await openTwo(50)
    const calls = callsOf(test.database.table('table'), form)
    const whole = (await calls.scan()).map((result) => plainResult(result).cells.map(showCell))
    for (const maxResultBytes of [1, 60, 200, 10_000]) {
      const rows: string[][] = []
      let fresh = true
      for (const result of await calls.scan({ maxResultBytes, allowPartialResults: true })) {
        const cells = plainResult(result).cells.map(showCell)
        if (fresh) rows.push(cells)
        else rows.at(-1)!.push(...cells)
        fresh = !result.partial
      }
      t.same(rows, whole, `${maxResultBytes} bytes`)
      const limited = await calls.scan({ maxResultBytes, allowPartialResults: true, limit: 3 })
      t.equal(limited.filter(({ partial }) => !partial).length, 3, 'a limit counts rows')
    }
    const pieces = await calls.scan({ maxResultBytes: 1, allowPartialResults: true, limit: 1 })
    t.same(
      pieces.map(({ size, partial }) => [size, partial]),
      [
        [1, true],
        [1, true],
        [1, false],
      ],
    )
    t.equal((await calls.scan({ maxResultBytes: 1 })).length, 50, 'not unless asked for')
    const filter = flag(true)
    const judged = await calls.scan({ maxResultBytes: 1, allowPartialResults: true, filter })
    t.same(
      judged.map(({ size }) => size),
      [3],
      'not with a filter that judges whole rows',
    )
    await test.close()
  })

  void t.test(`a cursor says where a scan is that finds nothing (${form})`, async (t) => {
    const test = await openTwo(2000)
    const calls = callsOf(test.database.table('table'), form)
    const filter = new ValueFilter('EQUAL', 'never')
    const results = await calls.scan({ filter, needCursorResult: true })
    t.ok(results.length >= 3)
    t.ok(results.every(({ cursor, isEmpty }) => cursor !== undefined && isEmpty))
    const rows = results.map(({ cursor }) => cursor!.toString())
    t.same(rows, [...rows].sort())
    const from = rows[1]
    const [next] = await calls.scan({ startRow: from, limit: 1 })
    t.equal(next.row?.toString(), from, 'a scan can go on there')
    t.equal(next.cursor, undefined)
    t.same(await calls.scan({ filter }), [])
    await test.close()
  })

  void t.test(`families on demand: the same results, fewer blocks (${form})`, async (t) => {
    const test = await openTwo(1000)
    const table = test.database.table('table')
    table.putSync({ row: 'r00007x', cells: { 'b:only': '1' } })
    table.putSync({ row: 'r00008x', cells: { 'a:flag': 'yes' } })
    const calls = callsOf(table, form)
    const column = 'a:flag'
    const exclude = { column, operator: 'EQUAL', value: 'yes', filterIfMissing: true } as const
    const filters: [string, () => Filter][] = [
      ['single', () => flag(true)],
      ['missing passes', () => flag(false)],
      ['exclude', () => new SingleColumnValueExcludeFilter(exclude)],
      ['and', () => new FilterList('MUST_PASS_ALL', [flag(true), flag(true)])],
      ['or', () => new FilterList('MUST_PASS_ONE', [flag(true), new ValueFilter('EQUAL', '5')])],
      ['skip', () => new SkipFilter(flag(true))],
      ['page', () => new FilterList('MUST_PASS_ALL', [flag(true), new PageFilter(3)])],
    ]
    for (const [name, make] of filters) {
      for (const options of [{}, { reversed: true }, { columns: ['a'] }, { limit: 2 }]) {
        const eager = await calls.scan({ ...options, filter: make() })
        const lazy = await calls.scan({ ...options, filter: make(), loadFamiliesOnDemand: true })
        t.same(show(lazy), show(eager), `${name} ${JSON.stringify(options)}`)
      }
    }
    const blocks = async (loadFamiliesOnDemand: boolean): Promise<number> => {
      const before = test.database.statistics().blocksRead
      await calls.scan({ filter: flag(true), loadFamiliesOnDemand })
      return test.database.statistics().blocksRead - before
    }
    t.ok((await blocks(true)) < (await blocks(false)) / 2)
    const get = { row: 'r00007', filter: flag(true), loadFamiliesOnDemand: true }
    t.equal((await calls.get(get)).size, 3)
    await test.close()
  })

  void t.test(`a check of existence returns no cells (${form})`, async (t) => {
    const test = await openTwo(10, 1024 * 1024)
    const calls = callsOf(test.database.table('table'), form)
    const check = async (get: Get): Promise<[boolean | undefined, number]> => {
      const { exists, size } = await calls.get({ ...get, checkExistenceOnly: true })
      return [exists, size]
    }
    t.same(await check({ row: numbered(1) }), [true, 0])
    t.same(await check({ row: 'none' }), [false, 0])
    t.same(await check({ row: numbered(1), columns: ['b:none'] }), [false, 0])
    t.same(await check({ row: numbered(1), filter: new ValueFilter('EQUAL', 'never') }), [false, 0])
    t.same(await check({ row: numbered(7), filter: flag(true) }), [true, 0])
    t.equal((await calls.get({ row: numbered(1) })).exists, undefined)
    t.equal((await calls.get({ row: numbered(1) })).size, 3, 'the next get is whole again')
    t.equal(await calls.exists({ row: numbered(1) }), true)
    await test.close()
  })
}

void t.test('an uncommitted read sees what is written meanwhile', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('table', { families: { f: {} } })
  for (const row of ['a', 'b', 'c']) table.putSync({ row, cells: { 'f:q': row } })
  const rowsOf = (scan: Scan): string[] => {
    const scanner = table.scanSync(scan)
    const first = scanner.next().value as Result
    table.putSync({ row: 'bb', cells: { 'f:q': 'late' } })
    const rows = [first, ...scanner].map(({ row }) => row!.toString())
    table.deleteSync({ row: 'bb' })
    return rows
  }
  t.same(rowsOf({}), ['a', 'b', 'c'])
  t.same(rowsOf({ isolation: 'READ_COMMITTED' }), ['a', 'b', 'c'])
  t.same(rowsOf({ isolation: 'READ_UNCOMMITTED' }), ['a', 'b', 'bb', 'c'])
  t.equal(table.getSync({ row: 'a', isolation: 'READ_UNCOMMITTED' }).size, 1)
  await test.close()
})

void t.test('a scan counts what it does', async (t) => {
  const test = await openTwo(300)
  const table = test.database.table('table')
  const sync = table.scanSync({ filter: flag(true) })
  t.same([...sync].length, 3)
  const { blockMisses, bytes, ...counts } = sync.metrics
  t.same(counts, { rowsScanned: 300, rowsFiltered: 297, results: 3, cells: 9 })
  t.ok(blockMisses > 10 && bytes > 300)
  const async = table.scan({ limit: 2 })
  for await (const result of async) t.equal(result.size, 3)
  t.equal(async.metrics.results, 2)
  t.ok(async.metrics.blockMisses > 0)
  await test.close()
})

const refused: readonly (readonly [Scan, RegExp])[] = [
  [{ isolation: 'DIRTY' as 'READ_COMMITTED' }, /isolation must be/],
  [{ maxResultBytes: 0 }, /maxResultBytes must be an integer >= 1/],
  [{ allowPartialResults: 1 as unknown as boolean }, /allowPartialResults must be true or false/],
  [{ needCursorResult: 'x' as unknown as boolean }, /needCursorResult must be/],
  [{ loadFamiliesOnDemand: 2 as unknown as boolean }, /loadFamiliesOnDemand must be/],
  [{ cacheBlocks: 0 as unknown as boolean }, /cacheBlocks must be/],
  [{ caching: 0 }, /caching must be/],
  [{ readType: 'FAST' as 'STREAM' }, /readType must be/],
  [{ asyncPrefetch: 'no' as unknown as boolean }, /asyncPrefetch must be/],
  [{ cellsPerFamilyOffset: -1 }, /cellsPerFamilyOffset/],
  [{ timeRange: [5, 1] }, /below its minimum/],
]

void t.test('options that make no sense are refused before anything is read', async (t) => {
  const test = await openTwo(1)
  const table = test.database.table('table')
  for (const [scan, message] of refused) {
    t.throws(() => table.scanSync(scan), { code: 'ERR_INVALID_ARGUMENT', message })
  }
  const snapshot = test.database.snapshot()
  t.throws(() => table.scanSync({ snapshot, isolation: 'READ_UNCOMMITTED' }), /uncommitted/)
  snapshot.close()
  const get = { row: 'r', checkExistenceOnly: 'yes' as unknown as boolean }
  t.throws(() => table.getSync(get), /checkExistenceOnly must be/)
  const hints = { caching: 5, readType: 'PREAD', asyncPrefetch: true } as const
  t.equal([...table.scanSync(hints)].length, 1, 'hints are taken')
  t.throws(() => parseFilter("PrefixFilter('a') AND"), { code: 'ERR_INVALID_ARGUMENT' })
  await test.close()
})

/** Keeps every cell, and judges by the family `m` only. */
class JudgesOneFamily extends FilterBase {
  isFamilyEssential(family: string): boolean {
    return family === 'm'
  }
}

for (const state of ['memory', 'disk'] as const) {
  void t.test(`families on demand in pieces lose no cell (${state})`, async (t) => {
    const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
    const families = { a: { versions: 3 }, m: { versions: 3 }, z: {} }
    const table = await test.database.createTable('pieces', { families })
    for (let row = 0; row < 12; row++) {
      for (const family of ['a', 'm', 'z']) {
        for (let n = 0; n < (row * (family.charCodeAt(0) % 5)) % 7; n++) {
          const cells = [{ column: { family, qualifier: `q${n}` }, value: `${row}` }]
          for (const timestamp of [1, 2]) await table.put({ row: `r${row}`, cells, timestamp })
        }
      }
    }
    if (state === 'disk') await test.flush()
    const shown = (results: readonly Result[]): string[] => {
      const cells = results.flatMap((result) => result.cells())
      return cells.map(({ row, family, qualifier, timestamp }) => {
        return `${row.toString()} ${family} ${qualifier.toString()} ${timestamp}`
      })
    }
    for (const reversed of [false, true]) {
      const filter = new JudgesOneFamily()
      const scan = { reversed, filter, versions: 'all' as const }
      const rows = [...table.scanSync(scan)]
      const hasJudged = (row: Result): boolean => row.cells().some(({ family }) => family === 'm')
      const expected = shown(rows.filter(hasJudged))
      for (const cut of [
        { batch: 1 },
        { batch: 3 },
        { maxResultBytes: 60, allowPartialResults: true },
      ]) {
        const options = { ...scan, ...cut, loadFamiliesOnDemand: true }
        const pieces = [...table.scanSync(options)]
        const what = JSON.stringify({ reversed, ...cut })
        t.same([...shown(pieces)].sort(), [...expected].sort(), what)
        const later = await table.scan(options).nextBatch(1000)
        t.same(shown(later), shown(pieces), `${what}, asynchronous`)
        const ends = pieces.filter(({ partial }) => !partial).map(({ row }) => String(row))
        t.same(
          ends,
          rows.filter(hasJudged).map(({ row }) => String(row)),
          `${what}, rows`,
        )
        t.ok(
          pieces.every((piece, i) => {
            return !piece.partial || String(pieces[i + 1].row) === String(piece.row)
          }),
          `${what}, a piece is followed by more of its row`,
        )
      }
    }
    await test.close()
  })
}
