/** Values that lie apart are read only for cells that a filter lets through, or looks at. */
import t from 'tap'
import {
  ColumnCountGetFilter,
  ColumnPaginationFilter,
  ColumnPrefixFilter,
  ColumnRangeFilter,
  ColumnValueFilter,
  DependentColumnFilter,
  FamilyFilter,
  FilterBase,
  FilterCode,
  FilterList,
  FirstKeyOnlyFilter,
  FirstKeyValueMatchingQualifiersFilter,
  FuzzyRowFilter,
  InclusiveStopFilter,
  KeyOnlyFilter,
  MultiRowRangeFilter,
  MultipleColumnPrefixFilter,
  PageFilter,
  parseFilter,
  PrefixFilter,
  QualifierFilter,
  RandomRowFilter,
  RowFilter,
  SingleColumnValueExcludeFilter,
  SingleColumnValueFilter,
  SkipFilter,
  TimestampsFilter,
  ValueFilter,
  WhileMatchFilter,
  type CellView,
  type Filter,
  type Result,
  type Scan,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const rows = 12
const columns = ['a', 'b', 'c']

/** The same cells with values in their SSTables, and with values in a file of their own. */
async function open(): Promise<TestDatabase> {
  const test = await TestDatabase.open({ options: { compactionEnabled: false } })
  for (const [name, options] of [
    ['inline', {}],
    ['apart', { mob: true, mobThreshold: 1000, compression: 'NONE' }],
  ] as const) {
    await test.database.createTable(name, { families: { f: options, g: {} } })
    for (let i = 0; i < rows; i++) {
      const cells = columns.map((column, position) => {
        const value = Buffer.alloc(3000, `${column} of row ${i};`)
        return { column: `f:${column}` as const, value, timestamp: 10 + position }
      })
      const small = { column: 'g:small' as const, value: `${i}`, timestamp: 5 }
      await test.database.table(name).put({ row: rowOf(i), cells: [...cells, small] })
    }
  }
  await test.database.flush()
  return test
}

const rowOf = (i: number): string => `row${String(i).padStart(2, '0')}`

function textOf(results: Iterable<Result>): string[] {
  const found: string[] = []
  for (const result of results) {
    for (const { row, family, qualifier, timestamp, value } of result.cells()) {
      const start = value.subarray(0, 30).toString('latin1')
      const name = `${row.toString()} ${family}:${qualifier.toString()}`
      found.push(`${name} ${timestamp} ${value.length} ${start}`)
    }
  }
  return found
}

/** Only looks at keys, as the base class cannot know. */
class OwnFilter extends FilterBase {
  override filterCell({ timestamp }: CellView): FilterCode {
    return timestamp === 11 ? FilterCode.include : FilterCode.skip
  }
}

class OwnKeyFilter extends OwnFilter {
  readsValue(): boolean {
    return false
  }
}

const value = (row: number, column: string): Buffer =>
  Buffer.alloc(3000, `${column} of row ${row};`)
const b = { column: 'f:b', operator: 'EQUAL', value: value(3, 'b') } as const
const all = rows * columns.length

/**
 * How many values are read: those of the cells that come through, unless something else is said. Of
 * rows that a filter drops at their end what was let through before is read as well.
 */
const filters: readonly (readonly [string, () => Filter, number?])[] = [
  ['PrefixFilter', () => new PrefixFilter('row03')],
  ['InclusiveStopFilter', () => new InclusiveStopFilter('row03')],
  ['RowFilter', () => new RowFilter('EQUAL', Buffer.from('row05'))],
  ['RandomRowFilter', () => new RandomRowFilter(0.3)],
  ['FuzzyRowFilter', () => new FuzzyRowFilter([{ key: 'row07', mask: Buffer.alloc(5) }])],
  ['MultiRowRangeFilter', () => new MultiRowRangeFilter([{ start: 'row04', stop: 'row06' }])],
  ['PageFilter', () => new PageFilter(2)],
  ['FamilyFilter', () => new FamilyFilter('EQUAL', Buffer.from('g'))],
  ['QualifierFilter', () => new QualifierFilter('EQUAL', Buffer.from('b'))],
  ['ColumnPrefixFilter', () => new ColumnPrefixFilter('b')],
  ['MultipleColumnPrefixFilter', () => new MultipleColumnPrefixFilter(['a', 'c'])],
  ['ColumnRangeFilter', () => new ColumnRangeFilter({ min: 'b', max: 'c' })],
  ['ColumnPaginationFilter', () => new ColumnPaginationFilter(1, 1)],
  ['ColumnCountGetFilter', () => new ColumnCountGetFilter(4)],
  ['FirstKeyOnlyFilter', () => new FirstKeyOnlyFilter()],
  ['FirstKeyValueMatchingQualifiersFilter', () => new FirstKeyValueMatchingQualifiersFilter(['b'])],
  ['TimestampsFilter', () => new TimestampsFilter([11])],
  ['KeyOnlyFilter', () => new KeyOnlyFilter(), 0],
  ['KeyOnlyFilter with lengths', () => new KeyOnlyFilter({ lengthAsValue: true }), 0],
  ['ValueFilter', () => new ValueFilter('EQUAL', value(3, 'b')), all],
  ['SingleColumnValueFilter', () => new SingleColumnValueFilter(b), 2 * rows + 1],
  ['SingleColumnValueFilter of a small one', () => smallIs7(), all],
  ['SingleColumnValueExcludeFilter', () => new SingleColumnValueExcludeFilter(b), 2 * rows + 1],
  ['ColumnValueFilter', () => new ColumnValueFilter(b), rows],
  ['DependentColumnFilter', () => new DependentColumnFilter({ column: 'f:b' }), all],
  ['SkipFilter', () => new SkipFilter(new QualifierFilter('NOT_EQUAL', Buffer.from('a'))), 0],
  ['WhileMatchFilter', () => new WhileMatchFilter(new RowFilter('LESS', Buffer.from('row02')))],
  ['a list of all that drop', () => list('MUST_PASS_ALL', 'b', 'c')],
  ['a list of any', () => list('MUST_PASS_ONE', 'b', 'c')],
  ['an empty list', () => new FilterList('MUST_PASS_ALL', [])],
  ['a list with KeyOnlyFilter', () => withKeyOnly('MUST_PASS_ALL'), 0],
  ['a list of any with KeyOnlyFilter', () => withKeyOnly('MUST_PASS_ONE'), all],
  ['a list with ValueFilter', () => withValues(), all],
  ['the filter language', () => parseFilter("PrefixFilter('row03') AND KeyOnlyFilter()"), 0],
  ['a filter of a user', () => new OwnFilter(), all],
  ['a filter of a user that knows', () => new OwnKeyFilter()],
]

function smallIs7(): Filter {
  return new SingleColumnValueFilter({ column: 'g:small', operator: 'EQUAL', value: '7' })
}

function list(operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE', ...qualifiers: string[]): Filter {
  const members = qualifiers.map((qualifier) => {
    return new QualifierFilter('EQUAL', Buffer.from(qualifier))
  })
  return new FilterList(operator, members)
}

function withKeyOnly(operator: 'MUST_PASS_ALL' | 'MUST_PASS_ONE'): Filter {
  const prefix = new ColumnPrefixFilter(operator === 'MUST_PASS_ALL' ? 'b' : 'x')
  return new FilterList(operator, [prefix, new KeyOnlyFilter()])
}

function withValues(): Filter {
  return new FilterList('MUST_PASS_ALL', [
    new ColumnPrefixFilter('b'),
    new ValueFilter('EQUAL', value(3, 'b')),
  ])
}

void t.test('what a filter drops by its key is not read from value files', async (t) => {
  const test = await open()
  const { database } = test
  const read = async (scan: () => Scan): Promise<[string[], number, number]> => {
    const before = database.statistics().valuesRead
    const found = textOf(database.table('apart').scanSync(scan()))
    const between = database.statistics().valuesRead
    const awaited: Result[] = []
    for await (const result of database.table('apart').scan(scan())) awaited.push(result)
    t.strictSame(textOf(awaited), found, 'the same with promises')
    return [found, between - before, database.statistics().valuesRead - between]
  }
  for (const [name, make, valuesRead] of filters) {
    for (const reversed of [false, true]) {
      const scan = (): Scan => ({ filter: make(), reversed })
      const [found, now, awaited] = await read(scan)
      t.strictSame(found, textOf(database.table('inline').scanSync(scan())), name)
      const large = found.filter((text) => text.includes(' f:')).length
      t.equal(now, valuesRead ?? large, `${name}: values read`)
      t.equal(awaited, valuesRead ?? large, `${name}: values read with promises`)
    }
  }
  await test.close()
})

void t.test('rows are counted without their values', async (t) => {
  const test = await open()
  const table = test.database.table('apart')
  t.equal(await table.callEndpoint('rowCount'), rows)
  t.equal(test.database.statistics().valuesRead, 0)
  await test.close()
})

void t.test('a filter that says it does not look and does is told so', async (t) => {
  class Liar extends QualifierFilter {
    override filterCell(cell: CellView): FilterCode {
      return cell.copyValue().length > 0 ? FilterCode.include : FilterCode.skip
    }
  }
  class Forgetful extends FilterBase {
    readonly replacesValues = true
    readsValue(): boolean {
      return false
    }
  }
  const test = await open()
  const scan = (filter: Filter): Result[] => [...test.database.table('apart').scanSync({ filter })]
  t.throws(() => scan(new Liar('EQUAL', Buffer.from('a'))), /was not read/)
  t.throws(() => scan(new Forgetful()), /replacesValues/)
  await test.close()
})

void t.test('statistics tell of value files apart from SSTables', async (t) => {
  const test = await open()
  const statistics = test.database.statistics()
  const { f, g } = statistics.tables['apart'].families
  const names = test.fileSystem.listSync(test.directory).filter((name) => name.endsWith('.val'))
  const bytes = names.reduce((sum, name) => {
    return sum + test.fileSystem.statSync(`${test.directory}/${name}`)!.size
  }, 0)
  const valueFiles = names.length
  t.match(f, { valueFiles, valueFileBytes: bytes })
  t.match(g, { valueFiles: 0, valueFileBytes: 0 })
  t.match(statistics, { valueFiles, valueFileBytes: bytes, valuesRead: 0 })
  t.ok(bytes > all * 3000 && f.fileBytes < bytes / 4)
  await test.database.admin.snapshot('s', 'apart')
  await test.database.admin.cloneSnapshot('s', 'clone')
  const after = test.database.statistics()
  t.match(after.tables['clone'].families['f'], { valueFiles, valueFileBytes: bytes })
  t.match(after, { valueFiles, valueFileBytes: bytes }, 'shared ones count once')
  await test.close()
})
