/** What indexes make of versions that are pruned, tables and repositories that go, and a close. */
import { setTimeout as pause } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { deferred } from '../../../../src/base/deferred.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  EmbeddedSearch,
  Link,
  RepositoryManager,
  SearchIndexes,
  type RecordTable,
  type SearchChanges,
  type SearchIndex,
} from '../../../../src/systems/repository/index.js'

const live = '{org.lilyproject.vtag}live'
const type = '{n}page'

interface Scene {
  readonly manager: RepositoryManager
  readonly indexes: SearchIndexes
  readonly index: SearchIndex
  readonly table: RecordTable
  /** Closes the indexes, and opens them again. */
  readonly reopen: () => Promise<SearchIndexes>
}

/** `beforeUpdate` runs before changes reach the search. */
async function open(
  t: Test,
  beforeUpdate: () => Promise<void> = () => Promise.resolve(),
): Promise<Scene> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: live, valueType: 'LONG' })
  await manager.types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await manager.types.createFieldType({ name: '{n}to', valueType: 'LINK' })
  await manager.types.createRecordType({ name: type })
  const openIndexes = (): Promise<SearchIndexes> =>
    SearchIndexes.open(manager, {
      backend: async ({ name }) => {
        const search = await EmbeddedSearch.open(database, { name })
        const update = search.update.bind(search)
        t.intercept(search, 'update', {
          value: async (changes: SearchChanges) => {
            await beforeUpdate()
            return update(changes)
          },
        })
        return search
      },
    })
  const indexes = await openIndexes()
  let last = indexes
  const reopen = async (): Promise<SearchIndexes> => {
    await last.close()
    last = await openIndexes()
    return last
  }
  const index = await indexes.create({
    name: 'books',
    configuration: {
      recordFilter: { includes: [{ versionTags: ['last', 'live'] }] },
      fields: [
        { name: 'title_t', value: '{n}title' },
        { name: 'linked_t', value: '{n}to=>{n}title' },
      ],
    },
  })
  t.teardown(async () => {
    await last.close()
    await manager.close()
    await database.close()
  })
  return { manager, indexes, index, table: manager.repository().table(), reopen }
}

async function countOf(index: SearchIndex, query: string): Promise<number> {
  await index.waitFor()
  return (await index.search({ query })).total
}

void t.test('a version that is pruned is in no document', async (t) => {
  const { index, table } = await open(t)
  await table.create({ id: 'USER.a', type, fields: { '{n}title': 'early', [live]: 1n } })
  await table.update({ id: 'USER.a', fields: { '{n}title': 'late' } })
  await table.create({ id: 'USER.b', type, fields: { '{n}to': Link.to('USER.a'), [live]: 0n } })
  t.equal(await countOf(index, 'title_t:early'), 1)
  t.equal(await countOf(index, 'linked_t:early'), 1)
  await table.pruneVersions('USER.a', { keepTagged: false })
  t.equal(await countOf(index, 'title_t:early'), 0)
  t.equal(await countOf(index, 'linked_t:early'), 0)
  t.equal(await countOf(index, 'title_t:late'), 1)
  t.equal(await countOf(index, 'linked_t:late'), 1)
})

/** Holds those who come until it is opened. */
class Gate {
  readonly #opened = deferred<void>()
  readonly #come = deferred<void>()
  readonly come = this.#come.promise

  readonly wait = (): Promise<void> => {
    this.#come.resolve()
    return this.#opened.promise
  }

  open(): void {
    this.#opened.resolve()
  }
}

void t.test('a document that is built while its table is dropped does not stay', async (t) => {
  const gate = new Gate()
  const { manager, index } = await open(t, gate.wait)
  const repository = manager.repository()
  const drafts = await repository.createTable('drafts')
  await drafts.create({ id: 'USER.a', type, fields: { '{n}title': 'draft' } })
  await gate.come
  const dropped = repository.dropTable('drafts')
  await pause(20)
  gate.open()
  await dropped
  t.equal(await countOf(index, 'title_t:draft'), 0)
  t.strictSame(await index.storedRows(), [])
})

void t.test('links that are followed while their table is dropped do not stay', async (t) => {
  const gate = new Gate()
  const { manager, indexes, table } = await open(t)
  await indexes.delete('books')
  const repository = manager.repository()
  const drafts = await repository.createTable('drafts')
  const following = await manager.followLinks()
  const read = drafts.read.bind(drafts)
  t.intercept(drafts, 'read', {
    value: async (id: string) => {
      const record = await read(id)
      await gate.wait()
      return record
    },
  })
  const fields = { '{n}to': Link.parse('record:USER.a') }
  await drafts.create({ id: 'USER.b', type, fields })
  await gate.come
  await repository.dropTable('drafts')
  gate.open()
  await following.caughtUp()
  t.strictSame(await manager.links.rows(), [])
  t.strictSame(await manager.links.referrers(table, 'USER.a'), [])
})

