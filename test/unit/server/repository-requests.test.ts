/**
 * Requests of the repository at their edges: entity tags, methods, and the description of all.
 *
 * @runs long
 */
import t from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { serveRepository, type ServedRepository } from './served-repository.js'

const headers = { authorization: 'Bearer token-of-root', 'content-type': 'application/json' }

async function open(): Promise<ServedRepository> {
  const root = { name: 'root', token: 'token-of-root', administrator: true }
  const served = await serveRepository(new MemoryFileSystem(), [root])
  await served.manager.types.createFieldType({ name: '{n}title' })
  await served.manager.types.createRecordType({ name: '{n}page', fields: [{ name: '{n}title' }] })
  return served
}

void t.test('entity tags of requests', async (t) => {
  const { url, manager, close } = await open()
  const table = manager.repository().table()
  const record = `${url}/repository/record/USER.a`
  let number = 0
  const send = async (method: string, more: Record<string, string>, body?: object) => {
    const title = `title ${++number}`
    const put = { type: '{n}page', fields: { '{n}title': title } }
    const json = method === 'PUT' ? put : body
    const response = await fetch(record, {
      method,
      headers: { ...headers, ...more },
      ...(json === undefined ? {} : { body: JSON.stringify(json) }),
    })
    await response.arrayBuffer()
    return response.status
  }
  t.equal(await send('PUT', { 'if-none-match': '"1"' }), 201, 'it is not there, so it has no tag')
  const tag = async (): Promise<string> => `"${(await table.read('USER.a')).revision}"`
  const unchanged = async (status: Promise<number>, expected: number, text: string) => {
    const before = await tag()
    t.equal(await status, expected, text)
    t.equal(await tag(), before, 'nothing was written')
  }
  for (const garbled of ['1', 'abc', '"1', '"1" "2"', 'W/', '"a",,"b"', '*, "1"', '', 'w/"1"']) {
    await unchanged(send('PUT', { 'if-match': garbled }), 400, `If-Match: ${garbled}`)
    await unchanged(send('DELETE', { 'if-none-match': garbled }), 400, `If-None-Match: ${garbled}`)
  }
  await unchanged(send('PUT', { 'if-match': `W/${await tag()}` }), 412, 'weak tags match no write')
  await unchanged(send('PUT', { 'if-match': '"other", "1e3", "999"' }), 412, 'none of them')
  await unchanged(
    send('PUT', { 'if-none-match': await tag() }),
    412,
    'a write that must not find it',
  )
  await unchanged(send('PUT', { 'if-none-match': `"9", W/${await tag()}` }), 412, 'compared weakly')
  await unchanged(send('DELETE', { 'if-none-match': '*' }), 412, 'nor find any')
  const update = { action: 'update', record: { fields: { '{n}title': 'posted' } } }
  await unchanged(send('POST', { 'if-none-match': await tag() }, update), 412, 'also by POST')
  t.equal(await send('PUT', { 'if-none-match': '"999"' }), 200)
  t.equal(await send('PUT', { 'if-match': `"0" , ${await tag()}` }), 200)
  t.equal(await send('GET', { 'if-none-match': `W/${await tag()}` }), 304)
  t.equal(await send('DELETE', { 'if-match': await tag() }), 204)
  await close()
})

void t.test('methods that an address does not have', async (t) => {
  const { url, as, close } = await open()
  const { paths } = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, object>
  }
  let refused = 0
  for (const [path, operations] of Object.entries(paths)) {
    if (!path.startsWith('/repository')) continue
    const known = Object.keys(operations).filter((name) => name !== 'parameters')
    const address = `${url}${path.replace(/\{\w+\}/g, 'x')}`
    for (const method of ['get', 'put', 'post', 'delete', 'patch']) {
      if (known.includes(method)) continue
      const response = await fetch(address, { method: method.toUpperCase(), headers })
      await response.arrayBuffer()
      const allow = response.headers.get('allow')?.split(', ') ?? []
      const expected = known.flatMap((each) =>
        each === 'get' ? ['GET', 'HEAD'] : [each.toUpperCase()],
      )
      t.same(
        [response.status, allow.sort()],
        [405, [...expected, 'OPTIONS'].sort()],
        `${method} ${path}`,
      )
      refused++
    }
  }
  t.ok(refused > 100)
  t.equal((await as('root', 'GET', '/record')).status, 405)
  t.equal((await as('root', 'GET', '/nothing/of/that/kind/at/all')).status, 404)
  const options = await fetch(`${url}/repository/table`, { method: 'OPTIONS', headers })
  t.same([options.status, options.headers.get('allow')], [204, 'GET, HEAD, POST, OPTIONS'])
  await close()
})

