/** Typed tables: rows as objects, for the types and at run time, on both backends. */
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import {
  Database as Engine,
  ErrorCode,
  MemoryFileSystem,
  SyncTypedTable,
  encodings,
  defineTable,
  type RowOf,
  deletePrefix,
  deleteRange,
} from '../../../src/entries/index.js'
import type { Encoding } from '../../../src/entries/index.js'
import type { Database } from '../../../src/api/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'

const invalid = ErrorCode.invalidArgument
const as = <T>(value: unknown): T => value as T

const url: Encoding<URL> = {
  name: 'url',
  encode: (value) => Buffer.from(value.href),
  decode: (bytes) => new URL(String(bytes)),
}

/** A validator as libraries make them. */
const positive = {
  '~standard': {
    version: 1,
    vendor: 'test',
    validate: (value: unknown) =>
      typeof value === 'number' && value > 0
        ? { value }
        : { issues: [{ message: 'must be positive', path: [] }] },
  },
} as const as {
  '~standard': {
    version: 1
    vendor: string
    validate(value: unknown): unknown
    types?: { input: number; output: number }
  }
}

const visits = defineTable({
  name: 'visits',
  key: { user: 'utf8', at: { descending: 'date' } },
  columns: {
    page: 'utf8',
    seconds: 'double',
    count: 'integer',
    total: 'int64',
    known: 'boolean',
    born: 'date',
    raw: 'bytes',
    more: encodings.json<{ readonly a: number }>(),
    link: url,
    price: { encoding: 'double', column: 'g:p', schema: positive },
    token: { ttlMilliseconds: 1 },
  },
  families: { f: { versions: 3 }, g: {} },
})
type Visit = RowOf<typeof visits>
const at = new Date('2026-01-02')
const full: Visit = {
  user: 'ada',
  at,
  page: '',
  seconds: -0,
  count: -(2 ** 53 - 1),
  total: 2n ** 63n - 1n,
  known: false,
  born: new Date(-1),
  raw: Buffer.of(0, 255),
  more: { a: 1 },
  link: new URL('https://example.org/'),
  price: 1.5,
}

function onBackends(name: string, run: (t: Test, db: Database) => Promise<void>): void {
  for (const [backend, open] of Object.entries({
    engine: (): Promise<Database> => Engine.open('/db', { fileSystem: new MemoryFileSystem() }),
    memory: (): Promise<Database> => openMemoryDatabase(),
  })) {
    void t.test(`${name}: ${backend}`, async (t) => {
      const db = await open()
      t.teardown(() => db.close())
      await run(t, db)
    })
  }
}

onBackends('a row comes back as it was put', async (t, db) => {
  const table = await visits.open(db)
  await table.put(full)
  const key = { user: 'ada', at }
  t.strictSame(await table.get(key), full)
  t.ok(Object.is((await table.get(key))?.seconds, -0))
  t.equal(await table.get({ user: 'ada', at: new Date(0) }), undefined)
  await table.put({ ...key, page: '/home', seconds: NaN })
  t.strictSame(await table.get(key), { ...full, page: '/home', seconds: NaN })
  t.strictSame(await table.get(key, { columns: ['page'] }), { ...key, page: '/home' })
  t.strictSame(await table.getList([key, { ...key, user: 'bob' }], { columns: ['count'] }), [
    { ...key, count: full.count },
    undefined,
  ])
  t.strictSame(
    (await table.versions(key, 'page')).map(({ value }) => value),
    ['/home', ''],
  )
  t.equal(await table.increment(key, 'count', 2), full.count! + 2)
  t.equal(await table.increment(key, 'total', -1n), 2n ** 63n - 2n)
  await t.rejects(table.increment(key, 'count', 2n ** 60n), {
    code: invalid,
    message: /safe integers/,
  })
  t.equal((await table.get(key))?.count, full.count! + 2, 'and the row can be read')
  t.equal(await table.compareAndSet(key, 'page', '/old', 'x'), false)
  t.equal(await table.compareAndSet(key, 'page', '/home', undefined), true)
  t.equal(await table.compareAndSet(key, 'page', undefined, ''), true)
  t.equal(
    await table.compareAndSet(key, 'page', undefined, ''),
    true,
    'an empty value counts as none',
  )
  t.equal(await table.compareAndSet(key, 'page', '', '/new'), true)
  await table.delete(key, 'page')
  t.equal((await table.get(key))?.page, undefined)
  await table.delete(key)
  t.equal(await table.get(key), undefined)
})

