/** Mutable updates, conditions, metadata. */
import assert from 'node:assert/strict'
import { CellarError } from '../../../../src/api/index.js'
import {
  versionField,
  type Condition,
  type CompareOperator,
  type RecordTable,
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

const id = 'USER.a'
const invalid = 'ERR_INVALID_RECORD'

async function twoVersions(table: RecordTable): Promise<void> {
  const type = q('RT2')
  await table.create({ id, type, fields: fieldsOf({ f4: 123, f5: true, f6: 'value1' }) })
  await table.update({ id, fields: fieldsOf({ f4: 456, f5: false, f6: 'value2' }) })
}

const mutableCases: readonly RepositoryCase[] = [
  {
    name: 'a mutable field changes in one version',
    run: async (fixture) => {
      const table = await fixture.table()
      await twoVersions(table)
      const fields = fieldsOf({ f4: 9, f5: false, f6: 'value3' })
      assert.equal((await table.update({ id, fields }, { version: 1 })).status, 'UPDATED')
      assertRecord(await table.read(id, { version: 1 }), 1, { f4: 456, f5: true, f6: 'value3' })
      assertRecord(await table.read(id), 2, { f4: 456, f5: false, f6: 'value2' })
      await table.update({ id, fields: fieldsOf({ f6: 'value4' }) }, { version: 2 })
      assertRecord(await table.read(id, { version: 1 }), 1, { f4: 456, f5: true, f6: 'value3' })
      assertRecord(await table.read(id), 2, { f4: 456, f5: false, f6: 'value4' })
      const again = await table.update({ id, fields: fieldsOf({ f6: 'value4' }) }, { version: 2 })
      assert.equal(again.status, 'UP_TO_DATE')
      await failsWith('ERR_VERSION_NOT_FOUND', () => table.update({ id, fields }, { version: 3 }))
    },
  },
  {
    name: 'a mutable field that later versions lack is shown by them too',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 2, f3: false }) })
      const fields = fieldsOf({ f4: 1, f5: true, f6: 'x' })
      await table.update({ id, type: q('RT2'), fields }, { version: 1 })
      const first = await table.read(id, { version: 1 })
      assertRecord(first, 1, { f1: 'value1', f2: 123, f3: true, f6: 'x' })
      assert.deepEqual(typesOf(first), ['RT1 2', 'RT1 1', 'RT2 1'])
      const second = await table.read(id)
      assertRecord(second, 2, { f1: 'value1', f2: 2, f3: false, f6: 'x' })
      assert.equal(second.mutableType?.name, q('RT1'))
    },
  },
  {
    name: 'a mutable field is removed from one version',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 2 }) })
      await table.update({ id, fields: fieldsOf({ f3: false }) })
      await table.update({ id, fieldsToDelete: [q('f3')] }, { version: 1 })
      const records = await table.readVersions(id, {}, { fields: [q('f3')] })
      assert.deepEqual(records.map(valuesOf), [{}, { f3: true }, { f3: false }])
    },
  },
  {
    name: 'a mutable update leaves other scopes alone',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      const fieldsToDelete = [q('f1'), q('f2'), q('f3')]
      await table.update({ id, fieldsToDelete }, { version: 1 })
      assertRecord(await table.read(id), 1, { f1: 'value1', f2: 123 })
    },
  },
  {
    name: 'mandatory fields, by the newest version of the type',
    run: async (fixture) => {
      const table = await fixture.table()
      const rt3 = (version: number): { name: string; version: number } => {
        return { name: q('RT3'), version }
      }
      const pinned = { useLatestRecordType: false }
      for (const version of [1, 2, 3, 4]) {
        const input = { type: rt3(version), fields: fieldsOf({ f2: 1, f3: true }) }
        await failsWith(invalid, () => table.create(input, pinned))
      }
      const fields = fieldsOf({ f1: 'a', f2: 1, f3: true })
      const { record } = await table.create({ id, type: rt3(1), fields }, pinned)
      assert.equal(record.type.version, 1)
      const without = { id, type: rt3(1), fieldsToDelete: [q('f3')] }
      await failsWith(invalid, () => table.update(without, pinned))
      await failsWith(invalid, () => table.update(without, { version: 1, ...pinned }))
      const input = { id, type: rt3(4), fields: fieldsOf({ f6: 'x' }) }
      const { status } = await table.update(input, { version: 1, ...pinned })
      assert.equal(status, 'UPDATED')
    },
  },
]

