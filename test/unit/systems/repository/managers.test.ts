/** Several managers of one database: each sees what the others make and drop. */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { Link, RepositoryManager } from '../../../../src/systems/repository/index.js'
import { withTableCalls } from '../../../helpers/planted.js'

async function openTwo(t: Test): Promise<[RepositoryManager, RepositoryManager, Database]> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const first = await RepositoryManager.open(database)
  const second = await RepositoryManager.open(database)
  t.teardown(async () => {
    await first.close()
    await second.close()
    await database.close()
  })
  await first.types.createFieldType({ name: '{n}to', valueType: 'LINK' })
  await first.types.createFieldType({ name: '{n}slug' })
  const fields = [{ name: '{n}slug' as const, unique: true }]
  await first.types.createRecordType({ name: '{n}r', fields })
  await second.types.settled()
  return [first, second, database]
}

const record = (id: string, slug: string): { id: string; type: string; fields: object } => {
  return { id, type: '{n}r', fields: { '{n}slug': slug } }
}

void t.test('a table of one manager is there for the other', async (t) => {
  const [first, second] = await openTwo(t)
  const drafts = await first.repository().createTable('drafts')
  await drafts.create(record('USER.a', 'a') as never)
  const other = second.repository().table('drafts')
  t.equal((await other.read('USER.a')).fields['{n}slug'], 'a')
  t.same(second.repository().listTables(), ['drafts', 'record'])
  await other.indexes.create({ name: 'slug', fields: ['{n}slug'] })
  await drafts.create(record('USER.b', 'b') as never)
  t.equal((await other.query({ equals: { '{n}slug': 'b' } })).records.length, 1, 'one index')
  await t.rejects(other.create(record('USER.c', 'a') as never), { code: 'ERR_NOT_UNIQUE' })
  const exists = { code: 'ERR_RECORD_TABLE_EXISTS' }
  await t.rejects(second.repository().createTable('drafts'), exists)
})

void t.test('events of a table of another manager are told', async (t) => {
  const [first, second] = await openTwo(t)
  const following = await second.followLinks()
  const drafts = await first.repository().createTable('drafts')
  const fields = { '{n}to': Link.to('USER.z') }
  await drafts.create({ id: 'USER.a', type: '{n}r', fields })
  await following.caughtUp()
  const other = second.repository().table('drafts')
  t.equal((await second.links.referrers(other, 'USER.z'))[0]?.id.text, 'USER.a')
})

void t.test('a table that one manager drops is gone for the other', async (t) => {
  const [first, second] = await openTwo(t)
  const table = await first.repository().createTable('drafts')
  await table.create(record('USER.a', 'a') as never)
  await second.repository().dropTable('drafts')
  const gone = { code: 'ERR_RECORD_TABLE_NOT_FOUND' }
  t.throws(() => first.repository().table('drafts'), gone)
  t.same(first.repository().listTables(), ['record'])
  const again = await first.repository().createTable('drafts')
  t.notOk(await second.repository().table('drafts').exists('USER.a'), 'a new one is empty')
  await again.create(record('USER.b', 'a') as never)
  await t.rejects(second.repository().dropTable('none'), gone)
})

void t.test('repositories of one manager are those of the other', async (t) => {
  const [first, second, database] = await openTwo(t)
  const news = await first.createRepository('news')
  await news.table().create(record('USER.a', 'a') as never)
  t.same(second.listRepositories(), ['default', 'news'])
  t.ok(await second.repository('news').table().exists('USER.a'))
  const told: string[] = []
  const stop = first.observeDrops({
    tableDropped: async (repository, table) => void told.push(`${repository}/${table}`),
    repositoryDeleted: async (repository) => void told.push(repository),
  })
  await second.deleteRepository('news')
  t.same(told, ['news', 'news/record'], 'observers of all managers are told')
  stop()
  t.throws(() => first.repository('news'), { code: 'ERR_REPOSITORY_NOT_FOUND' })
  const both = await Promise.allSettled([first.createRepository('x'), second.createRepository('x')])
  t.equal(both.filter(({ status }) => status === 'fulfilled').length, 1)
  t.same([first.listRepositories(), second.listRepositories()].join(' '), 'default,x default,x')
  const drops = [first.deleteRepository('x'), second.deleteRepository('x')]
  await Promise.allSettled(drops)
  const third = await RepositoryManager.open(database)
  t.same(third.listRepositories(), ['default'])
  await third.close()
})

