/** Atomic batches over rows and tables. */
import t, { type Test } from 'tap'
import {
  Database as Engine,
  MemoryFileSystem,
  type AtomicBatch,
  type AtomicResult,
  type Change,
  type MultiRowMutations,
  type Observer,
} from '../../../../src/entries/index.js'
import type { Database } from '../../../../src/api/index.js'
import { ownDatabase } from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'
import { TestDatabase } from '../../../helpers/test-database.js'

function onBackends(name: string, run: (t: Test, db: Database) => Promise<void>): void {
  for (const [backend, open] of Object.entries({
    engine: (): Promise<Database> => Engine.open('/db', { fileSystem: new MemoryFileSystem() }),
    memory: (): Promise<Database> => openMemoryDatabase(),
    owned: async (): Promise<Database> => {
      return ownDatabase(reduceToRows(await openMemoryDatabase()), { name: 'o' })
    },
  })) {
    void t.test(`${name}: ${backend}`, async (t) => {
      const db = await open()
      t.teardown(() => db.close())
      await run(t, db)
    })
  }
}

type Apply = (test: TestDatabase, batch: AtomicBatch) => Promise<AtomicResult>

const forms: Readonly<Record<string, Apply>> = {
  promise: (test, batch) => test.database.atomic(batch),
  synchronous: async (test, batch) => test.database.atomicSync(batch),
}

async function open(options = {}): Promise<TestDatabase> {
  const test = await TestDatabase.open({ options })
  await test.database.createTable('orders', { families: { f: { versions: 3 } } })
  await test.database.createTable('outbox', { families: { g: {}, h: {} } })
  return test
}

/** All newest cells of both tables. */
function contents(test: TestDatabase): string[] {
  return ['orders', 'outbox'].flatMap((table) => {
    return [...test.database.table(table).scanSync()].flatMap((result) => {
      return result.cells().map(({ row, family, qualifier, value }) => {
        return `${table} ${String(row)} ${family}:${String(qualifier)}=${String(value)}`
      })
    })
  })
}

const order: AtomicBatch['mutations'] = [
  { table: 'orders', row: 'o1', mutations: [{ put: { cells: { 'f:state': 'paid' } } }] },
  { table: 'outbox', row: 'e1', mutations: [{ put: { cells: { 'g:event': 'o1', 'h:n': '1' } } }] },
  { table: 'orders', row: 'o0', mutations: [{ delete: {} }] },
]
const paid = ['orders o1 f:state=paid', 'outbox e1 g:event=o1', 'outbox e1 h:n=1']

