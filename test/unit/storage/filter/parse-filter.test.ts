/** The filter language. */
import t from 'tap'
import { CellarError } from '../../../../src/base/errors.js'
import { TimestampsFilter } from '../../../../src/storage/filter/cell-filters.js'
import { FilterList } from '../../../../src/storage/filter/filter-list.js'
import type { Filter } from '../../../../src/storage/filter/filter.js'
import { parseFilter } from '../../../../src/storage/filter/parse/parse-filter.js'
import { callsOf } from '../../../helpers/table-calls.js'
import { TestDatabase } from '../../../helpers/test-database.js'

/** The shape of a parsed filter: names and lists only. */
function shape(filter: Filter): string {
  if (filter instanceof FilterList) {
    const word = filter.operator === 'MUST_PASS_ALL' ? 'AND' : 'OR'
    return `${word}(${filter.filters.map(shape).join(', ')})`
  }
  const name = filter.constructor.name.replace(/Filter$/, '')
  const inner = (filter as { inner?: Filter }).inner
  return inner === undefined ? name : `${name}(${shape(inner)})`
}

function failure(text: string | Uint8Array): string {
  try {
    parseFilter(text)
  } catch (error) {
    if (error instanceof CellarError && error.code === 'ERR_INVALID_ARGUMENT') return error.message
    throw error
  }
  return 'no error'
}

void t.test('SKIP and WHILE bind stronger than AND, and AND stronger than OR', async (t) => {
  const shapes: Readonly<Record<string, string>> = {
    'KeyOnlyFilter()': 'KeyOnly',
    '(KeyOnlyFilter())': 'KeyOnly',
    'KeyOnlyFilter() AND FirstKeyOnlyFilter()': 'AND(KeyOnly, FirstKeyOnly)',
    "KeyOnlyFilter() OR PrefixFilter('a') AND PageFilter(1)": 'OR(KeyOnly, AND(Prefix, Page))',
    "(KeyOnlyFilter() OR PrefixFilter('a')) AND PageFilter(1)": 'AND(OR(KeyOnly, Prefix), Page)',
    'PageFilter(1) AND PageFilter(2) AND PageFilter(3)': 'AND(Page, Page, Page)',
    'PageFilter(1) OR PageFilter(2) OR PageFilter(3)': 'OR(Page, Page, Page)',
    'SKIP PageFilter(1) AND PageFilter(2)': 'AND(Skip(Page), Page)',
    'SKIP (PageFilter(1) AND PageFilter(2))': 'Skip(AND(Page, Page))',
    'WHILE SKIP PageFilter(1) OR PageFilter(2)': 'OR(WhileMatch(Skip(Page)), Page)',
    'PageFilter(1) AND WHILE (SKIP PageFilter(2))': 'AND(Page, WhileMatch(Skip(Page)))',
    '  PageFilter\t( 1 )\nAND\r\nPageFilter(2)  ': 'AND(Page, Page)',
  }
  for (const [text, expected] of Object.entries(shapes)) {
    t.equal(shape(parseFilter(text)), expected, text)
    t.equal(shape(parseFilter(Buffer.from(text))), expected, `bytes: ${text}`)
  }
})

void t.test('every supported filter can be named', async (t) => {
  const texts = [
    'KeyOnlyFilter()',
    'KeyOnlyFilter(TRUE)',
    'FirstKeyOnlyFilter()',
    "PrefixFilter ('Row')",
    "ColumnPrefixFilter('Col')",
    "MultipleColumnPrefixFilter('Col1', 'Col2')",
    'ColumnCountGetFilter (4)',
    'PageFilter (2)',
    'ColumnPaginationFilter (3, 5)',
    "InclusiveStopFilter ('Row2')",
    'TimestampsFilter (5985489, 48895495, 9223372036854775807)',
    'TimestampsFilter ()',
    "RowFilter (<=, 'binary:xyz')",
    "FamilyFilter (=, 'binaryprefix:F')",
    "QualifierFilter (>, 'binary:C')",
    "ValueFilter (!=, 'regexstring:^a.*$')",
    "ColumnRangeFilter ('abc', true, 'xyz', false)",
    "SingleColumnValueFilter ('F', 'C', <=, 'binary:a')",
    "SingleColumnValueFilter ('F', 'C', =, 'substring:a', true, false)",
    "SingleColumnValueExcludeFilter ('F', 'C', >=, 'binary:a', false, True)",
    "DependentColumnFilter ('F', 'C')",
    "DependentColumnFilter ('F', 'C', false)",
    "DependentColumnFilter ('F', 'C', true, <, 'binary:a')",
    "ColumnValueFilter ('F', 'C', =, 'binary:a')",
  ]
  for (const text of texts) {
    const name = /^\w+/.exec(text)![0]
    t.equal(parseFilter(text).constructor.name, name, text)
  }
})

