/** Records are created, read, updated, deleted and created again. */
import assert from 'node:assert/strict'
import {
  RecordDraft,
  type RecordTable,
  type WriteResult,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import {
  assertRecord,
  createDefault,
  fieldsOf,
  q,
  typesOf,
  valuesOf,
  type RepositoryCase,
} from '../case.js'

const notFound = 'ERR_RECORD_NOT_FOUND'
const invalid = 'ERR_INVALID_RECORD'

const update = (
  table: RecordTable,
  id: unknown,
  values: Record<string, unknown>,
): Promise<WriteResult> => table.update({ id: String(id), fields: fieldsOf(values) })

const createCases: readonly RepositoryCase[] = [
  {
    name: 'a new record needs a record type',
    run: async (fixture) => {
      const table = await fixture.table()
      await failsWith(invalid, () => table.create({ fields: { [q('f1')]: 'a' } }))
    },
  },
  {
    name: 'a new record needs a field',
    run: async (fixture) => {
      const table = await fixture.table()
      await failsWith(invalid, () => table.create({ type: q('RT1') }))
      await failsWith(invalid, () => table.create({ type: q('RT1'), fields: {} }))
    },
  },
  {
    name: 'an id is used once',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await failsWith('ERR_RECORD_EXISTS', () => createDefault(table, 'USER.a'))
    },
  },
  {
    name: 'a record without versioned fields has no version',
    run: async (fixture) => {
      const table = await fixture.table()
      const { record } = await table.create({ type: q('RT1'), fields: fieldsOf({ f1: 'a' }) })
      assertRecord(record, undefined, { f1: 'a' })
      assertRecord(await table.read(record.id), undefined, { f1: 'a' })
    },
  },
  {
    name: 'the record type must exist',
    run: async (fixture) => {
      const table = await fixture.table()
      const input = { type: q('none'), fields: fieldsOf({ f1: 'a' }) }
      await failsWith('ERR_RECORD_TYPE_NOT_FOUND', () => table.create(input))
      const old = { ...input, type: { name: q('RT1'), version: 9 } }
      await failsWith('ERR_RECORD_TYPE_NOT_FOUND', () => table.create(old))
    },
  },
  {
    name: 'a type without version is the newest one, and scopes without fields have none',
    run: async (fixture) => {
      const table = await fixture.table()
      const { record } = await table.create({ type: q('RT1'), fields: fieldsOf({ f1: 'a' }) })
      assert.deepEqual(typesOf(await table.read(record.id)), ['RT1 2', undefined, undefined])
    },
  },
  {
    name: 'what does not exist cannot be read',
    run: async (fixture) => {
      const table = await fixture.table()
      await failsWith(notFound, () => table.read('USER.none'))
      await createDefault(table, 'USER.a')
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.read('USER.a', { version: 2 }))
      await failsWith(notFound, () => table.read('USER.a', { version: 0 }))
      await failsWith('ERR_FIELD_TYPE_NOT_FOUND', () => table.read('USER.a', { fields: [q('no')] }))
      await failsWith('ERR_INVALID_ARGUMENT', () => table.read('USER.a', { version: -1 }))
    },
  },
  {
    name: 'all fields by name equal a full read',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const fields = [q('f1'), q('f2'), q('f3')]
      assert.deepEqual(await table.read('USER.a', { fields }), await table.read('USER.a'))
      const some = await table.read('USER.a', { fields: [q('f2'), q('f4')] })
      assertRecord(some, 1, { f2: 123 })
    },
  },
  {
    name: 'versions by range and by list',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await update(table, 'USER.a', { f2: 2 })
      const single = [
        await table.read('USER.a', { version: 1 }),
        await table.read('USER.a', { version: 2 }),
      ]
      assert.deepEqual(await table.readVersions('USER.a', { from: 1, to: 2 }), single)
      assert.equal((await table.readVersions('USER.a', { from: 0, to: 5 })).length, 2)
      await update(table, 'USER.a', { f2: 3 })
      await update(table, 'USER.a', { f2: 4 })
      const versions = async (
        wanted: number[] | { from: number; to: number },
      ): Promise<unknown> => {
        return (await table.readVersions('USER.a', wanted)).map(({ version }) => version)
      }
      assert.deepEqual(await versions({ from: 2, to: 3 }), [2, 3])
      assert.deepEqual(await versions([1, 2, 3]), [1, 2, 3])
      assert.deepEqual(await versions([]), [])
      assert.deepEqual(await versions([1, 5]), [1])
      const list = [3, 1]
      assert.deepEqual(await versions(list), [1, 3])
      assert.deepEqual(list, [3, 1], 'the list of the caller stays as it is')
      await failsWith('ERR_INVALID_ARGUMENT', () => versions({ from: 3, to: 2 }))
      await table.create({ id: 'USER.b', type: q('RT1'), fields: fieldsOf({ f1: 'a' }) })
      assert.deepEqual(await table.readVersions('USER.b', [1, 2]), [])
    },
  },
  {
    name: 'several records at once',
    run: async (fixture) => {
      const table = await fixture.table()
      for (const id of ['USER.r1', 'USER.r2', 'USER.r3']) await createDefault(table, id)
      const read = async (...ids: string[]): Promise<string[]> => {
        return (await table.readList(ids)).map(({ id }) => id.text)
      }
      assert.deepEqual(await read('USER.r3', 'USER.r1'), ['USER.r3', 'USER.r1'])
      await table.delete('USER.r3')
      assert.deepEqual(await read('USER.r3', 'USER.r1', 'USER.r1'), ['USER.r1', 'USER.r1'])
      assert.deepEqual(await read(), [])
    },
  },
  {
    name: 'fields are found by id, whatever their name is today',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      await createDefault(table, 'USER.a')
      const { id } = manager.types.getFieldType(q('f1'))
      await manager.types.updateFieldType({ id, name: q('renamed') })
      const record = await table.read('USER.a')
      assert.equal(record.fields[manager.types.getFieldTypeById(id).name], 'value1')
      assert.deepEqual(Object.keys(valuesOf(record)).sort(), ['f2', 'f3', 'renamed'])
    },
  },
]

