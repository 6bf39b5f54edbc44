/** Value types, records in records, field types, record types. */
import assert from 'node:assert/strict'
import { checkedType } from '../custom-type.js'
import type {
  EmbeddedRecord,
  RecordTable,
  TypeManager,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { createDefault, fieldsOf, q, valuesOf, type RepositoryCase } from '../case.js'

const badArgument = 'ERR_INVALID_ARGUMENT'
const noField = 'ERR_FIELD_TYPE_NOT_FOUND'
const noType = 'ERR_RECORD_TYPE_NOT_FOUND'

async function fieldOf(
  types: TypeManager,
  local: string,
  valueType: string,
  scope: 'NON_VERSIONED' | 'VERSIONED' | 'VERSIONED_MUTABLE' = 'NON_VERSIONED',
): Promise<void> {
  await types.createFieldType({ name: q(local), valueType, scope })
}

async function createWith(table: RecordTable, values: Record<string, unknown>): Promise<string> {
  const { record } = await table.create({ type: q('RT1'), fields: fieldsOf(values) })
  return record.id.text
}

const valueCases: readonly RepositoryCase[] = [
  {
    name: 'value types that are none',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      const create = (valueType: string): Promise<unknown> => {
        return types.createFieldType({ name: q('x'), valueType })
      }
      await failsWith('ERR_TYPE', () => create('FOO'))
      const bad = ['LIST<', 'LIST<>', 'LIST<!', 'LIST<STRING<>', 'RECORD<!ns}name>', 'LIST', 'PATH']
      for (const valueType of bad) await failsWith(badArgument, () => create(valueType))
    },
  },
  {
    name: 'a registered type reads both of its encodings',
    run: async (fixture) => {
      const write = async (encoding: 1 | 2, id: string): Promise<void> => {
        const manager = await fixture.manager({ valueTypes: { POINT: checkedType(encoding) } })
        const name = q('at')
        await manager.types.createOrUpdateFieldType({ name, valueType: 'LIST<POINT>' })
        await manager.types.createOrUpdateRecordType({ name: q('place'), fields: [{ name }] })
        const fields = { [name]: [{ x: 1, y: 2 }] }
        await manager
          .repository()
          .table()
          .create({ id, type: q('place'), fields })
        await fixture.reopen()
      }
      await write(1, 'USER.a')
      await write(2, 'USER.b')
      const manager = await fixture.manager({ valueTypes: { POINT: checkedType(2) } })
      const records = await manager.repository().table().readList(['USER.a', 'USER.b'])
      assert.deepEqual(records.map(valuesOf), [{ at: [{ x: 1, y: 2 }] }, { at: [{ x: 1, y: 2 }] }])
    },
  },
  {
    name: 'an embedded record takes the type of its field',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await fieldOf(manager.types, 'inner', `RECORD<${q('RT1')}>`)
      const table = manager.repository().table()
      const id = await createWith(table, { inner: { fields: fieldsOf({ f1: 'a' }) } })
      const { inner } = valuesOf(await table.read(id))
      assert.deepEqual(inner, { type: q('RT1'), fields: fieldsOf({ f1: 'a' }) })
    },
  },
  {
    name: 'records nest',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await fieldOf(manager.types, 'inner', 'RECORD')
      await manager.types.createRecordType({
        name: q('nest'),
        fields: [{ name: q('inner') }, { name: q('f1') }],
      })
      const table = manager.repository().table()
      const nested = (depth: number): EmbeddedRecord => ({
        type: q('nest'),
        fields: depth === 0 ? fieldsOf({ f1: 'deep' }) : fieldsOf({ inner: nested(depth - 1) }),
      })
      const id = await createWith(table, { inner: nested(3) })
      let at = valuesOf(await table.read(id))['inner'] as EmbeddedRecord
      for (let depth = 3; depth > 0; depth--) at = at.fields[q('inner')] as EmbeddedRecord
      assert.deepEqual(at.fields, fieldsOf({ f1: 'deep' }))
      const self: { type: string; fields: Record<string, unknown> } = {
        type: q('nest'),
        fields: {},
      }
      self.fields[q('inner')] = self
      await failsWith('ERR_INVALID_RECORD', () => createWith(table, { inner: self }))
      await failsWith('ERR_INVALID_RECORD', () => createWith(table, { inner: nested(100) }))
    },
  },
  {
    name: 'an embedded record has a type, and its fields only',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await fieldOf(manager.types, 'inner', 'RECORD')
      const table = manager.repository().table()
      const create = (inner: unknown): Promise<string> => createWith(table, { inner })
      const fields = fieldsOf({ f1: 'a' })
      await failsWith('ERR_INVALID_RECORD', () => create({ fields }))
      const outside = { type: q('RT1'), fields: fieldsOf({ f4: 1 }) }
      await failsWith('ERR_INVALID_RECORD', () => create(outside))
      await failsWith(noType, () => create({ type: q('none'), fields }))
      const id = await create({ type: q('RT1'), fields })
      const inner = valuesOf(await table.read(id))['inner'] as EmbeddedRecord
      assert.equal(q('f2') in inner.fields, false)
    },
  },
  {
    name: 'embedded records in all scopes',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const scopes = ['NON_VERSIONED', 'VERSIONED', 'VERSIONED_MUTABLE'] as const
      for (const [i, scope] of scopes.entries()) {
        await fieldOf(manager.types, `r${i}`, `RECORD<${q('RT1')}>`, scope)
      }
      const table = manager.repository().table()
      const inner = (f1: string): unknown => ({ type: q('RT1'), fields: fieldsOf({ f1 }) })
      const id = await createWith(table, { r0: inner('a'), r1: inner('a'), r2: inner('a') })
      const all = { r0: inner('b'), r1: inner('b'), r2: inner('b') }
      await table.update({ id, fields: fieldsOf(all) })
      await table.update({ id, fields: fieldsOf({ r2: inner('c') }) }, { version: 1 })
      const [first, second] = await table.readVersions(id, [1, 2])
      assert.deepEqual(valuesOf(first), { r0: inner('b'), r1: inner('a'), r2: inner('c') })
      assert.deepEqual(valuesOf(second), all)
      const same = await table.update({ id, fields: fieldsOf(all) })
      assert.equal(same.status, 'UP_TO_DATE')
    },
  },
  {
    name: 'an embedded record has the fields of supertypes',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const { types } = manager
      await types.createRecordType({ name: q('sub'), supertypes: [{ name: q('RT1') }] })
      await fieldOf(types, 'inner', `LIST<RECORD<${q('sub')}>>`)
      const table = manager.repository().table()
      const inner = [{ type: q('sub'), fields: fieldsOf({ f1: 'a', f2: 2 }) }]
      const id = await createWith(table, { inner })
      assert.deepEqual(valuesOf(await table.read(id)), { inner })
    },
  },
  {
    name: 'a supertype without version is pinned to the newest',
    run: async (fixture) => {
      const { types } = await fixture.withTypes()
      const sub = await types.createRecordType({
        name: q('sub'),
        supertypes: [{ name: q('RT1') }],
      })
      assert.equal(sub.supertypes[0].version, 2)
      const names = [...types.effectiveFields(sub).keys()].sort()
      assert.deepEqual(names, [q('f1'), q('f1B'), q('f2'), q('f3')])
    },
  },
]

