import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { type Change, type ChangeOptions, type Database } from '../../../../src/entries/index.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { fill, makeTable } from './support.js'

/** The next `count` changes of a feed, which is then ended. */
async function take(
  database: Database,
  count: number,
  options: ChangeOptions = {},
): Promise<Change[]> {
  const found: Change[] = []
  if (count === 0) return found
  for await (const change of database.changes(options)) {
    found.push(change)
    if (found.length >= count) break
  }
  return found
}

/** All changes of a feed that ends. */
async function all(database: Database, options: ChangeOptions): Promise<Change[]> {
  const found: Change[] = []
  for await (const change of database.changes(options)) found.push(change)
  return found
}

const rowsOf = (found: readonly Change[]): string[] =>
  found.map((change) => change.cells[0].row.toString())

void t.test('a feed shows whole mutations in order, old and new', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  await table.put({ row: 'a', cells: { 'a:x': '1', 'b:y': '2' }, ttlMilliseconds: 5000 })
  await table.delete({ row: 'a', timestamp: 7 })
  await table.mutateRow({
    row: 'm',
    mutations: [
      { put: { cells: { 'a:x': '3' } } },
      { increment: { columns: [{ column: 'b:n', amount: 5 }] } },
    ],
  })
  const feed = database.changes({ fromSequence: 1 })
  const next = async (): Promise<Change> => (await feed.next()).value as Change
  const put = await next()
  t.match(put, { sequence: 1, timestamp: 1_000_000 })
  t.strictSame(
    put.cells.map(({ table: name, family, ttlMilliseconds, type, value }) => {
      return [name, family, ttlMilliseconds, type, value.toString()]
    }),
    [
      ['t', 'a', 5000, 'Put', '1'],
      ['t', 'b', 5000, 'Put', '2'],
    ],
  )
  const deletion = await next()
  t.strictSame(
    deletion.cells.map(({ type, timestamp }) => [type, timestamp]),
    [
      ['DeleteFamily', 7],
      ['DeleteFamily', 7],
    ],
  )
  t.equal(deletion.timestamp, undefined)
  const mixed = await next()
  t.strictSame(
    mixed.cells.map(({ family, value }) => [family, value.toString('hex')]),
    [
      ['a', '33'],
      ['b', '0000000000000005'],
    ],
  )
  const waiting = next()
  await table.put({ row: 'later', cells: { 'a:x': '4' } })
  t.match(rowsOf([await waiting]), ['later'])
  await feed.return()
  await test.close()
})

void t.test('without a sequence a feed begins now; tables can be chosen', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  const other = await makeTable(database, 'other')
  await fill(table, 3, 'old')
  const feeding = take(database, 2, { table: 'default:other' })
  const all = take(database, 3)
  await new Promise((resolve) => setImmediate(resolve))
  await table.put({ row: 'x', cells: { 'a:x': '1' } })
  await other.put({ row: 'y', cells: { 'a:x': '1' } })
  await other.put({ row: 'z', cells: { 'a:x': '1' } })
  t.strictSame(rowsOf(await feeding), ['y', 'z'])
  t.strictSame(rowsOf(await all), ['x', 'y', 'z'])
  await test.close()
})