const updateCases: readonly RepositoryCase[] = [
  {
    name: 'changed fields make a version, and the answer is what is stored',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const { record, status } = await update(table, 'USER.a', { f1: 'v2', f2: 789, f3: false })
      assert.equal(status, 'UPDATED')
      assertRecord(record, 2, { f1: 'v2', f2: 789, f3: false })
      assert.deepEqual(await table.read('USER.a'), record)
      assertRecord(await table.read('USER.a', { version: 1 }), 1, { f1: 'v2', f2: 123, f3: true })
    },
  },
  {
    name: 'a field without versions changes no version',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const { record } = await update(table, 'USER.a', { f1: 'v2' })
      assertRecord(record, 1, { f1: 'v2' })
      assertRecord(await table.read('USER.a'), 1, { f1: 'v2', f2: 123, f3: true })
    },
  },
  {
    name: 'an update without fields changes nothing',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const before = await table.read('USER.a')
      const { record, status } = await table.update({ id: 'USER.a' })
      assert.equal(status, 'UP_TO_DATE')
      assert.equal(record.version, 1)
      assert.deepEqual(await table.read('USER.a'), before)
    },
  },
  {
    name: 'the version of a submitted record is ignored',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const input = { id: 'USER.a', version: 99, fields: fieldsOf({ f2: 5 }) }
      assert.equal((await table.update(input)).record.version, 2)
      await failsWith('ERR_INVALID_ARGUMENT', () => table.update({ ...input, wrong: 1 } as never))
    },
  },
  {
    name: 'a new type is noted for all scopes that change',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const fields = fieldsOf({ f1: 'v2', f2: 789, f3: false })
      await table.update({ id: 'USER.a', type: { name: q('RT1'), version: 2 }, fields })
      assert.deepEqual(typesOf(await table.read('USER.a')), ['RT1 2', 'RT1 2', 'RT1 2'])
      const first = await table.read('USER.a', { version: 1 })
      assert.deepEqual(typesOf(first), ['RT1 2', 'RT1 1', 'RT1 1'])
    },
  },
  {
    name: 'a type alone is written only if its version counts',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const input = { id: 'USER.a', type: { name: q('RT1'), version: 2 } }
      assert.equal((await table.update(input)).status, 'UP_TO_DATE')
      assert.deepEqual(typesOf(await table.read('USER.a')), ['RT1 1', 'RT1 1', 'RT1 1'])
      const { status } = await table.update(input, { useLatestRecordType: false })
      assert.equal(status, 'UPDATED')
      assert.deepEqual(typesOf(await table.read('USER.a')), ['RT1 2', 'RT1 1', 'RT1 1'])
    },
  },
  {
    name: 'scopes that do not change keep their type',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const type = { name: q('RT1'), version: 2 }
      await table.update({ id: 'USER.a', type, fields: fieldsOf({ f2: 789 }) })
      assert.deepEqual(typesOf(await table.read('USER.a')), ['RT1 2', 'RT1 2', 'RT1 1'])
    },
  },
  {
    name: 'all fields can be removed',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await table.update({ id: 'USER.a', fieldsToDelete: [q('f1'), q('f2'), q('f3')] })
      assertRecord(await table.read('USER.a'), 2, {})
      assertRecord(await table.read('USER.a', { version: 1 }), 1, { f2: 123, f3: true })
    },
  },
  {
    name: 'a removed field can be set again, and a draft forgets that it was to be removed',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await table.update({ id: 'USER.a', fieldsToDelete: [q('f1')] })
      const draft = new RecordDraft({ id: 'USER.a' }).delete(q('f1')).set(q('f1'), 'back')
      assert.deepEqual(draft.fieldsToDelete, [])
      assertRecord((await table.update(draft)).record, 1, { f1: 'back' })
    },
  },
  {
    name: 'an absent field can be removed again',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const input = { id: 'USER.a', fieldsToDelete: [q('f2')] }
      assert.equal((await table.update(input)).status, 'UPDATED')
      assert.equal((await table.update(input)).status, 'UP_TO_DATE')
      assert.equal((await table.read('USER.a')).version, 2)
    },
  },
  {
    name: 'versions show when a field was absent',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await table.update({ id: 'USER.a', fieldsToDelete: [q('f2')] })
      await update(table, 'USER.a', { f2: 3333 })
      const records = await table.readVersions('USER.a', {}, { fields: [q('f2')] })
      assert.deepEqual(records.map(valuesOf), [{ f2: 123 }, {}, { f2: 3333 }])
    },
  },
  {
    name: 'a field that is set and removed is removed',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const fields = fieldsOf({ f2: 5 })
      await table.update({ id: 'USER.a', fields, fieldsToDelete: [q('f2')] })
      assertRecord(await table.read('USER.a'), 2, { f1: 'value1', f3: true })
    },
  },
  {
    name: 'create or update',
    run: async (fixture) => {
      const table = await fixture.table()
      const write = async (f2: number): Promise<string> => {
        const input = { id: 'USER.a', type: q('RT1'), fields: fieldsOf({ f1: 'a', f2 }) }
        return (await table.createOrUpdate(input)).status
      }
      assert.equal(await write(1), 'CREATED')
      assert.equal(await write(1), 'UP_TO_DATE')
      assert.equal(await write(2), 'UPDATED')
      assert.equal(await write(2), 'UP_TO_DATE')
      await failsWith('ERR_INVALID_ARGUMENT', () => table.createOrUpdate({ type: q('RT1') }))
    },
  },
]