onBackends('columns and puts have lifetimes of their own', async (t, db) => {
  const table = await visits.open(db)
  await table.put({ user: 'a', at, page: '/', token: 'secret' })
  await table.put({ user: 'b', at, page: '/' }, { ttlMilliseconds: 1 })
  await table.putList([{ user: 'c', at, page: '/', token: 'secret' }])
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.strictSame(await table.scan().all(), [
    { user: 'a', at, page: '/' },
    { user: 'c', at, page: '/' },
  ])
})

onBackends('puts and deletes of typed rows go into one atomic batch', async (t, db) => {
  const table = await visits.open(db)
  const people = await defineTable({ name: 'people', columns: { age: 'integer' } }).open(db)
  await people.put({ id: 'old', age: 1 })
  await table.put({ user: 'b', at, page: '/', count: 1 })
  const { success, sequence } = await db.atomic([
    table.putOf({ user: 'a', at, page: '/', token: 'secret' }),
    table.putOf({ user: 'c', at, page: '/' }, { timestamp: 9, ttlMilliseconds: 86_400_000 }),
    table.deleteOf({ user: 'b', at }, 'page'),
    people.putOf({ id: 'ada', age: 36 }),
    people.deleteOf('old'),
  ])
  t.equal(success, true)
  t.equal((await people.put({ id: 'later', age: 2 })).sequence, sequence! + 1, 'one mutation')
  await new Promise((resolve) => setTimeout(resolve, 20))
  t.strictSame(await table.scan().all(), [
    { user: 'a', at, page: '/' },
    { user: 'b', at, count: 1 },
  ])
  t.strictSame(await people.scan().all(), [
    { id: 'ada', age: 36 },
    { id: 'later', age: 2 },
  ])
  const before = await people.scan().all()
  for (const wrong of [
    () => people.putOf({ id: 'x', age: as('7') }),
    () => people.putOf({ id: 'x' }),
    () => people.putOf(as({ id: 'x', aged: 7 })),
    () => people.putOf({ id: 'x', age: 7 }, as({ durability: 'FSYNC_WAL' })),
    () => people.deleteOf(as(7)),
    () => people.deleteOf('x', as('aged')),
  ]) {
    t.throws(wrong, { code: invalid })
  }
  await t.rejects(db.atomic([as(people)]), { code: invalid })
  t.strictSame(await people.scan().all(), before)
})

onBackends('scans, pages and counts by parts of the key', async (t, db) => {
  const table = await visits.open(db)
  const days = [1, 2, 3, 4, 5].map((day) => new Date(Date.UTC(2026, 0, day)))
  for (const user of ['ada', 'adam', 'bob']) {
    await table.putList(days.map((day, count) => ({ user, at: day, count })))
  }
  const counts = async (options: Parameters<typeof table.scan>[0]): Promise<string> =>
    (await table.scan(options).all())
      .map(({ user, count }) => `${user[0]}${user.length}${count}`)
      .join(' ')
  t.equal(await counts({ prefix: { user: 'ada' } }), 'a34 a33 a32 a31 a30', 'newest first')
  t.equal(await counts({ prefix: { user: 'ada' }, limit: 1 }), 'a34')
  t.equal(await counts({ prefix: { user: 'ada' }, reversed: true, limit: 2 }), 'a30 a31')
  const between = { startKey: { at: days[3] }, stopKey: { at: days[1] } }
  t.equal(await counts({ prefix: { user: 'ada' }, ...between }), 'a33 a32')
  t.equal(await counts({ prefix: { user: 'ada' }, ...between, stopInclusive: true }), 'a33 a32 a31')
  t.equal(await counts({ startKey: { user: 'adam' }, startInclusive: false, limit: 1 }), 'b34')
  t.equal(await table.count({ startsWith: { user: 'ada' } }), 10)
  t.equal(await table.count(), 15)
  for (const reversed of [false, true]) {
    const rows: unknown[] = []
    let page: string | undefined
    do {
      const read = await table.page({ startsWith: { user: 'ad' }, reversed, limit: 3, page })
      rows.push(...read.rows)
      page = read.next
    } while (page !== undefined)
    t.strictSame(rows, await table.scan({ startsWith: { user: 'ad' }, reversed }).all())
  }
  t.equal(await table.deleteRange({ prefix: { user: 'adam' }, stopKey: { at: days[2] } }), 2)
  t.equal(await table.count({ prefix: { user: 'adam' } }), 3)
  await t.rejects(table.deleteRange({}), { code: invalid, message: /truncateTable/ })
  const unbounded = { code: invalid, message: /needs a bound/ }
  await t.rejects(table.deleteRange({ startsWith: { user: '' } }), unbounded)
  await t.rejects(deletePrefix(table.table, ''), unbounded, 'an empty bound is none')
  await t.rejects(deleteRange(table.table, { startRow: '', stopRow: Buffer.alloc(0) }), unbounded)
  t.equal(await table.count(), 13)
})

