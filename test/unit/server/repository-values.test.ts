/**
 * Values in requests that cannot be: refused with a status of their own, and nothing is kept.
 *
 * @runs long
 */
import t from 'tap'
import { gzipSync } from 'node:zlib'
import { CellarError, Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  maintain,
  RepositoryErrorCode,
  RepositoryManager,
} from '../../../src/systems/repository/index.js'
import { readConfiguration } from '../../../src/server/configuration.js'
import { CellarServer, repositoryRoutes } from '../../../src/server/index.js'
import { errorAnswer } from '../../../src/server/http-errors.js'
import { serveRepository, type ServedRepository } from './served-repository.js'

async function open(): Promise<ServedRepository> {
  const root = { name: 'root', token: 'token-of-root', administrator: true }
  const served = await serveRepository(new MemoryFileSystem(), [root])
  const { types } = served.manager
  for (const [name, valueType, scope] of [
    ['{n}title', 'STRING', 'VERSIONED'],
    ['{n}file', 'BLOB', 'VERSIONED'],
    ['{n}files', 'LIST<BLOB>', 'NON_VERSIONED'],
    ['{n}plain', 'BLOB', 'NON_VERSIONED'],
    ['{n}inner', 'RECORD<{n}page>', 'NON_VERSIONED'],
    ['{n}price', 'DECIMAL', 'NON_VERSIONED'],
  ] as const) {
    await types.createFieldType({ name, valueType, scope })
  }
  const names = ['title', 'file', 'files', 'plain', 'inner', 'price']
  const fields = names.map((local) => ({ name: `{n}${local}` }))
  await types.createRecordType({ name: '{n}page', fields })
  return served
}

void t.test('a blob in a field is as its bytes are', async (t) => {
  const { manager, as, close } = await open()
  const mediaType = 'text/plain'
  for (const length of [10, 100_000]) {
    const blob = await manager.blobs.upload(Buffer.alloc(length, 'a'), { mediaType })
    const value = blob.key.toString('base64url')
    const right = { value, size: length, mediaType, name: 'a.txt' }
    const put = async (file: object, id = 'USER.a'): Promise<unknown[]> => {
      const record = { type: '{n}page', fields: { '{n}title': 'x', '{n}file': file } }
      const { status, json } = await as('root', 'PUT', `/record/${id}`, record)
      return [status, json['code']]
    }
    const wrong = [
      { ...right, size: length + 1 },
      { ...right, size: length - 1 },
      { ...right, size: Number.MAX_SAFE_INTEGER },
      { ...right, size: -1 },
      { ...right, mediaType: 'text/plain\r\nset-cookie: a=b' },
      { ...right, mediaType: 'text/plain; name=ü' },
      { ...right, mediaType: 'plain' },
      { ...right, mediaType: '' },
    ]
    const invalid = [422, 'ERR_INVALID_RECORD']
    for (const each of wrong) t.same(await put(each), invalid, JSON.stringify(each))
    t.equal((await as('root', 'GET', '/record/USER.a')).status, 404, 'nothing was written')
    t.same(await put(right), [201, undefined])
    for (const each of wrong)
      t.same(await put(each), invalid, 'nor as a change of one that is there')
    const nested = { type: '{n}page', fields: { '{n}inner': { fields: { '{n}file': wrong[0] } } } }
    t.equal((await as('root', 'PUT', '/record/USER.b', nested)).status, 422)
    const list = { type: '{n}page', fields: { '{n}files': [wrong[0]] } }
    t.equal((await as('root', 'PUT', '/record/USER.b', list)).status, 422)
    t.same(await put({ ...right, name: 'b\r\n.txt' }), [200, undefined], 'any name is encoded')
    const { status } = await as('root', 'GET', '/record/USER.a/field/%7Bn%7Dfile/data')
    t.equal(status, 200)
    const own = await manager.blobs.upload(Buffer.alloc(length, 'b'), { mediaType })
    const plain = { value: own.key.toString('base64url'), size: length, mediaType }
    const update = async (blob: object): Promise<number> => {
      return (await as('root', 'PUT', '/record/USER.a', { fields: { '{n}plain': blob } })).status
    }
    t.equal(await update(plain), 200)
    t.equal(await update({ ...plain, size: length + 1 }), 422, 'in place of the right one')
    await manager.repository().table().delete('USER.a')
  }
  await close()
})

void t.test('a record that is too large is answered with 413', async (t) => {
  const { url, close, manager } = await open()
  const title = 'x'.repeat(11 << 20)
  const record = { type: '{n}page', fields: { '{n}title': title } }
  const response = await fetch(`${url}/repository/record/USER.a`, {
    method: 'PUT',
    headers: {
      authorization: 'Bearer token-of-root',
      'content-type': 'application/json',
      'content-encoding': 'gzip',
    },
    body: gzipSync(JSON.stringify(record)),
  })
  const { code } = (await response.json()) as { code: string }
  t.same([response.status, code], [413, 'ERR_RECORD_TOO_LARGE'])
  t.notOk(await manager.repository().table().exists('USER.a'))
  await close()
})

void t.test('every error of the repository has a status', (t) => {
  const faultsOfServer = ['ERR_BLOB_DAMAGED', 'ERR_EXTRACTION']
  for (const code of Object.values(RepositoryErrorCode)) {
    const { status } = errorAnswer(new CellarError(code, 'x'))
    t.equal(status === 500, faultsOfServer.includes(code), `${code}: ${status}`)
  }
  t.end()
})

void t.test('a server as the command line has it brings deleted records back', async (t) => {
  const database = await Database.open('/d', { fileSystem: new MemoryFileSystem() })
  const file = await readConfiguration(undefined)
  const manager = await RepositoryManager.open(database, (await file.for(database)).repository)
  await manager.types.createFieldType({ name: '{n}title' })
  await manager.types.createRecordType({ name: '{n}page', fields: [{ name: '{n}title' }] })
  const fields = { '{n}title': 'x' }
  await manager.repository().table().create({ id: 'USER.a', type: '{n}page', fields })
  const server = await CellarServer.start([repositoryRoutes(manager)], { port: 0 })
  const send = async (method: string, body?: string): Promise<number> => {
    const { status } = await fetch(`${server.url}/repository/record/USER.a`, {
      method,
      ...(body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }),
    })
    return status
  }
  t.equal(await send('DELETE'), 204)
  t.equal(await send('GET'), 404)
  t.equal((await maintain(manager)).recordsPurged, 0, 'for a day')
  t.ok((await send('POST', '{"action":"undelete"}')) < 300)
  t.equal(await send('GET'), 200)
  await server.close()
  await manager.close()
  await database.close()
})
