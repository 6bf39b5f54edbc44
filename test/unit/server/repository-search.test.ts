/**
 * Search over HTTP: texts of blobs and what could not be read, what a token may find, metrics, and
 * names of repositories that addresses begin with.
 *
 * @runs long
 */
import { setTimeout as pause } from 'node:timers/promises'
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { RepositoryManager, type RecordTable } from '../../../src/systems/repository/index.js'
import { openSearch } from '../../../src/entries/repository-search.js'
import { CellarServer, repositoryRoutes, type Principal } from '../../../src/server/index.js'
import { docxOf } from '../systems/repository/extraction/documents.js'

const principals: readonly Principal[] = [
  { name: 'root', token: 'token-of-root', administrator: true },
  {
    name: 'reader',
    token: 'token-of-reader',
    search: ['books', 'filtered'],
    rules: [{ table: 'record', read: { except: ['{n}secret'] } }],
  },
  {
    name: 'writer',
    token: 'token-of-writer',
    rules: [{ table: 'record', read: true, write: true, delete: true }],
  },
  { name: 'nobody', token: 'token-of-nobody', search: ['books'] },
  {
    name: 'everything',
    token: 'token-of-everything',
    search: ['books'],
    rules: [{ read: { except: ['{n}secret'] } }],
  },
]

interface Answer {
  readonly status: number
  readonly text: string
  readonly json: Record<string, unknown>
}

interface Served {
  readonly manager: RepositoryManager
  readonly table: RecordTable
  readonly origin: string
  /** Sends a request as somebody. */
  readonly as: (name: string, method: string, path: string, body?: unknown) => Promise<Answer>
  readonly upload: (mediaType: string, bytes: Buffer) => Promise<unknown>
  readonly close: () => Promise<void>
}

async function open(): Promise<Served> {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const manager = await RepositoryManager.open(database)
  const fieldTypes = [
    ['title', 'STRING'],
    ['secret', 'STRING'],
    ['file', 'BLOB'],
    ['to', 'LINK'],
  ] as const
  for (const [local, valueType] of fieldTypes) {
    await manager.types.createFieldType({ name: `{n}${local}`, valueType })
  }
  const fields = [{ name: '{n}to' as const, linkTarget: 'exists' as const }]
  await manager.types.createRecordType({ name: '{n}page', fields })
  const search = await openSearch(manager, database)
  const server = await CellarServer.start(
    [repositoryRoutes(manager, { indexes: search.indexes })],
    {
      port: 0,
      principals,
    },
  )
  const request = async (
    token: string,
    method: string,
    path: string,
    type: string,
    body?: Buffer,
  ) => {
    const response = await fetch(`${server.url}${path}`, {
      method,
      headers: { authorization: `Bearer token-of-${token}`, 'content-type': type },
      ...(body === undefined ? {} : { body }),
    })
    const text = await response.text()
    const json = (text.startsWith('{') ? JSON.parse(text) : {}) as Record<string, unknown>
    return { status: response.status, text, json }
  }
  return {
    manager,
    table: manager.repository().table(),
    origin: server.url,
    as: (name, method, path, body) => {
      const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body))
      return request(name, method, `/repository${path}`, 'application/json', bytes)
    },
    upload: async (mediaType, bytes) => {
      return (await request('root', 'POST', '/repository/blob?name=a', mediaType, bytes)).json
    },
    close: async () => {
      await server.close()
      await search.close()
      await manager.close()
      await database.close()
    },
  }
}

const configuration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [
    { name: 'title_t', value: '{n}title' },
    { name: 'secret_t', value: '{n}secret' },
    { name: 'text_t', value: '{n}file', extractContent: true },
    { name: 'linked_t', value: '{n}to=>{n}title' },
    { name: 'type_${{n}secret}_s', value: '{n}title' },
    {
      match: { field: { name: '{n}secret', equals: 'xyzzy' } },
      fields: [{ name: 'marked_s', value: '{n}title' }],
    },
  ],
  dynamicFields: [{ matchNamespace: 'n', matchName: 's*', name: 'all_${name}_t' }],
}
const searchOf = (query: string, more = ''): string => {
  return `/index/books/search?wait=true&q=${encodeURIComponent(query)}${more}`
}