const fieldTypeCases: readonly RepositoryCase[] = [
  {
    name: 'a field type is found by id and by name',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      const field = await types.createFieldType({ name: q('a'), valueType: 'LIST<LONG>' })
      assert.equal(types.getFieldType(q('a')), types.getFieldTypeById(field.id))
      await failsWith('ERR_FIELD_TYPE_EXISTS', () => types.createFieldType({ name: q('a') }))
      const own = { id: field.id, name: q('b') }
      await failsWith(badArgument, () => types.createFieldType(own))
      await fixture.reopen()
      const again = (await fixture.manager()).types.getFieldType(q('a'))
      assert.deepEqual(
        [again.id, again.valueType, again.scope],
        [field.id, 'LIST<LONG>', 'NON_VERSIONED'],
      )
    },
  },
  {
    name: 'only the name of a field type changes',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      const { id } = await types.createFieldType({ name: q('a') })
      assert.equal((await types.updateFieldType({ id, name: q('b') })).id, id)
      assert.equal(types.getFieldType(q('b')).id, id)
      await failsWith(noField, () => types.getFieldType(q('a')))
      await types.createFieldType({ name: q('a') })
      const refused = 'ERR_FIELD_TYPE_UPDATE'
      await failsWith(refused, () => types.updateFieldType({ id, name: q('a') }))
      await failsWith(refused, () => types.updateFieldType({ id, valueType: 'LONG' }))
      await failsWith(refused, () => types.updateFieldType({ id, scope: 'VERSIONED' }))
      await failsWith(refused, () => {
        return types.createOrUpdateFieldType({ name: q('b'), valueType: 'LONG' })
      })
    },
  },
  {
    name: 'defaults of field types',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      const { valueType, scope } = await types.createFieldType({ name: q('a') })
      assert.deepEqual([valueType, scope], ['STRING', 'NON_VERSIONED'])
      const id = '00000000-0000-4000-8000-000000000000'
      await failsWith(noField, () => types.updateFieldType({ id, name: q('b') }))
    },
  },
]

