import t from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { ServerClock } from '../../../../../src/storage/engine/write/server-clock.js'
import { Database, MemoryFileSystem } from '../../../../../src/entries/index.js'

void t.test('awaited operations in a row let the event loop turn', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline' })
  const table = await database.createTable('t', { families: { f: {} } })
  let turns = 0
  const count = (): void => {
    turns++
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  for (let i = 0; i < 3000; i++) await table.put({ row: `r${i}`, cells: { 'f:q': 'v' } })
  t.ok(turns >= 3, `${turns} turns during 3000 puts`)
  turns = 0
  for (let i = 0; i < 3000; i++) await table.get({ row: `r${i}` })
  t.ok(turns >= 3, `${turns} turns during 3000 gets`)
  turns = 0
  let rows = 0
  for await (const row of table.scan()) rows += row.size
  t.equal(rows, 3000)
  t.ok(turns >= 1, `${turns} turns during a scan`)
  clearImmediate(next)
  await database.close()
})

void t.test('timestamps of one row grow strictly, whatever the clock does', async (t) => {
  const clock = new ManualClock(1000)
  const server = new ServerClock(clock)
  const row = Buffer.from('row')
  const seen: number[] = []
  for (const now of [1000, 1000, 1000, 500, 2000, 1999, 2000]) {
    clock.milliseconds = now
    seen.push(server.propose(row, row.length))
    server.accept()
  }
  t.same(seen, [1000, 1001, 1002, 1003, 2000, 2001, 2002])
  t.equal(server.propose(row, row.length), server.propose(row, row.length), 'a proposal costs none')
  server.raiseFloor(9000)
  const other = Buffer.from('another row')
  t.equal(server.propose(other, other.length), 9001, 'nothing goes below what an earlier run gave')
})

void t.test('rows do not push each other ahead of the clock', async (t) => {
  const clock = new ManualClock(1_000_000)
  const server = new ServerClock(clock)
  let highest = 0
  for (let i = 0; i < 5000; i++) {
    const row = Buffer.from(`row ${i}`)
    highest = Math.max(highest, server.propose(row, row.length))
    server.accept()
  }
  t.ok(highest - 1_000_000 < 10, `${highest - 1_000_000} ms ahead after 5000 rows in one ms`)
})

void t.test('a cell that no table could hold is refused before it is written', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/db', { fileSystem, executor: 'inline', cellBytesMax: 0 })
  const table = await database.createTable('t', { families: { f: {} } })
  const cells = { 'f:q': Buffer.alloc(33 * 1024 * 1024) }
  await t.rejects(table.put({ row: 'r', cells }), { code: 'ERR_TOO_LARGE' })
  t.ok(table.getSync({ row: 'r' }).isEmpty)
  await table.put({ row: 'r', cells: { 'f:q': Buffer.alloc(20 * 1024 * 1024) } })
  await database.flush()
  t.equal(table.getSync({ row: 'r' }).value('f:q')?.length, 20 * 1024 * 1024)
  await database.close()
})

void t.test('timestamps continue above those of an earlier run', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const clock = new ManualClock(5000)
  const options = { fileSystem, executor: 'inline' as const, clock }
  const first = await Database.open('/db', options)
  const table = await first.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 10; i++) await table.put({ row: 'r', cells: { 'f:q': String(i) } })
  await first.flush()
  await first.close()
  clock.milliseconds = 100
  const second = await Database.open('/db', options)
  await second.table('t').put({ row: 'r', cells: { 'f:q': 'newest' } })
  t.equal(second.table('t').getSync({ row: 'r' }).value('f:q')?.toString(), 'newest')
  await second.close()
})
