/** Rules, batches, history of versions, schemas in code, hooks. */
import assert from 'node:assert/strict'
import {
  applySchema,
  defineRecordType,
  Link,
  planSchema,
  type FieldEntryInput,
  type RepositoryManager,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import {
  assertRecord,
  createDefault,
  fieldsOf,
  idsOf,
  q,
  valuesOf,
  type RepositoryCase,
} from '../case.js'

const invalid = 'ERR_INVALID_RECORD'
const notUnique = 'ERR_NOT_UNIQUE'
const id = 'USER.a'

/** A record type 'ruled' with one field of the suite, or new ones, and rules. */
async function ruled(
  manager: RepositoryManager,
  fields: readonly FieldEntryInput[],
  strict = false,
): Promise<void> {
  await manager.types.createOrUpdateRecordType({ name: q('ruled'), fields, strict })
}

const ruleCases: readonly RepositoryCase[] = [
  {
    name: 'mandatory fields of supertypes are mandatory',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const supertypes = [{ name: q('RT3'), version: 2 }]
      await manager.types.createRecordType({ name: q('sub'), supertypes })
      const table = manager.repository().table()
      const create = (values: Record<string, unknown>): Promise<unknown> => {
        return table.create({ type: q('sub'), fields: fieldsOf(values) })
      }
      await failsWith(invalid, () => create({ f2: 1 }))
      await create({ f1: 'a' })
    },
  },
  {
    name: 'a strict type refuses other fields, an open one takes them',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      await table.create({ id, type: q('RT1'), fields: fieldsOf({ f4: 1 }) })
      await ruled(manager, [{ name: q('f1') }], true)
      const input = { type: q('ruled'), fields: fieldsOf({ f1: 'a', f4: 1 }) }
      await failsWith(invalid, () => table.create(input))
      await failsWith(invalid, () =>
        table.update({ id, type: q('ruled'), fields: fieldsOf({ f1: 'x' }) }),
      )
    },
  },
  {
    name: 'defaults, ranges, patterns and lists of values',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await manager.types.createFieldType({ name: q('tags'), valueType: 'LIST<STRING>' })
      await ruled(manager, [
        { name: q('f1'), pattern: '[a-z]+', default: 'none' },
        { name: q('f2'), min: 1, max: 10 },
        { name: q('tags'), values: ['red', 'blue'] },
      ])
      const table = manager.repository().table()
      const create = async (values: Record<string, unknown>): Promise<unknown> => {
        const { record } = await table.create({ type: q('ruled'), fields: fieldsOf(values) })
        return valuesOf(record)
      }
      assert.deepEqual(await create({ f2: 1 }), { f1: 'none', f2: 1 })
      assert.deepEqual(await create({ f1: 'abc', tags: ['red'] }), { f1: 'abc', tags: ['red'] })
      for (const bad of [
        { f1: 'ABC' },
        { f1: 'a1' },
        { f2: 0 },
        { f2: 11 },
        { tags: ['red', 'x'] },
      ]) {
        await failsWith(invalid, () => create(bad))
      }
      const refused = [
        { name: q('f1'), min: 5 },
        { name: q('f1'), pattern: '(' },
        { name: q('f2'), pattern: 'a' },
        { name: q('f2'), values: ['text'] },
        { name: q('f1'), linkTarget: 'exists' },
        { name: q('f1'), wrong: 1 },
      ]
      for (const entry of refused) {
        await failsWith('ERR_INVALID_ARGUMENT', () => ruled(manager, [entry as FieldEntryInput]))
      }
    },
  },
  {
    name: 'a unique value has one owner at a time',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await ruled(manager, [{ name: q('f1'), unique: true }])
      const table = manager.repository().table()
      const create = (own: string, f1: string): Promise<unknown> => {
        return table.create({ id: own, type: q('ruled'), fields: fieldsOf({ f1 }) })
      }
      await create('USER.a', 'one')
      await failsWith(notUnique, () => create('USER.b', 'one'))
      await failsWith('ERR_RECORD_NOT_FOUND', () => table.read('USER.b'))
      await table.update({ id: 'USER.a', fields: fieldsOf({ f1: 'two' }) })
      await create('USER.b', 'one')
      const swap = fieldsOf({ f1: 'one' })
      await failsWith(notUnique, () => table.update({ id: 'USER.a', fields: swap }))
      await table.batch([
        { update: { id: 'USER.a', fields: fieldsOf({ f1: 'one' }) } },
        { update: { id: 'USER.b', fields: fieldsOf({ f1: 'two' }) } },
      ])
      await table.delete('USER.a')
      await create('USER.c', 'one')
      const same = { type: q('ruled'), fields: fieldsOf({ f1: 'same' }) }
      await failsWith(notUnique, () => table.batch([{ create: same }, { create: same }]))
      const races = ['d', 'e', 'f'].map((name) => create(`USER.${name}`, 'race'))
      const outcomes = await Promise.allSettled(races)
      assert.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
    },
  },
  {
    name: 'links lead to records that exist and are of a type',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      await manager.types.createFieldType({ name: q('to'), valueType: `LINK<${q('RT1')}>` })
      await ruled(manager, [{ name: q('to'), linkTarget: 'typed' }])
      const table = manager.repository().table()
      const create = (to: Link): Promise<unknown> => {
        return table.create({ type: q('ruled'), fields: fieldsOf({ to }) })
      }
      await failsWith(invalid, () => create(Link.to('USER.a')))
      await createDefault(table, 'USER.a')
      await create(Link.to('USER.a'))
      await table.create({ id: 'USER.b', type: q('RT2'), fields: fieldsOf({ f4: 1 }) })
      await failsWith(invalid, () => create(Link.to('USER.b')))
      await table.delete('USER.a')
      await failsWith(invalid, () => create(Link.to('USER.a')))
      await table.batch([
        { create: { id: 'USER.c', type: q('RT1'), fields: fieldsOf({ f1: 'x' }) } },
        { create: { type: q('ruled'), fields: fieldsOf({ to: Link.to('USER.c') }) } },
      ])
    },
  },
]

