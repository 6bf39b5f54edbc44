/**
 * Filters of plain rows, which scans show to them as wholes, beside the same rows in a memtable,
 * which are shown cell by cell, by the rules.
 */
import t from 'tap'
import {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  ColumnRangeFilter,
  FilterCode,
  FilterList,
  FirstKeyOnlyFilter,
  FuzzyRowFilter,
  InclusiveStopFilter,
  KeyOnlyFilter,
  MultipleColumnPrefixFilter,
  MultiRowRangeFilter,
  PageFilter,
  PrefixFilter,
  QualifierFilter,
  RowFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  SkipFilter,
  ValueFilter,
  WhileMatchFilter,
  type CellHint,
  type CellView,
  type Filter,
  type Observer,
} from '../../../../src/entries/index.js'
import { cellsOf } from '../../../helpers/cells-of.js'
import { TestDatabase } from '../../../helpers/test-database.js'

/** Of a column that not every row has. */
const condition = { column: 'f:c', operator: 'NOT_EQUAL', value: '3' } as const

/** Filters that judge rows, cells, or both. */
const filters: Readonly<Record<string, () => Filter>> = {
  page: () => new PageFilter(7),
  prefix: () => new PrefixFilter('r1'),
  stop: () => new InclusiveStopFilter('r3'),
  row: () => new RowFilter('GREATER', 'r2'),
  ranges: () => new MultiRowRangeFilter([{ start: 'r12', stop: 'r14' }, { start: 'r4' }]),
  keys: () => new KeyOnlyFilter(),
  firstKey: () => new FirstKeyOnlyFilter(),
  qualifier: () => new QualifierFilter('EQUAL', 'b'),
  value: () => new ValueFilter('EQUAL', '3'),
  column: () => new SingleColumnValueFilter({ column: 'f:a', operator: 'LESS', value: '2' }),
  first: () => new SingleColumnValueFilter({ ...condition, column: 'f:a' }),
  later: () => new SingleColumnValueFilter({ ...condition, column: 'f:c' }),
  second: () => new SingleColumnValueFilter({ ...condition, column: 'g:b' }),
  present: () => new SingleColumnValueFilter({ ...condition, filterIfMissing: true }),
  anyVersion: () => new SingleColumnValueFilter({ ...condition, latestVersionOnly: false }),
  excluded: () => new SingleColumnValueExcludeFilter({ ...condition, column: 'f:c' }),
  ownColumn: () =>
    new (class extends SingleColumnValueFilter {
      override filterCell(cell: CellView): FilterCode {
        return cell.copyQualifier().toString() === 'a' ? FilterCode.skip : super.filterCell(cell)
      }
    })(condition),
  ...Object.fromEntries(
    ['f:a', 'f:c', 'g:b'].flatMap((column): [string, () => Filter][] => {
      const one = (): Filter => new SingleColumnValueFilter({ ...condition, column })
      const list = (...members: Filter[]): Filter => new FilterList('MUST_PASS_ALL', members)
      return [
        [`${column} page`, () => list(one(), new PageFilter(4))],
        [`page ${column}`, () => list(new PageFilter(4), one())],
        [`${column} twice`, () => list(one(), one())],
        [`${column} nested`, () => list(new PrefixFilter('r1'), list(one(), new PageFilter(3)))],
        [`${column} cells`, () => list(one(), new ColumnPaginationFilter(2, 0))],
        [`${column} while`, () => new WhileMatchFilter(one())],
        [`${column} or`, () => new FilterList('MUST_PASS_ONE', [one(), new PrefixFilter('r2')])],
      ]
    }),
  ),
  count: () => new ColumnCountGetFilter(2),
  prefixes: () => new MultipleColumnPrefixFilter(['b', 'c']),
  columnRange: () => new ColumnRangeFilter({ min: 'b' }),
  fuzzy: () => new FuzzyRowFilter([{ key: 'r12', mask: [0, 0, 1] }]),
  pagination: () => new ColumnPaginationFilter(1, 'b'),
  keysOfLists: () =>
    new FilterList('MUST_PASS_ALL', [
      new QualifierFilter('GREATER', 'a'),
      new KeyOnlyFilter({ lengthAsValue: true }),
    ]),
  whileValue: () => new WhileMatchFilter(new ValueFilter('NOT_EQUAL', '6')),
  skip: () => new SkipFilter(new ValueFilter('NOT_EQUAL', '3')),
  all: () => new FilterList('MUST_PASS_ALL', [new PrefixFilter('r1'), new PageFilter(3)]),
  both: () =>
    new FilterList('MUST_PASS_ALL', [new PrefixFilter('r1'), new ValueFilter('EQUAL', '3')]),
  list: () => new FilterList('MUST_PASS_ONE', [new PrefixFilter('r1'), new PageFilter(2)]),
  leaving: () =>
    new (class extends PageFilter {
      override filterCell(cell: CellView): FilterCode {
        return cell.copyQualifier().toString() === 'a' ? FilterCode.nextRow : FilterCode.include
      }
    })(20),
  ending: () =>
    new (class extends PageFilter {
      private cells = 0
      override filterAllRemaining(): boolean {
        return this.cells >= 40
      }
      override filterCell(): FilterCode {
        this.cells++
        return FilterCode.include
      }
    })(100),
  jumping: () =>
    new (class extends PageFilter {
      override filterCell(cell: CellView): FilterCode {
        const isFirst = cell.copyQualifier().toString() === 'a'
        return isFirst ? FilterCode.seekUsingHint : FilterCode.include
      }
      nextCellHint(cell: CellView): CellHint {
        return { row: cell.copyRow(), qualifier: Buffer.from('c') }
      }
    })(100),
  own: () =>
    new (class extends PageFilter {
      override filterCell(cell: CellView): FilterCode {
        return cell.copyQualifier().toString() === 'a' ? FilterCode.skip : FilterCode.include
      }
    })(5),
}

