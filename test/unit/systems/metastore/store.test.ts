/** The store over Cellar: opening, sharing, failing, versions over processes. */
import { join } from 'node:path'
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { CellarError, Database, ErrorCode } from '../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import {
  CellarMetaStore,
  LongVersion,
  MetastoreErrorCode,
  Value,
  Version,
  type GetOptions,
  type MetastoreDatabase,
  type MetastoreTable,
} from '../../../../src/systems/metastore/index.js'
import type { AtomicBatch, AtomicMutation, Get } from '../../../../src/api/index.js'
import { rowFamilies } from '../../../../src/systems/metastore/bookkeeper/tables/row-format.js'
import { withMembers } from '../../../helpers/planted.js'
import { TestDatabase } from '../../../helpers/test-database.js'

void t.test('store objects with one opener share its database, the last closes it', async (t) => {
  const directory = join(t.testdir(), 'database')
  let opens = 0
  const openDatabase = (): Promise<Database> => {
    opens++
    return Database.open(directory)
  }
  const stores = [new CellarMetaStore(), new CellarMetaStore()]
  await Promise.all(stores.map((store) => store.init({ openDatabase }, store.getVersion())))
  const tables = await Promise.all(stores.map((store) => store.createTable('shared')))
  const version = await tables[0].put('a', new Value({ a: '1' }), Version.NEW)
  await tables[1].put('a', new Value({ b: '2' }), version)
  const pending = tables[1].put('b', new Value(), Version.NEW)
  await stores[0].close()
  const closing = stores[1].close()
  const third = new CellarMetaStore()
  await third.init({ openDatabase }, third.getVersion())
  await closing
  const before = await pending
  const table = await third.createScannableTable('shared')
  t.equal((await table.get('a')).value.size, 2, 'data outlives the store objects')
  const next = await table.put('b', new Value(), before)
  t.equal(next.compare(before), 'AFTER', 'versions grow over reopening')
  await third.close()
  await third.close()
  t.equal(opens, 2, 'the first store of each round has opened the database')
})

void t.test('a close waits for the opening of its store, and for a close before it', async (t) => {
  const directory = join(t.testdir(), 'database')
  const isFree = async (what: string): Promise<void> => {
    await t.resolves(
      Database.open(directory).then((database) => database.close()),
      what,
    )
  }
  const store = new CellarMetaStore()
  const openDatabase = (): Promise<Database> => Database.open(directory)
  const opening = store.init({ openDatabase }, 1)
  await store.close()
  await isFree('the directory after a close during the opening')
  await opening
  await t.rejects(store.createTable('t'), { code: 'ERR_METASTORE_SETUP' })
  await store.init({ openDatabase }, 1)
  await (await store.createTable('t')).put('a', new Value(), Version.NEW)
  const first = store.close()
  await store.close()
  await isFree('the directory after the second of two closes')
  await first
  await store.init({ openDatabase }, 1)
  const earlier = store.close()
  await store.init({ openDatabase }, 1)
  await store.close()
  await isFree('the directory after the close of a store that was opened during a close')
  await earlier
})

void t.test('an opener that is not asynchronous opens the database, too', async (t) => {
  const directory = join(t.testdir(), 'database')
  const database = await Database.open(directory)
  const openDatabase = (() => database) as unknown as () => Promise<Database>
  const stores = [new CellarMetaStore(), new CellarMetaStore()]
  await Promise.all(stores.map((store) => store.init({ openDatabase }, store.getVersion())))
  await stores[0].close()
  await (await stores[1].createTable('t')).put('a', new Value(), Version.NEW)
  await stores[1].close()
  t.throws(() => database.table('metastore.t'), { code: 'ERR_CLOSED' })
})