const conditionCases: readonly RepositoryCase[] = [
  {
    name: 'a condition that does not hold',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      const conditions = [{ field: q('f1'), value: 'xyz' }]
      const fields = fieldsOf({ f1: 'value2' })
      const { status, record } = await table.update({ id, fields }, { conditions })
      assert.equal(status, 'CONFLICT')
      assertRecord(record, 1, { f1: 'value1' })
      assertRecord(await table.read(id), 1, { f1: 'value1', f2: 123, f3: true })
    },
  },
  {
    name: 'operators',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      const failing: [CompareOperator, number][] = [
        ['LESS', 123],
        ['LESS', 122],
        ['LESS_OR_EQUAL', 122],
        ['EQUAL', 122],
        ['EQUAL', 124],
        ['NOT_EQUAL', 123],
        ['GREATER_OR_EQUAL', 124],
        ['GREATER', 123],
        ['GREATER', 124],
      ]
      const apply = async (operator: CompareOperator, value: number): Promise<string> => {
        const conditions = [{ field: q('f2'), operator, value }]
        return (await table.update({ id, fields: fieldsOf({ f2: 999 }) }, { conditions })).status
      }
      for (const [operator, value] of failing) {
        assert.equal(await apply(operator, value), 'CONFLICT', `${operator} ${value}`)
      }
      assertRecord(await table.read(id), 1, { f1: 'value1', f2: 123, f3: true })
      assert.equal(await apply('GREATER_OR_EQUAL', 123), 'UPDATED')
    },
  },
  {
    name: 'absent fields, null, and the version',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      let next = 0
      const apply = async (condition: Condition): Promise<string> => {
        const fields = fieldsOf({ f2: next++ })
        return (await table.update({ id, fields }, { conditions: [condition] })).status
      }
      assert.equal(await apply({ field: q('f1B'), value: 'x' }), 'CONFLICT')
      assert.equal(await apply({ field: q('f1B'), value: 'x', allowMissing: true }), 'UPDATED')
      assert.equal(await apply({ field: q('f1'), value: null }), 'CONFLICT')
      assert.equal(await apply({ field: q('f1B'), value: null }), 'UPDATED')
      const present = { operator: 'NOT_EQUAL', value: null } as const
      assert.equal(await apply({ field: q('f1B'), ...present }), 'CONFLICT')
      assert.equal(await apply({ field: q('f1'), ...present }), 'UPDATED')
      const { version } = await table.read(id)
      assert.equal(await apply({ field: versionField, value: version }), 'UPDATED')
      assert.equal(await apply({ field: versionField, value: version }), 'CONFLICT')
      const bad = 'ERR_INVALID_ARGUMENT'
      await failsWith(bad, () => apply({ field: q('f1'), operator: 'LESS', value: null }))
      await failsWith(bad, () => apply({ field: q('f1') } as never))
      const conditions = [{ field: q('f1'), value: 'other' }]
      const kept = await table.delete(id, { conditions })
      assert.equal(kept.status, 'CONFLICT')
      assert.deepEqual(valuesOf(kept.record), { f1: 'value1' })
      const ok = await table.delete(id, { conditions: [{ field: q('f1'), value: 'value1' }] })
      assert.equal(ok.status, 'DELETED')
    },
  },
  {
    name: 'conditions of a mutable update look at its version',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, id)
      await table.update({ id, fields: fieldsOf({ f2: 456, f3: false }) })
      const apply = async (field: string, value: unknown): Promise<string> => {
        const conditions = [{ field: q(field), value }]
        const fields = fieldsOf({ f3: false })
        return (await table.update({ id, fields }, { version: 1, conditions })).status
      }
      assert.equal(await apply('f2', 456), 'CONFLICT')
      assert.equal(await apply('f3', false), 'CONFLICT')
      assert.equal(await apply('f2', 123), 'UPDATED')
      assert.equal(await apply('f3', true), 'CONFLICT', 'also where nothing would change')
    },
  },
  {
    name: 'a counter with five writers loses nothing',
    run: async (fixture) => {
      const table = await fixture.table()
      await table.create({ id, type: q('RT2'), fields: fieldsOf({ f4: 0 }) })
      const target = 200
      let done = 0
      const work = async (): Promise<void> => {
        while (done < target) {
          const { fields } = await table.read(id)
          const value = fields[q('f4')] as number
          if (value >= target) return
          try {
            const conditions = [{ field: q('f4'), value }]
            const input = { id, fields: fieldsOf({ f4: value + 1 }) }
            if ((await table.update(input, { conditions })).status === 'UPDATED') done++
          } catch (error) {
            const code = error instanceof CellarError ? error.code : String(error)
            assert.equal(code, 'ERR_CONCURRENT_RECORD_UPDATE')
          }
        }
      }
      await Promise.all([work(), work(), work(), work(), work()])
      assert.equal((await table.read(id)).fields[q('f4')], target)
      assert.equal(done, target)
    },
  },
]

