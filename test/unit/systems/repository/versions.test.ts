/** What versions keep: autosaves, tags, times, removed fields, restores. */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import { errorAnswer } from '../../../../src/server/http-errors.js'
import {
  RepositoryManager,
  type RecordTable,
  type RepositoryOptions,
} from '../../../../src/systems/repository/index.js'

const id = 'USER.a'
const type = '{n}r'

interface Opened {
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function open(t: Test, options: RepositoryOptions = {}): Promise<Opened> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database, options)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  const { types } = manager
  await types.createFieldType({ name: '{n}slug' })
  await types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await types.createFieldType({ name: '{n}size', valueType: 'INTEGER', scope: 'VERSIONED' })
  await types.createFieldType({ name: '{n}note', scope: 'VERSIONED_MUTABLE' })
  await types.createFieldType({ name: '{org.lilyproject.vtag}live', valueType: 'LONG' })
  await types.createRecordType({ name: type, fields: [{ name: '{n}title' }] })
  return { manager, table: manager.repository().table() }
}

async function titles(table: RecordTable): Promise<unknown[]> {
  return (await table.readVersions(id, {})).map(({ fields }) => fields['{n}title'])
}

const title = (text: string): { id: string; fields: Record<string, unknown> } => {
  return { id, fields: { '{n}title': text } }
}

void t.test('a save of what an autosave has written is kept', async (t) => {
  const { table } = await open(t)
  await table.create({ ...title('first'), type })
  await table.update(title('draft'), { autosave: true })
  const saved = await table.update(title('draft'))
  t.equal(saved.status, 'UPDATED', 'the save is a write of its own')
  t.equal(saved.record.version, 2, 'without a version of its own')
  t.equal((await table.update(title('draft'))).status, 'UP_TO_DATE', 'the next one is none')
  await table.update(title('later'), { autosave: true })
  t.same(await titles(table), ['first', 'draft', 'later'])
})

