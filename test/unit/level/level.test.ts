/**
 * What the adapter promises beyond abstract-level's own suite.
 *
 * @runs long
 */
import { AbstractSnapshot } from 'abstract-level'
import t, { type Test } from 'tap'
import { CellarError, Database, MemoryFileSystem } from '../../../src/entries/index.js'
import { CellarLevel } from '../../../src/entries/level.js'
import type { LevelDatabase } from '../../../src/entries/level.js'

async function openDatabase(t: Test, options: object = {}): Promise<Database> {
  const database = await Database.open('level', { fileSystem: new MemoryFileSystem(), ...options })
  t.teardown(() => database.close())
  return database
}

function sequenceOf(database: Database): number {
  const snapshot = database.snapshot()
  snapshot.close()
  return snapshot.sequence
}

const entries = async (level: CellarLevel): Promise<[string, string][]> => level.iterator().all()

void t.test('the empty key and keys with zero bytes keep their order', async (t) => {
  const level = new CellarLevel<Buffer>(await openDatabase(t), { keyEncoding: 'buffer' })
  const keys = [[], [0], [0, 0], [0, 1], [1], [1, 0], [255]].map((bytes) => Buffer.from(bytes))
  await level.batch(keys.toReversed().map((key) => batchPut(key, key.toString('hex'))))
  t.strictSame(await level.keys().all(), keys)
  t.strictSame(await level.keys({ reverse: true }).all(), keys.toReversed())
  t.strictSame(await level.keys({ gt: Buffer.of(0) }).all(), keys.slice(2))
  t.strictSame(await level.keys({ lt: Buffer.of(0) }).all(), keys.slice(0, 1))
  for (const key of keys) t.equal(await level.get(key), key.toString('hex'))
  await level.del(Buffer.alloc(0))
  t.strictSame(await level.keys().all(), keys.slice(1))
  await level.close()
})

const batchPut = (key: Buffer, value: string) => ({ type: 'put' as const, key, value })

void t.test('a key is the row of the table, and other columns are left alone', async (t) => {
  const database = await openDatabase(t)
  const table = await database.createTable('notes', { families: { v: {}, other: {} } })
  await table.put({ row: 'a', cells: { 'v:': '1', 'v:more': '2', 'other:x': '3' } })
  await table.put({ row: 'b', cells: { 'v:more': '2' } })
  await table.put({ row: 'c', cells: { 'v:': '1', 'other:x': '3' } })
  const level = new CellarLevel(database, { table: 'notes' })
  t.strictSame(await entries(level), [
    ['a', '1'],
    ['c', '1'],
  ])
  t.strictSame(await level.keys({ limit: 2 }).all(), ['a', 'c'])
  t.strictSame(await level.values({ limit: 2 }).all(), ['1', '1'])
  t.strictSame(await level.iterator({ limit: 2 }).all(), await entries(level))
  t.strictSame(await level.iterator({ gt: 'a' }).nextv(1), [['c', '1']])
  t.equal(await level.has('b'), false)
  t.equal(await level.get('b'), undefined)
  await level.clear({ limit: 1, reverse: true })
  await level.del('a')
  t.strictSame(await entries(level), [])
  t.strictSame((await table.get({ row: 'a' })).toObject(), { 'v:more': '2', 'other:x': '3' })
  t.strictSame((await table.get({ row: 'c' })).toObject(), { 'other:x': '3' })
  await level.close()
})

void t.test('a column of its own holds the values', async (t) => {
  const database = await openDatabase(t)
  const level = new CellarLevel(database, { table: 'wide', column: 'f:name' })
  await level.put('k', 'v')
  const table = database.table('wide')
  t.strictSame((await table.get({ row: 'k' })).toObject(), { 'f:name': 'v' })
  await table.put({ row: 'j', cells: { 'f:age': '7' } })
  t.strictSame(await entries(level), [['k', 'v']])
  await level.close()
})

