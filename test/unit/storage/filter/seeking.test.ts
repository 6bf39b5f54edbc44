/** Filters that jump look at fewer cells and read fewer blocks than the table has. */
import t from 'tap'
import type { CellView } from '../../../../src/storage/cell/cell-view.js'
import { FilterBase } from '../../../../src/storage/filter/filter-base.js'
import type { CellHint, Filter, FilterCode } from '../../../../src/storage/filter/filter.js'
import { FilterList } from '../../../../src/storage/filter/filter-list.js'
import { TimestampsFilter } from '../../../../src/storage/filter/cell-filters.js'
import {
  ColumnPaginationFilter,
  FirstKeyOnlyFilter,
} from '../../../../src/storage/filter/column-count-filters.js'
import {
  ColumnPrefixFilter,
  ColumnRangeFilter,
  MultipleColumnPrefixFilter,
} from '../../../../src/storage/filter/column-range-filters.js'
import { ValueFilter } from '../../../../src/storage/filter/compare-filters.js'
import { FuzzyRowFilter } from '../../../../src/storage/filter/fuzzy-row-filter.js'
import { MultiRowRangeFilter } from '../../../../src/storage/filter/multi-row-range-filter.js'
import { InclusiveStopFilter, PrefixFilter } from '../../../../src/storage/filter/row-filters.js'
import { ColumnValueFilter } from '../../../../src/storage/filter/single-column-filters.js'
import { TestDatabase } from '../../../helpers/test-database.js'

/** Counts the cells that the filter behind it is shown. */
class Counting extends FilterBase {
  readonly inner: Filter
  cells = 0

  constructor(inner: Filter) {
    super(inner.hasFilterRow)
    this.inner = inner
  }

  get onlyColumn(): Filter['onlyColumn'] {
    return this.inner.onlyColumn
  }

  override setReversed(reversed: boolean): void {
    this.inner.setReversed?.(reversed)
  }

  override reset(): void {
    this.inner.reset()
  }

  override filterAllRemaining(): boolean {
    return this.inner.filterAllRemaining()
  }

  override filterRowKey(row: Buffer): boolean {
    return this.inner.filterRowKey(row)
  }

  override filterCell(cell: CellView): FilterCode {
    this.cells++
    return this.inner.filterCell(cell)
  }

  override filterRow(): boolean {
    return this.inner.filterRow()
  }

  nextCellHint(cell: CellView): CellHint | undefined {
    return this.inner.nextCellHint?.(cell)
  }
}

const rowCount = 200
const columnCount = 20

async function fill(): Promise<TestDatabase> {
  const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  await test.database.createTable('t', {
    families: { f: { blockBytes: 1024, bloomFilter: 'NONE' } },
  })
  const table = test.database.table('t')
  for (let row = 0; row < rowCount; row++) {
    const cells: Record<string, string> = {}
    for (let column = 0; column < columnCount; column++) {
      cells[`f:c${String(column).padStart(2, '0')}`] = 'v'.repeat(60)
    }
    table.putSync({ row: `row${String(row).padStart(3, '0')}`, cells, timestamp: 7 })
  }
  await test.flush()
  return test
}

interface Work {
  readonly results: number
  readonly cells: number
  readonly blocks: number
}

function measure(test: TestDatabase, filter: Filter): Work {
  const counting = new Counting(filter)
  const before = test.database.statistics().blocksRead
  let results = 0
  for (const result of test.database.table('t').scanSync({ filter: counting }))
    results += result.size
  return { results, cells: counting.cells, blocks: test.database.statistics().blocksRead - before }
}

/**
 * Filters with the cells that they return, the most cells they may look at, and the share of
 * blocks.
 */
const seeking: readonly (readonly [string, () => Filter, number, number, number])[] = [
  ['PrefixFilter', () => new PrefixFilter('row15'), 200, 202, 0.15],
  ['InclusiveStopFilter', () => new InclusiveStopFilter('row009'), 200, 200, 0.25],
  [
    'MultiRowRangeFilter',
    () => new MultiRowRangeFilter([{ start: 'row050', stop: 'row052' }, { prefix: 'row19' }]),
    240,
    250,
    0.15,
  ],
  [
    'FuzzyRowFilter',
    () => new FuzzyRowFilter([{ key: 'row1?7', mask: [0, 0, 0, 0, 1, 0] }]),
    200,
    225,
    0.3,
  ],
  ['ColumnPrefixFilter', () => new ColumnPrefixFilter('c19'), 200, 400, 1],
  ['ColumnRangeFilter', () => new ColumnRangeFilter({ min: 'c10', max: 'c12' }), 400, 800, 1],
  [
    'MultipleColumnPrefixFilter',
    () => new MultipleColumnPrefixFilter(['c07', 'c15']),
    400,
    1000,
    1,
  ],
  ['ColumnPaginationFilter', () => new ColumnPaginationFilter(1, 'c18'), 200, 600, 1],
  [
    'ColumnValueFilter',
    () => new ColumnValueFilter({ column: 'f:c17', operator: 'NOT_EQUAL', value: '' }),
    200,
    600,
    1,
  ],
  ['FirstKeyOnlyFilter', () => new FirstKeyOnlyFilter(), 200, 400, 1],
  [
    'MUST_PASS_ALL',
    () =>
      new FilterList('MUST_PASS_ALL', [new PrefixFilter('row15'), new ColumnPrefixFilter('c19')]),
    10,
    22,
    0.15,
  ],
  [
    'MUST_PASS_ONE',
    () => new FilterList('MUST_PASS_ONE', [new PrefixFilter('row15'), new PrefixFilter('row05')]),
    400,
    404,
    0.3,
  ],
]

void t.test('seeking filters leave most cells and blocks alone', async (t) => {
  const test = await fill()
  const all = measure(test, new ValueFilter('NOT_EQUAL', 'nothing'))
  t.equal(all.results, rowCount * columnCount)
  t.equal(all.cells, rowCount * columnCount)
  t.ok(all.blocks > 200, `${all.blocks} blocks`)
  for (const [name, make, results, cellsMax, blockShare] of seeking) {
    const work = measure(test, make())
    t.equal(work.results, results, `${name} returns`)
    t.ok(work.cells <= cellsMax, `${name} looks at ${work.cells} of ${all.cells} cells`)
    const blocksMax = all.blocks * blockShare
    t.ok(work.blocks <= blocksMax, `${name} reads ${work.blocks} of ${all.blocks} blocks`)
  }
  await test.close()
})

void t.test('a timestamp filter leaves a column behind its oldest wanted version', async (t) => {
  const test = await TestDatabase.open()
  await test.database.createTable('t', { families: { f: { versions: 1000 } } })
  const table = test.database.table('t')
  for (let timestamp = 1; timestamp <= 500; timestamp++) {
    table.putSync({ row: 'r', cells: { 'f:a': 'v', 'f:b': 'v' }, timestamp })
  }
  const counting = new Counting(new TimestampsFilter([498, 500]))
  const result = table.getSync({ row: 'r', versions: 'all', filter: counting })
  t.same(
    result.cells().map(({ timestamp }) => timestamp),
    [500, 498, 500, 498],
  )
  t.equal(counting.cells, 8)
  await test.close()
})
