/** Indexes on fields, queries by them, and links that are followed on reading. */
import assert from 'node:assert/strict'
import {
  Link,
  type FieldQuery,
  type RecordPage,
  type RecordTable,
  type RepositoryManager,
} from '../../../../src/systems/repository/index.js'
import { failsWith } from '../../../suites/kit.js'
import { fieldsOf, q, type Fixture, type RepositoryCase } from '../case.js'

interface Books {
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function bookTypes(fixture: Fixture): Promise<Books> {
  const manager = await fixture.manager()
  for (const [local, valueType, scope] of [
    ['title', 'STRING', 'VERSIONED'],
    ['year', 'INTEGER', 'NON_VERSIONED'],
    ['price', 'DECIMAL', 'NON_VERSIONED'],
    ['words', 'LIST<STRING>', 'NON_VERSIONED'],
    ['author', 'LINK', 'NON_VERSIONED'],
    ['friends', 'LIST<LINK>', 'NON_VERSIONED'],
  ] as const) {
    await manager.types.createFieldType({ name: q(local), valueType, scope })
  }
  await manager.types.createRecordType({ name: q('book') })
  return { manager, table: manager.repository().table() }
}

async function add(table: RecordTable, id: string, values: Record<string, unknown>): Promise<void> {
  await table.create({ id: `USER.${id}`, type: q('book'), fields: fieldsOf(values) })
}

const idsIn = ({ records }: RecordPage): string[] => {
  return records.map(({ id }) => id.text.slice('USER.'.length))
}

async function idsFor(table: RecordTable, query: FieldQuery): Promise<string[]> {
  return idsIn(await table.query(query))
}

/** Cases about indexes on fields. */
export const fieldCases: readonly RepositoryCase[] = [
  {
    name: 'an index answers values, ranges and orders, with every write',
    run: async (fixture) => {
      const { table } = await bookTypes(fixture)
      await add(table, 'a', { year: 1999, title: 'x' })
      const fields = [q('year'), { field: q('title'), order: 'DESCENDING' as const }]
      const made = await table.indexes.create({ name: 'years', fields })
      assert.deepEqual([made.state, made.built], ['ACTIVE', 1])
      await add(table, 'b', { year: -5, title: 'x' })
      await add(table, 'c', { year: 1999, title: 'y' })
      await add(table, 'd', { year: 1999 })
      await add(table, 'e', { title: 'z' })
      const year = { [q('year')]: 1999 }
      assert.deepEqual(await idsFor(table, { equals: year }), ['c', 'a', 'd'])
      assert.deepEqual(await idsFor(table, { sort: [q('year')] }), ['e', 'b', 'c', 'a', 'd'])
      const down = { sort: [{ field: q('year'), order: 'DESCENDING' as const }] }
      assert.deepEqual(await idsFor(table, down), ['d', 'a', 'c', 'b', 'e'])
      assert.deepEqual(await idsFor(table, { equals: { [q('year')]: null } }), ['e'])
      const range = { field: q('year'), from: -5, fromInclusive: false }
      assert.deepEqual(await idsFor(table, { range }), ['c', 'a', 'd'])
      const upTo = { field: q('year'), to: -5, toInclusive: true }
      assert.deepEqual(await idsFor(table, { range: upTo }), ['b'])
      const titles = { field: q('title'), from: 'x', to: 'y' }
      assert.deepEqual(await idsFor(table, { equals: year, range: titles }), ['a'])
      const both = { all: [{ instanceOf: q('book') }, { field: q('title'), value: 'y' }] }
      assert.deepEqual(await idsFor(table, { equals: year, filter: both }), ['c'])
      await table.update({ id: 'USER.a', fields: fieldsOf({ year: 3 }) })
      await table.update({ id: 'USER.c', fields: fieldsOf({ title: 'a' }) })
      await table.delete('USER.d')
      assert.deepEqual(await idsFor(table, { equals: year }), ['c'])
      assert.deepEqual(await idsFor(table, { sort: [q('year')] }), ['e', 'b', 'a', 'c'])
      assert.deepEqual(await table.indexes.check('years'), { rows: 4, missing: 0, surplus: 0 })
    },
  },
  {
    name: 'pages go on where they ended, also after a restart',
    run: async (fixture) => {
      const { table } = await bookTypes(fixture)
      await table.indexes.create({ name: 'years', fields: [q('year')] })
      for (let year = 0; year < 7; year++) await add(table, `${year}`, { year })
      const query = { range: { field: q('year'), from: 1 }, limit: 2, fields: 'none' as const }
      const first = await table.query(query)
      assert.deepEqual([idsIn(first), first.records[0].fields], [['1', '2'], {}])
      await fixture.reopen()
      const again = (await fixture.manager()).repository().table()
      const second = await again.query({ ...query, page: first.next })
      assert.deepEqual(idsIn(second), ['3', '4'])
      const third = await again.query({ ...query, page: second.next })
      assert.deepEqual([idsIn(third), third.next], [['5', '6'], undefined])
      const other = { range: { field: q('year'), from: 3 }, page: first.next }
      await failsWith('ERR_INVALID_ARGUMENT', () => again.query(other))
      await failsWith('ERR_INVALID_ARGUMENT', () => again.query({ ...query, page: '%' }))
    },
  },
  {
    name: 'a record is found by each element of a list, and shown once',
    run: async (fixture) => {
      const { table } = await bookTypes(fixture)
      await table.indexes.create({ name: 'words', fields: [q('words'), q('year')] })
      await add(table, 'a', { words: ['m', 'b', 'm'], year: 2 })
      await add(table, 'b', { words: ['c', 'm'], year: 1 })
      await add(table, 'c', { words: [], year: 3 })
      const word = (value: unknown): FieldQuery => ({ equals: { [q('words')]: value } })
      assert.deepEqual(await idsFor(table, word('m')), ['b', 'a'])
      assert.deepEqual(await idsFor(table, word(null)), ['c'])
      const all = { range: { field: q('words'), from: '' }, limit: 1 }
      const first = await table.query(all)
      const second = await table.query({ ...all, page: first.next })
      assert.deepEqual([idsIn(first), idsIn(second), second.next], [['a'], ['b'], undefined])
      await table.update({ id: 'USER.a', fields: fieldsOf({ words: ['b'] }) })
      assert.deepEqual(await idsFor(table, word('m')), ['b'])
    },
  },
  {
    name: 'indexes that cannot be, and queries that no index answers',
    run: async (fixture) => {
      const { manager, table } = await bookTypes(fixture)
      const { indexes } = table
      await indexes.create({ name: 'years', fields: [q('year')] })
      const refused = (code: string, name: string, fields: unknown[]): Promise<Error> => {
        return failsWith(code, () => indexes.create({ name, fields } as never))
      }
      await refused('ERR_FIELD_INDEX_EXISTS', 'years', [q('price')])
      await refused('ERR_FIELD_TYPE_NOT_FOUND', 'a', [q('none')])
      await refused('ERR_INVALID_ARGUMENT', 'a', [q('author')])
      await refused('ERR_INVALID_ARGUMENT', 'a', [q('year'), q('year')])
      await refused('ERR_INVALID_ARGUMENT', 'a', [])
      await refused('ERR_INVALID_ARGUMENT', 'a/b', [q('price')])
      await refused('ERR_INVALID_ARGUMENT', 'a', [{ field: q('year'), order: 'UP' }])
      await failsWith('ERR_FIELD_INDEX_NOT_FOUND', () => indexes.drop('none'))
      const asked = (code: string, query: object): Promise<Error> => {
        return failsWith(code, () => table.query(query))
      }
      await asked('ERR_INVALID_ARGUMENT', {})
      await asked('ERR_INVALID_ARGUMENT', { index: 'years', limit: 0 })
      await asked('ERR_INVALID_ARGUMENT', { index: 'years', where: 1 })
      await asked('ERR_INVALID_ARGUMENT', { range: { field: q('year') } })
      await asked('ERR_INVALID_RECORD', { equals: { [q('year')]: 'x' } })
      await asked('ERR_FIELD_INDEX_NOT_FOUND', { equals: { [q('price')]: '1' } })
      await asked('ERR_FIELD_INDEX_NOT_FOUND', { index: 'none' })
      await asked('ERR_FIELD_INDEX_NOT_FOUND', { index: 'years', sort: [q('price')] })
      await indexes.create({ name: 'titles', fields: [q('title')] })
      const long = fieldsOf({ title: 'x'.repeat(40_000), year: 1 })
      const input = { id: 'USER.a', type: q('book'), fields: long }
      await failsWith('ERR_INVALID_RECORD', () => table.create(input))
      assert.equal(await table.exists('USER.a'), false)
      await indexes.drop('titles')
      await table.create(input)
      assert.deepEqual(
        indexes.list().map(({ name }) => name),
        ['years'],
      )
      const { id, name } = manager.types.getFieldType(q('year'))
      await manager.types.updateFieldType({ id, name: q('when') })
      assert.notEqual(name, q('when'))
      assert.deepEqual(await idsFor(table, { equals: { [q('when')]: 1 } }), ['a'])
      assert.equal(indexes.list()[0].fields[0].field, q('when'), 'an index follows a new name')
    },
  },
  {
    name: 'records behind links come with a record',
    run: async (fixture) => {
      const { manager, table } = await bookTypes(fixture)
      const people = await manager.repository().createTable('people')
      const friend = (id: string): Link => Link.to(id)
      await add(people, 'ann', { title: 'Ann', friends: [friend('USER.bob'), friend('USER.no')] })
      await add(people, 'bob', { title: 'Bob', friends: [friend('USER.ann')] })
      await add(table, 'one', { title: '1', author: Link.to('USER.ann', 'people') })
      await add(table, 'two', { title: '2', author: Link.to('USER.bob', 'people') })
      await add(table, 'three', { title: '3' })
      const records = await table.readList(['USER.one', 'USER.two', 'USER.three'])
      const path = [q('author'), q('friends')]
      const [one, two, three] = await manager.repository().populate(records, [path])
      const [ann] = one.links[q('author')]
      assert.equal(ann?.record.fields[q('title')], 'Ann')
      const friends = ann.links[q('friends')]
      assert.deepEqual(
        friends.map((each) => each?.record.id.text),
        ['USER.bob', undefined],
      )
      assert.deepEqual(friends[0]?.links, {})
      assert.equal(two.links[q('author')][0]?.links[q('friends')][0]?.record.id.text, 'USER.ann')
      assert.deepEqual(three.links, {})
      const bad = (paths: unknown): Promise<Error> => {
        const repository = manager.repository()
        return failsWith('ERR_INVALID_ARGUMENT', () => {
          return repository.populate(records, paths as never)
        })
      }
      await bad([[]])
      await bad([q('author')])
      await bad([Array.from({ length: 9 }, () => q('friends'))])
    },
  },
]