void t.test('the synchronous forms do the same', async (t) => {
  const database = await Engine.open('/db', { fileSystem: new MemoryFileSystem() })
  t.teardown(() => database.close())
  const table = await defineTable({
    name: 's',
    key: { id: 'utf8' },
    columns: { name: 'utf8', n: 'int64', w: { ttlMilliseconds: 1e9 } },
  }).open(database)
  table.putSync({ id: 'a', name: 'Ada', w: 'x' })
  t.equal(table.incrementSync('a', 'n', 2), 2n)
  t.strictSame(table.getSync('a'), { id: 'a', name: 'Ada', n: 2n, w: 'x' })
  t.strictSame(table.getListSync(['none', { id: 'a' }], { columns: ['n'] }), [
    undefined,
    { id: 'a', n: 2n },
  ])
  t.equal(table.compareAndSetSync('a', 'name', 'Ada', 'Bob'), true)
  table.deleteSync('a', 'w')
  t.strictSame(table.scanSync({ startsWith: { id: 'a' } }).all(), [{ id: 'a', name: 'Bob', n: 2n }])
  table.deleteSync('a')
  t.equal(table.getSync('a'), undefined)
})

void t.test('rows print, compare, spread and serialise', async (t) => {
  const db = await openMemoryDatabase()
  const table = await visits.open(db)
  await table.put({ user: 'ada', at, total: 2n ** 60n, raw: Buffer.from('hi') })
  const row = (await table.get({ user: 'ada', at }))!
  t.equal(
    JSON.stringify(row),
    '{"user":"ada","at":"2026-01-02T00:00:00.000Z","total":"1152921504606846976","raw":"aGk="}',
  )
  t.match(
    inspect(row),
    /^\{\s+user: 'ada',\s+at: 2026-01-02T00:00:00.000Z,\s+total: 1152921504606846976n/,
  )
  t.strictSame(Object.keys({ ...row }), ['user', 'at', 'total', 'raw'])
  await table.put({ ...row, page: '/' })
  t.match(inspect(table), /^TypedTable \{\s+name: 'visits',\s+key: \{ user: 'utf8', at: /)
  t.match(JSON.parse(JSON.stringify(table)), {
    columns: { page: 'utf8', seconds: 'double', more: 'json' },
    indexes: [],
  })
  await db.close()
})

void t.test('types are those of the definition', async (t) => {
  const db = await openMemoryDatabase()
  const table = await visits.open(db)
  const typed = async (): Promise<void> => {
    const row = await table.get({ user: 'ada', at })
    const page: string | undefined = row?.page
    const more: number | undefined = row?.more?.a
    const total: bigint = await table.increment({ user: 'ada', at }, 'total')
    const count: number = await table.increment({ user: 'ada', at }, 'count')
    // @ts-expect-error There is no such column.
    void row?.pages
    // @ts-expect-error A number is no text.
    await table.put({ user: 'ada', at, page: 5 })
    // @ts-expect-error The key lacks a part.
    await table.put({ user: 'ada', page: '/' })
    // @ts-expect-error A key of two parts is an object.
    await table.get('ada')
    // @ts-expect-error Text is no counter.
    await table.increment({ user: 'ada', at }, 'page')
    // @ts-expect-error There is no such part.
    table.scan({ prefix: { users: 'ada' } })
    void [page, more, total, count]
  }
  t.type(typed, 'function')
  await db.close()
})

onBackends('what a column cannot hold is refused with its name and advice', async (t, db) => {
  const table = await visits.open(db)
  const refused: Record<string, [Record<string, unknown>, RegExp]> = {
    'a number as text': [{ page: 5 }, /'page' \(column 'f:page'\), encoding 'utf8'.*got 5/],
    'a fraction as integer': [{ count: 1.5 }, /'count'.*safe integers, got 1.5; 'double'/],
    'a bigint as integer': [{ count: 1n }, /'count'.*'int64' bigints/],
    'too many bits': [{ total: 2n ** 63n }, /'total'.*64 bits/],
    'text as number': [{ seconds: '1' }, /'seconds'.*holds numbers, got "1"/],
    'a number as boolean': [{ known: 1 }, /'known'.*true and false, got 1/],
    'an invalid Date': [{ born: new Date(NaN) }, /'born'.*valid Dates, got an invalid one/],
    'text as bytes': [{ raw: 'x' }, /'raw'.*Uint8Array/],
    undefined: [{ more: () => 1 }, /'more'.*JSON has no form/],
    'a bigint in JSON': [{ more: { a: 1n } }, /'more'.*BigInt/],
    'lone surrogate': [{ page: '\ud800' }, /'page'.*surrogate/],
    'a refused price': [{ price: -1 }, /'price'.*refused by its validator: must be positive/],
    'a wrong name': [{ pge: '/' }, /no column "pge".*did you mean 'page'/],
    nothing: [{}, /needs a value of a column: page, seconds/],
  }
  for (const [name, [values, message]] of Object.entries(refused)) {
    await t.rejects(table.put(as({ user: 'ada', at, ...values })), { code: invalid, message }, name)
  }
  t.equal(await table.count(), 0, 'nothing was written')
})

onBackends('stored bytes that do not fit are named, never guessed', async (t, db) => {
  const table = await visits.open(db)
  const row = table.rows.row({ user: 'ada', at })
  const bad: Record<string, [Buffer, RegExp]> = {
    page: [Buffer.of(0xff), /'page'.*not UTF-8/],
    count: [Buffer.alloc(8, 0x7f), /'count'.*beyond 2\^53; read it with the encoding 'int64'/],
    seconds: [Buffer.alloc(3), /'seconds'.*8 bytes, found 3/],
    known: [Buffer.alloc(2), /'known'.*1 byte, found 2/],
    born: [Buffer.alloc(8, 0x10), /'born'.*'int64'/],
  }
  for (const [name, [stored, message]] of Object.entries(bad)) {
    await table.table.put({ row, cells: { [`f:${name}`]: stored } })
    await t.rejects(table.get({ user: 'ada', at }), { code: invalid, message })
    await table.table.delete({ row })
  }
  await table.table.put({ row: 'no key', cells: { 'f:page': '/' } })
  await t.rejects(table.scan().all(), {
    code: invalid,
    message: /row no key is no key \{ user: utf8/,
  })
  t.throws(() => table.rows.fromResult(as(5)), { code: invalid })
})

void t.test('a validator of rows and an asynchronous one', async (t) => {
  const db = await openMemoryDatabase()
  const schema = (validate: (value: unknown) => unknown) =>
    ({ '~standard': { version: 1, vendor: 'test', validate } }) as const
  const open = (validate: (value: unknown) => unknown) =>
    defineTable({
      name: 'v',
      key: { id: 'utf8' },
      columns: { a: 'integer', b: 'integer' },
      schema: schema(validate),
    }).open(db)
  const ordered = await open((value) => {
    const { a = 0, b = 0 } = value as { a?: number; b?: number }
    return a <= b
      ? { value: { ...(value as object), a } }
      : { issues: [{ message: 'a > b', path: [{ key: 'a' }] }] }
  })
  await ordered.put({ id: 'x', b: 1 })
  t.strictSame(
    await ordered.get('x'),
    { id: 'x', a: 0, b: 1 },
    'the result of the validator is stored',
  )
  await t.rejects(ordered.put({ id: 'x', a: 2, b: 1 }), {
    code: invalid,
    message: /the row is refused.*a: a > b/,
  })
  const later = await open(() => Promise.resolve({ value: 1 }))
  await t.rejects(later.put({ id: 'x', a: 1 }), { code: invalid, message: /without promises/ })
  const failing = await open(() => {
    throw new Error('of the validator')
  })
  await t.rejects(failing.put({ id: 'x', a: 1 }), { code: invalid, message: /of the validator/ })
  await db.close()
})

onBackends('a sum beyond safe integers is refused, and the row stays readable', async (t, db) => {
  const table = await defineTable({ name: 'sums', columns: { n: 'integer', m: 'int64' } }).open(db)
  const most = Number.MAX_SAFE_INTEGER
  for (const sign of [1, -1]) {
    await table.put({ id: 'a', n: sign * (most - 1), m: 1n })
    t.equal(await table.increment('a', 'n', sign), sign * most)
    await t.rejects(table.increment('a', 'n', sign), { code: invalid })
    await t.rejects(table.increment('a', 'n', sign * most), { code: invalid })
    t.equal((await table.get('a'))!.n, sign * most)
    const both = [table.increment('a', 'n', sign), table.increment('a', 'n', sign * 2)]
    await Promise.allSettled(both)
    t.equal((await table.get('a'))!.n, sign * most, 'both were taken back')
  }
  await t.rejects(table.increment('new', 'n', 2n ** 60n), { code: invalid })
  t.equal(await table.get('new'), undefined)
  if (table instanceof SyncTypedTable) {
    t.throws(() => table.incrementSync('a', 'n', -5), { code: invalid })
    t.equal(table.getSync('a')!.n, -most)
  }
})
