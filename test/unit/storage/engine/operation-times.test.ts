/** What is counted, timed and told of operations. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, tracingChannel, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import {
  OperationTimes,
  TimedOperation,
} from '../../../../src/storage/engine/write/operation-times.js'
import type { SlowOperation } from '../../../../src/entries/index.js'
import { familyOf } from '../../../../src/storage/engine/write/operation-family.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const watcher = { familiesOf: () => ['f'], onSlow: () => undefined }

void t.test('all operations are counted and about one in 64 is timed', (t) => {
  let now = 1
  const times = new OperationTimes(Infinity, 'd', watcher, () => now)
  const table = times.ofTable('t')
  let timed = 0
  for (let i = 0; i < 64_000; i++) {
    const startedAt = table.begin(TimedOperation.get)
    if (startedAt === 0) continue
    timed++
    now += 0.5
    table.end(TimedOperation.get, startedAt, { row: 'r' })
  }
  const { get, put } = times.statistics()
  t.equal(get.count, 64_000)
  t.equal(get.timedCount, timed)
  t.ok(timed > 900 && timed < 1100, `${timed} timed`)
  t.match(get, { meanMicroseconds: 500, maxMicroseconds: 500, p999Microseconds: 500 })
  t.match(put, { count: 0, timedCount: 0, p99Microseconds: 0 })
  t.strictSame(table.statistics(), { get }, 'the table has the same, and no kind without one')
  t.strictSame(table.familyStatistics('f'), { get: { ...get, count: timed } })
  t.equal(times.ofTable('t'), table)
  times.dropTable('t')
  t.strictSame(table.familyStatistics('f'), {})
  t.strictSame(times.statistics().get, get, 'the durations of a dropped table stay in the sum')
  t.end()
})

void t.test('the family of an operation is the one that it names', (t) => {
  const two = ['f', 'g']
  t.equal(familyOf({ row: 'r' }, ['f']), 'f')
  for (const operation of [
    { columns: ['f:a', 'f'] },
    { columns: [Buffer.from('f:a'), { family: 'f', qualifier: 'b' }] },
    { columns: { 'f:a': 1 } },
    { columns: [{ column: 'f:a', amount: 1 }] },
    { cells: { 'f:a': 'v', 'f:b': 'v' } },
    { cells: [{ column: 'f:a', value: 'v' }] },
    { families: ['f'] },
    { columnVersions: [{ family: 'f', qualifier: 'a' }], familyVersions: [{ family: 'f' }] },
  ]) {
    t.equal(familyOf({ row: 'r', ...operation }, two), 'f', JSON.stringify(operation))
  }
  for (const operation of [
    {},
    { columns: ['f:a', 'g:a'] },
    { cells: { 'f:a': 'v', 'g:a': 'v' } },
    { columns: ['f'], families: ['g'] },
    { columns: 5 },
    { columns: [Symbol('f')] },
    undefined,
  ]) {
    t.equal(familyOf(operation, two), undefined)
  }
  t.equal(familyOf({ columns: ['f'] }, []), undefined, 'a table that is gone')
  t.end()
})

void t.test('an operation that fails is counted and has no duration', async (t) => {
  const times = new OperationTimes(0, 'd', { ...watcher, onSlow: () => t.fail('told') })
  const failed = Promise.reject(new Error('no'))
  const table = times.ofTable('t')
  const startedAt = table.begin(TimedOperation.put)
  await t.rejects(table.endLater(TimedOperation.put, startedAt, failed, {}))
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
  t.match(messages[0], { directory: '/database', kind: 'put', table: 't', family: 'f' })
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
  const { latencies, families } = database.statistics().tables['t']
  t.match(latencies, { put: { count: 3 }, flush: { timedCount: 2 }, compaction: { timedCount: 1 } })
  t.match(families['f'].latencies, { flush: { timedCount: 2 }, compaction: { timedCount: 1 } })
  await test.close()
})

void t.test(
  'operations, steps of scans and jobs are traced, with the context of the call',
  async (t) => {
    const test = await TestDatabase.open({ options: { compactionEnabled: false } })
    const { database } = test
    const told: string[] = []
    const context = new AsyncLocalStorage<string>()
    const bound = new AsyncLocalStorage<unknown>()
    const listener =
      (event: string) =>
      (message: unknown): void => {
        const { kind, table, error } = message as { kind: string; table: string; error?: unknown }
        told.push(`${event} ${kind} ${table}${error === undefined ? '' : ' failed'}`)
        if (event === 'start') t.equal(context.getStore(), 'request', kind)
      }
    const subscribers = {
      start: listener('start'),
      end: () => undefined,
      asyncStart: () => undefined,
      asyncEnd: listener('asyncEnd'),
      error: listener('error'),
    }
    const channels = ['operation', 'job'].map((name) => tracingChannel(`cellardb:${name}`))
    const table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: 'before', cells: { 'f:c': 'v' } })
    for (const channel of channels) channel.subscribe(subscribers)
    channels[0].start.bindStore(bound)
    t.teardown(() => {
      for (const channel of channels) channel.unsubscribe(subscribers)
      channels[0].start.unbindStore(bound)
    })
    await context.run('request', async () => {
      await table.put({ row: 'a', cells: { 'f:c': 'v' } })
      table.putSync({ row: 'b', cells: { 'f:c': 'v' } })
      await table.get({ row: 'a' })
      t.equal(table.getSync({ row: 'a' }).value('f:c')?.toString(), 'v')
      t.equal((await table.getList([{ row: 'a' }, { row: 'b' }])).length, 2)
      await table.putList([{ row: 'c', cells: { 'f:c': 'v' } }])
      await t.rejects(table.increment({ row: 'a', columns: { 'f:c': 1 } }))
      t.throws(() => table.deleteSync({ row: '' }))
      await database.atomic({ mutations: [] }).catch(() => undefined)
      t.equal((await table.scan().nextBatch(9)).length, 4)
      t.equal(table.scanSync().nextBatch(9).length, 4)
      await database.flush()
    })
    for (const channel of channels) channel.unsubscribe(subscribers)
    await table.get({ row: 'a' })
    const of = (event: string): string[] => told.filter((each) => each.startsWith(`${event} `))
    t.strictSame(
      of('start').filter((each) => !each.includes('scan')),
      [
        'start put t',
        'start put t',
        'start get t',
        'start get t',
        'start get t',
        'start batch t',
        'start update t',
        'start delete t',
        'start batch',
        'start flush t',
      ].map((each) => (each === 'start batch' ? 'start batch ' : each)),
    )
    t.ok(of('start').includes('start scan t'))
    t.ok(of('asyncEnd').includes('asyncEnd flush t'))
    t.strictSame(of('error').slice(0, 2), ['error update t failed', 'error delete t failed'])
    await test.close()
  },
)

void t.test('running jobs are listed with their progress', async (t) => {
  const test = await TestDatabase.open({ options: { compactionEnabled: false } })
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  const seen: unknown[] = []
  const listener = (): void => void seen.push(...database.statistics().jobs)
  subscribe('cellardb:flush:start', listener)
  t.teardown(() => unsubscribe('cellardb:flush:start', listener))
  await table.put({ row: 'a', cells: { 'f:c': 'v' } })
  await database.flush()
  t.match(seen, [{ kind: 'flush', table: 't', family: 'f', bytesTotal: Number }])
  t.strictSame(database.statistics().jobs, [])
  await test.close()
})

void t.test('the limit must be a number', async (t) => {
  for (const slowOperationMilliseconds of [-1, NaN, '5']) {
    const options = { slowOperationMilliseconds: slowOperationMilliseconds as number }
    await t.rejects(TestDatabase.open({ options }), { code: 'ERR_INVALID_ARGUMENT' })
  }
})

void t.test('bad arguments have the same errors while a program traces operations', async (t) => {
  const test = await TestDatabase.open()
  t.teardown(() => test.close())
  const table = await test.database.createTable('t', { families: { f: {} } })
  const unreadable = {
    get row(): string {
      throw new Error('from the getter')
    },
  }
  const bad = [null, undefined, 5, 'text', { row: 'r', check: null }, unreadable] as never[]
  const codes = async (): Promise<unknown[]> => {
    const calls = bad.flatMap((value) => [
      () => table.get(value),
      () => table.put(value),
      async () => table.deleteSync(value),
      () => table.checkAndMutate(value, value),
    ])
    const found: unknown[] = []
    for (const call of calls) {
      const failure = await call().then(
        () => undefined,
        (error: unknown) => error,
      )
      found.push((failure as { readonly code?: unknown } | undefined)?.code)
    }
    return found
  }
  const untraced = await codes()
  const channel = tracingChannel('cellardb:operation')
  const handlers = { start: () => {}, end: () => {}, asyncStart: () => {}, asyncEnd: () => {} }
  const listeners = { ...handlers, error: () => {} }
  channel.subscribe(listeners)
  t.teardown(() => channel.unsubscribe(listeners))
  t.strictSame(await codes(), untraced)
  t.ok(untraced.every((code) => code === undefined || code === 'ERR_INVALID_ARGUMENT'))
})