void t.test('filters answer for plain rows as for cells in memory', async (t) => {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 1 << 20 } })
  const table = await test.database.createTable('t', { families: { f: {}, g: {} } })
  for (let i = 0; i < 50; i++) {
    const cells: Record<string, string> = { 'f:a': `${i % 4}`, 'f:b': `${i % 7}`, 'g:b': `${i}` }
    if (i % 5 > 0) cells['f:c'] = i % 3 === 0 ? '3' : 'c'.repeat(i)
    table.putSync({ row: `r${i}`, cells })
  }
  const answers = (): string[] => {
    return Object.entries(filters).flatMap(([name, make]) => {
      return [false, true].flatMap((reversed) => {
        const scans = [{}, { columns: ['f'] }, { columns: ['f:a', 'f:b'] }, { batch: 2 }]
        return scans.map((options) => {
          const cut = 'batch' in options && make().hasFilterRow ? {} : options
          const found = cellsOf(table.scanSync({ ...cut, filter: make(), reversed }))
          return `${name} ${JSON.stringify(options)} ${String(reversed)}\n${found}`
        })
      })
    })
  }
  const inMemory = answers()
  await test.flush()
  const inBlocks = answers()
  inMemory.forEach((answer, i) => t.equal(inBlocks[i], answer))
  await test.close()
})

void t.test('a full piece is the last one if a filter excludes the rest', async (t) => {
  const filtered: string[] = []
  const observer: Observer = {
    postScannerFilterRow: (_context, _scan, row) => void filtered.push(String(row)),
  }
  const coprocessors = [{ name: 'filtered rows', observer }]
  const test = await TestDatabase.open({ options: { coprocessors } })
  const table = await test.database.createTable('t', { families: { f: {}, g: {}, h: {} } })
  const rows = ['r1', 'r2']
  for (const row of rows) {
    table.putSync({ row, cells: { 'f:a': '1', 'f:b': '2', 'g:c': '3', 'h:d': '4' } })
  }
  const onlyFirst = (): Filter => new QualifierFilter('LESS', 'c')
  class NotThird extends QualifierFilter {
    isFamilyEssential(family: string): boolean {
      return family !== 'h'
    }
  }
  for (const state of ['memtable', 'files']) {
    if (state === 'files') await test.flush()
    for (const cut of [{ batch: 2 }, { maxResultBytes: 40, allowPartialResults: true }]) {
      for (const reversed of [false, true]) {
        const what = `${state} ${JSON.stringify(cut)} ${reversed}`
        const scan = table.scan({ ...cut, reversed, filter: onlyFirst() })
        const pieces = (await scan.toArray()).map(({ row, partial }) => `${String(row)} ${partial}`)
        const expected = rows.map((row) => `${row} false`)
        t.same(pieces, reversed ? expected.reverse() : expected, what)
        t.equal(scan.metrics.rowsFiltered, 0, `${what}: no row is dropped`)
        for (const loadFamiliesOnDemand of [false, true]) {
          const filter = new NotThird('NOT_EQUAL', 'c')
          const others = table.scan({ ...cut, reversed, filter, loadFamiliesOnDemand })
          const marks = (await others.toArray()).map(({ partial }) => partial)
          t.same(marks, [true, false, true, false], `${what} ${loadFamiliesOnDemand}`)
        }
      }
    }
  }
  t.same(filtered, [], 'observers are shown no row that has results')
  await test.close()
})