void t.test('a table that is dropped while no index runs leaves no document', async (t) => {
  const { manager, indexes, index, table, reopen } = await open(t)
  const repository = manager.repository()
  const drafts = await repository.createTable('drafts')
  await drafts.create({ id: 'USER.a', type, fields: { '{n}title': 'draft' } })
  const fields = { '{n}to': Link.parse('drafts:USER.a') }
  await table.create({ id: 'USER.b', type, fields })
  t.equal(await countOf(index, 'title_t:draft'), 1)
  t.equal(await countOf(index, 'linked_t:draft'), 1)
  await indexes.close()
  await repository.dropTable('drafts')
  const next = await repository.createTable('drafts')
  await next.create({ id: 'USER.c', type, fields: { '{n}title': 'next' } })
  for (let starts = 0; starts < 2; starts++) {
    const again = (await reopen()).index('books')
    t.equal(await countOf(again, 'title_t:draft'), 0)
    t.equal(await countOf(again, 'linked_t:draft'), 0)
    t.equal(await countOf(again, 'title_t:next'), 1)
  }
})

const configuration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [{ name: 'title_t', value: '{n}title' as const }],
}

void t.test('an index that is changed while its repository is deleted is gone', async (t) => {
  const { manager, indexes } = await open(t)
  for (let turns = 0; turns < 4; turns++) {
    await manager.createRepository('news')
    await indexes.create({ name: 'news', repository: 'news', configuration })
    const deleted = manager.deleteRepository('news')
    for (let i = 0; i < turns; i++) await pause(0)
    await indexes.update('news', { defaultBuild: {} }).catch(() => undefined)
    await deleted
    t.strictSame(
      indexes.running.map(({ name }) => name),
      ['books'],
    )
    t.strictSame(
      (await indexes.list()).map(({ name }) => name),
      ['books'],
    )
  }
})

void t.test('a close of the indexes stops those that are made at once', async (t) => {
  const { indexes } = await open(t)
  const first = indexes.create({ name: 'first', configuration })
  const closed = indexes.close()
  const second = indexes.create({ name: 'second', configuration })
  const refused = t.rejects(second, { code: 'ERR_REPOSITORY_CLOSED' })
  await first
  await refused
  await Promise.all([closed, indexes.close()])
  t.strictSame(indexes.running, [])
})

void t.test('a document that is refused leaves nothing of what the record was', async (t) => {
  const { indexes, table } = await open(t)
  const number = { name: 'title_l', value: '{n}title' as const }
  const fields = [...configuration.fields, number]
  const index = await indexes.create({
    name: 'numbers',
    configuration: { ...configuration, fields },
  })
  await table.create({ id: 'USER.a', type, fields: { '{n}title': '17' } })
  await table.create({ id: 'USER.b', type, fields: { '{n}title': '18' } })
  t.equal(await countOf(index, 'title_t:17'), 1)
  await table.update({ id: 'USER.a', fields: { '{n}title': 'none' } })
  t.equal(await countOf(index, '*:*'), 1)
  t.match(await index.refusedDocuments(), [{ id: 'USER.a', reason: /no whole number/ }])
  await table.update({ id: 'USER.a', fields: { '{n}title': '19' } })
  t.equal(await countOf(index, 'title_l:[17 TO 19]'), 2)
  t.strictSame(await index.refusedDocuments(), [])
})

void t.test('a build that cannot begin is refused before it is stored', async (t) => {
  const { indexes, index, manager } = await open(t)
  const before = await indexes.list()
  for (const [filter, code] of [
    [{ nonsense: 1 }, 'ERR_INVALID_ARGUMENT'],
    [5, 'ERR_INVALID_ARGUMENT'],
    [{ field: '{n}none', value: 'x' }, 'ERR_FIELD_TYPE_NOT_FOUND'],
    [{ recordType: '{n}none' }, 'ERR_RECORD_TYPE_NOT_FOUND'],
  ] as const) {
    const build = { filter } as object
    const update = { build: true, buildArguments: build }
    await t.rejects(indexes.update('books', update), { code }, JSON.stringify(filter))
    await t.rejects(indexes.update('books', { defaultBuild: build }), { code })
    const made = { name: 'other', configuration, defaultBuild: build, build: true }
    await t.rejects(indexes.create(made), { code })
    t.strictSame(await indexes.list(), before)
  }
  t.equal(indexes.index('books'), index, 'it goes on')

  // A filter that was right when it was stored, by the name that its field had.
  const defaultBuild = { filter: { field: '{n}title', operator: 'EQUAL', value: 'x' } } as const
  await indexes.update('books', { defaultBuild })
  const { id } = manager.types.getFieldType('{n}title')
  await manager.types.updateFieldType({ id, name: '{n}heading' })
  const code = 'ERR_FIELD_TYPE_NOT_FOUND'
  await t.rejects(indexes.update('books', { build: true }), { code })
  t.equal((await indexes.update('books', { incremental: 'DO_NOT_SUBSCRIBE' })).build, 'INACTIVE')
  await indexes.update('books', { build: true, buildArguments: {} })
  t.ok(await indexes.index('books').built())
})
