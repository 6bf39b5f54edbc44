/**
 * What nobody needs any more is removed while a server runs, and what hinders that is told.
 *
 * @runs long
 */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  FileBlobStore,
  RepositoryMaintenance,
  RepositoryManager,
  SearchIndexes,
  type BlobStore,
} from '../../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes } from '../../../../src/server/index.js'
import { withMembers } from '../../../helpers/planted.js'
import { PlainSearch } from '../../../helpers/plain-search.js'

async function openDatabase(clock: ManualClock): Promise<Database> {
  const fileSystem = new MemoryFileSystem()
  return Database.open('/d', { fileSystem, executor: 'inline', clock })
}

async function withTypes(manager: RepositoryManager): Promise<void> {
  await manager.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await manager.types.createFieldType({ name: '{n}title' })
  const fields = [{ name: '{n}file' as const }, { name: '{n}title' as const }]
  await manager.types.createRecordType({ name: '{n}page', fields })
}

const large = Buffer.alloc(10_000)
const upload = { mediaType: 'text/plain' }

/** Waits for something that comes by itself. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

void t.test('uploads, deleted records and drops end by themselves', async (t) => {
  const clock = new ManualClock()
  const database = await openDatabase(clock)
  const manager = await RepositoryManager.open(database, { clock, undeleteMilliseconds: 50_000 })
  await withTypes(manager)
  const table = manager.repository().table()
  const blob = await manager.blobs.upload(large, upload)
  await manager.blobs.upload(large, upload)
  await table.create({ id: 'USER.a', type: '{n}page', fields: { '{n}file': blob } })
  await table.create({ id: 'USER.b', type: '{n}page', fields: { '{n}title': 'x' } })
  await table.delete('USER.b')
  const failures: Error[] = []
  const maintenance = RepositoryMaintenance.start(manager, {
    firstMilliseconds: 0,
    intervalMilliseconds: 1,
    uploadMillisecondsMax: 20_000,
    onFailure: (error) => {
      failures.push(error)
      throw new Error('listeners may throw')
    },
  })
  const runs = async (): Promise<void> => {
    const { runs: before } = maintenance.counts
    await until(() => maintenance.counts.runs > before + 1)
  }
  await runs()
  t.match(maintenance.counts, { blobsRemoved: 0, recordsPurged: 0 }, 'nothing is old enough')
  clock.milliseconds += 30_000
  await runs()
  t.match(maintenance.counts, { blobsRemoved: 1, recordsPurged: 0 }, 'the upload is')
  clock.milliseconds += 30_000
  await runs()
  t.match(maintenance.counts, { blobsRemoved: 1, recordsPurged: 1 }, 'the record is')
  t.equal((await manager.blobs.states()).size, 1, 'the blob of a record stays')
  t.same(failures, [])
  t.ok(maintenance.ageMilliseconds >= 0)
  t.match(maintenance.lastReport, { blobsExamined: 1, blobsRemoved: 0 })

  const server = await CellarServer.start([repositoryRoutes(manager, { maintenance })], { port: 0 })
  const get = async (path: string): Promise<string> => (await fetch(`${server.url}${path}`)).text()
  t.match(await get('/metrics'), /^cellar_repository_maintenance_age_seconds \d/m)
  t.match(await get('/metrics'), /^cellar_repository_maintenance_blobs_removed_total 1$/m)
  t.match(await get('/metrics'), /^cellar_repository_maintenance_records_purged_total 1$/m)
  t.match(await get('/metrics'), /^cellar_repository_maintenance_well 1$/m)
  t.match(JSON.parse(await get('/health')), { status: 'ok' })
  await manager.close()
  await until(() => failures.length > 1)
  t.match(maintenance.failure, { code: 'ERR_REPOSITORY_CLOSED' })
  t.match(JSON.parse(await get('/health')), { status: 'degraded' })
  await maintenance.close()
  const { failures: after } = maintenance.counts
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.equal(maintenance.counts.failures, after, 'closed')
  await server.close()
  await database.close()
  for (const wrong of [{ intervalMilliseconds: 0 }, { uploadMillisecondsMax: -1 }, { age: 1 }]) {
    t.throws(() => RepositoryMaintenance.start(manager, wrong), { code: 'ERR_INVALID_ARGUMENT' })
  }
})

void t.test('a drop that a blob store hinders is ended later, and hinders no open', async (t) => {
  const database = await openDatabase(new ManualClock())
  const files = new FileBlobStore(new MemoryFileSystem(), '/blobs')
  let isAway = false
  const store = withMembers<BlobStore>(files, {
    remove: (key) => (isAway ? Promise.reject(new Error('away')) : files.remove(key)),
  })
  const blobStores = [{ store, bytesMax: Infinity }]
  let manager = await RepositoryManager.open(database, { blobStores })
  await withTypes(manager)
  for (const name of ['one', 'two']) {
    const table = await manager.repository().createTable(name)
    for (const id of ['USER.a', 'USER.b']) {
      const blob = await manager.blobs.upload(large, upload)
      await table.create({ id, type: '{n}page', fields: { '{n}file': blob } })
    }
  }
  isAway = true
  await t.rejects(manager.repository().dropTable('one'), { message: 'away' })
  await manager.close()
  // Without the store: what is dropped cannot end, and nothing else is begun.
  manager = await RepositoryManager.open(database)
  const missing = { code: 'ERR_BLOB_STORE_MISSING' }
  await t.rejects(manager.finishDrops(), missing)
  await t.rejects(manager.repository().dropTable('two'), missing)
  t.same(manager.repository().listTables(), ['record', 'two'])
  t.ok(await manager.repository().table('two').exists('USER.a'))
  await manager.close()
  manager = await RepositoryManager.open(database, { blobStores })
  t.same(manager.repository().listTables(), ['record', 'two'], 'the store is away')
  isAway = false
  const maintenance = RepositoryMaintenance.start(manager, { firstMilliseconds: 1_000_000 })
  const [report, same] = await Promise.all([maintenance.run(), maintenance.run()])
  t.equal(report.dropsFinished, 1)
  t.equal(same, report, 'one run at a time')
  await maintenance.close()
  await manager.repository().createTable('one')
  t.equal((await manager.blobs.states()).size, 2)
  await manager.close()
  await database.close()
})

const configuration = {
  recordFilter: {
    includes: [{ recordType: '{n}page', versionTags: ['last', 'live'] }],
    excludes: [{ instanceOf: '{n}none' }],
  },
  fields: [
    { name: 'title_t', value: '{n}title' },
    { match: { field: { name: '{n}title', equals: 'x' } }, fields: [] },
  ],
}

void t.test('types that an index names may get other names', async (t) => {
  const database = await openDatabase(new ManualClock())
  let manager = await RepositoryManager.open(database)
  await withTypes(manager)
  const live = '{org.lilyproject.vtag}live'
  await manager.types.createFieldType({ name: live, valueType: 'LONG' })
  await manager.types.createRecordType({ name: '{n}none' })
  const search = new PlainSearch()
  const xml = `<indexer xmlns:n="n"><recordFilter><includes>
    <include recordType="n:page" vtags="last"/></includes></recordFilter>
    <fields><field name="title_t" value="n:title"/></fields></indexer>`
  const withFunction = {
    ...configuration,
    fields: [...configuration.fields, { name: 'made_t', value: () => 'made' }],
  }
  const open = (): Promise<SearchIndexes> => {
    return SearchIndexes.open(manager, {
      backend: ({ name }) => (name === 'json' ? search : new PlainSearch()),
      configurations: { code: withFunction },
    })
  }
  let indexes = await open()
  await indexes.create({ name: 'json', configuration })
  await indexes.create({ name: 'xml', xml })
  await indexes.create({ name: 'code', configuration: withFunction })
  const write = async (id: string): Promise<void> => {
    const { types } = manager
    const [title] = types.listFieldTypes().filter(({ valueType }) => valueType === 'STRING')
    const type = types.listRecordTypes().find(({ fields }) => fields.length > 0)!.name
    const table = manager.repository().table()
    await table.create({ id, type, fields: { [title.name]: 'x' } })
    const tag = types.listFieldTypes().find(({ name }) => /live|alive/.test(name))!.name
    await table.update({ id, fields: { [tag]: 0n } })
  }
  const documents = async (): Promise<number> => {
    for (const name of ['json', 'xml', 'code']) await indexes.index(name).waitFor()
    return search.documents.length
  }
  await write('USER.a')
  t.equal(await documents(), 2)
  for (const [from, to] of [
    ['{n}title', '{n}heading'],
    [live, '{org.lilyproject.vtag}alive'],
  ] as const) {
    const { id } = manager.types.getFieldType(from)
    await manager.types.updateFieldType({ id, name: to })
  }
  for (const [from, to] of [
    ['{n}page', '{n}leaf'],
    ['{n}none', '{n}never'],
  ] as const) {
    const { id } = manager.types.getRecordType(from)
    await manager.types.updateRecordType({ id, name: to })
  }
  await write('USER.b')
  t.equal(await documents(), 4, 'while it runs')
  await indexes.close()
  await manager.close()
  manager = await RepositoryManager.open(database)
  indexes = await open()
  t.same([...indexes.failures.keys()], [], 'nor at the next start')
  await write('USER.c')
  t.equal(await documents(), 6)
  // Others of these names are others.
  await manager.types.createFieldType({ name: '{n}title' })
  await indexes.close()
  indexes = await open()
  await write('USER.d')
  t.equal(await documents(), 8)
  await indexes.close()
  await manager.close()
  await database.close()
})

void t.test('an index that does not run says so', async (t) => {
  const database = await openDatabase(new ManualClock())
  const manager = await RepositoryManager.open(database)
  await withTypes(manager)
  let isAway = false
  const backend = (): PlainSearch => {
    if (isAway) throw new Error('the search server is away')
    return new PlainSearch()
  }
  const first = await SearchIndexes.open(manager, { backend })
  const given = { recordFilter: { includes: [{ versionTags: ['last'] }] } }
  for (const name of ['one', 'two']) await first.create({ name, configuration: given })
  isAway = true
  await t.rejects(first.update('one', { defaultBuild: {} }), { message: /away/ })
  t.same([...first.failures.keys()], ['one'])
  t.throws(() => first.index('one'), { message: /away/ }, 'not as if there were none')
  await first.close()
  const indexes = await SearchIndexes.open(manager, { backend })
  t.same([...indexes.failures.keys()].sort(), ['one', 'two'])
  const server = await CellarServer.start([repositoryRoutes(manager, { indexes })], { port: 0 })
  const get = async (path: string): Promise<string> => (await fetch(`${server.url}${path}`)).text()
  t.match(JSON.parse(await get('/health')), {
    status: 'degraded',
    systems: { repository: 'degraded' },
  })
  t.match(await get('/metrics'), /^cellar_repository_index_well\{index="one"\} 0$/m)
  isAway = false
  for (const name of ['one', 'two']) await indexes.update(name, { defaultBuild: {} })
  t.match(JSON.parse(await get('/health')), { status: 'ok' })
  t.match(await get('/metrics'), /^cellar_repository_index_well\{index="one"\} 1$/m)
  await server.close()
  await indexes.close()
  await manager.close()
  await database.close()
})

void t.test('indexes take arguments as of the call, and listeners end nothing', async (t) => {
  const database = await openDatabase(new ManualClock())
  const manager = await RepositoryManager.open(database)
  await withTypes(manager)
  const search = new PlainSearch()
  const indexes = await SearchIndexes.open(manager, {
    backend: () => search,
    extract: () => Promise.reject(new Error('cannot be read')),
    onExtractionFailure: (): void =>
      Promise.reject(new Error('listeners may reject')) as unknown as undefined,
  })
  const field = { name: 'title_t', value: '{n}title' }
  const text = { name: 'text_t', value: '{n}file', extractContent: true }
  const given = {
    name: 'pages',
    configuration: {
      recordFilter: { includes: [{ versionTags: ['last'] }] },
      fields: [field, text],
    },
  }
  const created = indexes.create(given)
  given.name = 'others'
  field.value = '{n}none'
  given.configuration.recordFilter.includes.length = 0
  const index = await created
  t.equal(index.name, 'pages')
  const table = manager.repository().table()
  const file = await manager.blobs.upload(Buffer.from('x'), upload)
  const fields = { '{n}title': 'x', '{n}file': file }
  await table.create({ id: 'USER.a', type: '{n}page', fields })
  await index.waitFor()
  t.same(search.documents[0]?.fields['title_t'], ['x'])
  t.equal(index.counts.extractionFailures, 1)
  t.same(await index.deadLetters(), [])
  await indexes.close()
  await manager.close()
  await database.close()
})
