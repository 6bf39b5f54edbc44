/**
 * The repository over HTTP beside its numbered cases: entity tags, blobs, permissions, and bodies
 * and clients that mean no good. After all of these the records are as they were.
 *
 * @runs long
 */
import { once } from 'node:events'
import { createHash } from 'node:crypto'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { ManualClock } from '../../../src/base/clock.js'
import { seededRandom } from '../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { RepositoryManager, type RecordTable } from '../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes, type Principal } from '../../../src/server/index.js'
import { lengthOf } from '../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)

interface Served {
  readonly manager: RepositoryManager
  readonly table: RecordTable
  readonly url: string
  readonly origin: string
  readonly close: () => Promise<void>
}

async function open(
  principals: readonly Principal[] = [],
  blobBytesMax = 1 << 20,
): Promise<Served> {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    clock: new ManualClock(),
  })
  const manager = await RepositoryManager.open(database, { inlineBlobBytesMax: 100 })
  const { types } = manager
  for (const [local, valueType, scope] of [
    ['title', 'STRING', 'VERSIONED'],
    ['secret', 'STRING', 'NON_VERSIONED'],
    ['size', 'LONG', 'NON_VERSIONED'],
    ['file', 'BLOB', 'NON_VERSIONED'],
    ['files', 'LIST<BLOB>', 'NON_VERSIONED'],
    ['inner', 'RECORD<{n}page>', 'NON_VERSIONED'],
  ] as const) {
    await types.createFieldType({ name: `{n}${local}`, valueType, scope })
  }
  const fields = ['title', 'secret', 'size', 'file'].map((local) => ({ name: `{n}${local}` }))
  await types.createRecordType({ name: '{n}page', fields })
  const server = await CellarServer.start([repositoryRoutes(manager, { blobBytesMax })], {
    port: 0,
    principals,
    requestBytesMax: 100_000,
  })
  const close = async (): Promise<void> => {
    await server.close()
    await manager.close()
    await database.close()
  }
  const url = `${server.url}/repository`
  return { manager, table: manager.repository().table(), url, origin: server.url, close }
}

interface Answer {
  readonly status: number
  readonly code: string | undefined
  readonly json: Record<string, unknown>
  readonly headers: Headers
}

async function send(
  url: string,
  method = 'GET',
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const response = await fetch(url, {
    method,
    headers: body === undefined ? headers : { 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: text }),
    redirect: 'manual',
  })
  const answer = await response.text()
  const json = (answer.startsWith('{') ? JSON.parse(answer) : {}) as Record<string, unknown>
  const code = json['code'] as string | undefined
  return { status: response.status, code, json, headers: response.headers }
}

const page = { type: '{n}page', fields: { '{n}title': 'one', '{n}secret': 's' } }

void t.test('entity tags are revisions', async (t) => {
  const { url, table, manager, close } = await open()
  const record = `${url}/record/USER.a`
  const none = { 'if-none-match': '*' }
  const made = await send(record, 'PUT', page, none)
  t.equal(made.status, 201)
  const tag = made.headers.get('etag')!
  t.equal((await send(record, 'PUT', page, none)).status, 412, 'it exists already')
  t.equal((await send(record, 'GET', undefined, { 'if-none-match': tag })).status, 304)
  const second = { fields: { '{n}title': 'two' } }
  const changed = await send(record, 'PUT', second, { 'if-match': tag })
  t.equal(changed.status, 200)
  t.not(changed.headers.get('etag'), tag)
  const late = await send(record, 'PUT', { fields: { '{n}title': 'late' } }, { 'if-match': tag })
  t.same([late.status, late.code], [412, 'ERR_CONCURRENT_RECORD_UPDATE'])
  const action = { action: 'update', record: { fields: { '{n}title': 'late' } } }
  t.equal((await send(record, 'POST', action, { 'if-match': tag })).status, 412)
  t.equal((await send(record, 'DELETE', undefined, { 'if-match': tag })).status, 412)
  t.equal((await send(record, 'GET', undefined, { 'if-none-match': tag })).status, 200)
  t.equal((await send(`${url}/record/USER.b`, 'PUT', page, { 'if-match': '*' })).status, 412)
  const { json } = await send(`${record}/diff?from=1&to=2`)
  t.match(json, { results: [{ before: 'one', after: 'two' }] })
  t.equal((await send(record, 'POST', { action: 'restore', version: 1 })).json['version'], 3)
  // Somebody may be faster between the comparison of the tag and the write.
  const { revision } = await table.read('USER.a')
  const raced = { code: 'ERR_CONCURRENT_RECORD_UPDATE' }
  await t.rejects(table.restore('USER.a', 2, { revision: revision - 1 }), raced)
  const live = '{org.lilyproject.vtag}live'
  await manager.types.createFieldType({ name: live, valueType: 'LONG' })
  await t.rejects(table.tag('USER.a', live, 1, { revision: revision - 1 }), raced)
  await table.tag('USER.a', live, 1, { revision })
  await t.rejects(table.untag('USER.a', live, { revision }), raced)
  const tags = [`"1"`, changed.headers.get('etag')!].join(', ')
  t.equal((await send(record, 'DELETE', undefined, { 'if-match': tags })).status, 412)
  t.equal((await send(record, 'DELETE', undefined, { 'if-match': '*' })).status, 204)
  await close()
})