for (const [form, apply] of Object.entries(forms)) {
  void t.test(`rows of two tables change under one sequence (${form})`, async (t) => {
    const test = await open()
    test.database.table('orders').putSync({ row: 'o0', cells: { 'f:state': 'old' } })
    const before = test.database.statistics().lastSequence
    const snapshot = test.database.snapshot()
    const checks = [
      { table: 'orders', row: 'o0', column: 'f:state', equals: 'old' },
      { table: 'outbox', row: 'e1', column: 'g:event', notExists: true as const },
    ]
    t.same(await apply(test, { checks, mutations: order }), {
      success: true,
      failedCheck: undefined,
      sequence: before + 1,
    })
    t.equal(test.database.statistics().lastSequence, before + 1)
    t.same(contents(test), paid)
    const seen = test.database.table('outbox').getSync({ row: 'e1', snapshot })
    t.ok(seen.isEmpty, 'a snapshot from before sees nothing of the batch')
    snapshot.close()
    t.same(await apply(test, { checks, mutations: order }), {
      success: false,
      failedCheck: 0,
      sequence: undefined,
    })
    t.equal(test.database.statistics().lastSequence, before + 1, 'nothing was applied')
    await test.reopen()
    t.same(contents(test), paid)
    await test.close()
  })

  void t.test(`what is wrong in one table changes none (${form})`, async (t) => {
    const test = await open()
    const other = await open()
    await test.database.createTable('sealed', { families: { f: {} }, readOnly: true })
    await test.database.createTable('off', { families: { f: {} } })
    await test.database.admin.disableTable('off')
    const put = { put: { cells: { 'f:q': '1' } } }
    const bad: readonly [unknown, string][] = [
      [undefined, 'ERR_INVALID_ARGUMENT'],
      [{ mutations: [] }, 'ERR_INVALID_ARGUMENT'],
      [{ checks: 5, mutations: order }, 'ERR_INVALID_ARGUMENT'],
      [{ mutations: [...order, { row: 'r', mutations: [put] }] }, 'ERR_INVALID_ARGUMENT'],
      [
        { mutations: [...order, { table: 'none', row: 'r', mutations: [put] }] },
        'ERR_TABLE_NOT_FOUND',
      ],
      [
        { mutations: [...order, { table: 'outbox', row: 'r', mutations: [put] }] },
        'ERR_NO_SUCH_COLUMN_FAMILY',
      ],
      [
        { mutations: [...order, { table: 'orders', row: '', mutations: [put] }] },
        'ERR_INVALID_ARGUMENT',
      ],
      [
        { mutations: [...order, { table: 'orders', row: 'r', mutations: [] }] },
        'ERR_INVALID_ARGUMENT',
      ],
      [
        {
          mutations: [
            ...order,
            { table: 'orders', row: 'r', mutations: [{ increment: { columns: { 'f:n': 1 } } }] },
          ],
        },
        'ERR_INVALID_ARGUMENT',
      ],
      [{ mutations: [...order, { table: 'sealed', row: 'r', mutations: [put] }] }, 'ERR_READ_ONLY'],
      [
        { mutations: [...order, { table: 'off', row: 'r', mutations: [put] }] },
        'ERR_TABLE_NOT_ENABLED',
      ],
      [
        {
          mutations: [
            ...order,
            { table: other.database.table('orders'), row: 'r', mutations: [put] },
          ],
        },
        'ERR_INVALID_ARGUMENT',
      ],
      [{ checks: [{ table: 'orders', row: 'r' }], mutations: order }, 'ERR_INVALID_ARGUMENT'],
      [{ mutations: order, durability: 'SURE' }, 'ERR_INVALID_ARGUMENT'],
    ]
    const before = test.database.statistics().lastSequence
    for (const [batch, code] of bad) {
      await t.rejects(
        apply(test, batch as AtomicBatch),
        { code },
        JSON.stringify(batch)?.slice(-70),
      )
    }
    t.same(contents(test), [])
    t.equal(test.database.statistics().lastSequence, before)
    t.equal((await apply(test, { mutations: order })).success, true, 'the next one is applied')
    t.same(contents(test), paid)
    await other.close()
    await test.close()
  })

  void t.test(`of equal cells the one that is named last stays (${form})`, async (t) => {
    const test = await open()
    const orders = test.database.table('orders')
    const put = (value: string): object => ({ cells: { 'f:q': { value, timestamp: 7 } } })
    await apply(test, {
      mutations: [
        { table: orders, row: 'r', mutations: [{ put: put('first') as never }] },
        { table: 'outbox', row: 'r', mutations: [{ put: { cells: { 'g:q': 'x' } } }] },
        { table: 'orders', row: 'r', mutations: [{ put: put('last') as never }] },
      ],
    })
    const result = orders.getSync({ row: 'r', versions: 'all' })
    t.same(
      result.cells().map(({ value, timestamp }) => [String(value), timestamp]),
      [['last', 7]],
    )
    await test.close()
  })
}

void t.test('a name means the table that has it now', async (t) => {
  const test = await open()
  await test.database.atomic({ mutations: order })
  await test.database.dropTable('outbox')
  await t.rejects(test.database.atomic({ mutations: order }), { code: 'ERR_TABLE_NOT_FOUND' })
  await test.database.createTable('outbox', { families: { g: {}, h: {} } })
  t.equal((await test.database.atomic({ mutations: order })).success, true)
  t.same(contents(test), paid)
  await test.close()
})

void t.test('a batch is one element of the change feed', async (t) => {
  const test = await open()
  const { sequence } = await test.database.atomic({ mutations: order })
  const feed = test.database.changes({ fromSequence: sequence })
  const { value } = (await feed.next()) as { value: Change }
  t.equal(value.sequence, sequence)
  t.same(
    value.cells.map(({ table, row, family, type }) => `${table} ${String(row)} ${family} ${type}`),
    ['orders o1 f Put', 'orders o0 f DeleteFamily', 'outbox e1 g Put', 'outbox e1 h Put'],
  )
  await feed.return()
  await test.close()
})