const recordTypeCases: readonly RepositoryCase[] = [
  {
    name: 'a record type begins at version 1',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      assert.equal((await types.createRecordType({ name: q('a') })).version, 1)
      await failsWith('ERR_RECORD_TYPE_EXISTS', () => types.createRecordType({ name: q('a') }))
    },
  },
  {
    name: 'record types that do not exist',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      await types.createRecordType({ name: q('a') })
      const id = '00000000-0000-4000-8000-000000000000'
      await failsWith(noType, () => types.getRecordType(q('b')))
      await failsWith(noType, () => types.getRecordType(q('a'), 2))
      await failsWith(noType, () => types.updateRecordType({ name: q('b') }))
      await failsWith(noType, () => types.updateRecordType({ id }))
    },
  },
  {
    name: 'fields of a record type must exist',
    run: async (fixture) => {
      const { types } = await fixture.manager()
      const fields = [{ name: q('none') }]
      await failsWith(noField, () => types.createRecordType({ name: q('a'), fields }))
      await types.createRecordType({ name: q('a') })
      await failsWith(noField, () => types.updateRecordType({ name: q('a'), fields }))
    },
  },
  {
    name: 'supertypes are pinned, added and replaced',
    run: async (fixture) => {
      const { types } = await fixture.withTypes()
      const update = (...names: string[]): ReturnType<TypeManager['updateRecordType']> => {
        const supertypes = names.map((name) => ({ name: q(name) }))
        return types.updateRecordType({ name: q('sub'), supertypes })
      }
      await types.createRecordType({ name: q('sub'), supertypes: [{ name: q('RT1') }] })
      const both = await update('RT1', 'RT2')
      assert.deepEqual([both.version, both.supertypes.length], [2, 2])
      assert.equal((await update('RT2', 'RT1')).version, 2, 'another order is no change')
      const one = await update('RT2')
      assert.deepEqual(
        [one.version, one.supertypes],
        [3, [{ id: types.getRecordType(q('RT2')).id, version: 1 }]],
      )
      assert.equal(types.getRecordType(q('sub'), 1).supertypes[0].version, 2)
    },
  },
  {
    name: 'a record type is renamed in all versions',
    run: async (fixture) => {
      const { types } = await fixture.withTypes()
      const { id } = types.getRecordType(q('RT1'))
      assert.equal((await types.updateRecordType({ id, name: q('new') })).version, 3)
      assert.equal(types.getRecordType(q('new'), 1).name, q('new'))
      assert.equal(types.getRecordType(q('new')).fields.length, 4)
      await failsWith(noType, () => types.getRecordType(q('RT1')))
      await failsWith('ERR_TYPE', () => types.updateRecordType({ id, name: q('RT2') }))
      await types.createRecordType({ name: q('RT1') })
    },
  },
  {
    name: 'subtypes are pinned again, all the way down',
    run: async (fixture) => {
      const { types } = await fixture.withTypes()
      const create = (name: string, ...above: string[]): Promise<unknown> => {
        const supertypes = above.map((each) => ({ name: q(each) }))
        return types.createRecordType({ name: q(name), supertypes })
      }
      await create('A')
      await create('B', 'A')
      await create('D', 'A')
      await create('C', 'B', 'D')
      const pins = (name: string): string[] => {
        const { version, supertypes } = types.getRecordType(q(name))
        const above = supertypes.map((pin) => {
          return `${types.getRecordTypeById(pin.id).name.at(-1)}${pin.version}`
        })
        return [`${name}${version}`, ...above.sort()]
      }
      const refresh = (name: string, field: string): Promise<unknown> => {
        const update = { name: q(name), fields: [{ name: q(field) }] }
        return types.updateRecordType(update, { refreshSubtypes: true })
      }
      await refresh('B', 'f1')
      assert.deepEqual(pins('C'), ['C2', 'B2', 'D1'])
      await refresh('A', 'f1')
      assert.deepEqual(
        [pins('B'), pins('D')],
        [
          ['B3', 'A2'],
          ['D2', 'A2'],
        ],
      )
      assert.deepEqual(pins('C'), ['C4', 'B3', 'D2'])
    },
  },
  {
    name: 'a circle of types is followed once',
    run: async (fixture) => {
      const { types } = await fixture.withTypes()
      const [A, B, C] = ['A', 'B', 'C'].map(q)
      await types.createRecordType({ name: A })
      await types.createRecordType({ name: B, supertypes: [{ name: A }] })
      await types.createRecordType({ name: C, supertypes: [{ name: B }] })
      await types.updateRecordType({ name: A, supertypes: [{ name: C }] })
      assert.equal(types.getRecordType(B).supertypes[0].version, 1)
      const update = { name: A, fields: [{ name: q('f1') }] }
      await types.updateRecordType(update, { refreshSubtypes: true })
      assert.equal(types.getRecordType(A).version, 3)
      assert.equal(types.getRecordType(B).supertypes[0].version, 3)
      assert.equal(types.getRecordType(C).supertypes[0].version, 2)
      assert.ok(types.effectiveFields(types.getRecordType(C)).has(q('f1')))
      assert.deepEqual(types.findSubtypes(A), [B, C])
    },
  },
  {
    name: 'a name is taken once, also by another manager',
    run: async (fixture) => {
      const own = (await fixture.withTypes()).types
      const other = (await fixture.manager()).types
      own.isFollowing = false
      await other.createFieldType({ name: q('x') })
      await other.createRecordType({ name: q('x') })
      await failsWith(noField, () => own.getFieldType(q('x')))
      await failsWith('ERR_FIELD_TYPE_EXISTS', () => own.createFieldType({ name: q('x') }))
      await failsWith('ERR_RECORD_TYPE_EXISTS', () => own.createRecordType({ name: q('x') }))
      const { id } = own.getFieldType(q('f1'))
      await failsWith('ERR_FIELD_TYPE_UPDATE', () => own.updateFieldType({ id, name: q('x') }))
      const type = own.getRecordType(q('RT1'))
      await failsWith('ERR_TYPE', () => own.updateRecordType({ id: type.id, name: q('x') }))
      const races = ['a', 'b', 'c', 'd'].flatMap((name) => {
        return [own, other].map((types) => types.createFieldType({ name: q(`race-${name}`) }))
      })
      const outcomes = await Promise.allSettled(races)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 4)
    },
  },
  {
    name: 'managers follow each other, unless that is switched off',
    run: async (fixture) => {
      const own = (await fixture.withTypes()).types
      const other = (await fixture.manager()).types
      await own.createFieldType({ name: q('x') })
      await other.settled()
      const { id } = other.getFieldType(q('x'))
      other.isFollowing = false
      await own.createFieldType({ name: q('y') })
      await other.settled()
      await failsWith(noField, () => other.getFieldType(q('y')))
      await other.refresh()
      other.getFieldType(q('y'))
      await own.createRecordType({ name: q('z') })
      other.isFollowing = true
      await other.settled()
      other.getRecordType(q('z'))
      for (let round = 0; round < 100; round++) {
        const name = q(`x${round}`)
        await own.updateFieldType({ id, name })
        assert.equal(own.getFieldType(name).id, id)
      }
      await other.settled()
      assert.equal(other.getFieldTypeById(id).name, q('x99'))
      assert.throws(() => Object.assign(own.getFieldTypeById(id), { name: 'changed' }))
      const table = (await fixture.manager()).repository().table()
      await createDefault(table, 'USER.a')
    },
  },
]

/** Cases about values and types. */
export const schemaCases: readonly RepositoryCase[] = [
  ...valueCases,
  ...fieldTypeCases,
  ...recordTypeCases,
]