void t.test('blobs go up and down as streams', async (t) => {
  const { url, manager, close } = await open()
  const bytes = Buffer.from(Array.from({ length: 200_000 }, (_, i) => i % 251))
  const digest = `sha-256=:${createHash('sha256').update(bytes).digest('base64')}:`
  const upload = (headers: Record<string, string>, body = bytes): Promise<Response> => {
    return fetch(`${url}/blob?name=a%22b.html`, {
      method: 'POST',
      headers: { 'content-type': 'text/html', ...headers },
      body,
    })
  }
  const wrong = await upload({ 'content-digest': digest }, bytes.subarray(1))
  t.equal(wrong.status, 400)
  t.match(await wrong.json(), { code: 'ERR_BLOB_DAMAGED' })
  t.equal((await manager.blobs.states()).size, 0, 'nothing of it is kept')
  t.equal((await upload({}, Buffer.alloc((1 << 20) + 1))).status, 413)
  const blob = (await (await upload({ 'content-digest': digest })).json()) as { size: number }
  t.equal(blob.size, bytes.length)
  const record = `${url}/record/USER.a`
  const body = { type: '{n}page', fields: { '{n}file': blob, '{n}title': 'x' } }
  t.equal((await send(record, 'PUT', body)).status, 201)
  const data = `${record}/field/%7Bn%7Dfile/data`
  const whole = await fetch(data)
  t.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes))
  t.equal(whole.headers.get('content-type'), 'text/html')
  t.equal(whole.headers.get('repr-digest'), digest)
  t.match(whole.headers.get('content-security-policy'), /sandbox/)
  t.equal(whole.headers.get('content-disposition'), "attachment; filename*=UTF-8''a%22b.html")
  const range = async (text: string): Promise<[number, string | null, Buffer]> => {
    const part = await fetch(data, { headers: { range: text } })
    const content = Buffer.from(await part.arrayBuffer())
    return [part.status, part.headers.get('content-range'), content]
  }
  t.same(await range('bytes=10-19'), [206, 'bytes 10-19/200000', bytes.subarray(10, 20)])
  t.same(await range('bytes=-5'), [206, 'bytes 199995-199999/200000', bytes.subarray(-5)])
  t.same((await range('bytes=199990-'))[2].length, 10)
  t.same((await range('bytes=200000-')).slice(0, 2), [416, 'bytes */200000'])
  t.equal((await range('bytes=9-1'))[0], 200)
  const tag = whole.headers.get('etag')!
  t.equal((await fetch(data, { headers: { 'if-none-match': tag } })).status, 304)
  const other = { range: 'bytes=0-1', 'if-range': '"x"' }
  t.equal((await fetch(data, { headers: other })).status, 200)
  for (const [path, status, code] of [
    ['%7Bn%7Dtitle/data', 400, 'ERR_BLOB'],
    ['%7Bn%7Dsize/data', 400, 'ERR_BLOB'],
    ['%7Bn%7Dfiles/data', 404, 'ERR_FIELD_NOT_FOUND'],
    ['%7Bn%7Dnone/data', 404, 'ERR_FIELD_TYPE_NOT_FOUND'],
    ['%7Bn%7Dfile/data?indexes=0', 404, 'ERR_BLOB_NOT_FOUND'],
    ['%7Bn%7Dfile/data?indexes=x', 400, 'ERR_INVALID_ARGUMENT'],
  ] as const) {
    const answer = await send(`${record}/field/${path}`)
    t.same([answer.status, answer.code], [status, code], path)
  }
  const other2 = { type: '{n}page', fields: { '{n}file': blob, '{n}title': 'y' } }
  t.equal((await send(`${url}/record/USER.b`, 'PUT', other2)).code, 'ERR_INVALID_RECORD')
  t.equal((await send(`${url}/record/USER.b`)).status, 404)
  await close()
})

