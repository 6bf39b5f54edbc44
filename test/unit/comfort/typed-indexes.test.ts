/**
 * Indexes of typed tables: declared by properties, kept, and answered with rows as objects.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import {
  Database,
  ErrorCode,
  MemoryFileSystem,
  defineTable,
  encodings,
  openIndexes,
  type TableDefinition,
  type TypedTable,
} from '../../../src/entries/index.js'
import { seededRandom } from '../../../src/base/random.js'
import { reduceToRows } from '../../helpers/row-atomic.js'

const invalid = ErrorCode.invalidArgument
const as = <T>(value: unknown): T => value as T

const users = defineTable({
  name: 'users',
  columns: {
    name: 'utf8',
    city: 'utf8',
    born: 'date',
    mail: 'utf8',
    tags: encodings.json<string[]>(),
    address: encodings.json<{ readonly street?: string; readonly number?: number }>(),
  },
  indexes: {
    byCity: ['city', { column: 'born', descending: true }],
    byMail: { key: ['mail'], unique: true, stored: ['name', 'tags'] },
    byTag: ['tags'],
    byNumber: [{ column: 'address', path: ['number'], as: 'integer' }],
    byTags: [{ column: 'address', path: ['street'] }, 'tags'],
  },
})

async function opened(t: Test): Promise<Database> {
  const database = await Database.open('/db', { fileSystem: new MemoryFileSystem() })
  t.teardown(() => database.close())
  return database
}

const ids = ({ rows }: { readonly rows: readonly { readonly id: string }[] }): string =>
  rows.map(({ id }) => id).join(' ')

void t.test('rows are found by one, several and repeated values', async (t) => {
  const table = await users.open(await opened(t))
  const day = (year: number): Date => new Date(Date.UTC(year, 0, 1))
  await table.put({ id: 'ada', city: 'London', born: day(1815), tags: ['x', 'y', 'x'] })
  await table.put({ id: 'alan', city: 'London', born: day(1912), tags: ['y'] })
  await table.put({ id: 'anne', city: 'Paris', born: day(1950), tags: [] })
  await table.put({ id: 'nobody', born: day(2000) })
  const byCity = table.index('byCity')
  t.equal(ids(await byCity.rows({ prefix: { city: 'London' } })), 'alan ada', 'youngest first')
  t.equal(ids(await byCity.rows({ prefix: { city: 'London' }, reversed: true })), 'ada alan')
  const found = await byCity.rows({
    prefix: { city: 'London' },
    startKey: { born: day(1912) },
    startInclusive: false,
  })
  t.equal(ids(found), 'ada')
  t.equal(ids(await byCity.rows({ startsWith: { city: 'P' } })), 'anne')
  t.equal(await byCity.count(), 3)
  t.strictSame(await byCity.get({ city: 'Paris' }), {
    id: 'anne',
    city: 'Paris',
    born: day(1950),
    tags: [],
  })
  t.equal(await byCity.get({ city: 'Rome' }), undefined)
  t.strictSame((await byCity.rows({ columns: ['city'], limit: 1 })).rows, [
    { id: 'alan', city: 'London' },
  ])
  const byTag = table.index('byTag')
  t.equal(ids(await byTag.rows({ prefix: { tags: 'y' } })), 'ada alan')
  t.equal(await byTag.count({ prefix: { tags: 'x' } }), 1)
  await table.update('ada', (ada) => ({ id: 'ada', ...ada, tags: ['z'] }))
  t.equal(ids(await byTag.rows()), 'alan ada')
  await table.delete('alan')
  t.equal(ids(await byTag.rows()), 'ada')
  let page: string | undefined
  const pages: string[] = []
  do {
    const read = await byCity.rows({ limit: 1, page })
    pages.push(ids(read))
    page = read.next
  } while (page !== undefined)
  t.strictSame(pages, ['ada', 'anne'])
})

void t.test('a unique index has one row, and entries that hold columns', async (t) => {
  const database = await opened(t)
  const table = await users.open(database)
  await table.put({ id: 'ada', mail: 'a@x', name: 'Ada', tags: ['t'] })
  await t.rejects(table.put({ id: 'bob', mail: 'a@x' }), { code: ErrorCode.uniqueViolation })
  t.equal(await table.get('bob'), undefined)
  const byMail = table.index('byMail')
  t.strictSame((await byMail.entries()).rows, [
    { key: { mail: 'a@x' }, row: { id: 'ada', name: 'Ada', tags: ['t'] } },
  ])
  await table.delete('ada', 'name')
  t.strictSame((await byMail.entries({ prefix: { mail: 'a@x' } })).rows[0]?.row, {
    id: 'ada',
    tags: ['t'],
  })
  await database.transaction((tx) => {
    tx.delete(table, 'ada')
    tx.put(table, { id: 'bob', mail: 'a@x' })
  })
  t.equal((await byMail.get({ mail: 'a@x' }))?.id, 'bob', 'a key moves within a transaction')
})

void t.test('members of JSON', async (t) => {
  const table = await users.open(await opened(t))
  await table.put({ id: 'a', address: { street: 'High', number: 10 }, tags: ['p', 'q'] })
  await table.put({ id: 'b', address: { street: 'High', number: 9 }, tags: ['q'] })
  await table.put({ id: 'c', address: {} })
  t.equal(ids(await table.index('byNumber').rows()), 'b a', 'as numbers')
  t.equal(ids(await table.index('byNumber').rows({ prefix: { address: 9 } })), 'b')
  const byTags = table.index('byTags')
  t.equal(ids(await byTags.rows({ prefix: { address: 'High', tags: 'q' } })), 'a b')
  await t.rejects(table.put({ id: 'd', address: as({ number: 'ten' }) }), {
    code: invalid,
    message: /'address' of the index 'byNumber'/,
  })
})

void t.test('every encoding has the order of its values', async (t) => {
  const database = await opened(t)
  const values = {
    utf8: ['', 'a', 'a\0', 'ab', 'é'],
    bytes: [Buffer.of(), Buffer.of(0), Buffer.of(0, 1), Buffer.of(255)],
    integer: [-(2 ** 53 - 1), -1, 0, 1, 2 ** 40],
    int64: [-(2n ** 63n), -1n, 0n, 2n ** 60n],
    double: [-Infinity, -1.5, 0, Number.MIN_VALUE, 2.5, Infinity],
    boolean: [false, true],
    date: [new Date(-5), new Date(0), new Date(1e12)],
  } as const
  for (const descending of [false, true]) {
    for (const [encoding, ascending] of Object.entries(values)) {
      const name = `${encoding}-${descending}`
      const table = await defineTable({
        name,
        columns: { v: encoding as keyof typeof values },
        indexes: { byV: [{ column: 'v', descending }] },
      }).open(database)
      const order = descending ? [...ascending].reverse() : [...ascending]
      for (const [i, value] of [...order.entries()].reverse()) {
        await table.put({ id: `${i}`, v: as(value) })
      }
      const index = table.index('byV')
      const { rows } = await index.rows()
      t.strictSame(
        rows.map(({ v }) => v),
        order,
        name,
      )
      const keys = (await index.entries()).rows.map(({ key }) => key.v)
      t.strictSame(keys, order, `${name}: in entries`)
      for (const value of order) {
        t.strictSame((await index.get({ v: as(value) }))?.v, value, `${name}: one`)
      }
      const between = await index.count({ startKey: { v: as(order[1]) } })
      t.equal(between, order.length - 1, `${name}: a range`)
      t.strictSame(await index.index.verify(), { rowsWithoutEntry: [], entriesWithoutRow: [] })
    }
  }
})

void t.test('indexes answer as a filter over all rows does', async (t) => {
  const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)
  t.comment(`CELLAR_SEED=${seed}`)
  const random = seededRandom(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const table = await users.open(await opened(t))
  const some = <T>(values: readonly T[]): T => values[below(values.length)]
  const cities = ['London', 'Londonderry', 'Paris', '']
  const tags = ['a', 'b', 'c', 'ab']
  for (let step = 0; step < 300; step++) {
    const id = `u${below(12)}`
    const row = {
      id,
      city: some(cities),
      born: new Date(below(5) - 2),
      tags: tags.filter(() => below(2) === 0),
    }
    const kind = below(6)
    if (kind === 0) await table.delete(id)
    else if (kind === 1) await table.delete(id, some(['city', 'born', 'tags'] as const))
    else if (kind === 2) await table.update(id, () => row)
    else await table.put(row)
    if (step % 5 > 0) continue
    const all = await table.scan().all()
    const city = some(cities)
    const born = new Date(below(5) - 2)
    const { rows } = await table.index('byCity').rows({ prefix: { city }, startKey: { born } })
    const expected = all
      .filter((each) => each.city === city && each.born !== undefined && each.born <= born)
      .sort(
        (left, right) => Number(right.born) - Number(left.born) || (left.id < right.id ? -1 : 1),
      )
    t.strictSame(rows, expected, `step ${step}: by city`)
    const tag = some(tags)
    t.equal(
      ids(await table.index('byTag').rows({ prefix: { tags: tag } })),
      ids({ rows: all.filter((each) => each.tags?.includes(tag) === true) }),
      `step ${step}: by tag`,
    )
  }
})

void t.test('an open builds, keeps and compares indexes', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const columns = { a: 'utf8', b: 'utf8' } as const
  {
    const database = await Database.open('/db', { fileSystem })
    const plain = await defineTable({ name: 't', columns }).open(database)
    await plain.putList([1, 2, 3].map((n) => ({ id: `${n}`, a: `${n % 2}`, b: 'same' })))
    const byA = defineTable({ name: 't', columns, indexes: { byA: ['a'] } })
    const [one, other] = await Promise.all([byA.open(database), byA.open(database)])
    t.equal(ids(await one.index('byA').rows()), '2 1 3', 'rows from before are found')
    t.equal(await other.index('byA').count(), 3, 'two at once')
    const indexes = await openIndexes(database)
    t.equal((await indexes.list('t')).length, 1)
    for (const given of [{ byA: ['b'] }, { byA: { key: ['a'], unique: true } }] as const) {
      await t.rejects(defineTable({ name: 't', columns, indexes: given }).open(database), {
        code: ErrorCode.indexExists,
        message: /another key.*drop\('t', 'byA'\)/,
      })
    }
    await indexes.close()
    await database.close()
  }
  const database = await Database.open('/db', { fileSystem })
  t.teardown(() => database.close())
  const before = (await (await openIndexes(database)).list('t'))[0].entries
  const table = await defineTable({
    name: 't',
    columns,
    indexes: { byA: ['a'], byB: [{ column: 'b', descending: false }] },
  }).open(database)
  t.equal((await (await openIndexes(database)).list('t'))[0].entries, before, 'not built again')
  t.equal(await table.index('byB').count({ prefix: { b: 'same' } }), 3)
  const unique = defineTable({ name: 't', columns, indexes: { u: { key: ['b'], unique: true } } })
  await t.rejects(unique.open(database), { code: ErrorCode.uniqueViolation })
  await table.deleteRange({ startKey: { id: '2' } })
  t.equal(await (await unique.open(database)).index('u').count(), 1, 'a failed one is built again')
})

void t.test('declarations that are refused', async (t) => {
  const columns = { a: 'utf8', old: { ttlMilliseconds: 5 }, own: { ...own } } as const
  const refused: Record<string, [unknown, RegExp]> = {
    'no object': ['byA', /the indexes of a table must be an object such as \{ byCity/],
    'a text': [{ byA: 'a' }, /the index 'byA' must be an object such as \['city'\]/],
    'no part': [{ byA: [] }, /'byA' needs a part/],
    'an unknown property': [{ byA: ['b'] }, /no column "b"/],
    'a part of the key': [{ byA: ['id'] }, /'id' is a part of the key, and no column/],
    'a property twice': [{ byA: ['a', { column: 'a' }] }, /'byA' names a column twice/],
    'an unknown option': [{ byA: { keys: ['a'] } }, /did you mean 'key'/],
    'an unknown option of a part': [{ byA: [{ column: 'a', desc: true }] }, /'descending'/],
    'a lifetime': [{ byA: ['old'] }, /'old', whose values have a lifetime; give its family/],
    'a stored lifetime': [{ byA: { key: ['a'], stored: ['old'] } }, /have a lifetime/],
    'an own encoding': [{ byA: ['own'] }, /'own' has its own, url/],
    'a path into text': [{ byA: [{ column: 'a', path: ['x'] }] }, /need the encoding 'json'/],
    'a bad name': [{ 'by a': ['a'] }, /name of an index has letters/],
    'a part that is a number': [
      { byA: [5] },
      /a part of the index 'byA' must be an object such as 'city'/,
    ],
  }
  for (const [name, [indexes, message]] of Object.entries(refused)) {
    t.throws(
      () => defineTable({ name: 't', columns, indexes: as(indexes) }),
      { code: invalid, message },
      name,
    )
  }
  const table = await users.open(await opened(t))
  t.throws(() => table.index(as<'byCity'>('byCty')), {
    code: ErrorCode.indexNotFound,
    message: /'byCty'|"byCty"/,
  })
  await t.rejects(table.index('byCity').rows(as({ prefix: { town: 'x' } })), { code: invalid })
  await t.rejects(table.index('byCity').rows(as(null)), { code: invalid })
  await t.rejects(table.index('byCity').get(as('London')), { code: invalid })
  await t.rejects(table.index('byCity').rows({ columns: as(['nme']) }), {
    code: invalid,
    message: /did you mean 'name'/,
  })
  await t.rejects(users.open(reduceToRows(await opened(t))), { code: ErrorCode.unsupported })
})

const own = {
  encoding: {
    name: 'url',
    encode: (value: URL) => Buffer.from(value.href),
    decode: (bytes: Buffer) => new URL(String(bytes)),
  },
}

void t.test('types', (t) => {
  const typed = async (): Promise<void> => {
    const table = await users.open(as<Database>(undefined))
    const { rows } = await table.index('byCity').rows({ prefix: { city: 'London' } })
    const city: string | undefined = rows[0].city
    const name: string | undefined = (await table.index('byMail').entries()).rows[0].row.name
    const mail: string | undefined = (await table.index('byMail').entries()).rows[0].key.mail
    // @ts-expect-error The definition has no such index.
    table.index('byTown')
    // @ts-expect-error The index has no such part.
    await table.index('byCity').rows({ prefix: { mail: 'a@x' } })
    // @ts-expect-error A Date is needed.
    await table.index('byCity').count({ prefix: { city: 'x', born: 1815 } })
    // @ts-expect-error One element, not an array.
    await table.index('byTag').get({ tags: ['a'] })
    // @ts-expect-error The member is a number, as the part says.
    await table.index('byNumber').get({ address: '9' })
    // @ts-expect-error The entries do not hold that.
    void (await table.index('byMail').entries()).rows[0].row.city
    // @ts-expect-error There is no such column.
    await table.index('byCity').rows({ columns: ['town'] })
    // @ts-expect-error There is no such column.
    defineTable({ name: 't', columns: { a: 'utf8' }, indexes: { byB: ['b'] } })
    const none = await defineTable({ name: 't', columns: { a: 'utf8' } }).open(
      as<Database>(undefined),
    )
    // @ts-expect-error The definition has no index.
    none.index('byA')
    type Users = typeof users extends TableDefinition<infer K, infer C> ? TypedTable<K, C> : never
    const anyIndexes: Users = table
    void [city, name, mail, anyIndexes]
  }
  t.type(typed, 'function')
  t.end()
})