void t.test('a store that cannot be opened says so, and can be opened later', async (t) => {
  const store = new CellarMetaStore()
  const home = await TestDatabase.open()
  const { database } = home
  const refused = async (promise: Promise<unknown>, what: string): Promise<void> => {
    const failure = await promise.catch((error: unknown) => error)
    t.match(failure, { code: 'ERR_METASTORE_SETUP' }, what)
  }
  await refused(store.createTable('early'), 'before init')
  await refused(store.init({ database }, 2), 'another version')
  await refused(store.init({}, 1), 'no database')
  const openDatabase = (): Promise<Database> => Database.open('')
  await refused(store.init({ database, openDatabase }, 1), 'two databases')
  await refused(store.init({ openDatabase }, 1), 'an opener that fails')
  await store.init({ database }, 1)
  await refused(store.init({ database }, 1), 'twice')
  for (const name of ['', 'a b', 'a/b', '.a', null as never]) {
    await refused(store.createTable(name), `table ${name}`)
  }
  await database.table('metastore_control').put({
    row: 'layout',
    cells: { 'r:version': '2' },
  })
  await store.close()
  await refused(store.createTable('late'), 'after close')
  await home.reopen()
  await refused(store.init({ database: home.database }, 1), 'a newer layout')
  await home.close()
})

void t.test('calls that overtake the opening or the close of a store are refused', async (t) => {
  const { database } = await TestDatabase.open()
  const store = new CellarMetaStore()
  const opening = [store.init({ database }, 1), store.init({ database }, 1)]
  const outcomes = await Promise.allSettled(opening)
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  const creating = store.createTable('late')
  const closing = store.close()
  await t.rejects(creating, { code: 'ERR_METASTORE_SETUP' }, 'no handle outlives the close')
  await closing
  await database.close()
})

void t.test('rows with all kinds of fields are read as they were put', async (t) => {
  const home = await TestDatabase.open()
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, 1)
  const table = await store.createScannableTable('rows')
  // More names than a decoder remembers, one with a colon, one empty, and rows that lack any.
  const fields = [
    'b',
    'a',
    '',
    'c:d',
    '\u{1f600}',
    ...Array.from({ length: 20 }, (_, i) => `x${i}`),
  ]
  const put = new Map<string, Value>()
  for (let i = 0; i < 64; i++) {
    const value = new Value()
    fields.forEach((name, at) => {
      if ((i * 7 + at * 3) % 5 < i % 4) value.setField(name, `${i} ${at}`)
    })
    put.set(`row${i}`, value)
    await table.put(`row${i}`, value, Version.NEW)
  }
  let wrong = 0
  for await (const { key, value } of await table.openCursor()) {
    if (!value.value.equals(put.get(key))) wrong++
    if (!(await table.get(key)).value.equals(put.get(key))) wrong++
    put.delete(key)
  }
  t.equal(wrong, 0)
  t.equal(put.size, 0, 'all rows were read')
  await store.close()
  await home.close()
})

void t.test('text in a value is bytes for whoever looks, at any time', (t) => {
  const value = new Value({ a: 'one' })
  const map = value.getFieldsMap()
  value.setField('b', 'two').merge(new Value({ c: 'three' }))
  t.strictSame(
    [...map].map(([name, data]) => [name, Buffer.isBuffer(data), data?.toString()]),
    [
      ['a', true, 'one'],
      ['b', true, 'two'],
      ['c', true, 'three'],
    ],
  )
  t.equal(value.getField('a'), value.getField('a'), 'the same bytes each time')
  t.ok(value.equals(new Value({ c: Buffer.from('three'), b: 'two', a: 'one' })))
  t.end()
})

void t.test('writes are durable as configured, at first with FSYNC_WAL', async (t) => {
  const home = await TestDatabase.open()
  const { database } = home
  const durability = (): string => database.describeTable('metastore.rows').durability
  const open = async (configuration: object): Promise<void> => {
    const store = new CellarMetaStore()
    await store.init({ database, ...configuration }, 1)
    await store.createTable('rows')
    await store.close()
  }
  await open({})
  t.equal(durability(), 'FSYNC_WAL')
  await open({ durability: 'SYNC_WAL' })
  t.equal(durability(), 'SYNC_WAL')
  await open({})
  t.equal(durability(), 'SYNC_WAL', 'what is not configured stays')
  await home.close()
})

