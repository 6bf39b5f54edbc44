/** Damaged rows of the repository's own tables: corruption with the place, in every call. */
import t, { type Test } from 'tap'
import type { Database } from '../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import {
  EmbeddedSearch,
  Link,
  RepositoryManager,
  SearchIndexes,
  type RecordTable,
  type StoredRecord,
} from '../../../../src/systems/repository/index.js'
import { jsonOf } from '../../../../src/systems/repository/stored-cells.js'

const type = '{n}r'

interface Opened {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function open(t: Test): Promise<Opened> {
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  await manager.types.createFieldType({ name: '{n}number', valueType: 'INTEGER' })
  await manager.types.createFieldType({ name: '{n}link', valueType: 'LINK' })
  await manager.types.createFieldType({ name: '{n}slug' })
  await manager.types.createRecordType({ name: type, fields: [{ name: '{n}slug', unique: true }] })
  const table = manager.repository().table()
  for (const at of [1, 2]) {
    const fields = { '{n}number': at, '{n}link': Link.to('USER.1'), '{n}slug': `s${at}` }
    await table.create({ id: `USER.${at}`, type, fields })
  }
  return { database, manager, table }
}

const openIndexes = ({ database, manager }: Opened): Promise<SearchIndexes> => {
  return SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
  })
}

const index = (name: string): Parameters<SearchIndexes['create']>[0] => ({
  name,
  build: true,
  configuration: {
    recordFilter: { includes: [{ recordType: '{n}*', versionTags: ['last'] }] },
    fields: [{ name: 'slug_s', value: '{n}slug' }],
  },
})

async function all(records: AsyncIterable<StoredRecord>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of records) ids.push(id.text)
  return ids
}

/** Damages the cell of each row of a table in turn, and puts it back. */
async function withEach(
  database: Database,
  name: string,
  column: string,
  texts: readonly string[],
  look: (row: Buffer, text: string) => Promise<void>,
): Promise<void> {
  const table = database.table(name)
  for (const result of await table.scan({ columns: [column] }).all()) {
    const row = result.row!
    for (const text of texts) {
      await table.put({ row, cells: { [column]: Buffer.from(text, 'latin1') }, timestamp: 1 })
      await look(row, text)
    }
    await table.put({ row, cells: { [column]: result.value(column)! }, timestamp: 1 })
  }
}

void t.test('rows without an id of a record are corruption', async (t) => {
  const { database, manager, table } = await open(t)
  await table.indexes.create({ name: 'numbers', fields: ['{n}number'] })
  const query = { range: { field: '{n}number', from: 0 } }
  const ofIndex = { code: 'ERR_CORRUPTION', message: /a row of the index numbers has no id/ }
  const ofValue = { code: 'ERR_CORRUPTION', message: /a unique value of \{n\}slug has no id/ }
  const input = { id: 'USER.3', type, fields: { '{n}slug': 's1' } }
  await withEach(
    database,
    'repository.index',
    'i:r',
    ['', '\0', '\u0009a', '\0\xff'],
    async (row) => {
      const kind = row.toString('latin1', 0, 1)
      if (kind === 'x') await t.rejects(table.query(query), ofIndex)
      if (kind === 'u' && row.includes('s1')) await t.rejects(table.create(input), ofValue)
    },
  )
  t.equal((await table.query(query)).records.length, 2)
  await table.context.table.put({ row: Buffer.of(9), cells: { 'r:h': 'x' }, timestamp: 1 })
  const ofTable = { code: 'ERR_CORRUPTION', message: /a row of default\/record has no id/ }
  await t.rejects(all(table.scan()), ofTable)
  await t.rejects(table.purgeDeleted(), ofTable)
  const links = database.table('repository.links')
  for (const row of ['fdefault/record\0\x01\0\xffa\0\x01', 'fdefault/record\0\x01\x09\0\x01']) {
    await links.put({ row: Buffer.from(row, 'latin1'), cells: { 'l:x': '' }, timestamp: 1 })
    const expected = { code: 'ERR_CORRUPTION', message: /a row of an index/ }
    await t.rejects(manager.links.removeTable('default/record'), expected)
    await links.delete({ row: Buffer.from(row, 'latin1') })
  }
})