void t.test('checks and version deletes that miss blocks are loaded first', async (t) => {
  const test = await open({ blockCacheBytesMax: 0 })
  test.database.table('orders').putSync({ row: 'o0', cells: { 'f:state': 'old' } })
  test.database.table('outbox').putSync({ row: 'e0', cells: { 'g:event': 'old' } })
  await test.flush()
  const { success } = await test.database.atomic({
    checks: [{ table: 'orders', row: 'o0', column: 'f:state', equals: 'old' }],
    mutations: [
      ...order,
      { table: 'outbox', row: 'e0', mutations: [{ delete: { columnVersions: ['g:event'] } }] },
    ],
  })
  t.equal(success, true)
  t.same(contents(test), paid)
  await test.close()
})

void t.test('of twenty concurrent batches with one check exactly one is applied', async (t) => {
  for (const blockCacheBytesMax of [0, 1 << 20]) {
    const test = await open({ blockCacheBytesMax })
    test.database.table('orders').putSync({ row: 'o0', cells: { 'f:state': 'open' } })
    await test.flush()
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => {
        return test.database.atomic({
          checks: [{ table: 'orders', row: 'o0', column: 'f:state', equals: 'open' }],
          mutations: [
            {
              table: 'orders',
              row: 'o0',
              mutations: [{ put: { cells: { 'f:state': `taken by ${i}` } } }],
            },
            { table: 'outbox', row: `e${i}`, mutations: [{ put: { cells: { 'g:event': 'o' } } }] },
          ],
        })
      }),
    )
    t.equal(results.filter(({ success }) => success).length, 1)
    t.equal([...test.database.table('outbox').scanSync()].length, 1)
    await test.close()
  }
})

void t.test('observers of each table see and change their part', async (t) => {
  const test = await open()
  const seen: string[] = []
  const observer = (name: string): Observer => ({
    preBatchMutate: (context, batch) => {
      seen.push(`${name} before ${batch.mutations.length}`)
      const column = name === 'orders' ? 'f:added' : 'g:added'
      batch.add({ put: { row: 'added', cells: { [column]: '1' } } })
      t.equal(context.table.name, name)
    },
    postBatchMutate: () => void seen.push(`${name} after`),
    prePut: (context, put) => {
      if (put.row === 'secret') context.bypass()
    },
  })
  for (const name of ['orders', 'outbox']) {
    await test.database.registerCoprocessor({ name, tables: [name], observer: observer(name) })
  }
  const before = test.database.statistics().lastSequence
  const secret = {
    table: 'outbox',
    row: 'secret',
    mutations: [{ put: { cells: { 'g:event': 'x' } } }],
  }
  const { success } = await test.database.atomic({ mutations: [...order, secret] })
  t.equal(success, true)
  t.equal(test.database.statistics().lastSequence, before + 1)
  t.same(seen, ['orders before 2', 'outbox before 1', 'outbox after', 'orders after'])
  t.same(contents(test), [
    'orders added f:added=1',
    'orders o1 f:state=paid',
    'outbox added g:added=1',
    'outbox e1 g:event=o1',
    'outbox e1 h:n=1',
  ])
  const nothing = await test.database.atomic({ mutations: [secret] })
  t.same(nothing, { success: true, failedCheck: undefined, sequence: undefined })
  await test.close()
})

/** A batch whose members count how often they are read. */
function countedBatch(reads: Map<string, number>): AtomicBatch {
  const counted = <T extends object>(what: string, members: T): T => {
    const made = {} as T
    for (const [name, value] of Object.entries(members)) {
      const get = (): unknown => {
        // The first time that a rest pattern leaves a member out, V8 of Node 20 reads it twice.
        if (name === 'table') return value
        reads.set(`${what}.${name}`, (reads.get(`${what}.${name}`) ?? 0) + 1)
        return value
      }
      Object.defineProperty(made, name, { enumerable: true, get })
    }
    return made
  }
  const put = counted('put', { cells: { 'f:state': 'paid' } })
  const row = counted('row', { table: 'orders', row: 'o1', mutations: [{ put }] })
  const check = counted('check', { table: 'orders', row: 'o1', column: 'f:state', notExists: true })
  return counted('batch', { checks: [check], mutations: [row] }) as AtomicBatch
}