void t.test('a manager that opens during a drop waits for it', async (t) => {
  const [first, , database] = await openTwo(t)
  for (let round = 0; round < 5; round++) {
    const table = await first.repository().createTable('drafts')
    for (let at = 0; at < 20; at++) await table.create(record(`USER.${at}`, `${at}`) as never)
    const dropping = first.repository().dropTable('drafts')
    for (let tick = 0; tick < round * 5; tick++) await Promise.resolve()
    const other = await RepositoryManager.open(database)
    await dropping
    t.notOk(other.repository().tableExists('drafts'))
    await other.close()
  }
})

void t.test('an open that has failed leaves nothing that makes the next one fail', async (t) => {
  const [first, , database] = await openTwo(t)
  await first.repository().createTable('drafts')
  let failures = 0
  let isBad = false
  const flaky = withTableCalls(database, (call, name, table) => {
    if (!isBad || table !== 'repository.index' || name !== 'scan') return call
    return () => {
      failures++
      throw new Error('the disk is away')
    }
  })
  isBad = true
  await t.rejects(RepositoryManager.open(flaky), { message: 'the disk is away' })
  t.ok(failures > 0)
  isBad = false
  const again = await RepositoryManager.open(flaky)
  t.same(again.repository().listTables(), ['drafts', 'record'])
  await again.close()
})

void t.test('types that have swapped names meanwhile keep them after a refresh', async (t) => {
  const [{ types }, { types: others }] = await openTwo(t)
  const ids: string[] = []
  for (const name of ['{n}one', '{n}two'] as const) {
    ids.push((await types.createFieldType({ name })).id)
    ids.push((await types.createRecordType({ name })).id)
  }
  await others.settled()
  others.isFollowing = false
  const [fieldOne, typeOne, fieldTwo, typeTwo] = ids
  for (const [at, name] of ['{n}away', '{n}one', '{n}two'].entries()) {
    await types.updateFieldType({ id: [fieldOne, fieldTwo, fieldOne][at], name })
    await types.updateRecordType({ id: [typeOne, typeTwo, typeOne][at], name })
  }
  await others.refresh()
  for (const each of [types, others]) {
    t.equal(each.getFieldType('{n}one').id, fieldTwo)
    t.equal(each.getFieldType('{n}two').id, fieldOne)
    t.equal(each.getRecordType('{n}one').id, typeTwo)
    t.equal(each.getRecordType('{n}two').id, typeOne)
    t.throws(() => each.getFieldType('{n}away'), { code: 'ERR_FIELD_TYPE_NOT_FOUND' })
    t.throws(() => each.getRecordType('{n}away'), { code: 'ERR_RECORD_TYPE_NOT_FOUND' })
  }
})

void t.test('writes and builds beside a drop leave nothing behind', async (t) => {
  const [first, second, database] = await openTwo(t)
  await first.types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  const drafts = await first.repository().createTable('drafts')
  const other = second.repository().table('drafts')
  const withFile = async (id: string): Promise<object> => {
    const input = record(id, id)
    const file = await first.blobs.upload(Buffer.alloc(6000), { mediaType: 'text/plain' })
    return { ...input, fields: { ...input.fields, '{n}file': file } }
  }
  for (let at = 0; at < 50; at++) await drafts.create(await withFile(`USER.${at}`))
  for (let at = 50; at < 1000; at++) await drafts.create(record(`USER.${at}`, `${at}`) as never)
  const late = await Promise.all(Array.from({ length: 200 }, (_, at) => withFile(`USER.l${at}`)))
  const writing = (async () => {
    for (const input of late) await other.create(input)
  })()
  const written = t.rejects(writing, { code: 'ERR_RECORD_TABLE_NOT_FOUND' })
  const dropping = first.repository().dropTable('drafts')
  const building = drafts.indexes.create({ name: 'slug', fields: ['{n}slug'] })
  await building.catch(() => undefined)
  await dropping
  await written
  await first.blobs.sweep({ ageMillisecondsMin: 0 })
  t.equal((await first.blobs.states()).size, 0, 'no blob belongs to a table that is gone')
  t.same(await database.table('repository.index').scan().all(), [])
})
