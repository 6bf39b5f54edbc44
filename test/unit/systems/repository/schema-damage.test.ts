/** Damaged rows of the schema table: corruption with the type, at the open and never later. */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { RepositoryManager } from '../../../../src/systems/repository/index.js'

const name = '{n}title'

void t.test('types that are no types fail the open', async (t) => {
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database)
  const field = await manager.types.createFieldType({ name, scope: 'VERSIONED' })
  const record = await manager.types.createRecordType({ name: '{n}r', fields: [{ name }] })
  const table = manager.repository().table()
  await table.create({ id: 'USER.a', type: '{n}r', fields: { [name]: 'one' } })
  await table.update({ id: 'USER.a', fields: { [name]: 'two' } })
  await manager.close()
  const rowOf = (kind: string, id: string): Buffer =>
    Buffer.concat([Buffer.from(kind), Buffer.from(id.replaceAll('-', ''), 'hex')])
  const { ordinal } = field
  const sound = { ordinal, name, valueType: 'STRING', scope: 'VERSIONED' }
  const version = { fields: [], supertypes: [], isStrict: false }
  const ofField = [
    ...['{', 'null', '[]', '5'],
    ...[{ ordinal: undefined }, { ordinal: 0 }, { ordinal: '1' }, { name: 5 }, { scope: 'ALL' }],
    ...[{ valueType: 5 }, { valueType: 'STRÏNG' }],
  ].map((change) => (typeof change === 'string' ? change : JSON.stringify({ ...sound, ...change })))
  const ofVersion = [
    ...['{', 'null', '[null]'],
    ...[{ fields: {} }, { fields: [null] }, { fields: [{ mandatory: false }] }],
    ...[{ supertypes: [{ id: 5 }] }, { isStrict: undefined }],
  ].map((change) =>
    typeof change === 'string' ? change : JSON.stringify({ ...version, ...change }),
  )
  const schema = database.table('repository.schema')
  const cases: [string, string, Buffer, readonly string[]][] = [
    [field.id, 's:d', rowOf('f', field.id), ofField],
    [record.id, 's:d', rowOf('r', record.id), ['{', '[]', '{"ordinal":1}', '{"name":"{n}r"}']],
    [record.id, 's:v\0\0\0\u0001', rowOf('r', record.id), ofVersion],
  ]
  for (const [id, column, row, texts] of cases) {
    const before = (await schema.get({ row })).value(column)!
    for (const text of texts) {
      await schema.put({ row, cells: { [column]: text } })
      const expected = { code: 'ERR_CORRUPTION', message: new RegExp(`type ${id} of the schema`) }
      await t.rejects(RepositoryManager.open(database), expected, text)
    }
    await schema.put({ row, cells: { [column]: before } })
  }
  // Another number: the type is sound, and records have fields of a type that does not exist.
  const row = rowOf('f', field.id)
  await schema.put({ row, cells: { 's:d': JSON.stringify({ ...sound, ordinal: 99 }) } })
  const opened = await RepositoryManager.open(database)
  const records = opened.repository().table()
  const expected = {
    code: 'ERR_CORRUPTION',
    message: new RegExp(`type ${ordinal}, which does not`),
  }
  await t.rejects(records.read('USER.a'), expected)
  await t.rejects(records.diff('USER.a', 1, 2), expected)
  await opened.close()
  await database.close()
})