void t.test('a disk that fails means ServiceDown, once for every call', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const home = await TestDatabase.open({ fileSystem })
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, 1)
  const table = await store.createTable('rows')
  const version = await table.put('a', new Value({ a: '1' }), Version.NEW)
  fileSystem.arm({ failAt: 1, errno: 'EIO', only: ({ kind }) => kind === 'sync' })
  const calls: Promise<unknown>[] = [
    table.put('a', new Value({ a: '2' }), version),
    table.put('b', new Value(), Version.NEW),
    table.remove('a', Version.ANY),
  ]
  const results = await Promise.allSettled(calls)
  for (const result of results) {
    t.match(result, { status: 'rejected', reason: { code: 'ERR_METASTORE_SERVICE_DOWN' } })
  }
  await t.rejects(table.put('c', new Value(), Version.NEW), { code: 'ERR_METASTORE_SERVICE_DOWN' })
  await home.database.close().catch(() => undefined)
})

void t.test('a second writer of the tables is refused once, and reuses no version', async (t) => {
  const home = await TestDatabase.open()
  const open = async (database: MetastoreDatabase) => {
    const store = new CellarMetaStore()
    await store.init({ database }, 1)
    return store.createTable('rows')
  }
  // Another object for the same database, as another process would have.
  const [a, b] = [await open(home.database), await open(withMembers(home.database, {}))]
  const given = new Set<string>()
  const put = async (table: MetastoreTable, key: string): Promise<void> => {
    given.add((await table.put(key, new Value(), Version.NEW)).toString())
  }
  await put(a, 'a1')
  await put(a, 'a2')
  await t.rejects(put(b, 'b1'), { code: 'ERR_METASTORE_OPERATION_FAILURE' }, 'b does not know a')
  await put(b, 'b1')
  await t.rejects(put(a, 'a3'), { code: 'ERR_METASTORE_OPERATION_FAILURE' }, 'a does not know b')
  await t.rejects(put(a, 'b1'), { code: 'ERR_METASTORE_KEY_EXISTS' }, 'the row of b')
  await put(a, 'a3')
  t.equal(given.size, 4, 'no version was given out twice')
  await home.close()
})

void t.test('a weaker durability may lose rows in a crash, and no version', async (t) => {
  const fileSystem = new SimulatedDisk()
  const open = async (files: SimulatedDisk) => {
    const database = await Database.open('/database', { fileSystem: files, executor: 'inline' })
    const store = new CellarMetaStore()
    await store.init({ database, durability: 'SKIP_WAL' }, 1)
    return { database, table: await store.createTable('rows') }
  }
  const { database, table } = await open(fileSystem)
  const versions: Version[] = []
  for (let i = 0; i < 10; i++) versions.push(await table.put(`row${i}`, new Value(), Version.NEW))
  const again = await open(fileSystem.crash('dropUnsynced', () => 0))
  await t.rejects(again.table.get('row9'), { code: 'ERR_METASTORE_NO_KEY' }, 'a row was lost')
  const next = await again.table.put('row9', new Value(), Version.NEW)
  for (const version of versions) t.equal(next.compare(version), 'AFTER')
  await again.database.close()
  await database.close()
})

/** A database whose batches fail `failures` times, after they were applied if `applies` is set. */
function failingBatches(database: Database) {
  const settings = { failures: 0, applies: true }
  const failing = withMembers<MetastoreDatabase>(database, {
    atomic: async (batch: AtomicBatch) => {
      if (settings.failures === 0) return database.atomic(batch)
      settings.failures--
      if (settings.applies) await database.atomic(batch)
      throw new CellarError(ErrorCode.io, 'the answer was lost')
    },
  })
  return { settings, failing }
}

