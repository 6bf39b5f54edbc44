/** What indexes make of writes that take something away: versions that are pruned. */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  EmbeddedSearch,
  Link,
  RepositoryManager,
  SearchIndexes,
  type RecordTable,
  type SearchIndex,
} from '../../../../src/systems/repository/index.js'

const live = '{org.lilyproject.vtag}live'
const type = '{n}page'

interface Scene {
  readonly manager: RepositoryManager
  readonly indexes: SearchIndexes
  readonly index: SearchIndex
  readonly table: RecordTable
}

async function open(t: Test): Promise<Scene> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: live, valueType: 'LONG' })
  await manager.types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await manager.types.createFieldType({ name: '{n}to', valueType: 'LINK' })
  await manager.types.createRecordType({ name: type })
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
  })
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
    await indexes.close()
    await manager.close()
    await database.close()
  })
  return { manager, indexes, index, table: manager.repository().table() }
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