const deleteCases: readonly RepositoryCase[] = [
  {
    name: 'a deleted record is not found',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      assert.equal((await table.delete('USER.a')).status, 'DELETED')
      await failsWith(notFound, () => table.read('USER.a'))
      await failsWith(notFound, () => table.read('USER.a', { version: 1 }))
      await failsWith(notFound, () => update(table, 'USER.a', { f1: 'x' }))
      await failsWith(notFound, () => table.delete('USER.a'))
    },
  },
  {
    name: 'the versions of a new life go on, and show nothing of the old one',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      await table.delete('USER.a')
      const fields = fieldsOf({ f4: 1, f5: true, f6: 'x' })
      await table.create({ id: 'USER.a', type: q('RT2'), fields })
      assertRecord(await table.read('USER.a'), 2, { f4: 1, f5: true, f6: 'x' })
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.read('USER.a', { version: 1 }))
    },
  },
  {
    name: 'a new life has its record types',
    run: async (fixture) => {
      const table = await fixture.table()
      const input = { id: 'USER.a', type: q('RT2'), fields: fieldsOf({ f5: true }) }
      await table.create(input)
      await table.delete('USER.a')
      await table.create(input)
      assert.deepEqual(typesOf(await table.read('USER.a')), ['RT2 1', 'RT2 1', undefined])
    },
  },
  {
    name: 'a new life without versioned fields has no version',
    run: async (fixture) => {
      const table = await fixture.table()
      const create = (f1: string): Promise<WriteResult> => {
        return table.create({ id: 'USER.a', type: q('RT1'), fields: fieldsOf({ f1 }) })
      }
      await create('a')
      await table.delete('USER.a')
      assertRecord((await create('b')).record, undefined, { f1: 'b' })
      const again = await table.read('USER.a')
      assertRecord(again, undefined, { f1: 'b' })
      assert.deepEqual(typesOf(again), ['RT1 2', undefined, undefined])
      // With versions in the old life: none in the new one until it makes its own.
      await update(table, 'USER.a', { f2: 1 })
      await table.delete('USER.a')
      await create('c')
      assertRecord(await table.read('USER.a'), undefined, { f1: 'c' })
      await update(table, 'USER.a', { f2: 2 })
      assertRecord(await table.read('USER.a'), 2, { f1: 'c', f2: 2 })
    },
  },
]

/** Cases about single records. */
export const recordCases: readonly RepositoryCase[] = [
  ...createCases,
  ...updateCases,
  ...deleteCases,
]