for (const [form, apply] of Object.entries(forms)) {
  void t.test(`the arguments of an observed batch are read once (${form})`, async (t) => {
    const test = await open()
    const observer: Observer = { preBatchMutate: () => undefined }
    await test.database.registerCoprocessor({ name: 'watch', tables: ['orders'], observer })
    const reads = new Map<string, number>()
    t.equal((await apply(test, countedBatch(reads))).success, true)
    for (const [member, count] of reads) t.equal(count, 1, member)
    t.equal(reads.size, 8, 'all members were read')
    await test.close()
  })
}

onBackends(
  'a batch is a list of mutations, each with its table, row and put or delete',
  async (t, db) => {
    const orders = await db.createTable('orders', { families: { f: {} } })
    await db.createTable('outbox', { families: { g: {} } })
    await orders.put({ row: 'o0', cells: { 'f:state': 'old', 'f:note': 'x' } })
    const outcome = await db.atomic([
      { table: 'orders', row: 'o1', put: { cells: { 'f:state': 'paid' } } },
      { table: orders, row: 'o0', delete: { columns: ['f:note'] } },
      { table: 'outbox', row: 'e1', put: { cells: { 'g:event': 'o1' }, timestamp: 5 } },
      { table: 'outbox', row: 'e2', mutations: [{ put: { cells: { 'g:event': 'o2' } } }] },
    ])
    t.equal(outcome.success, true)
    const checks = [{ table: 'orders', row: 'o1', column: 'f:state', equals: 'new' }]
    const mutations = [{ table: 'orders', row: 'o1', delete: {} }]
    t.equal((await db.atomic({ checks, mutations })).failedCheck, 0)
    if (db.capabilities.atomicAcrossRows) {
      t.equal(
        await orders.mutateRows({
          rows: [
            { row: 'o2', put: { cells: { 'f:state': 'new' } } },
            { row: 'o0', delete: {} },
          ],
        }),
        true,
      )
    }
    const rows = async (name: string): Promise<string[]> => {
      const results = await db.table(name).scan().all()
      return results.flatMap((result) => {
        return result
          .cells()
          .map(
            ({ row, qualifier, value }) => `${String(row)} ${String(qualifier)}=${String(value)}`,
          )
      })
    }
    t.strictSame(await rows('orders'), ['o1 state=paid', 'o2 state=new'])
    t.strictSame(await rows('outbox'), ['e1 event=o1', 'e2 event=o2'])

    const put = { cells: { 'f:state': 'bad' } }
    const first = { table: 'orders', row: 'o1', put }
    const bad: readonly (readonly [unknown, RegExp])[] = [
      [[], /at least one mutation/],
      [[first, 'r'], /a mutation of an atomic batch must be an object such as \{ table: 't'/],
      [[first, undefined], /lacks its element 1/],
      [[first, { table: 'orders', row: 'r' }], /is one of \{row, put\}/],
      [[first, { table: 'orders', row: 'r', put: undefined }], /is one of \{row, put\}/],
      [[first, { ...first, delete: {} }], /is one of \{row, put\}/],
      [[first, { ...first, mutations: [{ put }] }], /is one of \{row, put\}/],
      [
        [first, { table: 'orders', row: 'r', put: null }],
        /operation of a mutation must be an object/,
      ],
      [
        [first, { table: 'orders', row: 'r', delete: 5 }],
        /operation of a mutation must be an object/,
      ],
      [[first, { table: 'orders', row: 'r', put: { row: 's', ...put } }], /row/],
      [[first, { table: 'orders', row: 'r', increment: {} }], /'increment'/],
      [[first, { table: 'orders', put }], /row/],
      [[first, { row: 'r', put }], /table/],
      [[first, { table: 'orders', row: 'r', puts: put }], /did you mean 'put'/],
    ]
    for (const [batch, message] of bad) {
      await t.rejects(
        db.atomic(batch as AtomicBatch),
        { message },
        JSON.stringify(batch).slice(-60),
      )
    }
    for (const [list, message] of bad.slice(3, 10)) {
      const rows = (list as { table?: string }[]).map(({ table: _table, ...row }) => row)
      await t.rejects(orders.mutateRows({ rows } as unknown as MultiRowMutations), { message })
    }
    t.strictSame(await rows('orders'), ['o1 state=paid', 'o2 state=new'], 'nothing was applied')
  },
)