void t.test('errors say where and what was expected', async (t) => {
  const failures: readonly (readonly [text: string, message: RegExp])[] = [
    ['', /expected a filter, SKIP, WHILE or '\(' at position 0, found the end of the text/],
    ['   ', /expected a filter.* at position 3, found the end/],
    ['AND', /expected a filter.* at position 0, found 'AND'/],
    ['PageFilter(1) AND', /expected a filter.* at position 17, found the end/],
    ['PageFilter(1) AND OR PageFilter(2)', /expected a filter.* at position 18, found 'OR'/],
    ['PageFilter(1) PageFilter(2)', /expected AND, OR or the end of the text at position 14/],
    ['(PageFilter(1)', /expected AND, OR or '\)' at position 14, found the end/],
    ['PageFilter(1))', /expected AND, OR or the end of the text at position 13, found '\)'/],
    ['SKIP', /expected a filter.* at position 4, found the end/],
    ['NoSuchFilter(1)', /expected the name of a filter \(KeyOnlyFilter.* at position 0, found 'No/],
    ['pagefilter(1)', /expected the name of a filter.* at position 0/],
    ['PageFilter', /expected '\(' at position 10, found the end/],
    ['PageFilter AND', /expected '\(' at position 11, found 'AND'/],
    ['PageFilter(', /expected an argument or '\)' at position 11, found the end/],
    ['PageFilter(1', /expected ',' or '\)' at position 12, found the end/],
    ['PageFilter(1,)', /expected an argument at position 13, found '\)'/],
    ['PageFilter(,1)', /expected an argument or '\)' at position 11, found ','/],
    ['PageFilter(1 2)', /expected ',' or '\)' at position 13, found '2'/],
    ['PageFilter()', /expected a number of rows \(an integer\) at position 11, found '\)'/],
    [
      "PageFilter('1')",
      /expected a number of rows \(an integer\) at position 11, found the string/,
    ],
    ['PageFilter(1, 2)', /expected '\)' after 1 arguments at position 14, found '2'/],
    [
      'PageFilter(99999999999999999)',
      /expected a number of rows \(a safe integer\) at position 11/,
    ],
    ['PageFilter(-1)', /PageFilter at position 0: rowsMax must be an integer >= 0/],
    ['PrefixFilter(1)', /expected a prefix in single quotes at position 13, found '1'/],
    ["PrefixFilter('a)", /expected a closing quote for the string at 13 at position 16/],
    ["PrefixFilter('it''s)", /expected a closing quote for the string at 13 at position 20/],
    [
      'PrefixFilter("a")',
      /expected a filter, an argument or an operator at position 13, found '"'/,
    ],
    ["RowFilter('binary:a', =)", /expected a comparison operator .* at position 10/],
    ["RowFilter(==, 'binary:a')", /expected ',' or '\)' at position 11, found '='/],
    ["RowFilter(=, 'a')", /expected a comparator .* at position 13, found the string 'a'/],
    ["RowFilter(=, 'bin:a')", /expected a comparator .* at position 13/],
    ["RowFilter(<, 'regexstring:a')", /RowFilter at position 0: operator LESS needs a comparator/],
    ["RowFilter(=, 'regexstring:(')", /RowFilter at position 0: regexString is not a valid/],
    [
      "ColumnRangeFilter('a', yes, 'b', true)",
      /expected minInclusive \(true or false\) at position 23/,
    ],
    ["SingleColumnValueFilter('f', 'q', =, 'binary:a', true)", /expected latestVersionOnly.*53/],
    ['TimestampsFilter(1, -2)', /TimestampsFilter at position 0: timestamp is negative/],
    ["MultipleColumnPrefixFilter('a', 'a')", /at position 0: prefix 'a' is given twice/],
    [
      'PageFilter(1) & PageFilter(2)',
      /expected a filter, an argument or .* at position 14, found '&'/,
    ],
  ]
  for (const [text, message] of failures) {
    t.match(failure(text), message, text)
    t.match(failure(Buffer.from(text)), message, `bytes: ${text}`)
  }
  t.match(failure(7 as unknown as string), /must be a string or a Uint8Array, got 7/)
})

void t.test('text that is nested too deep or too long is refused', async (t) => {
  t.match(failure('('.repeat(100_000)), /at most 200 levels of nesting/)
  t.match(failure('SKIP '.repeat(100_000)), /at most 200 levels of nesting/)
  t.match(failure(' '.repeat(1024 * 1024 + 1)), /at most 1048576/)
  const wide = Array.from({ length: 20_000 }, () => 'PageFilter(1)').join(' OR ')
  t.equal((parseFilter(wide) as FilterList).filters.length, 20_000)
})

void t.test('a number of any length is refused with a short message', (t) => {
  const digits = '9'.repeat(1_000_000)
  const refused = failure(`TimestampsFilter(${digits})`)
  t.match(refused, /expected a timestamp up to 2\^63-1 at position 17/)
  t.ok(refused.length < 200, `${refused.length} characters`)
  t.match(
    failure(`TimestampsFilter(${2n ** 63n})`),
    /timestamp is above 2\^63-1: 9223372036854775808n/,
  )
  let message = ''
  try {
    new TimestampsFilter([1n << 1_000_000n])
  } catch (error) {
    message = (error as Error).message
  }
  t.equal(message, 'timestamp is above 2^63-1: a bigint of more than 256 bits')
  t.end()
})

void t.test('parsed filters do what they say', async (t) => {
  const test = await TestDatabase.open()
  await test.database.createTable('t', { families: { f: { versions: 9 }, g: {} } })
  const calls = callsOf(test.database.table('t'), 'sync')
  for (const [index, row] of ["it's", 'r1', 'r2', 'r3', '\u00fc'].entries()) {
    await calls.put({
      row,
      cells: { 'f:a': `v${index}`, 'f:b': 'B', 'g:c': 'C' },
      timestamp: index,
    })
  }
  await calls.put({ row: Buffer.of(0xff, 0x27), cells: { 'f:a': 'raw' } })
  const expectations: readonly (readonly [text: string | Buffer, names: string])[] = [
    ["PrefixFilter('it''s')", "it's:f:a it's:f:b it's:g:c"],
    ["PrefixFilter('\u00fc') AND QualifierFilter(=, 'binary:a')", '\u00fc:f:a'],
    [Buffer.from("RowFilter(=, 'binary:\u00fc') AND FirstKeyOnlyFilter()"), '\u00fc:f:a'],
    [Buffer.from([...Buffer.from("PrefixFilter('"), 0xff, 0x27, 0x27, 0x27, 0x29]), "\ufffd':f:a"],
    [
      "RowFilter(>=, 'binary:r2') AND RowFilter(<, 'binary:r3') AND FamilyFilter(=, 'binary:g')",
      'r2:g:c',
    ],
    ["SingleColumnValueFilter('f', 'a', =, 'binary:v3') AND ColumnPrefixFilter('b')", 'r3:f:b'],
    ["SingleColumnValueExcludeFilter('f', 'a', =, 'binary:v3')", 'r3:f:b r3:g:c'],
    ["ValueFilter(=, 'regexstring:^v[12]$')", 'r1:f:a r2:f:a'],
    ["ValueFilter(=, 'regexstring:^V[12]$')", ''],
    ["ValueFilter(=, 'regexstringnocase:^V[12]$')", 'r1:f:a r2:f:a'],
    [
      "TimestampsFilter(2) AND (QualifierFilter(=, 'substring:C') OR ValueFilter(=, 'binary:B'))",
      'r2:f:b r2:g:c',
    ],
    ["WHILE RowFilter(!=, 'binary:r2') AND ColumnPaginationFilter(1, 1)", "it's:f:b r1:f:b"],
    [
      "SKIP ValueFilter(!=, 'binary:v1') AND InclusiveStopFilter('r2') AND KeyOnlyFilter()",
      "it's:f:a it's:f:b it's:g:c r2:f:a r2:f:b r2:g:c",
    ],
    ["ColumnRangeFilter('a', false, 'c', true) AND PageFilter(1)", "it's:f:b it's:g:c"],
    ["ColumnRangeFilter('b', true, '', false) AND PageFilter(1)", "it's:f:b it's:g:c"],
    ["ColumnRangeFilter('', false, 'b', true) AND PageFilter(1)", "it's:f:a it's:f:b"],
  ]
  for (const [text, names] of expectations) {
    const results = await calls.scan({ filter: parseFilter(text) })
    const found = results.flatMap((result) => {
      return result.cells().map(({ row, family, qualifier }) => {
        return `${row.toString()}:${family}:${qualifier.toString()}`
      })
    })
    t.equal(found.join(' '), names, text.toString())
  }
  await test.close()
})
