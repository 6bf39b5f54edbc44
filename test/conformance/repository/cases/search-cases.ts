/**
 * Cases for search backends: what an index of records needs of one. The index is declared with the
 * endings `_t`, `_s`, `_l`, `_d`, `_dt`, `_b`, and the same with `_mv` for several values.
 */
import assert from 'node:assert/strict'
import {
  queryFields,
  reservedFields,
  type SearchBackend,
  type SearchDocument,
  type SearchQuery,
} from '../../../../src/systems/repository/index.js'
import { failsWith, runCases, type SuiteCounts, type SuiteTest } from '../../../suites/kit.js'

/** A search backend that a case may close and open again, on the same data. */
export interface SuiteSearch {
  /** The open backend, without documents. */
  readonly search: SearchBackend
  /** Closes the backend and opens it again; undefined if the server is none of the suite's. */
  readonly reopen?: (() => Promise<SearchBackend>) | undefined
  /** Closes the backend for good; its documents are no longer needed. */
  close(): Promise<void>
}

/** What the suite is run against. */
export interface SearchSuiteBackend {
  /** Name of the backend in the names of the tests. */
  readonly name: string
  /** Opens an empty index. */
  open(): Promise<SuiteSearch>
}

/** A document of a record. */
export function documentOf(
  id: string,
  fields: Record<string, string | readonly string[]>,
  { table = 'record', tag = 'last' } = {},
): SearchDocument {
  const lists = Object.entries(fields).map(([name, value]) => {
    return [name, typeof value === 'string' ? [value] : value] as const
  })
  const named = {
    [reservedFields.id]: [id],
    [reservedFields.table]: [table],
    [reservedFields.versionTag]: [tag],
  }
  return { key: `${table}-${id}-${tag}`, fields: { ...named, ...Object.fromEntries(lists) } }
}

/** Records found, sorted. */
export async function found(search: SearchBackend, query: string | SearchQuery): Promise<string> {
  const asked = typeof query === 'string' ? { query } : query
  const { hits } = await search.search({ limit: 1000, ...asked })
  return hits
    .map(({ fields }) => fields[reservedFields.id][0])
    .sort()
    .join(' ')
}

async function filled(search: SearchBackend, documents: readonly SearchDocument[]): Promise<void> {
  assert.deepEqual(await search.update({ documents }), [])
  await search.commit()
}

interface SearchCase {
  readonly name: string
  readonly run: (suite: SuiteSearch) => Promise<void>
}

/** Runs queries; the ids that each must find. */
async function finds(search: SearchBackend, expected: Record<string, string>): Promise<void> {
  for (const [query, ids] of Object.entries(expected)) {
    assert.equal(await found(search, query), ids, query)
  }
}

const people = [
  documentOf('a', { name_t: 'The quick brown fox', age_l: '7', born_dt: '2010-05-05T00:00:00Z' }),
  documentOf('b', { name_t: 'Quick: brown dogs', age_l: '-3', born_dt: '2011-05-05T10:30:00Z' }),
  documentOf('c', { name_t: 'brown and QUICK', age_l: '70', kind_s: 'Fox Terrier' }),
  documentOf('d', { price_d: '1.5', ok_b: 'true', kind_s: 'fox' }),
  documentOf('e', { price_d: '-0.25', ok_b: 'false', kind_s: 'fox/cub' }),
]