void t.test('watchers hear of a write that failed, but was applied', async (t) => {
  const home = await TestDatabase.open()
  const { settings, failing } = failingBatches(home.database)
  const store = new CellarMetaStore()
  await store.init({ database: failing }, 1)
  const table = await store.createTable('rows')
  const events: string[] = []
  const watch = (key: string): Promise<unknown> =>
    table
      .get(key, { watcher: ({ type }) => events.push(`${type} ${key}`) })
      .catch((error: unknown) => error)
  for (const applies of [true, false]) {
    const removed = await table.put('removed', new Value(), Version.NEW)
    for (const key of ['made', 'removed', 'refused', 'other']) await watch(key)
    Object.assign(settings, { failures: 1, applies })
    const answers = await Promise.allSettled([
      table.put('made', new Value({ a: '1' }), Version.NEW),
      table.remove('removed', removed),
      table.put('refused', new Value(), Version.ANY),
    ])
    t.equal(answers.filter(({ status }) => status === 'rejected').length, 3, 'all are in doubt')
    await new Promise((resolve) => setImmediate(resolve))
    t.same(events, [], 'nothing is known yet')
    await table.put('unwatched', new Value(), applies ? Version.NEW : Version.ANY)
    await new Promise((resolve) => setImmediate(resolve))
    const wanted = applies ? ['CHANGED made', 'REMOVED removed'] : []
    t.same(events.splice(0), wanted, applies ? 'applied' : 'not applied')
    if (applies) await table.remove('made', Version.ANY)
  }
  await table.put('made', new Value(), Version.NEW)
  await new Promise((resolve) => setImmediate(resolve))
  t.same(events, ['CHANGED made'], 'the watcher of a change that did not happen is still armed')
  await home.close()
})

void t.test('a row whose write failed is read when it is durable, others at once', async (t) => {
  const home = await TestDatabase.open()
  const { settings, failing } = failingBatches(home.database)
  const store = new CellarMetaStore()
  await store.init({ database: failing }, 1)
  const table = await store.createTable('rows')
  const first = await table.put('a', new Value({ a: '1' }), Version.NEW)
  await table.put('b', new Value({ a: '1' }), Version.NEW)
  settings.failures = 2
  const serviceDown = { code: 'ERR_METASTORE_SERVICE_DOWN' }
  await t.rejects(table.put('a', new Value({ a: '2' }), first), serviceDown)
  t.equal(String((await table.get('b')).value.getField('a')), '1', 'a row without doubt')
  await t.rejects(table.get('a'), serviceDown, 'it cannot be made durable')
  settings.failures = 1
  await t.rejects(table.openCursor(), serviceDown, 'nor can all rows')
  const { value, version } = await table.get('a')
  t.equal(String(value.getField('a')), '2', 'durable, as a later write was')
  t.equal(version.compare(first), 'AFTER')
  const next = await table.put('a', new Value(), version)
  t.equal(next.compare(version), 'AFTER')
  await home.close()
})

void t.test('a put that the database refuses is refused alone', async (t) => {
  const database = await Database.open('/database', {
    fileSystem: new SimulatedDisk(),
    executor: 'inline',
    cellBytesMax: 10_000,
  })
  const store = new CellarMetaStore()
  await store.init({ database }, 1)
  const table = await store.createTable('rows')
  const answers = await Promise.allSettled([
    table.put('a', new Value({ a: '1' }), Version.NEW),
    table.put('big', new Value({ a: Buffer.alloc(20_000) }), Version.NEW),
    table.put('big', new Value({ a: 'small' }), Version.NEW),
    table.get('big'),
  ])
  t.match(answers, [
    { status: 'fulfilled' },
    { status: 'rejected', reason: { code: 'ERR_METASTORE_ILLEGAL_OP' } },
    { status: 'fulfilled' },
    { status: 'fulfilled' },
  ])
  await store.close()
  await database.close()
})

void t.test('a version that nobody gave out does not make versions run out', async (t) => {
  const home = await TestDatabase.open()
  const store = new CellarMetaStore()
  await store.init({ database: home.database }, 1)
  const table = await store.createTable('rows')
  const first = await table.put('a', new Value(), Version.NEW)
  const bogus = new LongVersion(2n ** 63n - 1n)
  await t.rejects(table.put('a', new Value(), bogus), { code: 'ERR_METASTORE_BAD_VERSION' })
  await t.rejects(table.put('b', new Value(), bogus), { code: 'ERR_METASTORE_NO_KEY' })
  await t.rejects(table.remove('a', bogus), { code: 'ERR_METASTORE_BAD_VERSION' })
  const second = (await table.put('a', new Value(), first)) as LongVersion
  t.ok(second.value < 1000n)
  await home.close()
})