const historyCases: readonly RepositoryCase[] = [
  {
    name: 'a batch writes all or nothing',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.a')
      const create = { id: 'USER.b', type: q('RT1'), fields: fieldsOf({ f1: 'b' }) }
      const results = await table.batch([
        { create },
        { update: { id: 'USER.a', fields: fieldsOf({ f2: 2 }) } },
      ])
      assert.deepEqual(
        results.map(({ status }) => status),
        ['CREATED', 'UPDATED'],
      )
      assert.equal(results[0].sequence, results[1].sequence)
      await failsWith('ERR_RECORD_EXISTS', () => {
        return table.batch([{ delete: 'USER.a' }, { create }])
      })
      const conditions = [{ field: q('f1'), value: 'other' }]
      const conflict = await table.batch([
        { delete: 'USER.a' },
        { update: { id: 'USER.b', fields: fieldsOf({ f1: 'c' }) }, options: { conditions } },
      ])
      assert.deepEqual(
        conflict.map(({ status }) => status),
        ['NOT_WRITTEN', 'CONFLICT'],
      )
      assert.deepEqual(valuesOf(conflict[0].record!), { f1: 'value1', f2: 2, f3: true })
      assert.equal(conflict[0].sequence, undefined, 'nothing was written')
      assert.deepEqual(await idsOf(table.scan()), ['USER.a', 'USER.b'])
      await failsWith('ERR_INVALID_ARGUMENT', () => {
        return table.batch([{ delete: 'USER.a' }, { delete: 'USER.a' }])
      })
    },
  },
  {
    name: 'a deleted record comes back within its time',
    run: async (fixture) => {
      const table = await fixture.table({ undeleteMilliseconds: 1000 })
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 2 }) })
      const before = await table.read(id)
      await table.delete(id)
      await failsWith('ERR_RECORD_NOT_FOUND', () => table.read(id))
      fixture.clock.milliseconds += 1000
      assert.equal(await table.purgeDeleted(), 0)
      await table.undelete(id)
      assert.deepEqual(valuesOf(await table.read(id)), valuesOf(before))
      assertRecord(await table.read(id, { version: 1 }), 1, { f1: 'value1', f2: 123, f3: true })
      await table.delete(id)
      fixture.clock.milliseconds += 1001
      await failsWith('ERR_RECORD_NOT_FOUND', () => table.undelete(id))
      assert.equal(await table.purgeDeleted(), 1)
      assert.equal(await table.purgeDeleted(), 0)
      await failsWith('ERR_RECORD_NOT_FOUND', () => table.undelete('USER.none'))
    },
  },
  {
    name: 'versions are compared and restored',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 2 }), fieldsToDelete: [q('f3')] })
      const metadata = { metadataBefore: undefined, metadataAfter: undefined }
      assert.deepEqual(await table.diff(id, 1, 2), [
        { field: q('f2'), before: 123, after: 2, ...metadata },
        { field: q('f3'), before: true, after: undefined, ...metadata },
      ])
      assert.deepEqual(await table.diff(id, 2, 2), [])
      assert.equal((await table.restore(id, 1)).status, 'UPDATED')
      assertRecord(await table.read(id), 3, { f1: 'value1', f2: 123, f3: true })
      assert.equal((await table.restore(id, 3)).status, 'UP_TO_DATE')
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.restore(id, 4))
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.diff(id, 0, 1))
    },
  },
  {
    name: 'autosaves overwrite each other, and nothing else',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const live = '{org.lilyproject.vtag}live'
      await manager.types.createFieldType({ name: live, valueType: 'LONG' })
      const table = manager.repository().table()
      await createDefault(table, id)
      const save = async (f2: number, autosave: boolean): Promise<unknown> => {
        return (await table.update({ id, fields: fieldsOf({ f2 }) }, { autosave })).record.version
      }
      assert.deepEqual([await save(1, true), await save(2, true), await save(3, true)], [2, 2, 2])
      assert.equal(await save(4, false), 3)
      assert.deepEqual([await save(5, true), await save(6, true)], [4, 4])
      assert.equal(await save(6, false), 4, 'a save of the same keeps the version')
      assert.deepEqual([await save(7, true), await save(8, true)], [5, 5])
      await table.tag(id, live)
      assert.equal(await save(9, true), 6, 'a version with a tag is never overwritten')
      const records = await table.readVersions(id, {}, { fields: [q('f2')] })
      const values = records.map(({ fields }) => fields[q('f2')])
      assert.deepEqual(values, [123, 3, 4, 6, 8, 9])
    },
  },
  {
    name: 'old versions are dropped, those that tags name stay',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const live = '{org.lilyproject.vtag}live'
      await manager.types.createFieldType({ name: live, valueType: 'LONG' })
      const table = manager.repository().table()
      await createDefault(table, id)
      for (let f2 = 2; f2 <= 10; f2++) await table.update({ id, fields: fieldsOf({ f2 }) })
      await table.tag(id, live, 4)
      const versions = async (): Promise<unknown> => {
        return (await table.readVersions(id, {})).map(({ version }) => version)
      }
      assert.equal((await table.pruneVersions(id, { keep: 3 })).status, 'UPDATED')
      assert.deepEqual(await versions(), [4, 5, 6, 7, 8, 9, 10])
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.read(id, { version: 3 }))
      assert.equal((await table.readTagged(id, 'live'))?.version, 4)
      await table.untag(id, live)
      assert.equal(await table.readTagged(id, 'live'), undefined)
      await table.pruneVersions(id, { keep: 3 })
      assert.deepEqual(await versions(), [8, 9, 10])
      assert.equal((await table.pruneVersions(id, { keep: 3 })).status, 'UP_TO_DATE')
      assertRecord(await table.read(id, { version: 8 }), 8, { f1: 'value1', f2: 8, f3: true })
    },
  },
  {
    name: 'version tags: last, zero, and versions that do not exist',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const tag = '{org.lilyproject.vtag}x'
      await manager.types.createFieldType({ name: tag, valueType: 'LONG' })
      const table = manager.repository().table()
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 2 }) })
      assert.equal((await table.readTagged(id, 'last'))?.version, 2)
      await table.tag(id, tag, 0)
      const bare = await table.readTagged(id, 'x')
      assert.deepEqual(Object.keys(bare!.fields).sort(), [q('f1'), tag].sort())
      await table.tag(id, tag, 9)
      assert.equal(await table.readTagged(id, 'x'), undefined)
      await failsWith('ERR_FIELD_TYPE_NOT_FOUND', () => table.readTagged(id, 'none'))
    },
  },
  {
    name: 'the version of a time',
    run: async (fixture) => {
      const table = await fixture.table()
      const start = fixture.clock.milliseconds
      await createDefault(table, id)
      for (let f2 = 2; f2 <= 5; f2++) {
        fixture.clock.milliseconds += 10
        await table.update({ id, fields: fieldsOf({ f2 }) })
      }
      const at = async (time: number): Promise<unknown> => (await table.readAt(id, time)).version
      assert.deepEqual([await at(start), await at(start + 9), await at(start + 10)], [1, 1, 2])
      assert.deepEqual([await at(start + 39), await at(start + 1000)], [4, 5])
      await failsWith('ERR_VERSION_NOT_FOUND', () => at(start - 1))
      fixture.clock.milliseconds -= 1000
      await table.update({ id, fields: fieldsOf({ f3: false }) }, { version: 1 })
      assert.deepEqual([await at(start), await at(start + 39)], [1, 4], 'after a mutable update')
      await table.update({ id, fields: fieldsOf({ f2: 6 }) })
      assert.deepEqual([await at(start + 39), await at(start + 40)], [4, 6], 'a clock went back')
    },
  },
  {
    name: 'a write may say which revision it was made for, and may be tried again',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      const { revision } = await table.read(id)
      const write = (f2: number): Promise<unknown> => {
        return table.update({ id, fields: fieldsOf({ f2 }) }, { revision })
      }
      await write(1)
      await failsWith('ERR_CONCURRENT_RECORD_UPDATE', () => write(2))
      const many = Array.from({ length: 20 }, (_, f2) => {
        return table.update({ id, fields: fieldsOf({ f2: 1000 + f2 }) }, { retries: 100 })
      })
      const results = await Promise.all(many)
      assert.equal(new Set(results.map(({ record }) => record.version)).size, 20)
    },
  },
]