void t.test('texts of blobs are found, and those that are none are listed', async (t) => {
  const { as, upload, table, origin, close } = await open()
  t.equal((await as('root', 'POST', '/index', { name: 'books', configuration })).status, 201)
  const put = async (id: string, mediaType: string, bytes: Buffer): Promise<void> => {
    const file = await upload(mediaType, bytes)
    const record = { type: '{n}page', fields: { '{n}title': id, '{n}file': file } }
    t.equal((await as('root', 'PUT', `/record/USER.${id}`, record)).status, 201)
  }
  await put('word', 'application/octet-stream', docxOf(['a heading', 'beans in a soup']))
  await put('html', 'text/html; charset=utf-8', Buffer.from('<p>lentil <b>soup</b></p>'))
  await put('broken', 'application/pdf', Buffer.from('%PDF-1.4 and then nothing of that kind'))
  await put('picture', 'image/png', Buffer.from([0x89, 0x50, 0x4e, 0x47]))
  const found = async (query: string): Promise<unknown> => {
    const { json } = await as('root', 'GET', searchOf(query))
    return (json['results'] as { id: string }[]).map(({ id }) => id).sort()
  }
  t.same(await found('text_t:soup'), ['USER.html', 'USER.word'])
  t.same(await found('title_t:broken'), ['USER.broken'], 'the other fields are there')
  const { json } = await as('root', 'GET', '/index/books/failures')
  const texts = json['texts'] as { id: string; blobs: { name: string; reason: string }[] }[]
  t.same(
    texts.map(({ id }) => id),
    ['USER.broken', 'USER.picture'],
  )
  t.match(texts[1].blobs[0], { name: 'a', mediaType: 'image/png', size: 4, reason: /no text/ })
  t.same([json['refused'], json['deadLetters']], [[], []])
  // An event may be worked on again, so a text may fail more than once; one that is still being
  // read on a busy machine fails later. An index writes the failure to its rows, and follows that
  // write too, so only then does the lag come to 0 again.
  const expected = [
    /^cellar_repository_index_extraction_failures_total\{index="books"\} [2-9]$/m,
    /^cellar_repository_index_lag\{index="books"\} 0$/m,
    /^cellar_repository_subscription_lag\{subscription="Indexer_books"\} 0$/m,
  ]
  const read = async (): Promise<string> => (await fetch(`${origin}/metrics`, admin)).text()
  let metrics = await read()
  for (let round = 0; round < 100 && !expected.every((line) => line.test(metrics)); round++) {
    await pause(100)
    metrics = await read()
  }
  for (const line of expected) t.match(metrics, line)
  t.match(metrics, /^cellar_repository_index_well\{index="books"\} 1$/m)
  t.match(metrics, /^cellar_repository_subscription_events_total\{.*\} 4$/m)

  const again = await as('root', 'POST', '/index/books/failures')
  t.same(again.json, { refused: 0, texts: 0, deadLetters: 0 })
  await table.update({ id: 'USER.broken', fieldsToDelete: ['{n}file'] })
  await table.delete('USER.picture')
  t.same(await found('title_t:broken'), ['USER.broken'])
  t.same((await as('root', 'GET', '/index/books/failures')).json['texts'], [], 'mended')
  t.equal((await as('reader', 'GET', '/index/books/failures')).status, 403)
  t.equal((await as('root', 'GET', '/index/books/failures?limit=0')).status, 400)
  await close()
})

const admin = { headers: { authorization: 'Bearer token-of-root' } }

async function withHidden(): Promise<Served> {
  const served = await open()
  const { manager, table, as } = served
  const hidden = await manager.repository().createTable('hidden')
  await as('root', 'POST', '/index', { name: 'books', configuration })
  const type = '{n}page'
  const open_ = { '{n}title': 'open', '{n}secret': 'xyzzy' }
  await table.create({ id: 'USER.open', type, fields: open_ })
  await hidden.create({ id: 'USER.veiled', type, fields: { '{n}title': 'veiled open' } })
  return served
}

void t.test('the order of hits tells nothing of the words of another table', async (t) => {
  const { as, manager, table, close } = await withHidden()
  const type = '{n}page'
  for (const word of ['plain', 'merger']) {
    await table.create({ id: `USER.${word}`, type, fields: { '{n}title': word } })
  }
  const hits = async (name: string, more = ''): Promise<unknown> => {
    const path = searchOf('title_t:(plain merger^1.1)', more)
    const { json } = await as(name, 'GET', path)
    return (json['results'] as { id: string }[]).map(({ id }) => id)
  }
  t.same(await hits('root'), ['USER.merger', 'USER.plain'])
  const before = await hits('reader')
  const hidden = manager.repository().table('hidden')
  for (const id of ['USER.x', 'USER.y']) {
    await hidden.create({ id, type, fields: { '{n}title': 'merger' } })
  }
  t.same(await hits('root', '&filter=lily.table:record'), ['USER.plain', 'USER.merger'])
  t.same(await hits('reader'), before)
  t.same(await hits('reader', '&sort=-lily.id'), ['USER.plain', 'USER.merger'])
  await close()
})

