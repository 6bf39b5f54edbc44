/** Scans, ids, links, repositories and tables. */
import assert from 'node:assert/strict'
import {
  Link,
  RecordId,
  type RecordFilter,
  type RecordTable,
  type RepositoryManager,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { createDefault, fieldsOf, idsOf, q, valuesOf, type RepositoryCase } from '../case.js'

const badArgument = 'ERR_INVALID_ARGUMENT'

async function create(table: RecordTable, id: string, type: string, f1 = 'x'): Promise<void> {
  await table.create({ id, type: q(type), fields: fieldsOf({ f1 }) })
}

const scan = (table: RecordTable, filter: RecordFilter): Promise<string[]> => {
  return idsOf(table.scan({ filter }))
}

const scanCases: readonly RepositoryCase[] = [
  {
    name: 'a scan shows records, and no more of their fields than is wanted',
    run: async (fixture) => {
      const table = await fixture.table()
      await createDefault(table, 'USER.b')
      await createDefault(table, 'USER.a')
      assert.deepEqual(await idsOf(table.scan()), ['USER.a', 'USER.b'])
      for await (const record of table.scan({ fields: 'none' })) {
        assert.deepEqual(record.fields, {})
        assert.equal(record.type.name, q('RT1'))
      }
      const filter = { field: q('f2'), value: 123 }
      for await (const record of table.scan({ fields: [q('f1')], filter, limit: 1 })) {
        assert.deepEqual(valuesOf(record), { f1: 'value1' })
        assert.equal(record.id.text, 'USER.a')
      }
      assert.deepEqual(await idsOf(table.scan({ startId: 'USER.aa' })), ['USER.b'])
      assert.deepEqual(await idsOf(table.scan({ stopId: 'USER.b' })), ['USER.a'])
    },
  },
  {
    name: 'records of a type',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const table = manager.repository().table()
      await create(table, 'USER.a', 'RT1')
      await create(table, 'USER.b', 'RT1')
      await create(table, 'USER.c', 'RT2')
      await manager.types.updateRecordType({ name: q('RT2'), fields: [{ name: q('f1') }] })
      await create(table, 'USER.d', 'RT2')
      assert.equal((await scan(table, { recordType: q('RT1') })).length, 2)
      assert.equal((await scan(table, { recordType: q('RT2') })).length, 2)
      assert.deepEqual(await scan(table, { recordType: q('RT2'), version: 2 }), ['USER.d'])
    },
  },
  {
    name: 'instances of types in circles',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const { types } = manager
      const above = (name: string, ...names: string[]): Promise<unknown> => {
        const supertypes = names.map((each) => ({ name: q(each) }))
        return types.createOrUpdateRecordType({ name: q(name), supertypes })
      }
      for (const name of ['A', 'B', 'C']) await above(name)
      await above('A', 'C')
      await above('C', 'A', 'B')
      await above('B', 'A', 'C')
      const table = manager.repository().table()
      for (const name of ['A', 'B', 'C']) await create(table, `USER.${name}`, name)
      for (const name of ['A', 'B', 'C']) {
        assert.equal((await scan(table, { instanceOf: q(name) })).length, 3, name)
      }
    },
  },
  {
    name: 'instances count by the newest version of the types',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const { types } = manager
      const supertypes = [{ name: q('RT1'), version: 1 }]
      await types.createRecordType({ name: q('old'), supertypes })
      await types.createRecordType({ name: q('left'), supertypes })
      await types.updateRecordType({ name: q('left'), supertypes: [] })
      const table = manager.repository().table()
      await create(table, 'USER.a', 'old')
      await create(table, 'USER.b', 'left')
      await create(table, 'USER.c', 'RT1')
      assert.deepEqual(await scan(table, { instanceOf: q('RT1') }), ['USER.a', 'USER.c'])
    },
  },
  {
    name: 'records by the value of a field',
    run: async (fixture) => {
      const table = await fixture.table()
      const values = ['value1', 'value1', 'value2', 'value2', 'value2']
      for (const [i, f1] of values.entries()) await create(table, `USER.${i}`, 'RT1', f1)
      const count = async (operator: 'EQUAL' | 'NOT_EQUAL', value: string): Promise<number> => {
        return (await scan(table, { field: q('f1'), operator, value })).length
      }
      assert.equal(await count('EQUAL', 'value1'), 2)
      assert.equal(await count('EQUAL', 'value2'), 3)
      assert.equal(await count('NOT_EQUAL', 'value1'), 3)
      const fields = fieldsOf({ f1B: 'rest' })
      await table.update({ id: 'USER.0', fields, fieldsToDelete: [q('f1')] })
      assert.equal(await count('NOT_EQUAL', 'value1'), 3)
      const greater = { field: q('f1'), operator: 'GREATER', value: 'value1' } as const
      assert.equal((await scan(table, greater)).length, 3)
    },
  },
  {
    name: 'filters combine',
    run: async (fixture) => {
      const table = await fixture.table()
      const add = (id: string, f1: string, f1B: string): Promise<unknown> => {
        return table.create({ id, type: q('RT1'), fields: fieldsOf({ f1, f1B }) })
      }
      await add('USER.1', 'a', 'b')
      await add('USER.2', 'a', 'c')
      await add('USER.3', 'x', 'b')
      const [A, B, C] = [
        { field: q('f1'), value: 'a' },
        { field: q('f1B'), value: 'b' },
        { field: q('f1B'), value: 'c' },
      ]
      const Z = { field: q('f4'), value: 1 }
      const count = async (filter: RecordFilter): Promise<number> =>
        (await scan(table, filter)).length
      assert.equal(await count({ all: [A, B] }), 1)
      assert.equal(await count({ any: [A, B] }), 3)
      assert.equal(await count({ all: [A, { any: [B, C] }] }), 2)
      assert.equal(await count({ all: [A, B, Z] }), 0)
      assert.equal(await count({ all: [A, B, { ...Z, filterIfMissing: false }] }), 1)
      await failsWith(badArgument, () => count({ wrong: 1 } as never))
    },
  },
  {
    name: 'ids that begin alike, and variants',
    run: async (fixture) => {
      const table = await fixture.table()
      const ids = ['PrefixScanTest', 'PrefixScanTestA', 'PrefixScanTestB', 'PrefixScanQ']
      for (const id of ids) await create(table, `USER.${id}`, 'RT1')
      const found = await scan(table, { idPrefix: 'USER.PrefixScanTest' })
      assert.deepEqual(
        found,
        ids.slice(0, 3).map((id) => `USER.${id}`),
      )
      const uuid = RecordId.uuid('d27cdb6e-ae6d-11cf-96b8-444553540000')
      const variants = [uuid, uuid.variant({ lang: 'en' }), uuid.variant({ lang: 'fr' })]
      for (const id of [...variants].reverse()) await create(table, id.text, 'RT1')
      const texts = variants.map(({ text }) => text)
      assert.deepEqual(await scan(table, { idPrefix: uuid }), texts)
      assert.deepEqual((await table.variants(variants[2])).map(String), texts)
      const dimensions = { lang: null }
      assert.deepEqual(await scan(table, { variantsOf: uuid, dimensions }), texts.slice(1))
      assert.deepEqual(await scan(table, { variantsOf: uuid }), texts.slice(0, 1))
      const user = (await table.variants('USER.PrefixScanTest')).map(String)
      assert.deepEqual(user, ['USER.PrefixScanTest'], 'ids that begin alike are no variants')
      assert.deepEqual(await table.variants('USER.none'), [])
    },
  },
  {
    name: 'deleted records are not shown',
    run: async (fixture) => {
      const table = await fixture.table()
      for (let i = 0; i < 5; i++) await create(table, `USER.p${i}`, 'RT1')
      await table.delete('USER.p0')
      assert.equal((await scan(table, { idPrefix: 'USER.p' })).length, 4)
      const one = { startId: 'USER.p1', stopId: 'USER.p1' }
      assert.deepEqual(await idsOf(table.scan(one)), ['USER.p1'])
      await table.delete('USER.p1')
      assert.deepEqual(await idsOf(table.scan(one)), [])
    },
  },
  {
    name: 'metadata does not hide a value from filters',
    run: async (fixture) => {
      const table = await fixture.table()
      const fields = fieldsOf({ f1: 'a' })
      await table.create({
        id: 'USER.a',
        type: q('RT1'),
        fields,
        metadata: { [q('f1')]: { x: 1 } },
      })
      assert.deepEqual(await scan(table, { field: q('f1'), value: 'a' }), ['USER.a'])
    },
  },
]