const codeCases: readonly RepositoryCase[] = [
  {
    name: 'a schema in code: planned, applied, and typed',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const person = defineRecordType('{shop}person', {
        name: { type: 'STRING', mandatory: true },
        born: { type: 'DATE' },
      })
      const author = defineRecordType(
        '{shop}author',
        { books: { type: 'LIST<STRING>', scope: 'VERSIONED' }, count: { type: 'LONG' } },
        { supertypes: ['{shop}person'] },
      )
      const dry = await applySchema(manager.types, [author, person], { dryRun: true })
      assert.deepEqual(
        dry.steps.map(({ action, name }) => `${action} ${name}`),
        [
          'create-field-type {shop}books',
          'create-field-type {shop}count',
          'create-field-type {shop}name',
          'create-field-type {shop}born',
          'create-record-type {shop}person',
          'create-record-type {shop}author',
        ],
      )
      await failsWith('ERR_FIELD_TYPE_NOT_FOUND', () => manager.types.getFieldType('{shop}name'))
      await applySchema(manager.types, [author, person])
      assert.deepEqual(planSchema(manager.types, [author, person]), { steps: [], conflicts: [] })
      const people = manager.repository().table().typed(person)
      await people.create({ name: 'Ada', born: '1815-12-10' }, 'USER.ada')
      await people.update('USER.ada', { born: null })
      const { fields } = await people.read('USER.ada')
      const name: string = fields.name
      assert.deepEqual([name, fields.born], ['Ada', undefined])
      const changed = defineRecordType('{shop}person', {
        name: { type: 'STRING' },
        born: { type: 'STRING' },
      })
      const plan = planSchema(manager.types, [changed])
      assert.equal(plan.conflicts.length, 1)
      await failsWith('ERR_TYPE', () => applySchema(manager.types, [changed]))
      const wider = defineRecordType('{shop}person', {
        name: { type: 'STRING' },
        mail: { type: 'STRING', unique: true },
      })
      const [, step] = (await applySchema(manager.types, [wider])).steps
      const { added, removed, changed: rules } = step as Extract<typeof step, { added: unknown }>
      assert.deepEqual([added, removed, rules], [['{shop}mail'], ['{shop}born'], ['{shop}name']])
    },
  },
  {
    name: 'hooks see what is stored and change what is written, but no id',
    run: async (fixture) => {
      const seen: unknown[] = []
      const manager = await fixture.withTypes({
        hooks: [
          {
            name: 'stamp',
            beforeCreate: (input, { stored }) => {
              seen.push(stored)
              return { ...input, fields: { ...input.fields, [q('f1B')]: 'stamped' } }
            },
            beforeUpdate: (input, { stored }) => {
              seen.push(valuesOf(stored!)['f1'])
              return input.attributes?.['move'] === undefined ? input : { ...input, id: 'USER.z' }
            },
            beforeDelete: () => {
              throw new Error('kept')
            },
          },
        ],
      })
      const table = manager.repository().table()
      await createDefault(table, id)
      assert.equal((await table.read(id)).fields[q('f1B')], 'stamped')
      await table.update({ id, fields: fieldsOf({ f1: 'next' }) })
      assert.deepEqual(seen, [undefined, 'value1'])
      const moved = { id, fields: fieldsOf({ f1: 'x' }), attributes: { move: 'yes' } }
      await failsWith('ERR_INVALID_ARGUMENT', () => table.update(moved))
      await assert.rejects(table.delete(id), /kept/)
      assert.ok(await table.exists(id))
    },
  },
]

/** Cases of our own. */
export const ownCases: readonly RepositoryCase[] = [...ruleCases, ...historyCases, ...codeCases]