const queryCases: readonly SearchCase[] = [
  {
    name: 'words of a field, in any case, and all documents',
    run: async ({ search }) => {
      await filled(search, people)
      await finds(search, {
        '*:*': 'a b c d e',
        'name_t:quick': 'a b c',
        'name_t:FOX': 'a',
        'name_t:fo': '',
        'none_t:fox': '',
      })
      const query = { query: 'quick -fox', defaultField: 'name_t' }
      assert.equal(await found(search, query), 'b c')
    },
  },
  {
    name: 'required, forbidden and optional clauses',
    run: async ({ search }) => {
      await filled(search, people)
      await finds(search, {
        '+name_t:quick +name_t:dogs': 'b',
        '+name_t:quick -name_t:dogs': 'a c',
        'name_t:fox name_t:dogs': 'a b',
        'name_t:fox OR name_t:dogs': 'a b',
        'name_t:quick AND name_t:fox': 'a',
        'name_t:quick && !name_t:fox': 'b c',
        'name_t:quick AND NOT name_t:fox': 'b c',
        '-name_t:quick': 'd e',
        '+name_t:(+quick -fox) +age_l:[0 TO *]': 'c',
        'name_t:(fox dogs)': 'a b',
        '(name_t:fox name_t:dogs) AND age_l:7': 'a',
        '+name_t:brown (kind_s:fox name_t:dogs)': 'a b c',
      })
    },
  },
  {
    name: 'phrases, and none across two values',
    run: async ({ search }) => {
      const values = ['one two', 'three four']
      await filled(search, [...people, documentOf('m', { text_t_mv: values })])
      await finds(search, {
        'name_t:"quick brown"': 'a b',
        'name_t:"brown quick"': '',
        'name_t:"the quick brown fox"': 'a',
        'name_t:"brown and quick"': 'c',
        'text_t_mv:"one two"': 'm',
        'text_t_mv:"three four"': 'm',
        'text_t_mv:"two three"': '',
        '+text_t_mv:two +text_t_mv:three': 'm',
      })
    },
  },
  {
    name: 'ranges of whole numbers, numbers and texts',
    run: async ({ search }) => {
      await filled(search, people)
      await finds(search, {
        'age_l:[7 TO 70]': 'a c',
        'age_l:{7 TO 70]': 'c',
        'age_l:[7 TO 70}': 'a',
        'age_l:[* TO 7]': 'a b',
        'age_l:[8 TO *]': 'c',
        'age_l:[* TO *]': 'a b c',
        'age_l:"-3"': 'b',
        'age_l:\\-3': 'b',
        'price_d:[-1 TO 1]': 'e',
        'price_d:1.50': 'd',
        'kind_s:[fox TO fox]': 'd',
        'kind_s:[fox TO *]': 'd e',
        'kind_s:{fox TO *]': 'e',
        'name_t:[dog TO fog]': 'b',
        'name_t:[dog TO fox]': 'a b',
      })
    },
  },
  {
    name: 'dates, date math and rounding in queries and documents',
    run: async ({ search }) => {
      const rounded = documentOf('r', { born_dt: '2012-02-29T12:00:00Z/DAY' })
      await filled(search, [...people, rounded])
      await finds(search, {
        'born_dt:"2010-05-05T00:00:00Z"': 'a',
        'born_dt:2010\\-05\\-05T00\\:00\\:00Z': 'a',
        'born_dt:[2011-05-05T00:00:00Z TO *]': 'b r',
        'born_dt:[2011-05-05T10:30:00Z/DAY TO 2011-05-05T10:30:00Z/DAY+1DAY}': 'b',
        'born_dt:"2012-02-29T00:00:00Z"': 'r',
        'born_dt:"2012-02-29T17:00:00Z/DAY"': 'r',
        'born_dt:[* TO 2010-05-05T00:00:00Z}': '',
        'born_dt:[NOW TO *]': '',
        'born_dt:[* TO NOW/DAY]': 'a b r',
      })
    },
  },
  {
    name: 'literal fields are whole values',
    run: async ({ search }) => {
      await filled(search, people)
      await finds(search, {
        'kind_s:fox': 'd',
        'kind_s:Fox': '',
        'kind_s:"Fox Terrier"': 'c',
        'kind_s:Fox\\ Terrier': 'c',
        'kind_s:terrier': '',
        'kind_s:fox*': 'd e',
        'kind_s:fox\\/cub': 'e',
        'ok_b:true': 'd',
        'ok_b:false': 'e',
      })
    },
  },
  {
    name: 'beginnings of words, and fields that a document has',
    run: async ({ search }) => {
      await filled(search, people)
      await finds(search, {
        'name_t:qu*': 'a b c',
        'name_t:QU*': 'a b c',
        'name_t:do*': 'b',
        'name_t:z*': '',
        'kind_s:*': 'c d e',
        '-kind_s:*': 'a b',
      })
    },
  },
  {
    name: 'texts in other scripts',
    run: async ({ search }) => {
      await filled(search, [
        documentOf('de', { name_t: 'Größe über ALLES' }),
        documentOf('zh', { name_t: '北京大学' }),
        documentOf('em', { kind_s: '😀', name_t: 'a😀b' }),
      ])
      await finds(search, {
        'name_t:größe': 'de',
        'name_t:ÜBER': 'de',
        'name_t:"北京"': 'zh',
        'name_t:京': 'zh',
        'kind_s:😀': 'em',
        'kind_s:😀*': 'em',
      })
    },
  },
]