void t.test('damaged events and positions end a subscription with corruption', async (t) => {
  const { manager, table, database } = await open(t)
  const told: string[] = []
  const handler = ({ event }: { event: { id: string } }): void => void told.push(event.id)
  const subscription = await manager.subscribe('s', handler, { from: 'now' })
  await subscription.caughtUp()
  const row = Buffer.from('\0' + '1', 'latin1')
  await table.context.table.put({ row, cells: { 'r:e': '{"id":5}' }, timestamp: 1 })
  const ofWrite = { code: 'ERR_CORRUPTION', message: /the event of the write \d+ in repository.r/ }
  await t.rejects(subscription.caughtUp(), ofWrite)
  await subscription.close()
  const again = await manager.subscribe('replayed', handler)
  await t.rejects(again.caughtUp(), { code: 'ERR_CORRUPTION', message: /the last event in / })
  await again.close()
  await table.update({ id: 'USER.1', fields: { '{n}number': 9 } })
  const refuse = (): never => {
    throw new Error('no')
  }
  const failing = await manager.subscribe('dead', refuse, { retriesMax: 0 })
  await failing.caughtUp()
  await failing.close()
  t.equal((await failing.deadLetters()).length, 2)
  const table2 = 'repository.subscriptions'
  const ofLetter = { code: 'ERR_CORRUPTION', message: /a dead letter \(row "dead/ }
  await withEach(database, table2, 's:d', ['', '{', 'null', '\xff', '{"event":{}}'], async () => {
    await t.rejects(failing.deadLetters(), ofLetter)
    const stored = await manager.storedSubscriptions()
    t.equal(stored.find(({ name }) => name === 'dead')?.deadLetters, 2, 'they are counted')
  })
  const ofPosition = { code: 'ERR_CORRUPTION', message: /the position of a subscription/ }
  for (const [column, texts] of [
    ['s:p', ['', '\0', '\xff'.repeat(8), `\x7f${'\xff'.repeat(7)}`]],
    ['s:r', ['x', 't/0', 't/zz']],
  ] as const) {
    await withEach(database, table2, column, texts, async () => {
      await t.rejects(manager.storedSubscriptions(), ofPosition)
    })
  }
  await database.table(table2).put({ row: 'dead', cells: { 's:p': 'x' }, timestamp: 1 })
  await t.rejects(manager.subscribe('dead', handler), ofPosition)
  await manager.removeSubscription('dead')
  const anew = await manager.subscribe('dead', handler)
  await anew.caughtUp()
  t.same((await manager.storedSubscriptions()).map(({ name }) => name).includes('dead'), true)
})

void t.test('a damaged definition stops its own index alone', async (t) => {
  const opened = await open(t)
  const { database } = opened
  const first = await openIndexes(opened)
  for (const name of ['one', 'two']) await (await first.create(index(name))).built()
  await first.close()
  const row = 'one'
  const definitions = database.table('repository.indexes')
  for (const text of ['', '{', 'null', '5', '{"name":"one"}', '\xff']) {
    const cells = { 'd:d': Buffer.from(text, 'latin1') }
    await definitions.put({ row, cells, timestamp: 1 })
    const indexes = await openIndexes(opened)
    const expected = { code: 'ERR_CORRUPTION', message: /the definition of an index \(row "one"/ }
    t.throws(() => indexes.index('one'), expected, text)
    await t.rejects(indexes.get('one'), expected)
    await t.rejects(indexes.list(), expected)
    const { total } = await indexes.index('two').search({ query: 'slug_s:s1' })
    t.equal(total, 1, 'the other one is searched')
    const repository = opened.manager.repository()
    const drafts = await repository.createTable('drafts')
    await drafts.create({ id: 'USER.d', type: '{n}r', fields: { '{n}slug': 's1' } })
    await indexes.index('two').waitFor()
    t.equal((await indexes.index('two').search({ query: 'slug_s:s1' })).total, 2)
    await repository.dropTable('drafts')
    t.equal((await indexes.index('two').search({ query: 'slug_s:s1' })).total, 1, 'it is followed')
    await opened.manager.createRepository('news')
    await indexes.create({ ...index('three'), repository: 'news' })
    await opened.manager.deleteRepository('news')
    t.throws(() => indexes.index('three'), { code: 'ERR_INDEX_NOT_FOUND' })
    await indexes.close()
  }
})

void t.test('damaged rows of an index are corruption, and open nothing', async (t) => {
  const opened = await open(t)
  const { database } = opened
  const first = await openIndexes(opened)
  await (await first.create(index('one'))).built()
  await first.close()
  const name = 'repository.x.one'
  const texts = ['', '{', 'null', '5', '{}', '[5]', '{"own":[5]}', '\xff']
  await withEach(database, name, 'x:v', texts, async (row, text) => {
    const indexes = await openIndexes(opened)
    const isSources = row[0] === 0x73
    const expected = { code: 'ERR_CORRUPTION', message: /the sources of a field \(row "s/ }
    if (isSources) t.throws(() => indexes.index('one'), expected, text)
    else t.ok(indexes.index('one'), text)
    await indexes.close()
  })
})

void t.test('a damaged state of a repository or table fails the open', async (t) => {
  const { database, manager } = await open(t)
  await manager.close()
  const expected = { code: 'ERR_CORRUPTION', message: /the state of a repository or record table/ }
  await withEach(database, 'repository.tables', 's:s', ['A', 'ACTIV', '\xff'], async (_, text) => {
    await t.rejects(RepositoryManager.open(database), expected, text)
  })
  const again = await RepositoryManager.open(database)
  await again.close()
})

void t.test('JSON that is no UTF-8 is corruption, not another text', (t) => {
  const isText = (value: unknown): value is string => typeof value === 'string'
  t.equal(jsonOf(Buffer.from('"ä"'), 'a place', isText), 'ä')
  const expected = { code: 'ERR_CORRUPTION', message: /a place is damaged/ }
  t.throws(() => jsonOf(Buffer.from('"a\xff"', 'latin1'), 'a place', isText), expected)
  t.end()
})
