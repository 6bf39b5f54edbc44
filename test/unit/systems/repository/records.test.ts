/** Reads of records without promises, and what a write tells its caller. */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RecordId,
  RepositoryManager,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'

async function openTable(t: Test): Promise<RecordTable> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  await manager.types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await manager.types.createFieldType({ name: '{n}words', valueType: 'LIST<STRING>' })
  const fields = [{ name: '{n}title' }, { name: '{n}words' }]
  await manager.types.createRecordType({ name: '{n}r', fields })
  return manager.repository().table()
}

void t.test('a read without promises reads the same', async (t) => {
  const table = await openTable(t)
  const words = ['plain', 'é', '', 'a'.repeat(3000), '\u{1f600}', 'plain again']
  await table.create({ id: 'USER.a', type: '{n}r', fields: { '{n}title': 'one' } })
  await table.update({ id: 'USER.a', fields: { '{n}title': 'zwölf', '{n}words': words } })
  t.same(table.readSync('USER.a'), await table.read('USER.a'), 'the newest version')
  t.same(table.readSync('USER.a').fields['{n}words'], words, 'texts of all kinds')
  const old = { version: 1 }
  t.same(table.readSync('USER.a', old), await table.read('USER.a', old), 'an old version')
  t.equal(table.readSync('USER.a', old).fields['{n}title'], 'one')
  const one = { fields: ['{n}title'] }
  t.same(table.readSync('USER.a', one).fields, { '{n}title': 'zwölf' }, 'one field')
  t.throws(() => table.readSync('USER.b'), { code: 'ERR_RECORD_NOT_FOUND' })
  t.throws(() => table.readSync('USER.a', { version: 3 }), { code: 'ERR_VERSION_NOT_FOUND' })
  t.throws(() => table.readSync('USER.a', { version: -1 }), { code: 'ERR_INVALID_ARGUMENT' })
  await table.delete('USER.a')
  t.throws(() => table.readSync('USER.a'), { code: 'ERR_RECORD_NOT_FOUND' })
})

void t.test('what a write tells stays as it was', async (t) => {
  const table = await openTable(t)
  const id = 'USER.a'
  const created = await table.create({ id, type: '{n}r', fields: { '{n}title': 'one' } })
  const updated = await table.update({ id, fields: { '{n}title': 'two' } })
  const same = await table.update({ id, fields: { '{n}title': 'two' } })
  const conditions = [{ field: '{n}title', value: 'one' }]
  const conflict = await table.update({ id, fields: { '{n}title': 'three' } }, { conditions })
  await table.delete(id)
  t.same(created.record.fields, { '{n}title': 'one' })
  t.same(updated.record.fields, { '{n}title': 'two' })
  t.equal(updated.record.version, 2)
  t.same(same.record.fields, { '{n}title': 'two' })
  t.equal(same.status, 'UP_TO_DATE')
  t.same(conflict.record.fields, { '{n}title': 'two' }, 'a conflict tells what is stored')
  t.equal(created.record, created.record, 'it is made once')
})

void t.test('ids of plain characters have the same rows as others', (t) => {
  for (const own of ['a', 'AB:@/+-_9', 'a.b', 'é', 'x'.repeat(256), 'x'.repeat(257), 'a b']) {
    const id = RecordId.user(own)
    const parsed = RecordId.parse(id.text)
    t.same(parsed.bytes, Buffer.concat([Buffer.of(0), Buffer.from(own)]), own.slice(0, 20))
    t.same(parsed.bytes, id.bytes)
    const found = RecordId.fromBytes(parsed.bytes)
    t.equal(found.text, id.text)
    t.ok(found.equals(id))
    t.same(found.variant({ lang: 'en' }).bytes, id.variant({ lang: 'en' }).bytes)
  }
  t.end()
})

void t.test('properties of a variant are in the order of their names, also digits', (t) => {
  const id = RecordId.user('a').variant({ '10': 'x', '2': 'y', '-z': 'q' })
  t.equal(id.text, 'USER.a.-z=q,10=x,2=y')
  const stored = Buffer.from('\0a\0\x02-z\x01q\x0210\x01x\x012\x01y', 'latin1')
  t.same(id.bytes, stored)
  t.equal(RecordId.fromBytes(stored).text, id.text)
  t.ok(RecordId.parse(id.text).bytes.equals(stored))
  t.end()
})