void t.test('a batch is one mutation, of which the last operation on a key counts', async (t) => {
  const database = await openDatabase(t)
  const level = new CellarLevel(database)
  await level.put('old', '0')
  const before = sequenceOf(database)
  await level.batch([
    { type: 'put', key: 'gone', value: '1' },
    { type: 'del', key: 'gone' },
    { type: 'del', key: 'stays' },
    { type: 'put', key: 'stays', value: '1' },
    { type: 'put', key: 'stays', value: '2' },
    { type: 'del', key: 'old' },
  ])
  t.strictSame(await entries(level), [['stays', '2']])
  t.equal(sequenceOf(database), before + 1, 'the batch is all there is')
  await level.close()
})

void t.test('a batch that is refused changes nothing', async (t) => {
  const database = await openDatabase(t, { cellBytesMax: 4096 })
  const level = new CellarLevel(database)
  await level.put('a', '1')
  const large = 'x'.repeat(5000)
  const batch = [
    { type: 'del' as const, key: 'a' },
    { type: 'put' as const, key: 'b', value: large },
  ]
  await t.rejects(level.batch(batch), { code: 'ERR_TOO_LARGE' })
  await t.rejects(level.put('k'.repeat(32_768), ''), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(level.put('\ud800', ''), { code: 'ERR_INVALID_ARGUMENT' })
  t.strictSame(await entries(level), [['a', '1']])
  await level.close()
})

void t.test('a get that waits for the disk answers as of its call', async (t) => {
  const database = await openDatabase(t, { blockCacheBytesMax: 0 })
  const level = new CellarLevel(database)
  await level.put('k', 'before')
  await database.compact()
  const reads = [level.get('k'), level.getMany(['k', 'l'])] as const
  const iterator = level.iterator()
  await level.batch([
    { type: 'put', key: 'k', value: 'after' },
    { type: 'put', key: 'l', value: 'after' },
  ])
  t.equal(await reads[0], 'before')
  t.strictSame(await reads[1], ['before', undefined])
  t.strictSame(await iterator.all(), [['k', 'before']])
  t.equal(database.statistics().openSnapshots, 0, 'reads close their views')
  await level.close()
})

void t.test('a snapshot outlives overwrites and compactions', async (t) => {
  const database = await openDatabase(t)
  const level = new CellarLevel(database)
  await level.put('k', '1')
  const snapshot = level.snapshot()
  await level.put('k', '2')
  await level.compactRange('', '~')
  t.equal(await level.get('k', { snapshot }), '1')
  t.equal(level.getSync('k', { snapshot }), '1')
  t.strictSame(await level.iterator({ snapshot }).all(), [['k', '1']])
  await level.clear({ snapshot })
  t.equal(await level.get('k'), undefined)
  await snapshot.close()
  await level.close()
  const other = new CellarLevel(await openDatabase(t))
  await other.open()
  const strange = other.snapshot()
  await level.open()
  await t.rejects(level.get('k', { snapshot: strange }), { code: 'ERR_INVALID_ARGUMENT' })
  await Promise.all([level.close(), other.close()])
})

void t.test('sublevels share the table and its atomic batches', async (t) => {
  const database = await openDatabase(t)
  const level = new CellarLevel(database)
  const index = level.sublevel('index')
  await level.batch([
    { type: 'put', key: 'a', value: '1' },
    { type: 'put', key: '1', value: 'a', sublevel: index },
  ])
  t.strictSame(await index.iterator().all(), [['1', 'a']])
  await index.clear()
  t.strictSame(await entries(level), [['a', '1']])
  await level.close()
})

void t.test('a directory is opened, found locked, closed and opened again', async (t) => {
  const directory = t.testdir()
  const level = new CellarLevel(directory)
  t.equal(level.location, directory)
  await level.put('k', 'v', { sync: true })
  const second = new CellarLevel(directory)
  const failure = await second.open().catch((error: unknown) => error as Error)
  t.match(failure, { code: 'LEVEL_DATABASE_NOT_OPEN', cause: { code: 'LEVEL_LOCKED' } })
  t.ok((failure as Error).cause instanceof CellarError)
  await level.close()
  await second.open()
  t.equal(second.getSync('k'), 'v')
  await second.close()
})

void t.test('a given database stays open', async (t) => {
  const database = await openDatabase(t)
  const level = new CellarLevel(database)
  t.equal(level.location, undefined)
  await level.put('k', 'v')
  await level.close()
  t.equal((await database.table('level').get({ row: 'k' })).value('v:')?.toString(), 'v')
  const again = new CellarLevel(database, { createIfMissing: false })
  t.equal(await again.get('k'), 'v')
  const both = [
    new CellarLevel(database, { table: 'x' }),
    new CellarLevel(database, { table: 'x' }),
  ]
  await Promise.all(both.map((one) => one.open()))
  const wrong = new CellarLevel(database, { column: 'w:' })
  await t.rejects(wrong.open(), { cause: { code: 'ERR_NO_SUCH_COLUMN_FAMILY' } })
})

void t.test('bad options are refused, and those of hooks are not', async (t) => {
  const database = await openDatabase(t)
  const make = (options: object) => () => new CellarLevel(database, options)
  t.throws(make({ tabel: 'x' }), { message: /did you mean 'table'/ })
  t.throws(make({ keyEncodig: 'utf8' }), { message: /did you mean 'keyEncoding'/ })
  t.throws(make({ table: 7 }), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(make({ column: 'v' }), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(make({ database: {} }), { code: 'ERR_INVALID_ARGUMENT' })
  for (const where of [undefined, '', 7, {}]) {
    t.throws(() => new CellarLevel(where as string), { code: 'ERR_INVALID_ARGUMENT' })
  }
  const level = new CellarLevel(database, { userland: 1 } as object)
  level.hooks.postopen.add((options) => {
    t.match(options, { userland: 1 })
    return Promise.resolve()
  })
  await level.open()
  await level.close()
})

void t.test('a backend is asked for what it can do', async (t) => {
  const database = await openDatabase(t)
  const without = (...names: string[]): LevelDatabase => {
    const off = Object.fromEntries(names.map((name) => [name, false]))
    const capabilities = { ...database.capabilities, ...off }
    return {
      capabilities,
      admin: database.admin,
      table: (name: string) => database.table(name),
      createTable: (name: string, options) => database.createTable(name, options),
    } as Partial<LevelDatabase> as LevelDatabase
  }
  t.throws(() => new CellarLevel(without('atomicAcrossRows')), { code: 'ERR_UNSUPPORTED' })
  const level = new CellarLevel(without('sync', 'snapshots'))
  t.match(level.supports, {
    explicitSnapshots: false,
    implicitSnapshots: false,
    additionalMethods: { compactRange: false },
  })
  await level.put('k', 'v')
  t.equal(await level.get('k'), 'v')
  t.strictSame(await entries(level), [['k', 'v']])
  await t.rejects(level.compactRange('a', 'b'), { code: 'LEVEL_NOT_SUPPORTED' })
  await level.close()
  await t.rejects(level.compactRange('a', 'b'), { code: 'LEVEL_DATABASE_NOT_OPEN' })
})

void t.test('compactRange merges the files of a range', async (t) => {
  const database = await openDatabase(t, { compactionEnabled: false })
  const level = new CellarLevel(database)
  for (const key of ['a', 'b']) {
    await level.put(key, key)
    await database.flush()
  }
  t.equal(database.statistics().tableFiles, 2)
  await level.compactRange('', '~')
  t.equal(database.statistics().tableFiles, 1)
  await level.close()
})

void t.test('a signal ends an iterator that is under way', async (t) => {
  const level = new CellarLevel(await openDatabase(t))
  await level.batch(Array.from({ length: 20 }, (_, i) => batchPutText(String(i))))
  const controller = new AbortController()
  const iterator = level.iterator({ signal: controller.signal })
  t.ok(await iterator.next())
  controller.abort()
  await t.rejects(iterator.nextv(100), { code: 'LEVEL_ABORTED', name: 'AbortError' })
  await iterator.close()
  await level.close()
})

const batchPutText = (key: string) => ({ type: 'put' as const, key, value: key })

void t.test('a key that begins with a zero byte has one byte less', async (t) => {
  const level = new CellarLevel(await openDatabase(t))
  const key = Buffer.alloc(32_767)
  await t.rejects(level.put(key.subarray(0, 32_767), 'v', { keyEncoding: 'buffer' }))
  await level.put(key.subarray(0, 32_766), 'v', { keyEncoding: 'buffer' })
  t.equal(await level.get(key.subarray(0, 32_766), { keyEncoding: 'buffer' }), 'v')
  key[0] = 1
  await level.put(key, 'w', { keyEncoding: 'buffer' })
  t.equal(await level.get(key, { keyEncoding: 'buffer' }), 'w')
  await level.close()
})

void t.test('the close waits for clear', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const level = new CellarLevel('/d', { database: { fileSystem } })
  await level.batch(Array.from({ length: 3000 }, (_, i) => batchPutText(String(i))))
  const cleared = level.clear()
  await level.close()
  await cleared
  await level.open()
  t.strictSame(await level.keys().all(), [])
  await level.close()
})

void t.test('keys and values are views of any class, and never something else', async (t) => {
  const encodings = { keyEncoding: 'view', valueEncoding: 'view' }
  const level = new CellarLevel<ArrayBufferView, ArrayBufferView>(await openDatabase(t), encodings)
  const view = (hex: string) =>
    new DataView(Uint8Array.from(Buffer.from(`00${hex}00`, 'hex')).buffer, 1, hex.length / 2)
  await level.put(view('6162'), view('0102'))
  await level.batch([{ type: 'put', key: view('6163'), value: new Uint16Array([0x6161]) }])
  const text = { keyEncoding: 'utf8', valueEncoding: 'buffer' }
  const all = await level.iterator<string, Buffer>(text).all()
  t.strictSame(all, [
    ['ab', Buffer.of(1, 2)],
    ['ac', Buffer.from('aa')],
  ])
  t.ok(await level.has(view('6162')))
  t.equal((await level.keys({ gt: view('6162') }).all()).length, 1)
  await level.del(view('6163'))
  const iterator = level.keys({ reverse: true })
  iterator.seek(view('6163'))
  t.equal((await iterator.all()).length, 1)
  const nothing = {
    keyEncoding: { name: 'none', format: 'utf8', encode: () => undefined, decode: String },
  }
  await t.rejects(level.put(view(''), view(''), nothing as never), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(level.get(view(''), nothing as never), { code: 'ERR_INVALID_ARGUMENT' })
  await level.close()
})

void t.test('a snapshot of another kind of database is refused', async (t) => {
  const level = new CellarLevel(await openDatabase(t))
  await level.put('a', '1')
  const snapshot = new ForeignSnapshot({ owner: level })
  const refused = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(level.get('a', { snapshot }), refused)
  await t.rejects(level.has('a', { snapshot }), refused)
  await t.rejects(level.clear({ snapshot }), refused)
  t.throws(() => void level.getSync('a', { snapshot }), refused)
  t.throws(() => level.keys({ snapshot }), refused)
  t.equal(await level.get('a', { snapshot: null as never }), '1')
  await level.close()
})

/** The published types lack the argument of the constructor. */
const ForeignSnapshot = AbstractSnapshot as unknown as new (options: object) => AbstractSnapshot

void t.test('write events come in the order of the calls', async (t) => {
  const level = new CellarLevel(await openDatabase(t))
  await level.open()
  for (const sync of [false, true]) {
    const keys: string[] = []
    const listener = (operations: { key: string }[]) => keys.push(...operations.map((op) => op.key))
    level.on('write', listener as never)
    await Promise.all([
      level.put('1', '', { sync }),
      level.del('2', { sync }),
      level.batch([batchPutText('3')], { sync }),
      level.put('4', '', { sync }),
      level.batch([{ type: 'del', key: '5' }], { sync }),
      level.del('6', { sync }),
    ])
    t.equal(keys.join(''), '123456')
    level.off('write', listener as never)
  }
  await t.rejects(level.batch([batchPutText('x'.repeat(40_000))]), { code: 'ERR_INVALID_ARGUMENT' })
  await level.close()
})
