/** The forms of requests to Solr, and what its answers lead to, against a scripted server. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { SolrSearch } from '../../../../src/systems/repository/index.js'

interface Request {
  readonly path: string
  readonly body: string
}

/** A server that answers in the order of the script, and 200 with an empty object behind it. */
async function scripted(
  t: Test,
  script: readonly { status: number; body: unknown }[],
): Promise<{ search: SolrSearch; requests: Request[] }> {
  const requests: Request[] = []
  const server = createServer((request, response) => {
    const pieces: Buffer[] = []
    request.on('data', (piece: Buffer) => pieces.push(piece))
    request.on('end', () => {
      const { status, body } = script[requests.length] ?? { status: 200, body: {} }
      requests.push({ path: request.url!, body: Buffer.concat(pieces).toString() })
      response.writeHead(status, { connection: 'close' })
      response.end(typeof body === 'string' ? body : JSON.stringify(body))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  const { port } = server.address() as AddressInfo
  return { search: new SolrSearch({ url: `http://127.0.0.1:${port}/solr/x/` }), requests }
}

const a = { key: 'a', fields: { name_t: ['x'], many_t_mv: ['1', '2'] } }
const b = { key: 'b', fields: { name_t: ['y'] } }

void t.test('all changes of a call are one request', async (t) => {
  const { search, requests } = await scripted(t, [])
  const removedRecords = [{ table: 'record', id: 'USER."x"' }]
  t.same(await search.update({ documents: [a, b], removedKeys: ['c'], removedRecords }), [])
  await search.commit()
  t.same(requests, [
    {
      path: '/solr/x/update?wt=json',
      body:
        '{"delete":{"id":"c"},' +
        '"delete":{"query":"+lily.table:\\"record\\" +lily.id:\\"USER.\\\\\\"x\\\\\\"\\""},' +
        '"add":{"doc":{"name_t":"x","many_t_mv":["1","2"],"lily.key":"a"}},' +
        '"add":{"doc":{"name_t":"y","lily.key":"b"}}}',
    },
    { path: '/solr/x/update?wt=json', body: '{"commit":{}}' },
  ])
  t.same(await search.update({}), [])
  t.equal(requests.length, 2, 'nothing to send')
})

void t.test('a document that Solr refuses is found, the others are sent again', async (t) => {
  const refused = { status: 400, body: { error: { msg: 'no number' } } }
  const taken = { status: 200, body: {} }
  const { search, requests } = await scripted(t, [refused, taken, refused, taken])
  const rejected = await search.update({ documents: [a, b], removedKeys: ['c'] })
  t.same(rejected, [{ key: 'a', reason: 'no number' }])
  t.same(
    requests.map(({ body }) => body.slice(0, 9)),
    ['{"delete"', '{"delete"', '{"add":{"', '{"add":{"'],
  )
})

void t.test('other failures reject', async (t) => {
  const busy = { status: 503, body: '<html>busy</html>' }
  const { search } = await scripted(t, [busy, { status: 200, body: 'none' }, busy, busy])
  const code = 'ERR_SEARCH_SERVER'
  await t.rejects(search.update({ documents: [a] }), { code, message: /503: <html>busy/ })
  await t.rejects(search.commit(), { code, message: /no JSON/ })
  await t.rejects(search.clear(), { code })
  await t.rejects(search.search({ query: '*:*' }), { code })
  await search.close()
  await t.rejects(search.commit(), { code: 'ERR_REPOSITORY_CLOSED' })
  const nobody = new SolrSearch({ url: 'http://127.0.0.1:1/solr' })
  await t.rejects(nobody.commit(), { code, message: /does not answer/ })
})

void t.test('a search is a form, and its answer is documents', async (t) => {
  const doc = { 'lily.key': 'a', name_t: 'x', many_l_mv: [1, 2], _version_: 17, score: 0.5 }
  const response = { numFound: 7, docs: [doc] }
  const { search, requests } = await scripted(t, [{ status: 200, body: { response } }])
  const found = await search.search({
    query: 'a',
    filters: ['x_s:b'],
    defaultField: 'name_t',
    sort: [{ field: 'n_l', descending: true }],
    offset: 3,
    limit: 2,
  })
  const fields = { name_t: ['x'], many_l_mv: ['1', '2'] }
  t.same(found, { total: 7, hits: [{ key: 'a', score: 0.5, fields }] })
  const form = Object.fromEntries(new URLSearchParams(requests[0].body))
  const q = 'name_t:a'
  t.match(form, { q, fq: 'x_s:b', sort: 'n_l desc, lily.key asc', rows: '2', start: '3' })
  t.notOk('df' in form, 'every term names its field')
})

void t.test('Solr gets what was parsed, not a text that it may read in another way', async (t) => {
  const response = { numFound: 0, docs: [] }
  const { search, requests } = await scripted(
    t,
    Array.from({ length: 9 }, () => ({ status: 200, body: { response } })),
  )
  for (const [query, sent] of [
    // To Solr a text in quotation marks ends elsewhere within a range.
    [
      '["a\\\\" TO b] " TO z] s:c [x"',
      'name_t:["a\\u005c" TO "b"] name_t:"\\u0020TO\\u0020z\\u005d\\u0020s\\u003ac\\u0020\\u005bx"',
    ],
    ['[a TO b\\]s:c]', 'name_t:["a" TO "b\\u005ds\\u003ac"]'],
    ['a\u00a0b', 'name_t:a name_t:b'],
    ['+x_s:a -(b c*)^2 \\AND', '+x_s:a -(name_t:b name_t:c*)^2 name_t:\\u0041\\u004e\\u0044'],
    ['*:* AND x_s:* AND NOT x_s:é', '+*:* +x_s:* -x_s:é'],
    ['x_s:{* TO "z z"]^0.5', 'x_s:{* TO "z\\u0020z"]^0.5'],
    ['x\\ s:"\\"😀"', 'x\\u0020s:"\\u0022\\ud83d\\ude00"'],
    ['a^100000000000000000000000', 'name_t:a^99999999999999991611392'],
  ]) {
    await search.search({ query, filters: [query], defaultField: 'name_t' })
    const form = new URLSearchParams(requests.at(-1)!.body)
    t.same([form.get('q'), form.get('fq')], [sent, sent], query)
  }
  const query = `a^1${'0'.repeat(39)}`
  const code = 'ERR_INVALID_ARGUMENT'
  await t.rejects(search.search({ query, defaultField: 'name_t' }), { code, message: /factors/ })
})

void t.test('hostile queries and orders are not sent', async (t) => {
  const { search, requests } = await scripted(t, [])
  const code = 'ERR_INVALID_ARGUMENT'
  for (const query of ['{!func}x', '_query_:"{!func}x"', 'a:(b -_val_:c)', 'a:b)']) {
    await t.rejects(search.search({ query }), { code }, query)
  }
  const sort = [{ field: 'sum(a,b)' }]
  await t.rejects(search.search({ query: '*:*', sort }), { code })
  t.equal(requests.length, 0)
  t.throws(() => new SolrSearch({ url: 'file:///x' }), { code })
  const unknown = { url: 'http://x', core: 'y' }
  t.throws(() => new SolrSearch(unknown), { code })
})
