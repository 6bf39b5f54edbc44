/** The query language, the words of texts, and times with date math. */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { CellarError } from '../../../../src/entries/index.js'
import { parseQuery, type QueryNode } from '../../../../src/systems/repository/index.js'
import { wordsOf } from '../../../../src/systems/search/analysis.js'
import { parseTime } from '../../../../src/systems/search/field-kinds.js'
import { queryText } from '../../../../src/systems/search/solr-search.js'
import { lengthOf } from '../../../helpers/length.js'

/** A query without the positions in its text. */
function meaning(node: QueryNode): string {
  return JSON.stringify(node, (name, value: unknown) => (name === 'position' ? undefined : value))
}

void t.test('errors say where', (t) => {
  for (const [query, position] of [
    ['f:a AND', 7],
    ['f:a f:(b', 6],
    ['f:a)', 3],
    ['f:"ab', 2],
    ['f:[a b]', 5],
    ['f:[a TO b', 2],
    ['f:a*b', 3],
    ['f:a?', 3],
    ['f:a~', 3],
    ['f:"a b"~2', 7],
    ['f:/a/', 2],
    ['f:a^', 3],
    ['f:a\\', 3],
    ['f:\\u00g0', 2],
    ['f:a:b', 3],
    ['OR f:a', 0],
    ['f:a OR OR f:b', 7],
    ['a', 0],
    ['', 0],
    ['f:()', 3],
  ] as const) {
    const message = new RegExp(`position ${position}:`)
    t.throws(() => parseQuery(query, undefined), { code: 'ERR_INVALID_ARGUMENT', message }, query)
  }
  t.end()
})

void t.test('trees', (t) => {
  const term = (text: string, position: number): object => {
    return { type: 'term', field: 'f', text, position, boost: 1 }
  }
  t.match(parseQuery('a\\ b\\:\\u0063', 'f'), term('a b:c', 0))
  t.match(parseQuery('g:(a f:b^2.5)^2', 'f'), {
    boost: 2,
    clauses: [{ node: { field: 'g', text: 'a' } }, { node: { field: 'f', boost: 2.5 } }],
  })
  t.match(parseQuery('f:{"a b" TO *]', undefined), { low: 'a b', high: undefined })
  t.match(parseQuery('a AND b OR NOT c', 'f'), {
    clauses: [{ occurrence: 'MUST' }, { occurrence: 'MUST' }, { occurrence: 'MUST_NOT' }],
  })
  t.match(parseQuery('ANDY', 'f'), term('ANDY', 0))
  t.match(parseQuery('\\AND', 'f'), term('AND', 0))
  t.end()
})

void t.test(
  'random queries either parse or are refused, and have a text of the same meaning',
  (t) => {
    const seed = Number(process.env['CELLAR_SEED'] ?? 1617)
    t.comment(`seed ${seed}`)
    const random = seededRandom(seed)
    const parts = ['a', 'f:', '"', '(', ')', '[', ']', '{', '}', ' ', ' TO ', '*', '\\', '^2', '~']
    parts.push('+', '-', '!', '&&', '||', ' AND ', ' OR ', 'NOT ', ':', '/', '\ud800', 'é', '\\u00')
    for (let round = 0; round < lengthOf('CELLAR_SEARCH_QUERIES', 5000, 100_000); round++) {
      const length = 1 + Math.floor(random() * 12)
      const query = Array.from({ length }, () => parts[Math.floor(random() * parts.length)]).join(
        '',
      )
      let node: QueryNode
      try {
        node = parseQuery(query, 'f')
      } catch (error) {
        if (error instanceof CellarError && error.code === 'ERR_INVALID_ARGUMENT') continue
        t.fail(`${JSON.stringify(query)}: ${String(error)}`)
        continue
      }
      const text = queryText(node)
      const again = parseQuery(text, undefined)
      if (meaning(again) !== meaning(node)) t.fail(`${JSON.stringify(query)} becomes ${text}`)
      if (!/^[\w\p{L} .:*"^+\-()[\]{}\\]*$/u.test(text)) t.fail(`${text} has other characters`)
    }
    t.end()
  },
)

void t.test('words', (t) => {
  t.same(wordsOf("Don't STOP, it's 3.14 or 1,000. foo_bar foo-bar x.y 'q'"), [
    ...["don't", 'stop', "it's", '3.14', 'or', '1,000', 'foo_bar', 'foo', 'bar', 'x', 'y', 'q'],
  ])
  t.same(wordsOf('Ｆｕｌｌ ﬁne É ñ l’été 12.5€'), ['full', 'fine', 'é', 'ñ', 'l’été', '12.5'])
  t.same(wordsOf('日本 カタカナ 한국어'), ['日', '本', 'カタカナ', '한국어'])
  t.same(
    wordsOf('a'.repeat(600)).map(({ length }) => length),
    [255, 255, 90],
  )
  for (const text of ['', '  ', '...', "'", '--a--']) {
    const both = [wordsOf(text), wordsOf(`${text}é`.replace('é', ' \u00a0'))]
    t.same(both[0], both[1], 'ASCII has the same words in both ways')
  }
  t.end()
})

void t.test('times', (t) => {
  const now = Date.parse('2024-02-29T13:14:15.678Z')
  for (const [text, expected] of [
    ['2020-02-29T12:00:00Z', '2020-02-29T12:00:00.000Z'],
    ['2020-02-29T12:00:00.12345Z', '2020-02-29T12:00:00.123Z'],
    ['2020-02-29T12:34:56Z/DAY', '2020-02-29T00:00:00.000Z'],
    ['NOW', '2024-02-29T13:14:15.678Z'],
    ['NOW/HOUR', '2024-02-29T13:00:00.000Z'],
    ['NOW/YEAR-1MONTH', '2023-12-01T00:00:00.000Z'],
    ['NOW+1YEAR/DAY', '2025-02-28T00:00:00.000Z'],
    ['NOW-2DAYS/SECOND', '2024-02-27T13:14:15.000Z'],
    ['2024-01-31T00:00:00Z+1MONTH', '2024-02-29T00:00:00.000Z'],
  ]) {
    t.equal(new Date(parseTime(text, now)).toISOString(), expected, text)
  }
  const wrong = ['', 'now', '2020', '2020-02-30T00:00:00Z', '2020-13-01T00:00:00Z', 'NOW/WEEK']
  for (const text of [
    ...wrong,
    'NOW+DAY',
    'NOW/DAYx',
    '2020-02-29T25:00:00Z',
    'NOW+1DAY '.repeat(30),
  ]) {
    t.throws(() => parseTime(text, now), { code: 'ERR_INVALID_ARGUMENT' }, text)
  }
  t.end()
})