const changeCases: readonly SearchCase[] = [
  {
    name: 'changes are seen when they are committed',
    run: async ({ search }) => {
      await search.update({ documents: [people[0]] })
      await search.commit()
      assert.equal(await found(search, '*:*'), 'a')
      assert.deepEqual((await search.search({ query: '*:*' })).hits[0].fields, people[0].fields)
      await search.update({ documents: [documentOf('a', { name_t: 'cat' })] })
      await search.commit()
      await finds(search, { '*:*': 'a', 'name_t:fox': '', 'name_t:cat': 'a' })
      await search.update({ documents: [documentOf('a', { name_t: 'cat' })] })
      await search.commit()
      await finds(search, { '*:*': 'a', 'name_t:cat': 'a' })
      await search.clear()
      await finds(search, { '*:*': '' })
    },
  },
  {
    name: 'documents go by key and by record',
    run: async ({ search }) => {
      const live = { tag: 'live' }
      const other = { table: 'other' }
      await filled(search, [
        documentOf('a', { name_t: 'x' }),
        documentOf('a', { name_t: 'x' }, live),
        documentOf('a', { name_t: 'x' }, other),
        documentOf('b', { name_t: 'x' }),
        documentOf('b', { name_t: 'x' }, live),
      ])
      await search.update({ removedKeys: ['record-b-live', 'nothing'] })
      await search.update({ removedRecords: [{ table: 'record', id: 'a' }] })
      await search.update({ removedRecords: [{ table: 'record', id: 'nothing' }] })
      await search.commit()
      const { hits, total } = await search.search({ query: 'name_t:x' })
      assert.equal(total, 2)
      assert.deepEqual(hits.map(({ key }) => key).sort(), ['other-a-last', 'record-b-last'])
    },
  },
  {
    name: 'removals come before documents of the same call',
    run: async ({ search }) => {
      await filled(search, [documentOf('a', { name_t: 'old' }, { tag: 'old' })])
      await search.update({
        documents: [documentOf('a', { name_t: 'new' })],
        removedKeys: ['record-a-last'],
        removedRecords: [{ table: 'record', id: 'a' }],
      })
      await search.commit()
      await finds(search, { 'name_t:new': 'a', 'name_t:old': '' })
    },
  },
  {
    name: 'documents that cannot be taken are named, the others are kept',
    run: async ({ search }) => {
      const rejected = await search.update({
        documents: [
          documentOf('a', { age_l: 'seven' }),
          documentOf('b', { age_l: '8' }),
          documentOf('c', { born_dt: 'yesterday' }),
          documentOf('d', { price_d: 'dear' }),
          documentOf('e', { age_l: '99999999999999999999' }),
        ],
      })
      await search.commit()
      const keys = ['record-a-last', 'record-c-last', 'record-d-last', 'record-e-last']
      assert.deepEqual(rejected.map(({ key }) => key).sort(), keys)
      for (const { reason } of rejected) assert.notEqual(reason, '')
      assert.equal(await found(search, '*:*'), 'b')
    },
  },
  {
    name: 'what was committed outlives the backend',
    run: async (suite) => {
      await filled(suite.search, people)
      await suite.search.update({ removedKeys: ['record-c-last'] })
      await suite.search.commit()
      if (suite.reopen === undefined) return
      const search = await suite.reopen()
      await finds(search, { 'name_t:quick': 'a b', 'age_l:[* TO 7]': 'a b', '*:*': 'a b d e' })
      await filled(search, [documentOf('a', { name_t: 'slow' })])
      await finds(await suite.reopen(), { 'name_t:quick': 'b', 'name_t:slow': 'a' })
    },
  },
]