const idCases: readonly RepositoryCase[] = [
  {
    name: 'ids of UUIDs',
    run: async () => {
      const id = RecordId.parse('UUID.d27cdb6e-ae6d-11cf-96b8-444553540000')
      assert.equal(id.bytes.length, 17)
      assert.equal(id.bytes[0], 1)
      assert.equal(RecordId.fromBytes(id.bytes).text, id.text)
      for (const bad of ['UUID.', 'UUID.123', 'UUID.d27cdb6eae6d11cf96b8444553540000']) {
        await failsWith(badArgument, () => RecordId.parse(bad))
      }
    },
  },
  {
    name: 'ids of users',
    run: async () => {
      const id = RecordId.parse('USER.ABC')
      assert.deepEqual([...id.bytes], [0, 65, 66, 67])
      const escaped = RecordId.parse('USER.AB:CD\\.EF')
      assert.equal(escaped.bytes.toString('utf8', 1), 'AB:CD.EF')
      assert.equal(RecordId.user('AB:CD.EF').text, escaped.text)
      for (const bad of ['USER.', 'USER', 'ABC', 'USER. a', 'USER.a ', 'OTHER.a', 'USER.a.b.c']) {
        await failsWith(badArgument, () => RecordId.parse(bad))
      }
      await failsWith(badArgument, () => RecordId.fromBytes(Buffer.of(2, 65)))
      await failsWith(badArgument, () => RecordId.fromBytes(Buffer.alloc(0)))
    },
  },
  {
    name: 'variant properties are in order',
    run: async () => {
      const master = RecordId.user('a')
      const one = master.variant({ lang: 'en', branch: 'dev' })
      const other = master.variant({ branch: 'dev', lang: 'en' })
      assert.equal(one.text, 'USER.a.branch=dev,lang=en')
      assert.ok(one.equals(other) && one.bytes.equals(other.bytes))
      assert.equal(RecordId.fromBytes(one.bytes).text, one.text)
      assert.equal(master.variant({}), master)
      await failsWith(badArgument, () => one.variant({ more: 'x' }))
      assert.ok(Buffer.compare(master.bytes, one.bytes) < 0)
    },
  },
  {
    name: 'escapes',
    run: async () => {
      await failsWith(badArgument, () => RecordId.user('a\0b'))
      await failsWith(badArgument, () => RecordId.parse('USER.a\0b'))
      await failsWith(badArgument, () => RecordId.user('a').variant({ k: 'a\0' }))
      const hard = ['a.b', 'a,b', 'a=b', 'a\\', '\\.', 'a\\=,.b', 'ä€😀']
      for (const text of hard) {
        const id = RecordId.user(text).variant({ [text]: text })
        assert.equal(RecordId.parse(id.text).text, id.text)
        assert.deepEqual({ ...RecordId.parse(id.text).variantProperties }, { [text]: text })
        assert.equal(RecordId.fromBytes(id.bytes).text, id.text)
      }
      for (const bad of ['USER.a,b', 'USER.a=b', 'USER.a\\b', 'USER.a.k', 'USER.a.k=v,k=w']) {
        await failsWith(badArgument, () => RecordId.parse(bad))
      }
    },
  },
  {
    name: 'a link copies the properties of its holder, unless it says otherwise',
    run: async () => {
      const holder = RecordId.parse('USER.h.branch=dev,lang=en')
      const resolve = (text: string): string => Link.parse(text).resolve(holder).text
      assert.equal(resolve('USER.a'), 'USER.a.branch=dev,lang=en')
      assert.equal(resolve('USER.a.!*'), 'USER.a')
      assert.equal(resolve('USER.a.-lang'), 'USER.a.branch=dev')
      assert.equal(resolve('USER.a.!*,+lang,x=1'), 'USER.a.lang=en,x=1')
      assert.equal(Link.to('USER.a.x=1').resolve(holder).text, 'USER.a.x=1')
      for (const text of ['USER.a.!*,+lang,-x,y=1', 't:USER.a', '.', '.!*', 't:']) {
        assert.equal(Link.parse(Link.parse(text).text).text, Link.parse(text).text)
      }
    },
  },
  {
    name: 'links to the holder and to its master',
    run: async () => {
      const holder = RecordId.parse('USER.h.lang=en')
      assert.equal(Link.parse('.').resolve(holder).text, holder.text)
      assert.equal(Link.parse('').resolve(holder).text, holder.text)
      assert.equal(Link.parse('.!*').resolve(holder).text, 'USER.h')
    },
  },
  {
    name: 'a table in a link',
    run: async () => {
      const link = Link.parse('mytable:USER.12:34')
      assert.deepEqual([link.table, link.master?.text], ['mytable', 'USER.12:34'])
      assert.equal(Link.parse('USER.12:34').table, undefined)
      for (const bad of ['USER', 'USER.a.b.c', 'USER.a.k', 'a b:USER.a', 'USER.a.=v']) {
        await failsWith(badArgument, () => Link.parse(bad))
      }
    },
  },
]

