/** What is counted, timed and told of operations. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import {
  OperationTimes,
  TimedOperation,
} from '../../../../src/storage/engine/write/operation-times.js'
import type { SlowOperation } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

void t.test('all operations are counted and about one in 64 is timed', (t) => {
  let now = 1
  const times = new OperationTimes(
    Infinity,
    'd',
    () => undefined,
    () => now,
  )
  let timed = 0
  for (let i = 0; i < 64_000; i++) {
    const startedAt = times.begin(TimedOperation.get)
    if (startedAt === 0) continue
    timed++
    now += 0.5
    times.end(TimedOperation.get, startedAt, 't', { row: 'r' })
  }
  const { get, put } = times.statistics()
  t.equal(get.count, 64_000)
  t.equal(get.timedCount, timed)
  t.ok(timed > 900 && timed < 1100, `${timed} timed`)
  t.match(get, { meanMicroseconds: 500, maxMicroseconds: 500, p999Microseconds: 500 })
  t.match(put, { count: 0, timedCount: 0, p99Microseconds: 0 })
  t.end()
})

void t.test('an operation that fails is counted and has no duration', async (t) => {
  const times = new OperationTimes(0, 'd', () => t.fail('told'))
  const failed = Promise.reject(new Error('no'))
  const startedAt = times.begin(TimedOperation.put)
  await t.rejects(times.endLater(TimedOperation.put, startedAt, failed, 't', {}))
  t.match(times.statistics().put, { count: 1, timedCount: 0 })
})

void t.test('with a limit of 0 every operation is slow, and told with its row', async (t) => {
  const options = { slowOperationMilliseconds: 0, compactionEnabled: false }
  const test = await TestDatabase.open({ options })
  const { database } = test
  const events: SlowOperation[] = []
  const messages: object[] = []
  const listener = (message: unknown): void => void messages.push(message as object)
  subscribe('cellardb:operation:slow', listener)
  t.teardown(() => unsubscribe('cellardb:operation:slow', listener))
  database.on('slowOperation', (operation) => events.push(operation))
  const table = await database.createTable('t', { families: { f: {} } })
  const cells = { 'f:c': 'v' }
  const row = Buffer.from('a')
  await table.put({ row, cells })
  row.fill('x')
  table.putSync({ row: 'b', cells })
  await table.get({ row: 'a' })
  table.getSync({ row: 'a' })
  table.existsSync({ row: 'a' })
  await table.putList([{ row: 'c', cells }])
  table.putListSync([{ row: 'c', cells }])
  await table.batch([{ get: { row: 'a' } }])
  table.batchSync([{ get: { row: 'a' } }])
  await table.delete({ row: 'b' })
  await table.increment({ row: 'n', columns: { 'f:n': 1 } })
  table.appendSync({ row: 'n', columns: { 'f:a': 'x' } })
  const check = { row: 'a', column: 'f:c', equals: 'v' }
  await table.checkAndMutate(check, { put: { cells } })
  await database.atomic({ mutations: [{ table: 't', row: 'z', mutations: [{ put: { cells } }] }] })
  await table.scan().nextBatch(1)
  table.scanSync().next()
  const told = events.map(({ table, row, kind }) => `${kind} ${table} ${row?.toString() ?? '-'}`)
  t.strictSame(told, [
    'put t a',
    'put t b',
    'get t a',
    'get t a',
    'get t a',
    'batch t -',
    'batch t -',
    'batch t -',
    'batch t -',
    'delete t b',
    'update t n',
    'update t n',
    'checkAndMutate t a',
    'batch  -',
    'scan t -',
    'scan t -',
  ])
  t.equal(messages.length, events.length)
  t.match(messages[0], { directory: '/database', kind: 'put', table: 't' })
  const { latencies } = database.statistics()
  t.match(latencies, { put: { count: 2, timedCount: 2 }, get: { count: 3, timedCount: 3 } })
  await test.close()
})

void t.test('syncs, flushes and compactions are always timed', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'a', cells: { 'f:c': 'v' }, durability: 'FSYNC_WAL' })
  table.putSync({ row: 'a', cells: { 'f:c': 'v' }, durability: 'FSYNC_WAL' })
  await database.flush()
  await table.put({ row: 'a', cells: { 'f:c': 'w' } })
  await database.compact()
  const { sync, flush, compaction } = database.statistics().latencies
  t.ok(sync.timedCount >= 2, `${sync.timedCount} syncs`)
  t.match(flush, { count: 2, timedCount: 2 })
  t.match(compaction, { count: 1, timedCount: 1 })
  await test.close()
})

void t.test('the limit must be a number', async (t) => {
  for (const slowOperationMilliseconds of [-1, NaN, '5']) {
    const options = { slowOperationMilliseconds: slowOperationMilliseconds as number }
    await t.rejects(TestDatabase.open({ options }), { code: 'ERR_INVALID_ARGUMENT' })
  }
})