void t.test('a search finds nothing that the token may not read', async (t) => {
  const { as, close } = await withHidden()
  const total = async (name: string, query: string): Promise<unknown> => {
    const { status, json } = await as(name, 'GET', searchOf(query))
    return status === 200 ? json['total'] : json['code']
  }
  t.equal(await total('root', '*:*'), 2)
  t.equal(await total('reader', '*:*'), 1, 'no count of another table')
  t.equal(await total('reader', 'title_t:open'), 1)
  t.equal(await total('reader', 'title_t:veiled'), 0)
  t.equal(await total('reader', 'lily.table:hidden'), 0)
  t.equal(await total('reader', 'title_t:(open OR veiled) OR lily.table:hidden'), 1)
  t.equal(await total('everything', 'title_t:open'), 2)
  t.equal(await total('everything', 'linked_t:open'), 0, 'all tables may be read')
  t.equal(await total('root', 'secret_t:xyzzy'), 1)
  const { json } = await as('reader', 'GET', searchOf('title_t:open'))
  const [first] = json['results'] as { score?: number; record: { fields: object } }[]
  t.notOk('score' in first, 'no word of another table counts')
  t.notMatch(JSON.stringify(first.record), /xyzzy/)

  const refusal = async (name: string, path: string): Promise<unknown> => {
    const { status, json: body } = await as(name, 'GET', path)
    return [status, body['code'], String(body['message']).replace(/field \S+/, 'field X')]
  }
  const message = 'no permission: the field X cannot be searched'
  for (const query of [
    'secret_t:xyzzy',
    'secret_t:*',
    'title_t:open OR -secret_t:a',
    'all_secret_t:xyzzy',
    'marked_s:open',
    'type_xyzzy_s:open',
    'linked_t:veiled',
    'there_is_none:x',
  ]) {
    t.same(await refusal('reader', searchOf(query)), [403, 'ERR_FORBIDDEN', message], query)
  }
  for (const more of ['&filter=secret_t:xyzzy', '&sort=secret_t', '&sort=-none_s']) {
    t.same(await refusal('reader', searchOf('*:*', more)), [403, 'ERR_FORBIDDEN', message], more)
  }
  t.equal(await total('reader', '{!term TO f=secret_t}xyzzy'), 'ERR_FORBIDDEN')
  t.equal((await as('reader', 'GET', searchOf('xyzzy', '&field=secret_t'))).status, 403)
  t.equal((await as('reader', 'GET', searchOf('title_t:('))).status, 400)
  t.equal((await as('nobody', 'GET', searchOf('*:*'))).status, 403, 'no table may be read')
  t.equal((await as('reader', 'GET', '/index/other/search?q=*:*')).status, 403, 'unknown or not')
  await close()
})

void t.test('nor does an answer beside the search tell of it', async (t) => {
  const { as, close } = await withHidden()
  const filtered = {
    recordFilter: {
      includes: [{ field: { name: '{n}secret', equals: 'xyzzy' }, versionTags: ['last'] }],
    },
    fields: [{ name: 'title_t', value: '{n}title' }],
  }
  await as('root', 'POST', '/index', { name: 'filtered', configuration: filtered, build: true })
  const presence = await as('reader', 'GET', '/index/filtered/search?q=title_t:open')
  t.equal(presence.status, 403, 'to be in the index tells of the field')
  for (const path of ['/index', '/index/books', '/table', '/repositories']) {
    const { status, text } = await as('reader', 'GET', path)
    t.equal(status, 200, path)
    t.notMatch(text, /secret|hidden|counts|other/, path)
  }
  t.equal((await as('nobody', 'GET', '/table')).status, 404)
  t.equal((await as('nobody', 'GET', '/none/table')).status, 404)
  t.match((await as('root', 'GET', '/table')).text, /hidden/)
  for (const table of ['hidden', 'none']) {
    const answer = await as('reader', 'GET', `/table/${table}/record/USER.veiled`)
    t.equal(answer.status, 403, table)
  }
  // A link is refused before its target is looked for.
  for (const link of ['hidden:USER.veiled', 'hidden:USER.none', 'none:USER.a']) {
    const record = { type: '{n}page', fields: { '{n}title': 'x', '{n}to': link } }
    const { status, json } = await as('writer', 'PUT', '/record/USER.links', record)
    t.same([status, json['code']], [403, 'ERR_FORBIDDEN'], link)
  }
  const own = { type: '{n}page', fields: { '{n}title': 'x', '{n}to': 'USER.open' } }
  t.equal((await as('writer', 'PUT', '/record/USER.links', own)).status, 201)
  t.equal((await as('writer', 'DELETE', '/table/hidden/record/USER.veiled')).status, 403)
  await close()
})

void t.test('no repository has a name with which addresses begin', async (t) => {
  const { as, origin, close } = await open()
  const { paths } = (await (await fetch(`${origin}/openapi.json`, admin)).json()) as {
    paths: Record<string, unknown>
  }
  const begins = Object.keys(paths).flatMap((path) => {
    return /^\/repository\/(\w[^/]*)/.exec(path)?.[1] ?? []
  })
  const names = new Set([...begins, 'ui', 'ui.css', 'ui.js'])
  t.ok(names.size > 8)
  for (const name of names) {
    const { status, json } = await as('root', 'POST', '/repositories', { name })
    t.same([status, json['code']], [400, 'ERR_INVALID_ARGUMENT'], name)
  }
  const record = { type: '{n}page', fields: { '{n}title': 'x' } }
  t.equal((await as('root', 'POST', '/repositories', { name: 'news' })).status, 200)
  // Names of tables stand behind 'table', and are never taken for something else.
  for (const table of [...names].filter((name) => !name.includes('.'))) {
    for (const repository of ['', '/news']) {
      if (table !== 'record') await as('root', 'POST', `${repository}/table`, { name: table })
      const path = `${repository}/table/${table}/record/USER.${table}`
      t.equal((await as('root', 'PUT', path, record)).status, 201, path)
      t.equal((await as('root', 'GET', path)).json['table'], table)
    }
  }
  await close()
})
