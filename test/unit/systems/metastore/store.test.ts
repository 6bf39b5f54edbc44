/** The store over Cellar: opening, sharing, failing, versions over processes. */
import { join } from 'node:path'
import t from 'tap'
import { Database, MemoryFileSystem, type Table } from '../../../../src/entries/index.js'
import { FaultyFileSystem } from '../../../../src/storage/fs/faulty-fs.js'
import { OperationOrder } from '../../../../src/systems/metastore/bookkeeper/tables/operation-order.js'
import { VersionSource } from '../../../../src/systems/metastore/bookkeeper/tables/version-source.js'
import {
  CellarMetaStore,
  LongVersion,
  MetastoreErrorCode,
  MetastoreException,
  Value,
  Version,
  type GetOptions,
} from '../../../../src/systems/metastore/index.js'
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

void t.test('a store that cannot be opened says so, and can be opened later', async (t) => {
  const store = new CellarMetaStore()
  const home = await TestDatabase.open()
  const { database } = home
  const refused = async (promise: Promise<unknown>, what: string): Promise<void> => {
    const failure = await promise.catch((error: unknown) => error)
    t.ok(failure instanceof MetastoreException, what)
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
  await t.rejects(creating, { name: 'MetastoreException' }, 'no handle outlives the close')
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
  const fileSystem = new FaultyFileSystem(new MemoryFileSystem())
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

void t.test('sources of versions on one counter never give out the same', async (t) => {
  const home = await TestDatabase.open()
  const table: Table = await home.database.createTable('control', { families: { r: {} } })
  const sources = Array.from({ length: 3 }, () => new VersionSource(table, 'versions'))
  const given = new Set<bigint>()
  for (let i = 0; i < 200_000; i++) given.add(await sources[i % 3].takeReserved())
  t.equal(given.size, 200_000)
  const [a, b] = sources
  const behind = a.next < b.next ? a : b
  const ahead = a.next < b.next ? b : a
  const high = await ahead.takeReserved()
  await behind.leave(high)
  t.ok((await behind.takeReserved()) > high, 'a source that met a higher version passes it')
  await t.rejects(behind.leave(1n << 60n), { code: 'ERR_METASTORE_OPERATION_FAILURE' })
  await home.close()
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

void t.test('operations on one key wait for each other, those on others do not', async (t) => {
  const order = new OperationOrder()
  const log: string[] = []
  const gates = new Map<string, () => void>()
  const step = (name: string) => (): Promise<string> => {
    log.push(`begin ${name}`)
    return new Promise((resolve) => gates.set(name, () => resolve(name)))
  }
  const ended = (promise: Promise<unknown>): void => {
    promise.then(
      (name) => log.push(`end ${String(name)}`),
      (error: unknown) => log.push(`fail ${String(error)}`),
    )
  }
  const take = async (): Promise<string> => {
    await new Promise((resolve) => setImmediate(resolve))
    return log.splice(0).join(', ')
  }
  ended(order.onKey('a', step('a1')))
  ended(order.onKey('a', step('a2')))
  ended(order.onKey('b', step('b1')))
  ended(order.fail('wrong'))
  ended(order.onAll(step('all')))
  ended(order.onKey('c', step('c1')))
  t.equal(await take(), 'begin a1, begin b1')
  gates.get('b1')!()
  t.equal(await take(), '', 'b1 is not told before a1 and a2')
  gates.get('a1')!()
  t.equal(await take(), 'begin a2, end a1')
  gates.get('a2')!()
  t.equal(await take(), 'begin all, begin c1, end a2, end b1, fail wrong', 'all has begun')
  gates.get('c1')!()
  t.equal(await take(), '')
  gates.get('all')!()
  t.equal(await take(), 'end all, end c1')
  t.end()
})

void t.test('configurations and options of reads refuse unknown names', async (t) => {
  const { database } = await TestDatabase.open()
  const store = new CellarMetaStore()
  const wrong = { database, onListenerErorr: () => undefined }
  await t.rejects(store.init(wrong, store.getVersion()), MetastoreException)
  await store.init({ database }, store.getVersion())
  const table = await store.createTable('t')
  const options = { feilds: new Set(['a']) } as GetOptions
  await t.rejects(table.get('k', options), { code: MetastoreErrorCode.illegalOp })
  await store.close()
  await database.close()
})
