/**
 * What a principal may see while field types are made, and when the rules are others.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { RepositoryManager } from '../../../src/systems/repository/index.js'
import type { Principal } from '../../../src/server/index.js'
import { FieldNames } from '../../../src/systems/repository/http/field-names.js'
import { TableAccess } from '../../../src/systems/repository/http/table-access.js'
import { serveRepository, type ServedRepository } from './served-repository.js'

const root: Principal = { name: 'root', token: 'token-of-root', administrator: true }
const type = '{n}page'

function reader(rules: Principal['rules'], more: Partial<Principal> = {}): Principal {
  return { name: 'reader', token: 'token-of-reader', search: ['books'], rules, ...more }
}

/** Starts a server on a file system; the first one makes the types. */
async function serve(
  t: Test,
  fileSystem: MemoryFileSystem,
  principal: Principal,
): Promise<ServedRepository> {
  const served = await serveRepository(fileSystem, [root, principal])
  let closing: Promise<void> | undefined
  const close = (): Promise<void> => (closing ??= served.close())
  t.teardown(close)
  const { types } = served.manager
  await types.createOrUpdateFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await types.createOrUpdateFieldType({ name: '{n}size', valueType: 'INTEGER' })
  await types.createOrUpdateRecordType({ name: type })
  return { ...served, close }
}

async function fieldsOf(
  { as }: ServedRepository,
  path: string,
): Promise<readonly (readonly string[])[]> {
  const { json } = await as('reader', 'GET', `${path}&nsprefixes=false`)
  const results = json['results'] as { record?: object; fields?: object }[]
  return results.map((each) => {
    const { fields } = (each.record ?? each) as { fields: object }
    return Object.keys(fields)
  })
}

void t.test('a rule covers a field type that is made while a request runs', async (t) => {
  const served = await serve(t, new MemoryFileSystem(), reader([{ read: { except: ['{x}*'] } }]))
  const { manager, indexes } = served
  const index = await indexes.create({
    name: 'books',
    configuration: {
      recordFilter: { includes: [{ versionTags: ['last'] }] },
      fields: [{ name: 'title_t', value: '{n}title' }],
    },
  })
  const table = manager.repository().table()
  await table.create({ id: 'USER.a', type, fields: { '{n}title': 'open' } })
  const waitFor = index.waitFor.bind(index)
  t.intercept(index, 'waitFor', {
    value: async (): Promise<void> => {
      await manager.types.createFieldType({ name: '{x}secret' })
      await table.update({ id: 'USER.a', fields: { '{x}secret': 'hidden' } })
      await waitFor()
    },
  })
  const path = '/index/books/search?q=title_t:open&wait=true'
  t.same(await fieldsOf(served, path), [['{n}title']])
})

void t.test('a rule covers a field type of another manager that is read late', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const principal = reader([{ read: { except: ['{x}*'] } }])
  const served = await serve(t, fileSystem, principal)
  const { manager } = served
  const other = await RepositoryManager.open(manager.database)
  t.teardown(() => other.close())
  const place = { repository: 'default', table: 'record' }
  const names = await FieldNames.of(other)
  await names.bind([principal])
  other.types.isFollowing = false
  await manager.types.createFieldType({ name: '{x}secret' })
  await other.types.createFieldType({ name: '{n}new' })
  const access = new TableAccess(principal, { names, ...place })
  t.equal(access.canRead('{n}new'), true)
  await names.bind([principal])
  other.types.isFollowing = true
  await other.types.refresh()
  t.equal(access.canRead('{x}secret'), false)
  t.equal(access.canRead('{n}new'), true)

  // What was not read before a stop is bound after it.
  other.types.isFollowing = false
  await manager.types.createFieldType({ name: '{x}later' })
  await other.types.createFieldType({ name: '{n}newer' })
  await names.bind([principal])
  const third = await RepositoryManager.open(manager.database)
  t.teardown(() => third.close())
  const again = new TableAccess(principal, { names: await FieldNames.of(third), ...place })
  t.equal(again.canRead('{x}later'), false)
  t.equal(again.canRead('{n}newer'), true)
})

