/**
 * Unique fields: those that a type with records gets, and what stale claims count for.
 *
 * @runs long
 */
import type { AtomicBatch } from '../../../../src/api/index.js'
import t, { type Test } from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  Link,
  RepositoryManager,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'

const type = '{n}r'
const notUnique = { code: 'ERR_NOT_UNIQUE' }

interface Opened {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function open(t: Test): Promise<Opened> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  await manager.types.createFieldType({ name: '{n}slug' })
  await manager.types.createFieldType({ name: '{n}text', scope: 'VERSIONED' })
  await manager.types.createRecordType({ name: type, fields: [{ name: '{n}slug' }] })
  return { database, manager, table: manager.repository().table() }
}

const unique = { name: type, fields: [{ name: '{n}slug', unique: true }] }
const plain = { name: type, fields: [{ name: '{n}slug' }] }
const record = (own: string, slug: string): { id: string; type: string; fields: object } => {
  return { id: `USER.${own}`, type, fields: { '{n}slug': slug } }
}

void t.test('a field of records that differ becomes unique', async (t) => {
  const { manager, table } = await open(t)
  const drafts = await manager.repository().createTable('drafts')
  for (let at = 0; at < 450; at++) await table.create(record(`${at}`, `s${at}`) as never)
  await drafts.create(record('draft', 's1') as never)
  await manager.types.updateRecordType(unique)
  await t.rejects(table.create(record('new', 's17') as never), notUnique, 'by a new record')
  await t.rejects(table.update(record('1', 's449') as never), notUnique, 'by an old one')
  await t.rejects(drafts.create(record('other', 's1') as never), notUnique, 'in its own table')
  await drafts.create(record('other', 's2') as never)
  await table.update(record('17', 'changed') as never)
  await table.create(record('new', 's17') as never)
  await table.delete('USER.18')
  await table.create(record('newer', 's18') as never)
})

void t.test('a field of records with one value does not become unique', async (t) => {
  const { manager, table } = await open(t)
  await table.create(record('a', 'one') as never)
  await table.create(record('b', 'one') as never)
  const message = /USER\.a has the value that USER\.b would have/
  await t.rejects(manager.types.updateRecordType(unique), { ...notUnique, message })
  t.equal(manager.types.getRecordType(type).version, 1, 'the type stays')
  await table.create(record('c', 'one') as never)
  for (const own of ['b', 'c']) await table.update(record(own, own) as never)
  await manager.types.updateRecordType(unique)
  await t.rejects(table.create(record('d', 'one') as never), notUnique)
})

void t.test('a claim that no rule demands any more is stale', async (t) => {
  const { manager, table } = await open(t)
  await manager.types.updateRecordType(unique)
  await table.create(record('a', 'one') as never)
  await manager.types.updateRecordType(plain)
  await table.create(record('b', 'one') as never)
  await t.rejects(manager.types.updateRecordType(unique), notUnique)
  await table.update(record('a', 'two') as never)
  await manager.types.updateRecordType(unique)
  await t.rejects(table.create(record('c', 'one') as never), notUnique, 'the claim is that of b')
  await t.rejects(table.create(record('c', 'two') as never), notUnique)
})

void t.test(
  'a value that a record of a batch gives up without owning it is not free',
  async (t) => {
    const { manager, table } = await open(t)
    await manager.types.updateRecordType(unique)
    const other = '{n}other'
    await manager.types.createRecordType({ ...unique, name: other })
    await table.create(record('a', 'one') as never)
    await manager.types.updateRecordType(plain)
    await table.create({ ...record('b', 'one'), type: other } as never)
    const batch = [
      { update: record('a', 'two') },
      { create: { ...record('c', 'one'), type: other } },
    ] as never
    await t.rejects(table.batch(batch), notUnique, 'b has it')
    await table.delete('USER.b')
    await table.batch(batch)
    t.same((await table.read('USER.c')).fields, { '{n}slug': 'one' })
  },
)

void t.test('subtypes claim when they are pinned to the new version', async (t) => {
  const { manager, table } = await open(t)
  const supertypes = [{ name: type }]
  await manager.types.createRecordType({ name: '{n}sub', supertypes })
  for (const own of ['a', 'b']) {
    await table.create({ ...record(own, own), type: '{n}sub' } as never)
  }
  await manager.types.updateRecordType(unique, { refreshSubtypes: true })
  const again = { ...record('c', 'a'), type: '{n}sub' }
  await t.rejects(table.create(again as never), notUnique)
})

void t.test('a writer that names an old version of a type keeps to the new rules', async (t) => {
  const { manager, table } = await open(t)
  const rules = { name: '{n}slug', unique: true, pattern: '[a-z]+', mandatory: true }
  await manager.types.updateRecordType({ name: type, fields: [rules], strict: true })
  await table.create(record('a', 'a') as never)
  const old = { useLatestRecordType: false }
  const pinned = (own: string, fields: Record<string, unknown>): object => {
    return { id: `USER.${own}`, type: { name: type, version: 1 }, fields }
  }
  const invalid = { code: 'ERR_INVALID_RECORD' }
  const bad: [object, { code: string }][] = [
    [{ '{n}slug': 'a' }, notUnique],
    [{ '{n}slug': 'A' }, invalid],
    [{ '{n}text': 'x' }, invalid],
    [{ '{n}slug': 'b', '{n}text': 'x' }, invalid],
  ]
  for (const [fields, problem] of bad) {
    const input = pinned('b', fields as Record<string, unknown>)
    await t.rejects(table.create(input as never, old), problem, JSON.stringify(fields))
  }
  await table.create(pinned('b', { '{n}slug': 'b' }), old)
  t.equal((await table.read('USER.b')).type.version, 1, 'the version is noted')
  const update = pinned('b', { '{n}slug': 'a' })
  await t.rejects(table.update(update as never, old), notUnique)
})