void t.test('a blob that ends early leaves nothing behind', async (t) => {
  const { origin, manager, close } = await open()
  const { port, hostname } = new URL(origin)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  const head = 'POST /repository/blob HTTP/1.1\r\nhost: localhost\r\ncontent-type: a/b\r\n'
  socket.write(`${head}content-length: 100000\r\n\r\n${'x'.repeat(70_000)}`)
  while ((await manager.blobs.states()).size === 0) await new Promise(setImmediate)
  socket.destroy()
  while ((await manager.blobs.states()).size > 0) await new Promise(setImmediate)
  const chunked = connect(Number(port), hostname)
  await once(chunked, 'connect')
  chunked.write(`${head}transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n`)
  const [answer] = (await once(chunked, 'data')) as [Buffer]
  t.match(answer.toString(), /^HTTP\/1.1 400[^]*Content-Length/)
  chunked.destroy()
  t.equal((await manager.blobs.states()).size, 0)
  await close()
})

const principals: readonly Principal[] = [
  { name: 'root', token: 'token-of-root', administrator: true },
  {
    name: 'reader',
    token: 'token-of-reader',
    rules: [{ table: 'record', read: { except: ['{n}secret'] } }],
  },
  {
    name: 'editor',
    token: 'token-of-editor',
    rules: [{ read: { except: ['{n}secret'] }, write: { fields: ['{n}title', '{n}inner'] } }],
  },
]

void t.test('permissions by table and field', async (t) => {
  const { url, origin, close } = await open(principals)
  const as = (name: string): Record<string, string> => ({
    authorization: `Bearer token-of-${name}`,
  })
  const record = `${url}/record/USER.a?nsprefixes=false`
  const inner = { fields: { '{n}title': 'in', '{n}secret': 'hidden' } }
  const full = { ...page, fields: { ...page.fields, '{n}inner': inner } }
  t.equal((await send(record)).status, 401)
  t.equal((await send(record, 'PUT', full, as('root'))).status, 201)
  await send(`${url}/table`, 'POST', { name: 'other' }, as('root'))

  const read = await send(record, 'GET', undefined, as('reader'))
  const shownInner = { type: { name: '{n}page' }, fields: { '{n}title': 'in' } }
  t.same(read.json['fields'], { '{n}title': 'one', '{n}inner': shownInner })
  const refused = async (answer: Promise<Answer>, what: string): Promise<void> => {
    const { status, code } = await answer
    t.same([status, code], [403, 'ERR_FORBIDDEN'], what)
  }
  const [reader, editor] = [as('reader'), as('editor')]
  await refused(send(record, 'PUT', { fields: { '{n}title': 'x' } }, reader), 'a write')
  await refused(send(record, 'DELETE', undefined, reader), 'a delete')
  await refused(send(`${url}/table/other/record/USER.a`, 'GET', undefined, reader), 'a table')
  await refused(send(`${url}/blob`, 'POST', 'x', reader), 'an upload')
  await refused(send(`${url}/table`, 'POST', { name: 'third' }, editor), 'a table')
  await refused(send(`${url}/schema/fieldType`, 'POST', { name: '{n}x' }, editor), 'the schema')
  await refused(send(`${origin}/metrics`, 'GET', undefined, editor), 'metrics')

  t.equal((await send(record, 'PUT', { fields: { '{n}title': 'two' } }, editor)).status, 200)
  await refused(send(record, 'PUT', { fields: { '{n}secret': 'x' } }, editor), 'a hidden field')
  await refused(send(record, 'PUT', { fieldsToDelete: ['{n}size'] }, editor), 'a removal')
  await refused(send(record, 'PUT', { metadata: { '{n}secret': { a: 1 } } }, editor), 'metadata')
  await refused(send(record, 'PUT', { fields: { '{n}inner': inner } }, editor), 'inside a record')
  await refused(send(record, 'POST', { action: 'restore', version: 1 }, editor), 'a restore')
  const field = '{n}secret'
  const guess = { action: 'update', record: {}, conditions: [{ field, value: 's' }] }
  await refused(send(record, 'POST', guess, editor), 'a condition that guesses')
  const filter = { '@class': 'FieldValueFilter', field, fieldValue: 's' }
  await refused(send(`${url}/scan`, 'POST', { recordFilter: filter }, reader), 'a filter')

  const { headers } = await send(`${url}/scan`, 'POST', {}, reader)
  const location = `${origin}${headers.get('location')}`
  t.equal((await send(location, 'GET', undefined, editor)).status, 404, 'of somebody else')
  const heads = [editor, reader].map((each) => fetch(location, { method: 'HEAD', headers: each }))
  const found = (await Promise.all(heads)).map(({ status }) => status)
  t.same(found, [404, 200], 'HEAD says whether the scan is there, and does not move it')
  const scanned = await send(`${location}?nsprefixes=false`, 'GET', undefined, reader)
  const [first] = scanned.json['results'] as { fields: object }[]
  t.same(first.fields, { '{n}title': 'two', '{n}inner': shownInner })
  const { json } = await send(record, 'GET', undefined, as('root'))
  t.match(json['fields'], { '{n}secret': 's', '{n}inner': { fields: { '{n}secret': 'hidden' } } })
  await close()
})