void t.test(`resuming by sequence gives each change exactly once (seed ${seed})`, async (t) => {
  const random = randomFrom(seed)
  const test = await TestDatabase.open({
    options: { logBytesMax: 64 * 1024, logRetentionBytes: 1 << 30 },
  })
  let table = await makeTable(test.database)
  const written: string[] = []
  const read: string[] = []
  let next = 1
  for (let round = 0; round < 40; round++) {
    const count = Math.floor(random() * 60)
    for (let i = 0; i < count; i++) {
      const row = `${round}-${i}`
      const value = Buffer.alloc(Math.floor(random() * 2000), 'v')
      await table.put({ row, cells: { 'a:x': value } })
      written.push(row)
    }
    const draw = random()
    if (draw < 0.25) {
      await test.reopen()
      table = test.database.table('t')
    } else if (draw < 0.5) await test.flush()
    else if (draw < 0.6) test.database.admin.rollWALWriter()
    const wanted = Math.floor(random() * (written.length - read.length + 1))
    const durability = random() < 0.5 ? 'SYNC_WAL' : 'FSYNC_WAL'
    for (const change of await take(test.database, wanted, { fromSequence: next, durability })) {
      read.push(change.cells[0].row.toString())
      next = change.sequence + 1
    }
    t.strictSame(read, written.slice(0, read.length), `round ${round}`)
  }
  t.ok(test.database.statistics().flushes > 3)
  const rest = await take(test.database, written.length - read.length, { fromSequence: next })
  t.strictSame([...read, ...rowsOf(rest)], written)
  await test.close()
})

void t.test('what is gone is told before anything is shown', async (t) => {
  const test = await TestDatabase.open({ options: { logBytesMax: 64 * 1024 } })
  const table = await makeTable(test.database)
  for (let i = 0; i < 100; i++) {
    await table.put({ row: `${i}`, cells: { 'a:x': Buffer.alloc(3000) } })
  }
  await test.flush()
  await table.put({ row: 'a', cells: { 'a:x': '1' } })
  await test.flush()
  const gone = take(test.database, 1, { fromSequence: 1 })
  await t.rejects(gone, { code: 'ERR_CHANGES_GONE', message: /logRetentionBytes/ })
  const last = test.database.statistics().lastSequence
  await table.put({ row: 'next', cells: { 'a:x': '1' } })
  const found = await take(test.database, 1, { fromSequence: last + 1 })
  t.strictSame(rowsOf(found), ['next'])
  await test.close()
})

void t.test('a running feed keeps the log that it has not read', async (t) => {
  const test = await TestDatabase.open({ options: { logBytesMax: 64 * 1024 } })
  const { database } = test
  const table = await makeTable(database)
  await table.put({ row: 'first', cells: { 'a:x': '1' } })
  const feed = database.changes({ fromSequence: 1 })
  t.match((await feed.next()).value?.cells[0].row.toString(), 'first')
  for (let i = 0; i < 200; i++) {
    await table.put({ row: `${i}`, cells: { 'a:x': Buffer.alloc(3000) } })
  }
  await test.flush()
  const logs = (): number =>
    test.fileSystem.listSync(test.directory).filter((name) => name.endsWith('.log')).length
  t.ok(logs() > 3, `${logs()} segments are kept`)
  for (let i = 0; i < 200; i++) {
    t.match((await feed.next()).value?.cells[0].row.toString(), `${i}`)
  }
  await feed.return()
  t.ok(logs() <= 2, `${logs()} segments are left`)
  await test.close()
})

void t.test('retention is bounded, also across a reopen', async (t) => {
  const options = { logBytesMax: 64 * 1024, logRetentionBytes: 200 * 1024 }
  const test = await TestDatabase.open({ options })
  let table = await makeTable(test.database)
  for (let i = 0; i < 300; i++) {
    await table.put({ row: `${i}`, cells: { 'a:x': Buffer.alloc(3000) } })
    if (i % 50 === 49) await test.flush()
  }
  const bytes = (): number => {
    let sum = 0
    for (const name of test.fileSystem.listSync(test.directory)) {
      if (!name.endsWith('.log')) continue
      sum += test.fileSystem.statSync(test.fileSystem.join(test.directory, name))!.size
    }
    return sum
  }
  t.ok(bytes() > 100 * 1024 && bytes() < 400 * 1024, `${bytes()} bytes of log`)
  await test.reopen()
  table = test.database.table('t')
  t.ok(bytes() > 100 * 1024, `${bytes()} bytes after a reopen`)
  const found = await take(test.database, 20, { fromSequence: 281 })
  t.strictSame(rowsOf(found).slice(0, 2), ['280', '281'])
  await t.rejects(take(test.database, 1, { fromSequence: 1 }), { code: 'ERR_CHANGES_GONE' })
  await table.put({ row: 'end', cells: { 'a:x': '1' } })
  await test.close()
})