const metadataCases: readonly RepositoryCase[] = [
  {
    name: 'metadata of every kind is stored',
    run: async (fixture) => {
      const table = await fixture.table()
      const time = new Date(1_500_000_000_123)
      const own = { a: 'text', b: 7, c: 2n ** 60n, d: true, e: Buffer.from('x'), f: time }
      const metadata = { [q('f1')]: own, [q('f2')]: { x: 1 } }
      const fields = fieldsOf({ f1: 'a', f2: 2 })
      const { record } = await table.create({ id, type: q('RT1'), fields, metadata })
      assert.deepEqual(record.metadata, metadata)
      assert.deepEqual((await table.read(id)).metadata, metadata)
      assert.deepEqual((await table.read(id, { fields: [q('f2')] })).metadata, {
        [q('f2')]: { x: 1 },
      })
    },
  },
  {
    name: 'metadata is merged',
    run: async (fixture) => {
      const table = await fixture.table()
      const fields = fieldsOf({ f1: 'a' })
      const metadata = { [q('f1')]: { a: 1, b: 2, c: 3 } }
      await table.create({ id, type: q('RT1'), fields, metadata })
      await table.update({
        id,
        metadata: { [q('f1')]: { a: 10, d: 4 } },
        metadataToDelete: { [q('f1')]: ['b'] },
      })
      const stored = await table.read(id)
      assert.deepEqual(stored.metadata[q('f1')], { a: 10, c: 3, d: 4 })
      await table.update({ id, fields: fieldsOf({ f1: 'b' }) })
      assert.deepEqual((await table.read(id)).metadata[q('f1')], { a: 10, c: 3, d: 4 })
    },
  },
  {
    name: 'metadata needs a value beside it',
    run: async (fixture) => {
      const table = await fixture.table()
      const metadata = { [q('f1B')]: { a: 1 } }
      const fields = fieldsOf({ f1: 'a' })
      const { record } = await table.create({ id, type: q('RT1'), fields, metadata })
      assert.deepEqual(record.metadata, {})
      assert.deepEqual((await table.read(id)).metadata, {})
      const onMutable = { id, metadata: { [q('f3')]: { a: 1 } } }
      await failsWith(invalid, () => table.update(onMutable))
    },
  },
  {
    name: 'metadata that changes nothing makes no version, other metadata does',
    run: async (fixture) => {
      const table = await fixture.table()
      const fields = fieldsOf({ f2: 1 })
      const metadata = { [q('f2')]: { a: 1 } }
      await table.create({ id, type: q('RT1'), fields, metadata })
      const status = async (input: object): Promise<string> => {
        return (await table.update({ id, ...input })).status
      }
      assert.equal(await status({ metadata }), 'UP_TO_DATE')
      assert.equal(await status({ metadataToDelete: { [q('f2')]: ['none'] } }), 'UP_TO_DATE')
      assert.equal(await status({ metadata: { [q('f2')]: {} } }), 'UP_TO_DATE')
      assert.equal((await table.read(id)).version, 1)
      assert.equal(await status({ metadata: { [q('f2')]: { a: 2 } } }), 'UPDATED')
      const [first, second] = await table.readVersions(id, [1, 2])
      assert.deepEqual([first.metadata, second.metadata], [metadata, { [q('f2')]: { a: 2 } }])
    },
  },
  {
    name: 'metadata goes with its field',
    run: async (fixture) => {
      const table = await fixture.table()
      const fields = fieldsOf({ f1: 'a', f2: 1 })
      const metadataToDelete = { [q('f1')]: ['x'] }
      await table.create({
        id,
        type: q('RT1'),
        fields,
        metadata: { [q('f1')]: {} },
        metadataToDelete,
      })
      assert.deepEqual((await table.read(id)).metadata, {})
      const metadata = { [q('f1')]: { a: 1 } }
      await table.update({ id, metadata, fieldsToDelete: [q('f1')] })
      const stored = await table.read(id)
      assert.deepEqual([valuesOf(stored), stored.metadata], [{ f2: 1 }, {}])
    },
  },
]

/** Cases about mutable fields, conditions and metadata. */
export const conditionAndMetadataCases: readonly RepositoryCase[] = [
  ...mutableCases,
  ...conditionCases,
  ...metadataCases,
]