void t.test('a save of other fields keeps what an autosave has written', async (t) => {
  const { table } = await open(t)
  await table.create({ ...title('first'), type })
  await table.update(title('draft'), { autosave: true })
  await table.update({ id, fields: { '{n}slug': 's' } }, { autosave: true })
  await table.update(title('better'), { autosave: true })
  t.same(await titles(table), ['first', 'better'], 'an autosave without a version ends nothing')
  await table.update({ id, fields: { '{n}slug': 't' } })
  await table.update(title('later'), { autosave: true })
  t.same(await titles(table), ['first', 'better', 'later'])
  await table.update({ id, fields: { '{n}note': 'x' } }, { version: 3 })
  await table.update({ id, fields: { '{n}note': 'y' } }, { autosave: true })
  t.equal((await table.read(id, { version: 3 })).fields['{n}note'], 'x', 'also a mutable field')
  const both = { version: 1, autosave: true }
  await t.rejects(table.update(title('x'), both), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('a tagged version is never rewritten', async (t) => {
  const { table } = await open(t)
  await table.create({ ...title('first'), type })
  await table.update(title('draft'), { autosave: true })
  await table.tag(id, '{org.lilyproject.vtag}live')
  await table.update(title('later'), { autosave: true })
  t.equal((await table.readTagged(id, 'live'))?.fields['{n}title'], 'draft')
  // The tag is set ahead, or by an autosave itself.
  const ahead = { ...title('ahead').fields, '{org.lilyproject.vtag}live': 4n }
  await table.update(title('latest'), { autosave: true })
  await table.update({ id, fields: ahead }, { autosave: true })
  t.same(await titles(table), ['first', 'draft', 'ahead'], 'version 3 had no tag')
  await table.update({ id, fields: { '{org.lilyproject.vtag}live': 3n } }, { autosave: true })
  await table.update(title('next'), { autosave: true })
  t.same(await titles(table), ['first', 'draft', 'ahead', 'next'])
})

void t.test('an autosave does not go on behind a delete', async (t) => {
  const { table } = await open(t, { undeleteMilliseconds: 60_000 })
  await table.create({ ...title('first'), type })
  await table.update(title('draft'), { autosave: true })
  await table.delete(id)
  await table.undelete(id)
  await table.update(title('later'), { autosave: true })
  t.same(await titles(table), ['first', 'draft', 'later'])
})

void t.test('a record whose last field was removed is restored by an undelete', async (t) => {
  let now = 1000
  const { table } = await open(t, { clock: { now: () => now }, undeleteMilliseconds: 60_000 })
  await table.create({ id, type, fields: { '{n}slug': 'a' } })
  await table.update({ id, fieldsToDelete: ['{n}slug'] })
  await table.delete(id)
  t.equal(await table.purgeDeleted(), 0)
  t.equal((await table.undelete(id)).status, 'CREATED')
  const { fields, version, type: found } = await table.read(id)
  t.same([fields, version, found.name], [{}, undefined, type], 'with its type, and no field')
  await t.rejects(table.undelete(id), { code: 'ERR_RECORD_NOT_FOUND' }, 'once')
  await table.delete(id)
  now = 100_000
  await t.rejects(table.undelete(id), { code: 'ERR_RECORD_NOT_FOUND' }, 'too late')
  t.equal(await table.purgeDeleted(), 1)
  t.equal(await table.purgeDeleted(), 0, 'nothing is left')
  await table.create({ id, type, fields: { '{n}slug': 'b' } })
  t.equal((await table.read(id)).fields['{n}slug'], 'b')
})

void t.test('a version is found by the time at which it was made', async (t) => {
  let now = 1000
  const { table } = await open(t, { clock: { now: () => now } })
  await table.create({ ...title('first'), type })
  now = 2000
  await table.update(title('second'))
  now = 3000
  await table.update({ id, fields: { '{n}note': 'late' } }, { version: 1 })
  const at = async (time: number): Promise<unknown> => (await table.readAt(id, time)).version
  t.same([await at(1000), await at(1999), await at(2000), await at(3000)], [1, 1, 2, 2])
  now = 500
  await table.update(title('third'))
  t.same([await at(1999), await at(2000), await at(5000)], [1, 3, 3], 'a clock that went back')
  t.equal((await table.read(id)).modified, 3000, 'the record was modified at its greatest time')
  for (const before of [999, -1e300, -Infinity]) {
    await t.rejects(table.readAt(id, before), { code: 'ERR_VERSION_NOT_FOUND' })
  }
  now = 6000
  await table.update({ id, fields: { '{n}note': 'young' } }, { version: 1 })
  await table.pruneVersions(id, { ageMillisecondsMin: 100, keepTagged: false })
  t.same(await titles(table), ['third'], 'a mutable update does not make a version young')
})

void t.test('a tag on a version that was dropped keeps no other', async (t) => {
  const { table } = await open(t)
  await table.create({ ...title('1'), type })
  for (const text of ['2', '3', '4', '5']) await table.update(title(text))
  await table.tag(id, '{org.lilyproject.vtag}live', 1)
  await table.pruneVersions(id, { keep: 3, keepTagged: false })
  await table.pruneVersions(id, { keep: 2 })
  t.same(await titles(table), ['4', '5'])
})

void t.test('a removed mutable field stays removed in later versions', async (t) => {
  const { table } = await open(t)
  const note = async (): Promise<unknown[]> => {
    return (await table.readVersions(id, {})).map(({ fields }) => fields['{n}note'])
  }
  await table.create({ id, type, fields: { '{n}title': '1', '{n}note': 'a' } })
  await table.update({ ...title('2'), fieldsToDelete: ['{n}note'] })
  await table.update(title('3'))
  t.same(await note(), ['a', undefined, undefined])
  await table.update({ id, fieldsToDelete: ['{n}note'] }, { version: 1 })
  await table.update({ id, fields: { '{n}note': 'b' } }, { version: 1 })
  t.same(await note(), ['b', undefined, undefined], 'version 2 has its own mark')
  await table.update({ id, fields: { '{n}note': 'c' } }, { version: 2 })
  t.same(await note(), ['b', 'c', undefined], 'and so has version 3')
  await table.update({ id, fieldsToDelete: ['{n}note'] }, { version: 2 })
  await table.update({ id, fields: { '{n}note': 'd' } })
  await table.update({ id, fields: { '{n}note': 'e' } }, { version: 2 })
  t.same(await note(), ['b', 'e', undefined, 'd'])
  await table.restore(id, 3)
  await table.update({ id, fields: { '{n}note': 'f' } }, { version: 3 })
  t.same(await note(), ['b', 'e', 'f', 'd', undefined])
})

void t.test('a restore keeps to rules, hooks and strictness', async (t) => {
  const seen: unknown[] = []
  const hook = {
    name: 'see',
    beforeUpdate: (input: object) => {
      seen.push(input)
      return input
    },
  }
  const { table, manager } = await open(t, { hooks: [hook] })
  await table.create({ id, type, fields: { '{n}title': 'one', '{n}size': 5 } })
  await table.update({ id, fields: { '{n}title': 'ONE' }, fieldsToDelete: ['{n}size'] })
  const fields = [{ name: '{n}title', pattern: '[A-Z]+' }, { name: '{n}size' }]
  await manager.types.updateRecordType({ name: type, fields })
  seen.length = 0
  const invalid = { code: 'ERR_INVALID_RECORD' }
  await t.rejects(table.restore(id, 1), { ...invalid, message: /title/ }, 'a pattern')
  t.match(seen, [{ fields: { '{n}title': 'one', '{n}size': 5 } }], 'the hook saw the update')
  await manager.types.updateRecordType({ name: type, fields: [{ name: '{n}title' }], strict: true })
  await t.rejects(table.restore(id, 1), { ...invalid, message: /strict/ }, 'strictness')
  t.same(await titles(table), ['one', 'ONE'])
  const { revision } = await table.read(id)
  const old = { revision: revision - 1 }
  await t.rejects(table.restore(id, 1, old), { code: 'ERR_CONCURRENT_RECORD_UPDATE' })
})

void t.test('metadata are restored and compared', async (t) => {
  const { table } = await open(t)
  const metadata = (values: Record<string, string>): Record<string, Record<string, string>> => {
    return { '{n}title': values }
  }
  await table.create({ ...title('one'), type, metadata: metadata({ language: 'en', by: 'ann' }) })
  const metadataToDelete = { '{n}title': ['by'] }
  await table.update({ id, metadata: metadata({ language: 'nl', of: 'x' }), metadataToDelete })
  t.same(await table.diff(id, 1, 2), [
    {
      field: '{n}title',
      before: 'one',
      after: 'one',
      metadataBefore: { by: 'ann', language: 'en' },
      metadataAfter: { language: 'nl', of: 'x' },
    },
  ])
  t.equal((await table.restore(id, 1)).status, 'UPDATED', 'metadata alone differ')
  t.same((await table.read(id)).metadata, metadata({ by: 'ann', language: 'en' }))
  t.same(await table.diff(id, 1, 3), [])
  t.equal((await table.restore(id, 3)).status, 'UP_TO_DATE')
})

void t.test('a record that is too large is refused by name', async (t) => {
  const { table } = await open(t)
  const large = { code: 'ERR_RECORD_TOO_LARGE', message: /USER\.a/ }
  const text = 'a'.repeat(11 << 20)
  const refused = table.create({ ...title(text), type })
  await t.rejects(refused, large)
  const error = await refused.catch((thrown: unknown) => thrown)
  t.equal(errorAnswer(error).status, 413, 'over HTTP')
  await t.rejects(table.read(id), { code: 'ERR_RECORD_NOT_FOUND' })
  await table.create({ ...title('small'), type })
  await t.rejects(table.update({ ...title('x'), attributes: { text } }), large, 'its event')
  t.same(await titles(table), ['small'])
})