void t.test('values are claimed while writes go on, also by another manager', async (t) => {
  const random = seededRandom(15)
  const pick = (count: number): number => Math.floor(random() * count)
  let named = 0
  for (let round = 0; round < 4; round++) {
    const { database, manager, table } = await open(t)
    const other = await RepositoryManager.open(database)
    const tables = [table, other.repository().table()]
    for (let at = 0; at < 250; at++) await table.create(record(`${at}`, `s${at}`) as never)
    let isDone = false
    const writers = tables.map(async (own) => {
      while (!isDone) {
        if (pick(3) === 0) await new Promise(setImmediate)
        const id = `${pick(320)}`
        const slug = pick(100) === 0 ? `s${pick(320)}` : `w${named++}`
        await own.createOrUpdate(record(id, slug) as never).catch(() => undefined)
        await own.update({ id: `USER.${pick(320)}`, fields: { '{n}text': slug } }).catch(() => 0)
        if (pick(4) === 0) await own.delete(`USER.${pick(320)}`).catch(() => undefined)
      }
    })
    const outcome = await manager.types.updateRecordType(unique).then(
      () => 'unique',
      (error: unknown) => (error as { code: string }).code,
    )
    for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate)
    isDone = true
    await Promise.all(writers)
    const seen = new Map<unknown, string>()
    const twice: unknown[] = []
    for await (const { id, fields } of table.scan()) {
      const slug = fields['{n}slug']
      if (slug === undefined) continue
      if (seen.has(slug)) twice.push([slug, seen.get(slug), id.text])
      seen.set(slug, id.text)
    }
    if (outcome === 'unique') t.same(twice, [], 'no two records have one value')
    else t.equal(outcome, 'ERR_NOT_UNIQUE', 'two had one before')
    await other.close()
  }
})

void t.test('a refused change leaves no claim that counts', async (t) => {
  const { manager, table } = await open(t)
  const drafts = await manager.repository().createTable('drafts')
  await table.create(record('a', 'one') as never)
  for (const own of ['a', 'b']) await drafts.create(record(own, 'same') as never)
  await t.rejects(manager.types.updateRecordType(unique), notUnique, 'by the second table')
  // The claim of the first table is still there.
  await table.update(record('a', 'other') as never)
  await table.create(record('b', 'one') as never)
  await drafts.delete('USER.b')
  await manager.types.updateRecordType(unique)
  await t.rejects(table.create(record('c', 'one') as never), notUnique)
  await table.delete('USER.b')
  await table.create(record('c', 'one') as never)
})

void t.test('a write that began before its field became unique is claimed too', async (t) => {
  const { manager, table } = await open(t)
  await manager.types.createFieldType({ name: '{n}to', valueType: 'LIST<LINK>' })
  await table.create(record('target', 'target') as never)
  // Many links to be looked at: a commit that takes its time.
  const to = Array.from({ length: 50 }, () => Link.to('USER.target'))
  for (let ticks = 0; ticks < 30; ticks++) {
    const field = `{n}f${ticks}`
    const name = `{n}t${ticks}`
    await manager.types.createFieldType({ name: field })
    const links = { name: '{n}to', linkTarget: 'exists' } as const
    await manager.types.createRecordType({ name, fields: [{ name: field }, links] })
    const create = (own: string): Promise<unknown> => {
      const fields = { [field]: 'one', '{n}to': to }
      return table.create({ id: `USER.${own}${ticks}`, type: name, fields })
    }
    const writing = Promise.allSettled([create('a')])
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    const fields = [{ name: field, unique: true }, links]
    await manager.types.updateRecordType({ name, fields })
    await writing
    await t.rejects(create('b'), notUnique, `${ticks} ticks behind`)
  }
})

void t.test('a change of a type that is not made in the end claims nothing', async (t) => {
  const { database, manager, table } = await open(t)
  const other = await RepositoryManager.open(database)
  const { id } = manager.types.getRecordType(type)
  await table.create(record('a', 'one') as never)
  /** Runs `before` ahead of the next batch that changes the schema. */
  const ahead = (before: () => Promise<unknown>): void => {
    let isNext = true
    database.atomic = async (batch: AtomicBatch) => {
      if (isNext && batch.mutations.every(({ table: own }) => own === 'repository.schema')) {
        isNext = false
        await before()
      }
      return Database.prototype.atomic.call(database, batch)
    }
  }
  ahead(() => Promise.reject(new Error('the disk is full')))
  await t.rejects(manager.types.updateRecordType(unique), { message: 'the disk is full' })
  await table.create(record('b', 'one') as never)
  await table.update(record('b', 'two') as never)
  // The first attempt meets a rename, and the second one a name that is taken.
  ahead(async () => {
    await other.types.updateRecordType({ id, name: '{n}renamed' })
    await other.types.createRecordType({ name: type })
  })
  await t.rejects(manager.types.updateRecordType({ ...unique, id }), { code: 'ERR_TYPE' })
  await table.create({ ...record('c', 'one'), type: '{n}renamed' } as never)
  await table.delete('USER.c')
  // Two managers make the field unique; the one that comes second must not end the claims.
  const both = { id, fields: unique.fields }
  other.types.isFollowing = false
  const third = await RepositoryManager.open(database)
  third.types.isFollowing = false
  ahead(() => other.types.updateRecordType(both))
  await manager.types.updateRecordType(both)
  const late = { ...record('d', 'one'), type: '{n}renamed' }
  const lateTable = third.repository().table()
  await t.rejects(lateTable.create(late as never), notUnique)
  for (const each of [third, other]) await each.close()
})
