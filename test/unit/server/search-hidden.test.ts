/**
 * Documents that no rule opens: of tags of an earlier configuration, and of tables that change.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import type {
  IndexConfiguration,
  RecordTable,
  SearchIndex,
} from '../../../src/systems/repository/index.js'
import type { Principal } from '../../../src/server/index.js'
import { serveRepository, type ServedRepository } from './served-repository.js'

const draft = '{org.lilyproject.vtag}draft'
const root: Principal = { name: 'root', token: 'token-of-root', administrator: true }

function configurationOf(...versionTags: string[]): IndexConfiguration {
  return {
    recordFilter: { includes: [{ versionTags }] },
    fields: [{ name: 'title_t', value: '{n}title' }],
  }
}

async function open(t: Test, rules: Principal['rules']): Promise<ServedRepository> {
  const reader = { name: 'reader', token: 'token-of-reader', search: ['books'], rules }
  const served = await serveRepository(new MemoryFileSystem(), [root, reader])
  t.teardown(() => served.close())
  const { types } = served.manager
  await types.createFieldType({ name: draft, valueType: 'LONG' })
  await types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await types.createRecordType({ name: '{n}page' })
  return served
}

async function found({ as }: ServedRepository, query: string, name = 'reader'): Promise<unknown> {
  const { json } = await as(name, 'GET', `/index/books/search?q=${query}`)
  return json['total']
}

void t.test('a tag that the index has no longer hides its documents still', async (t) => {
  const served = await open(t, [{ read: { except: [draft] } }])
  const { manager, indexes } = served
  const input = { name: 'books', configuration: configurationOf('last', 'draft') }
  const index = await indexes.create(input)
  const table = manager.repository().table()
  const type = '{n}page'
  await table.create({ id: 'USER.a', type, fields: { '{n}title': 'public', [draft]: 2 } })
  await table.update({ id: 'USER.a', fields: { '{n}title': 'hidden' } })
  await table.update({ id: 'USER.a', fields: { '{n}title': 'open' } })
  await index.waitFor()
  t.equal(await found(served, 'title_t:hidden'), 0)
  await indexes.update('books', { configuration: configurationOf('last') })
  t.equal(await found(served, 'title_t:hidden', 'root'), 1, 'the document is there until a build')
  t.equal(await found(served, 'title_t:hidden'), 0)
  t.equal(await found(served, 'title_t:open'), 1)
})

void t.test('a table that is made while a search waits is hidden', async (t) => {
  const served = await open(t, [{ table: 'record', read: true }])
  const { manager, indexes } = served
  const index = await indexes.create({ name: 'books', configuration: configurationOf('last') })
  const waitFor = index.waitFor.bind(index)
  t.intercept(index, 'waitFor', {
    value: async (): Promise<void> => {
      const secret = await manager.repository().createTable('secret')
      await secret.create({ id: 'USER.s', type: '{n}page', fields: { '{n}title': 'hidden' } })
      await waitFor()
    },
  })
  t.equal(await found(served, 'title_t:hidden&wait=true'), 0)
})

void t.test('a table that is being dropped is hidden until its documents are gone', async (t) => {
  const served = await open(t, [{ table: 'record', read: true }])
  const { manager, indexes } = served
  const secret = await manager.repository().createTable('secret')
  const index: SearchIndex = await indexes.create({
    name: 'books',
    configuration: configurationOf('last'),
  })
  await secret.create({ id: 'USER.s', type: '{n}page', fields: { '{n}title': 'hidden' } })
  await index.waitFor()
  t.equal(await found(served, 'title_t:hidden'), 0)
  const removeTable = index.removeTable.bind(index)
  let during: unknown
  t.intercept(index, 'removeTable', {
    value: async (name: string): Promise<void> => {
      during = await found(served, 'title_t:hidden')
      await removeTable(name)
    },
  })
  await manager.repository().dropTable('secret')
  t.equal(during, 0)
  t.equal(await found(served, 'title_t:hidden', 'root'), 0)
})

void t.test('the order of scores is for those who may read all documents', async (t) => {
  const served = await open(t, [{ table: 'record', read: true }])
  const { manager, indexes, as } = served
  const { recordFilter, fields } = configurationOf('last')
  const named = { name: 'score', value: '{n}title' }
  const index = await indexes.create({
    name: 'books',
    configuration: { recordFilter, fields: [...fields!, named] },
  })
  const secret = await manager.repository().createTable('secret')
  const write = async (table: RecordTable, title: string): Promise<void> => {
    await table.create({ type: '{n}page', fields: { '{n}title': title } })
  }
  for (const title of ['apple', 'pear']) await write(manager.repository().table(), title)
  for (let count = 0; count < 3; count++) await write(secret, 'apple')
  await index.waitFor()
  const path = '/index/books/search?q=title_t:(apple%20OR%20pear)&sort='
  for (const sort of ['score', '-score', 'lily.table,-score']) {
    const { status, json } = await as('reader', 'GET', path + sort)
    t.same([status, json['code']], [403, 'ERR_FORBIDDEN'], sort)
    t.equal((await as('root', 'GET', path + sort)).json['total'], 5, sort)
  }
  t.equal((await as('reader', 'GET', `${path}lily.key`)).json['total'], 2)
  await manager.repository().dropTable('secret')
  t.equal((await as('reader', 'GET', `${path}-score`)).json['total'], 2, 'now it reads all')
})

void t.test('a query of very many fields is checked at once', async (t) => {
  const served = await open(t, [{ read: { except: [draft] } }])
  const { manager, indexes, as } = served
  for (let count = 0; count < 300; count++) {
    await manager.types.createFieldType({ name: `{n}f${count}` })
  }
  const index = await indexes.create({
    name: 'books',
    configuration: {
      ...configurationOf('last'),
      dynamicFields: [{ matchNamespace: 'n', matchName: '*', name: 'of_${name}_t' }],
    },
  })
  await index.waitFor()
  const names = Array.from({ length: 1000 }, (_, count) => count % 300)
  const started = performance.now()
  for (const [end, status] of [
    ['t', 200],
    ['u', 403],
  ] as const) {
    const query = names.map((name, count) => `of_f${name}_${end}:${count}`).join('+')
    t.equal((await as('reader', 'GET', `/index/books/search?q=${query}`)).status, status)
    const others = names.map((_, count) => `x${count}_t:a`).join('+')
    t.equal((await as('reader', 'GET', `/index/books/search?q=${others}`)).status, 403)
  }
  t.ok(performance.now() - started < 2000, 'not each name beside each field type')
  // Names that come and go with those of field types.
  const { id } = manager.types.getFieldType('{n}f1')
  await manager.types.updateFieldType({ id, name: '{n}g1' })
  t.equal((await as('reader', 'GET', '/index/books/search?q=of_g1_t:a')).status, 200)
  t.equal((await as('reader', 'GET', '/index/books/search?q=of_f1_t:a')).status, 403)
  await manager.types.createFieldType({ name: '{n}h1' })
  t.equal((await as('reader', 'GET', '/index/books/search?q=of_h1_t:a')).status, 200)
})
