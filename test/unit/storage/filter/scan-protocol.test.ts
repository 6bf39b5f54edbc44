/** What filters may rely on when a scan asks them, where that is easily broken. */
import t from 'tap'
import type { CellView } from '../../../../src/storage/cell/cell-view.js'
import { ColumnPaginationFilter } from '../../../../src/storage/filter/column-count-filters.js'
import { ValueFilter } from '../../../../src/storage/filter/compare-filters.js'
import { FilterCode, type CellHint } from '../../../../src/storage/filter/filter.js'
import { FilterBase } from '../../../../src/storage/filter/filter-base.js'
import type { Get } from '../../../../src/api/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

async function read(get: Omit<Get, 'row'>, markersUpTo?: number): Promise<string> {
  const test = await TestDatabase.open()
  await test.database.createTable('t', { families: { f: { versions: 3 } } })
  const table = test.database.table('t')
  for (const timestamp of [7, 8, 9]) {
    table.putSync({ row: 'r', cells: { 'f:': 'v', 'f:q': 'v' }, timestamp: timestamp - 3 })
    table.putSync({ row: 'r', cells: { 'f:': 'v' }, timestamp })
  }
  if (markersUpTo !== undefined) {
    table.deleteSync({ row: 'r', families: [{ family: 'f', timestamp: markersUpTo }] })
  }
  const result = table.getSync({ row: 'r', ...get })
  await test.close()
  return result
    .cells()
    .map(({ qualifier, timestamp }) => `${qualifier.toString()}@${timestamp}`)
    .join(' ')
}

/** Notes the cells that it is asked about. */
class Notes extends FilterBase {
  readonly seen: string[] = []

  override filterCell(cell: CellView): FilterCode {
    this.seen.push(`${cell.copyQualifier().toString()}@${cell.timestamp}`)
    return FilterCode.include
  }
}

/** Jumps to column q from wherever it is. */
class JumpToQ extends FilterBase {
  override filterCell(cell: CellView): FilterCode {
    const isThere = cell.copyQualifier().toString() === 'q'
    return isThere ? FilterCode.include : FilterCode.seekUsingHint
  }

  nextCellHint(cell: CellView): CellHint {
    return { row: cell.copyRow(), qualifier: Buffer.from('q') }
  }
}

const everything = (): ValueFilter => new ValueFilter('NOT_EQUAL', 'nothing')

void t.test('versions count behind the filter', async (t) => {
  t.equal(await read({ filter: everything() }), '@9 q@6')
  t.equal(await read({ filter: everything(), versions: 2 }), '@9 @8 q@6 q@5')
})

void t.test('versions count behind the filter, also of listed columns', async (t) => {
  t.equal(await read({ filter: everything(), columns: ['f:q'] }), 'q@6')
  t.equal(await read({ filter: everything(), columns: ['f:q'], versions: 2 }), 'q@6 q@5')
})

void t.test('NEXT_COL leaves the empty column', async (t) => {
  t.equal(await read({ filter: new ColumnPaginationFilter(1, 1), versions: 'all' }), 'q@6')
})

void t.test('a jump finds its column', async (t) => {
  t.equal(await read({ filter: new JumpToQ(), versions: 'all' }), 'q@6 q@5 q@4')
})

void t.test('a jump does not lose markers of the family', async (t) => {
  t.equal(await read({ filter: new JumpToQ(), versions: 'all' }, 6), '')
})

void t.test('a filter sees the same cells beside markers that mask none', async (t) => {
  for (const markersUpTo of [undefined, 1]) {
    const filter = new Notes()
    t.equal(await read({ filter }, markersUpTo), '@9 q@6')
    t.same(filter.seen, ['@9', '@8', 'q@6', 'q@5'])
  }
})