void t.test('the description has what programs are generated from', async (t) => {
  const { url, close } = await open()
  const description = (await (await fetch(`${url}/openapi.json`, { headers })).json()) as {
    paths: Record<string, Record<string, unknown>>
    components: { schemas: Record<string, unknown> }
  }
  const ids = new Set<string>()
  let operations = 0
  for (const [path, item] of Object.entries(description.paths)) {
    if (!path.startsWith('/repository')) continue
    const inPath = (item['parameters'] ?? []) as { name: string }[]
    const braces = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    t.same(
      inPath.map(({ name }) => name),
      braces,
      path,
    )
    for (const [method, operation] of Object.entries(item)) {
      if (method === 'parameters') continue
      const { operationId } = operation as { operationId: string }
      t.match(operationId, /^[a-z]\w+$/, `${method} ${path}`)
      ids.add(operationId)
      operations++
    }
  }
  t.equal(ids.size, operations, 'each has an id of its own')
  const references = JSON.stringify(description).match(/#\/components\/schemas\/\w+/g) ?? []
  t.ok(references.length > 50)
  for (const reference of new Set(references)) {
    t.ok(description.components.schemas[reference.split('/')[3]], reference)
  }
  const search = description.paths['/repository/index/{name}/search']['get'] as {
    parameters: { name: string; in: string; required?: boolean }[]
  }
  t.match(search.parameters[0], { name: 'q', in: 'query', required: true })
  for (const name of ['filter', 'field', 'sort', 'offset', 'limit', 'wait', 'fields']) {
    t.ok(
      search.parameters.some((each) => each.name === name),
      name,
    )
  }
  await close()
})

void t.test('a blob that is asked for its head only is not read', async (t) => {
  const { url, manager, close } = await open()
  await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  const posted = await fetch(`${url}/repository/blob`, {
    ...{ method: 'POST', headers: { ...headers, 'content-type': 'image/png' }, body: 'content' },
  })
  const fields = { '{n}file': await posted.json() }
  const put = { ...{ method: 'PUT', headers }, body: JSON.stringify({ type: '{n}page', fields }) }
  await (await fetch(`${url}/repository/record/USER.a`, put)).arrayBuffer()
  const table = manager.repository().table()
  let reads = 0
  const readBlob = table.readBlob.bind(table)
  table.readBlob = (...words) => {
    reads++
    return readBlob(...words)
  }
  const ask = async (method: string, more: Record<string, string>): Promise<unknown[]> => {
    const data = `${url}/repository/record/USER.a/field/${encodeURIComponent('{n}file')}/data`
    const answer = await fetch(data, { method, headers: { ...headers, ...more } })
    const { headers: own } = answer
    return [answer.status, own.get('content-length'), own.get('content-type'), await answer.text()]
  }
  t.same(await ask('HEAD', {}), [200, '7', 'image/png', ''])
  t.same(await ask('HEAD', { range: 'bytes=0-1' }), [206, '2', 'image/png', ''])
  t.equal(reads, 0)
  t.same(await ask('GET', { range: 'bytes=0-1' }), [206, '2', 'image/png', 'co'])
  t.equal(reads, 1)
  t.equal((await ask('GET', { 'if-none-match': '*' }))[0], 304)
  await close()
})

void t.test('configurations of indexes that cannot be are 400', async (t) => {
  const { as, close } = await open()
  const good = { recordFilter: { includes: [{ versionTags: ['last'] }] } }
  for (const configuration of [
    { recordFilter: null },
    { recordFilter: [] },
    { recordFilter: 'x' },
    { recordFilter: { includes: [null] } },
    { recordFilter: { includes: null } },
    { recordFilter: { excludes: [null] } },
    { recordFilter: { excludes: [7] } },
    { recordFilter: { include: [] } },
    { recordFilter: { includes: [{ versionTags: null }] } },
    { recordFilter: { includes: [{ versionTags: ['last'], field: null }] } },
    { recordFilter: { includes: [{ versionTags: ['last'], recordType: null }] } },
    { recordFilter: { includes: [{ versionTags: ['last'], instanceOf: 7 }] } },
    { recordFilter: { includes: [{ versionTags: ['last'], tables: null }] } },
    { recordFilter: { includes: [{ versionTags: ['last'], variant: null }] } },
    { ...good, fields: null },
    { ...good, fields: [null] },
    { ...good, fields: [{ name: null, value: '{n}title' }] },
    { ...good, fields: [{ name: 'a', value: null }] },
    { ...good, fields: [{ match: null, fields: [] }] },
    { ...good, fields: [{ match: {}, fields: null }] },
    { ...good, fields: [{ forEach: null, fields: [] }] },
    { ...good, dynamicFields: [null] },
    { ...good, dynamicFields: [{ name: 'x', matchScope: null }] },
    { ...good, dynamicFields: [{ name: 'x', matchName: 7 }] },
    { ...good, formatters: null },
    { ...good, formatters: { a: null } },
    { ...good, defaultFormatter: null },
    { ...good, dereference: null },
  ]) {
    const { status, json } = await as('root', 'POST', '/index', { name: 'a', configuration })
    t.same([status, json['code']], [400, 'ERR_INDEX_CONFIGURATION'], JSON.stringify(configuration))
  }
  t.equal((await as('root', 'POST', '/index', { name: 'a', configuration: good })).status, 201)
  await close()
})