const tableCases: readonly RepositoryCase[] = [
  {
    name: 'equal ids in three repositories',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const read = async (of: RepositoryManager): Promise<unknown[]> => {
        const names = ['default', 'one', 'two']
        return Promise.all(
          names.map(async (name) => {
            return valuesOf(await of.repository(name).table().read('USER.a'))['f1']
          }),
        )
      }
      await manager.createRepository('one')
      await manager.createRepository('two')
      for (const name of ['default', 'one', 'two']) {
        await create(manager.repository(name).table(), 'USER.a', 'RT1', `in ${name}`)
      }
      assert.deepEqual(await read(manager), ['in default', 'in one', 'in two'])
      await fixture.reopen()
      assert.deepEqual(await read(await fixture.manager()), ['in default', 'in one', 'in two'])
    },
  },
  {
    name: 'repositories and tables come and go',
    run: async (fixture) => {
      const manager = await fixture.withTypes()
      const repository = await manager.createRepository('one')
      assert.deepEqual(repository.listTables(), ['record'])
      await failsWith(badArgument, () => repository.dropTable('record'))
      const foo = await repository.createTable('foo')
      assert.ok(repository.tableExists('foo'))
      await failsWith('ERR_RECORD_TABLE_EXISTS', () => repository.createTable('foo'))
      await createDefault(foo, 'USER.a')
      await repository.dropTable('foo')
      await failsWith('ERR_RECORD_TABLE_NOT_FOUND', () => repository.table('foo'))
      const again = await repository.createTable('foo')
      await failsWith('ERR_RECORD_NOT_FOUND', () => again.read('USER.a'))
      await failsWith(badArgument, () => manager.deleteRepository('default'))
      await failsWith('ERR_REPOSITORY_EXISTS', () => manager.createRepository('one'))
      await manager.deleteRepository('one')
      assert.deepEqual(manager.listRepositories(), ['default'])
      await failsWith('ERR_REPOSITORY_NOT_FOUND', () => manager.repository('one'))
      for (const bad of ['', 'a__b', 'a b', 'ä', 'a/b', '../x']) {
        await failsWith(badArgument, () => manager.createRepository(bad))
        await failsWith(badArgument, () => manager.repository().createTable(bad))
      }
      await failsWith(badArgument, () => manager.repository().createTable('a.b'))
      await fixture.reopen()
      assert.deepEqual((await fixture.manager()).listRepositories(), ['default'])
    },
  },
]

/** Cases about scans, ids, links and tables. */
export const scanAndIdCases: readonly RepositoryCase[] = [...scanCases, ...idCases, ...tableCases]