void t.test('a feed ends by its signal, by the close, and with mistakes', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  await makeTable(database)
  const controller = new AbortController()
  const waiting = take(database, 1, { signal: controller.signal })
  setImmediate(() => controller.abort())
  await t.rejects(waiting, { code: 'ERR_ABORTED' })
  const wrong = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(take(database, 1, { fromSequence: -1 }), wrong)
  await t.rejects(take(database, 1, { fromSequence: 1.5 }), wrong)
  await t.rejects(take(database, 1, { durability: 'X' as never }), wrong)
  await t.rejects(take(database, 1, { table: 'none' }), { code: 'ERR_TABLE_NOT_FOUND' })
  const closed = take(database, 1)
  await new Promise((resolve) => setImmediate(resolve))
  const ended = t.rejects(closed, { code: 'ERR_CLOSED' })
  await test.close()
  await ended
  t.throws(() => database.changes(), { code: 'ERR_CLOSED' })
})

void t.test('a return ends a feed that waits for a mutation', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  const feed = database.changes({ fromSequence: 1 })
  await fill(table, 1, 'x')
  t.equal((await feed.next()).done, false)
  const waiting = feed.next()
  // The feed has read the log to its end by then.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
  t.same(await feed.return(), { done: true, value: undefined })
  t.same(await waiting, { done: true, value: undefined })
  t.same(await feed.next(), { done: true, value: undefined })
  await test.close()
})

void t.test('dropped tables leave no trace, and SKIP_WAL none either', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  const gone = await makeTable(database, 'gone')
  await gone.put({ row: 'g', cells: { 'a:x': '1' } })
  await table.put({ row: 'skipped', cells: { 'a:x': '1' }, durability: 'SKIP_WAL' })
  await table.put({ row: 'kept', cells: { 'a:x': '1' } })
  await database.dropTable('gone')
  t.strictSame(rowsOf(await take(database, 1, { fromSequence: 1 })), ['kept'])
  await test.close()
})

void t.test('a table that is made while a feed is read is in the feed', async (t) => {
  // Every fifth edit begins a new manifest, and so is visible some turns before the table is used.
  for (let edits = 0; edits < 6; edits++) {
    const database = await openMemoryDatabase({ manifestBytesMax: 1024 })
    const table = await makeTable(database)
    for (let i = 0; i < edits; i++) {
      await database.admin.modifyTable('t', { metadata: { edit: `${i}` } })
    }
    for (let i = 0; i < 500; i++) {
      table.putSync({ row: `${i}`, cells: { 'a:x': '' }, durability: 'FSYNC_WAL' })
    }
    const make = async (): Promise<void> => {
      const other = await database.createTable('other', { families: { f: {} } })
      other.putSync({ row: 'other', cells: { 'f:x': '' } })
      table.putSync({ row: 'last', cells: { 'a:x': '' } })
    }
    let made: Promise<unknown> | undefined
    let shown = 0
    for await (const { cells } of database.changes({ fromSequence: 1 })) {
      made ??= make()
      if (cells[0].table === 'other') shown++
      if (cells[0].row.toString() === 'last') break
    }
    await made
    t.equal(shown, 1, `after ${edits} edits`)
    await database.close()
  }
  t.end()
})