void t.test('a scan of before a new start follows the rules of after it', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const first = await serve(t, fileSystem, reader([{ read: true }]))
  const table = first.manager.repository().table()
  for (let size = 0; size < 6; size++) {
    await table.create({ id: `USER.${size}`, type, fields: { '{n}title': 'box', '{n}size': size } })
  }
  const size = { field: '{n}size', fieldValue: 2, compareOp: 'GREATER' }
  const open = async (filter?: object): Promise<unknown> => {
    const recordFilter = filter && { '@class': 'FieldValueFilter', ...filter }
    return (await first.as('reader', 'POST', '/scan', { recordFilter })).json['id']
  }
  const scans = {
    bySize: await open(size),
    byTitle: await open({ field: '{n}title', fieldValue: 'box' }),
    all: await open(),
  }
  const next = `/scan/${String(scans.bySize)}?batch=1`
  t.same(await fieldsOf(first, next), [['{n}size', '{n}title']])
  await first.close()
  const second = await serve(t, fileSystem, reader([{ read: { except: ['{n}size'] } }]))
  const { status, json } = await second.as('reader', 'GET', next)
  t.same([status, json['code']], [403, 'ERR_FORBIDDEN'], 'its filter would tell of the sizes')
  for (const scan of [scans.byTitle, scans.all]) {
    t.same(await fieldsOf(second, `/scan/${String(scan)}?batch=1`), [['{n}title']])
  }
  await second.manager.types.updateFieldType({
    id: second.manager.types.getFieldType('{n}title').id,
    name: '{n}heading',
  })
  const renamed = await second.as('reader', 'GET', `/scan/${String(scans.byTitle)}?batch=1`)
  t.same([renamed.status, renamed.json['code']], [404, 'ERR_SCANNER_NOT_FOUND'])
})

void t.test('the tag of the newest version keeps its name', async (t) => {
  const draft = '{org.lilyproject.vtag}draft'
  const last = '{org.lilyproject.vtag}last'
  const rules = [{ read: { except: [draft] } }]
  const served = await serve(t, new MemoryFileSystem(), reader(rules, { changeSchema: true }))
  const { types } = served.manager
  const { id } = await types.createFieldType({ name: draft, valueType: 'LONG' })
  const rename = (of: string, name: string): ReturnType<ServedRepository['as']> => {
    return served.as('reader', 'PUT', `/schema/fieldTypeById/${of}`, { id: of, name })
  }
  const lastId = types.getFieldType(last).id
  const { status, json } = await rename(lastId, '{org.lilyproject.vtag}newest')
  t.same([status, json['code']], [409, 'ERR_FIELD_TYPE_UPDATE'])
  t.equal((await rename(id, last)).status, 409, 'nor does another tag get its name')
  t.equal((await rename(lastId, last)).status, 200)
  t.equal((await rename(id, '{org.lilyproject.vtag}sketch')).status, 200)
})

void t.test('a rule whose list has no field shows no record', async (t) => {
  const lists = [
    [[], 403],
    [['{n}none', '{x}*'], 403],
    [['{n}title', '{n}size'], 200],
    [['{n}title', '{x}*'], 403],
    [['{x}*'], 200],
  ] as const
  for (const [fields, status] of lists) {
    const read = { fields, except: ['{n}title'] }
    const served = await serve(t, new MemoryFileSystem(), reader([{ read }]))
    const { manager, as } = served
    if (status === 200) await manager.types.createFieldType({ name: '{x}later' })
    await manager
      .repository()
      .table()
      .create({ id: 'USER.a', type, fields: { '{n}size': 1 } })
    const what = fields.join()
    t.equal((await as('reader', 'GET', '/record/USER.a')).status, status, what)
    t.equal((await as('reader', 'GET', '/record/USER.b')).status, status === 200 ? 404 : 403, what)
  }
})

void t.test('who may not delete records brings none back', async (t) => {
  const cases = [
    // Allowed; but this manager keeps nothing of deleted records.
    [{ read: true, write: true }, 404],
    [{ read: true, write: true, delete: false }, 403],
    [{ read: true, write: { fields: ['{n}title'] }, delete: true }, 403],
  ] as const
  for (const [rule, status] of cases) {
    const { as } = await serve(t, new MemoryFileSystem(), reader([rule]))
    const answer = await as('reader', 'POST', '/record/USER.a', { action: 'undelete' })
    t.equal(answer.status, status, JSON.stringify(rule))
  }
})

void t.test('a damaged definition hinders who may not search the index in nothing', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const principal = reader([{ read: true }], { search: ['books', 'none', 'no name', 'books'] })
  const served = await serve(t, fileSystem, principal)
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [{ name: 'title_t', value: '{n}title' as const }],
  }
  for (const name of ['books', 'others']) await served.indexes.create({ name, configuration })
  const table = served.manager.database.table('repository.indexes')
  await table.put({ row: 'others', cells: { 'd:d': '{' }, timestamp: 1 })
  const { json } = await served.as('reader', 'GET', '/index')
  t.match(json['results'], [{ name: 'books', build: 'INACTIVE' }])
  t.equal((json['results'] as object[]).length, 1)
  t.match(await served.as('root', 'GET', '/index'), { json: { code: 'ERR_CORRUPTION' } })
})
