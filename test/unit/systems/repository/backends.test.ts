/**
 * A repository over backends that lack capabilities: what needs one is refused by name and changes
 * nothing, and the rest works.
 */
import t from 'tap'
import type { Capabilities, Database } from '../../../../src/api/index.js'
import { PlainSearch } from '../../../helpers/plain-search.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { Link, RepositoryManager, SearchIndexes } from '../../../../src/systems/repository/index.js'

/** The plain backend in memory without some capabilities: calls that need them fail. */
async function without(...missing: readonly (keyof Capabilities)[]): Promise<Database> {
  const database = await openMemoryDatabase()
  const lost = Object.fromEntries(missing.map((name) => [name, false]))
  const capabilities = { ...database.capabilities, ...lost }
  const refused = (): never => {
    throw new Error('a call that the backend does not have')
  }
  return new Proxy<Database>(database, {
    get: (target, name) => {
      if (name === 'capabilities') return capabilities
      if (missing.includes('snapshots') && name === 'snapshot') return refused
      if (missing.includes('changes') && name === 'changes') return refused
      const value = Reflect.get(target, name, target) as unknown
      return typeof value === 'function' ? (value as () => unknown).bind(target) : value
    },
  })
}

async function open(database: Database): Promise<RepositoryManager> {
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await manager.types.createFieldType({ name: '{n}slug' })
  await manager.types.createFieldType({ name: '{n}to', valueType: 'LINK' })
  await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  const fields = [{ name: '{n}slug' as const, unique: true }]
  await manager.types.createRecordType({ name: '{n}page', fields })
  return manager
}

const configuration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [{ name: 'title', value: '{n}title' }],
}

void t.test('without the change feed and snapshots', async (t) => {
  const manager = await open(await without('changes', 'snapshots', 'sync'))
  const table = manager.repository().table()
  const file = await manager.blobs.upload(Buffer.alloc(10_000, 1), { mediaType: 'a/b' })
  const type = '{n}page'
  const fields = { '{n}title': 'one', '{n}slug': 's', '{n}file': file }
  await table.create({ id: 'USER.a', type, fields })
  await table.update({ id: 'USER.a', fields: { '{n}title': 'two' } })
  t.equal((await table.read('USER.a', { version: 1 })).fields['{n}title'], 'one')
  const copy = { id: 'USER.b', type, fields: { '{n}slug': 's' } }
  await t.rejects(table.create(copy), { code: 'ERR_NOT_UNIQUE' })
  await table.create({ ...copy, fields: { '{n}slug': 't', '{n}to': Link.to('USER.a') } })
  const found = []
  for await (const { id } of table.scan({ filter: { recordType: type } })) found.push(id.text)
  t.same(found, ['USER.a', 'USER.b'])
  const { bytes } = await table.readBlob('USER.a', '{n}file')
  let size = 0
  for await (const piece of bytes) size += piece.length
  t.equal(size, 10_000)

  const unsupported = (capability: string): { code: string; message: RegExp } => {
    return { code: 'ERR_UNSUPPORTED', message: new RegExp(`'${capability}'`) }
  }
  await t.rejects(manager.followLinks(), unsupported('changes'))
  await t.rejects(
    manager.subscribe('s', () => undefined),
    unsupported('changes'),
  )
  await manager.links.rebuild()
  const [referrer] = await manager.links.referrers(table, 'USER.a')
  t.equal(referrer.id.text, 'USER.b', 'the link index is made on demand')
  const index = { name: 'titles', fields: ['{n}title'] }
  await table.indexes.create(index)
  await t.rejects(table.indexes.check('titles'), unsupported('snapshots'))
  await t.rejects(table.query({ equals: { '{n}title': 'two' } }), unsupported('snapshots'))

  const server = new PlainSearch()
  const indexes = await SearchIndexes.open(manager, { backend: () => server })
  await t.rejects(indexes.create({ name: 'pages', configuration }), unsupported('changes'))
  t.same(await indexes.list(), [], 'nothing is left of it')
  const input = { name: 'pages', configuration, incremental: 'DO_NOT_SUBSCRIBE' } as const
  const pages = await indexes.create({ ...input, build: true })
  t.equal((await pages.built())?.records, 2)
  t.equal((await pages.search({ query: 'title:two' })).total, 1, 'a build needs neither')
  const following = indexes.update('pages', { incremental: 'SUBSCRIBE_AND_CONSUME' })
  await t.rejects(following, unsupported('changes'))
  t.equal((await indexes.get('pages')).incremental, 'DO_NOT_SUBSCRIBE')
  t.equal((await indexes.index('pages').search({ query: 'title:two' })).total, 1, 'it still runs')
  await t.rejects(pages.waitFor(), { code: 'ERR_INVALID_ARGUMENT' })
  await indexes.close()
  await manager.close()
})

void t.test('without batches over tables there is no repository', async (t) => {
  const database = await without('atomicAcrossTables')
  const message = /the content repository needs the capability 'atomicAcrossTables'/
  await t.rejects(RepositoryManager.open(database), { code: 'ERR_UNSUPPORTED', message })
  t.same(await database.admin.listTableNames(), [], 'and no table')
})