void t.test(`what a feed has shown survives every power cut (seed ${seed})`, async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  const table = await makeTable(test.database)
  const feed = test.database.changes({ fromSequence: 1 })
  const shown: string[] = []
  for (let i = 0; i < 30; i++) {
    table.putSync({ row: `${i}`, cells: { 'a:x': `${i}` }, durability: 'ASYNC_WAL' })
    const { value } = await feed.next()
    shown.push(value!.cells[0].row.toString())
    const image = fileSystem.crash('dropUnsynced', randomFrom(seed + i))
    const found = await TestDatabase.open({ fileSystem: image })
    const rows = await take(found.database, shown.length, { fromSequence: 1 })
    t.strictSame(rowsOf(rows), shown)
    await found.close()
  }
  await feed.return()
  await test.close()
})

void t.test('a feed ends behind a sequence, or when it has caught up', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  const put = (row: string): Promise<unknown> => table.put({ row, cells: { 'a:x': '1' } })
  t.strictSame(rowsOf(await all(database, { fromSequence: 1, toSequence: 'now' })), [])
  for (const row of ['1', '2', '3', '4']) await put(row)
  const now = database.changes({ fromSequence: 2, toSequence: 'now' })
  await put('5')
  const found: Change[] = []
  for await (const change of now) found.push(change)
  t.strictSame(rowsOf(found), ['2', '3', '4'], 'now is the time of the call')
  const between = { fromSequence: 2, toSequence: 3 }
  t.strictSame(rowsOf(await all(database, between)), ['2', '3'])
  t.strictSame(rowsOf(await all(database, { ...between, durability: 'SYNC_WAL' })), ['2', '3'])
  t.strictSame(rowsOf(await all(database, { fromSequence: 6, toSequence: 'now' })), [])
  t.strictSame(rowsOf(await all(database, { toSequence: 'now' })), [], 'nothing after the call')
  const future = database.changes({ fromSequence: 5, toSequence: 7 })
  t.equal((await future.next()).done, false)
  const sixth = future.next()
  await new Promise((resolve) => setTimeout(resolve, 20))
  for (const row of ['6', '7', '8']) await put(row)
  t.strictSame(
    rowsOf([(await sixth).value!]),
    ['6'],
    'a sequence that is not reached is waited for',
  )
  t.strictSame(rowsOf([(await future.next()).value!]), ['7'])
  t.equal((await future.next()).done, true)
  await table.put({ row: '9', cells: { 'a:x': '1' }, durability: 'SKIP_WAL' })
  const unlogged = await all(database, { fromSequence: 8, toSequence: 'now' })
  t.strictSame(rowsOf(unlogged), ['8'], 'mutations that the log has not are not waited for')
  for (const toSequence of [-1, 1.5, 'later', null]) {
    await t.rejects(database.changes({ toSequence: toSequence as 'now' }).next(), {
      code: 'ERR_INVALID_ARGUMENT',
      message: /toSequence must be 'now' or an integer/,
    })
  }
  await test.close()
})

void t.test('a feed of families has their cells only', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await makeTable(database)
  await database.createTable('other', { families: { b: {} } })
  await table.put({ row: '1', cells: { 'a:x': '1', 'b:x': '2' } })
  await table.put({ row: '2', cells: { 'a:x': '1' } })
  await database.table('other').put({ row: '3', cells: { 'b:x': '1' } })
  await table.delete({ row: '4' })
  const cells = async (options: ChangeOptions): Promise<string> => {
    const found = await all(database, { fromSequence: 1, toSequence: 'now', ...options })
    return found
      .flatMap((each) => each.cells.map((cell) => `${String(cell.row)}${cell.family}`))
      .join(' ')
  }
  t.equal(await cells({ family: 'b' }), '1b 3b 4b')
  t.equal(await cells({ family: ['b'], table: 't' }), '1b 4b')
  t.equal(await cells({ family: ['a', 'b'], table: 't' }), '1a 1b 2a 4a 4b')
  await t.rejects(all(database, { family: 'z', table: 't' }), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
    message: /'t' has no column family 'z'/,
  })
  await t.rejects(all(database, { family: 'a:x' }), {
    code: 'ERR_INVALID_ARGUMENT',
    message: /names of families, not of columns: "a:x"/,
  })
  await test.close()
})