/** A table whose batches and reads are noted, and wait for `go`. */
async function gatedTable() {
  const home = await TestDatabase.open()
  const log: string[] = []
  const waiting: (() => void)[] = []
  const step = async <T>(name: string, run: () => Promise<T>): Promise<T> => {
    log.push(name)
    await new Promise<void>((resolve) => waiting.push(resolve))
    return run()
  }
  const { database } = home
  const rowsOf = (inner: MetastoreDatabase['table']): MetastoreDatabase['table'] => {
    return (name) => {
      const table = inner(name)
      if (name !== 'metastore.rows') return table
      return withMembers(table, {
        get: (get: Get) => step(`get ${String(get.row)}`, () => table.get(get)),
      })
    }
  }
  await database.createTable('metastore.rows', { families: rowFamilies })
  const gated = withMembers<MetastoreDatabase>(database, {
    table: rowsOf((name) => database.table(name)),
    atomic: (batch: AtomicBatch) => {
      const rows = batch.mutations.map(({ row }) => String(row))
      const inner = { ...batch, mutations: batch.mutations.map(unwrapped(database)) }
      // Reservations of versions do not wait.
      if (rows[0] === 'versions') return database.atomic(inner)
      return step(`write ${rows.join(' ')}`, () => database.atomic(inner))
    },
  })
  const store = new CellarMetaStore()
  await store.init({ database: gated }, 1)
  const table = await store.createTable('rows')
  const turns = async (): Promise<string> => {
    for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
    return log.splice(0).join(', ')
  }
  const go = (): Promise<string> => {
    for (const resolve of waiting.splice(0)) resolve()
    return turns()
  }
  const note = (name: string, promise: Promise<unknown>): void => {
    const ended = (): void => void log.push(`end ${name}`)
    promise.then(ended, ended)
  }
  return { home, table, go, turns, note }
}

/** The mutation for a table of the database itself. */
function unwrapped(database: MetastoreDatabase): (mutation: AtomicMutation) => AtomicMutation {
  return (mutation) => {
    const { table } = mutation
    return typeof table === 'string' ? mutation : { ...mutation, table: database.table(table.name) }
  }
}

void t.test(
  'reads wait for earlier writes, and writes for earlier reads of their rows',
  async (t) => {
    const { home, table, go, turns, note } = await gatedTable()
    const put = (key: string): Promise<unknown> => table.put(key, new Value(), Version.NEW)
    note('get x', table.get('x'))
    note('put a', put('a'))
    note('put b', put('b'))
    note('get a', table.get('a'))
    note('wrong', put(null as never))
    note('get b', table.get('b'))
    t.equal(await turns(), 'get x', 'a read before all writes does not wait for them')
    note('put c', put('c'))
    t.equal(await go(), 'end get x, write a b')
    t.equal(await go(), 'get a, get b', 'the group ends before a write to a table that it walks')
    t.equal(await go(), 'end put a, end put b, end get a, end wrong, end get b, write c')
    note('remove a', table.remove('a', Version.ANY))
    note('get b', table.get('b'))
    note('put b', table.put('b', new Value(), Version.ANY))
    t.equal(await go(), 'end put c, write a')
    t.equal(await go(), 'get b', 'the read comes before the write that was called later')
    t.equal(await go(), 'end remove a, end get b, write b')
    t.equal(await go(), 'end put b')
    await home.close()
  },
)

void t.test('configurations and options of reads refuse unknown names', async (t) => {
  const { database } = await TestDatabase.open()
  const store = new CellarMetaStore()
  const wrong = { database, onListenerErorr: () => undefined }
  await t.rejects(store.init(wrong, store.getVersion()), { code: 'ERR_METASTORE_SETUP' })
  await store.init({ database }, store.getVersion())
  const table = await store.createTable('t')
  const options = { feilds: new Set(['a']) } as GetOptions
  await t.rejects(table.get('k', options), { code: MetastoreErrorCode.illegalOp })
  await store.close()
  await database.close()
})