const resultCases: readonly SearchCase[] = [
  {
    name: 'pages, totals and sorting by fields',
    run: async ({ search }) => {
      const documents = Array.from({ length: 25 }, (_, i) => {
        const name = `n${String(i).padStart(2, '0')}`
        return documentOf(name, { name_t: 'same', rank_l: String(-i * 7), group_s: `g${i % 3}` })
      })
      await filled(search, documents)
      const page = async (query: Partial<SearchQuery>): Promise<string> => {
        const { total, hits } = await search.search({ query: 'name_t:same', limit: 3, ...query })
        assert.equal(total, 25)
        return hits.map(({ fields }) => fields[reservedFields.id][0]).join(' ')
      }
      const byRank = [{ field: 'rank_l' }]
      assert.equal(await page({ sort: byRank }), 'n24 n23 n22')
      assert.equal(await page({ sort: byRank, offset: 23 }), 'n01 n00')
      assert.equal(await page({ sort: byRank, offset: 30 }), '')
      assert.equal(await page({ sort: byRank, limit: 0 }), '')
      assert.equal(await page({ sort: [{ field: 'rank_l', descending: true }] }), 'n00 n01 n02')
      const byGroup = [{ field: 'group_s', descending: true }, { field: 'rank_l' }]
      assert.equal(await page({ sort: byGroup }), 'n23 n20 n17')
      // Equal scores: by key.
      assert.equal(await page({}), 'n00 n01 n02')
      assert.equal(await page({ offset: 12 }), 'n12 n13 n14')
    },
  },
  {
    name: 'rarer and more frequent words count more',
    run: async ({ search }) => {
      await filled(search, [
        documentOf('once', { name_t: 'apple pear plum quince' }),
        documentOf('twice', { name_t: 'apple apple pear plum' }),
        documentOf('short', { name_t: 'apple' }),
        documentOf('other', { name_t: 'pear plum' }),
        documentOf('rare', { name_t: 'medlar pear plum quince' }),
      ])
      const order = async (query: string): Promise<string[]> => {
        const { hits } = await search.search({ query })
        for (const [i, { score }] of hits.entries()) {
          assert.ok(score > 0 && (i === 0 || score <= hits[i - 1].score), query)
        }
        return hits.map(({ fields }) => fields[reservedFields.id][0])
      }
      const apples = await order('name_t:apple')
      assert.equal(apples.length, 3)
      assert.equal(apples[2], 'once')
      assert.equal((await order('name_t:pear name_t:medlar'))[0], 'rare')
      assert.equal((await order('name_t:pear name_t:apple^10'))[3] !== 'short', true)
    },
  },
  {
    name: 'filters choose documents without a word on their order',
    run: async ({ search }) => {
      await filled(search, people)
      const query = 'name_t:quick name_t:fox'
      const filters = ['age_l:[0 TO *]', '-kind_s:fox']
      assert.equal(await found(search, { query, filters }), 'a c')
      const all = await search.search({ query })
      const some = await search.search({ query, filters })
      const scoreOf = ({ hits }: typeof all): number => {
        return hits.find(({ key }) => key === 'record-a-last')!.score
      }
      assert.equal(scoreOf(some), scoreOf(all))
    },
  },
  {
    name: 'a query has the fields that its parser finds, and no others',
    async run({ search }) {
      const documents = [documentOf('a', { title_t: 'one', name_t: 'hidden' })]
      await filled(search, documents)
      await search.commit()
      // In Lucene's own syntax ends of ranges have other escapes than phrases, so that to its
      // parser the middle of the text names `name_t`.
      const query =
        'title_t:["zz\\\\" TO b] title_t:" TO zzz] name_t:/hidden/ title_t:[zzx"title_t:[zzc TO zzy]'
      assert.deepEqual([...queryFields(query, undefined)], ['title_t'])
      assert.equal(await found(search, query), '')
      assert.equal(await found(search, { query: '*:*', filters: [query] }), '')
      assert.equal(await found(search, `name_t:hidden -(${query})`), 'a')
    },
  },
  {
    name: 'queries with errors',
    run: async ({ search }) => {
      await filled(search, people)
      const wrong = [
        '',
        'name_t:',
        'name_t:(a',
        'a)',
        'fox',
        'name_t:"a',
        'age_l:[1 TO 2',
        'age_l:[1 2]',
        'age_l:x',
        'age_l:1*',
        'born_dt:today',
        'name_t:a AND',
        'AND name_t:a',
        'name_t:a^x',
        'name_t:a\\',
        '('.repeat(100) + 'name_t:a' + ')'.repeat(100),
        Array.from({ length: 2000 }, () => 'name_t:a').join(' '),
        'name_t:' + 'a'.repeat(70_000),
        '{!func}age_l',
      ]
      for (const query of wrong) {
        const error = await failsWith('ERR_INVALID_ARGUMENT', () => search.search({ query }))
        assert.notEqual(error.message, '')
      }
      await failsWith('ERR_INVALID_ARGUMENT', () => search.search({ query: '*:*', limit: -1 }))
      await failsWith('ERR_INVALID_ARGUMENT', () => search.search({ query: '*:*', offset: 0.5 }))
      const unknown = { query: '*:*', limits: 1 }
      await failsWith('ERR_INVALID_ARGUMENT', () => search.search(unknown))
      assert.equal(await found(search, '*:*'), 'a b c d e')
    },
  },
]

const searchCases: readonly SearchCase[] = [...queryCases, ...changeCases, ...resultCases]

/** Runs all cases for search backends. */
export function runSearchSuite(t: SuiteTest, backend: SearchSuiteBackend): Promise<SuiteCounts> {
  return runCases(t, {
    suite: 'search',
    backend: backend.name,
    cases: searchCases,
    run: async (_, each) => {
      const suite = await backend.open()
      try {
        await each.run(suite)
      } finally {
        await suite.close()
      }
    },
  })
}