void t.test('principals that cannot be', async (t) => {
  const token = 'long-enough'
  for (const principal of [
    { name: '', token },
    { name: 'a', token: 'short' },
    { name: 'a', token, admin: true },
    { name: 'a', token, rules: [{ reads: true }] },
    { name: 'a', token, rules: [{ read: { field: [] } }] },
    { name: 'a', token, administrator: 'yes' },
  ] as unknown as Principal[]) {
    const start = CellarServer.start([], { port: 0, principals: [principal] })
    await t.rejects(start, { code: 'ERR_INVALID_ARGUMENT' })
  }
  const twice = { port: 0, token, principals: [{ name: 'a', token }] }
  await t.rejects(CellarServer.start([], twice), { code: 'ERR_INVALID_ARGUMENT' })
})

/** Bodies with an error, by the path they are sent to. */
const hostile: readonly (readonly [string, string, string])[] = [
  ['PUT', '/record/USER.k', '{"fields":{"{n}title":"x"'],
  ['PUT', '/record/USER.k', '['.repeat(60_000)],
  ['PUT', '/record/USER.k', `{"fields":${'{"a":'.repeat(200)}1${'}'.repeat(201)}`],
  ['PUT', '/record/USER.k', '{"fields":{"{n}size":1e400}}'],
  ['PUT', '/record/USER.k', `{"fields":{"{n}size":${'9'.repeat(50_000)}}}`],
  ['PUT', '/record/USER.k', '{"fields":{"{n}size":9223372036854775808}}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}title":null}}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}title":"\\ud800"}}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}title":"a","{n}title":"b"}}'],
  ['PUT', '/record/USER.k', '{"fields":{"n$title":"a","{n}title":"b"},"namespaces":{"n":"n"}}'],
  ['PUT', '/record/USER.k', '{"fields":{"x$title":"a"}}'],
  ['PUT', '/record/USER.k', '{"fields":[]}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}none":1}}'],
  ['PUT', '/record/USER.k', '{"type":"{n}none"}'],
  ['PUT', '/record/USER.k', '{"type":{"name":"{n}page","version":9}}'],
  ['PUT', '/record/USER.k', '{"field":{}}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}file":{"value":"!","mediaType":"a/b","size":1}}}'],
  ['PUT', '/record/USER.k', '{"fields":{"{n}inner":{"fields":{"{n}inner":{"fields":{}}}}}}'],
  ['PUT', '/record/USER.k', '{"metadata":{"{n}title":{"k":{"type":"x","value":"1"}}}}'],
  ['PUT', '/record/USER.k', '{"__proto__":{"a":1}}'],
  ['PUT', '/record/USER.k', '\ufffd'],
  ['PUT', '/record/USER.k', ''],
  ['PUT', '/record/nobody', '{}'],
  ['PUT', '/record/USER.', '{}'],
  ['PUT', '/record/USER.a.b.c', '{}'],
  ['PUT', '/record/USER.a%00b', JSON.stringify(page)],
  ['PUT', '/record/USER.new', '{"fields":{}}'],
  ['PUT', '/record/USER.new', '{"fields":{},"type":"{n}page"}'],
  ['PUT', '/record/USER.k/version/1', '{"version":2}'],
  ['POST', '/record/USER.k', '{"action":"destroy"}'],
  ['POST', '/record/USER.k', '{"action":"update","record":{},"conditions":{}}'],
  ['POST', '/record/USER.k', '{"action":"update","record":{},"conditions":[{"field":"{n}title"}]}'],
  ['POST', '/record/USER.k', '{"action":"delete","conditions":[{"field":"x","value":1}]}'],
  ['POST', '/record/USER.k', '{"action":"tag","tag":"none"}'],
  ['POST', '/record/USER.k', '{"action":"restore"}'],
  ['POST', '/record', '{"action":"create"}'],
  ['POST', '/record', '{"record":{}}'],
  ['POST', '/scan', '{"recordFilter":{"@class":"constructor"}}'],
  ['POST', '/scan', '{"recordFilter":{}}'],
  ['POST', '/scan', '{"returnFields":{"type":"SOME"}}'],
  ['POST', '/scan', '{"startRecordId":"x"}'],
  ['POST', '/scan', '{"rawStartRecordId":"x"}'],
  ['POST', '/scan', '{"limit":-1}'],
  ['POST', '/table', '{}'],
  ['POST', '/table', '{"name":"a.b"}'],
  ['POST', '/schema/fieldType', '{"name":"{n}x","valueType":"LIST"}'],
  ['POST', '/schema/fieldType', '{"name":"{n}x","valueType":"NOTHING"}'],
  ['POST', '/schema/fieldType', '{"name":"{n}x","scope":"SOMETIMES"}'],
  ['POST', '/schema/fieldType', `{"name":"{n}x","valueType":"${'LIST<'.repeat(400)}"}`],
  ['POST', '/schema/recordType', '{"name":"{n}x","fields":[{"name":"{n}none"}]}'],
  ['POST', '/schema/recordType', '{"name":"{n}x","fields":[{"name":"{n}size","min":"a"}]}'],
  ['PUT', '/schema/fieldType/%7Bn%7Dtitle', '{"valueType":"LONG"}'],
]

async function everything({ manager, table }: Served): Promise<unknown> {
  const records: unknown[] = []
  for await (const record of table.scan()) records.push(record)
  const { types } = manager
  const names = [types.listFieldTypes(), types.listRecordTypes()].map((list) => list.length)
  return [records, names, manager.repository().listTables()]
}

void t.test('hostile bodies: a named error, and nothing is changed', async (t) => {
  const served = await open()
  const { url, table, close } = served
  await table.create({ id: 'USER.k', ...page })
  const before = await everything(served)
  for (const [method, path, body] of hostile) {
    const { status, code } = await send(`${url}${path}`, method, body)
    const what = `${method} ${path.slice(0, 40)} ${body.slice(0, 60)}`
    t.ok(status >= 400 && status < 500, `${status}: ${what}`)
    t.match(code, /^ERR_|^FST_ERR/, what)
  }
  await mutated(t, served)
  t.same(await everything(served), before)
  await close()
})

/** Good bodies with bytes changed, cut or doubled: never 500. */
async function mutated(t: Test, { url, table }: Served): Promise<void> {
  const random = seededRandom(seed)
  const below = (end: number): number => Math.floor(random() * end)
  t.comment(`seed ${seed}`)
  const good = Buffer.from(JSON.stringify({ ...page, fields: { ...page.fields, '{n}size': 12 } }))
  for (let round = 0; round < lengthOf('CELLAR_HOSTILE_BODIES', 150, 4000); round++) {
    let body = Buffer.from(good)
    for (let change = below(3); change >= 0; change--) {
      const at = below(body.length)
      const kind = below(3)
      if (kind === 0) body[at] = below(256)
      else if (kind === 1) body = body.subarray(0, at + 1)
      else body = Buffer.concat([body.subarray(0, at), body.subarray(below(body.length))])
    }
    const response = await fetch(`${url}/record/USER.random`, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body,
    })
    const text = await response.text()
    if (response.status >= 500) t.fail(`${response.status} ${text} for ${body.toString()}`)
  }
  if (await table.exists('USER.random')) await table.delete('USER.random')
}
