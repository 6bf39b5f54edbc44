/** Observers of operations: order, bypass, errors, and what each operation calls. */
import t from 'tap'
import {
  CellarError,
  CoprocessorPriority,
  Database,
  MemoryFileSystem,
  type Coprocessor,
  type EmbeddedTable,
  type Observer,
} from '../../../../src/entries/index.js'

interface Opened {
  readonly database: Database
  readonly table: EmbeddedTable
}

async function open(coprocessors: readonly Coprocessor[], cacheBytes = 1 << 20): Promise<Opened> {
  const database = await Database.open('/db', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
    compactionEnabled: false,
    blockCacheBytesMax: cacheBytes,
    coprocessors,
  })
  const table = await database.createTable('t', { families: { f: { versions: 3 } } })
  return { database, table }
}

/** An observer that notes the names of all methods that are called. */
function recorder(calls: string[]): Observer {
  return new Proxy(
    {},
    {
      get: (_target, name) => (): void => {
        if (name !== 'jobContext') calls.push(String(name))
      },
    },
  )
}

async function callsOf(
  act: (opened: Opened) => Promise<unknown>,
  prepare: (table: EmbeddedTable) => void = () => undefined,
): Promise<string[]> {
  const calls: string[] = []
  const { database, table } = await open([])
  prepare(table)
  await database.registerCoprocessor({ name: 'recorder', observer: recorder(calls) })
  calls.length = 0
  await act({ database, table })
  return calls
}

void t.test('each operation calls the methods of its kind, in HBase’s order', async (t) => {
  const batch = ['preBatchMutate', 'preWrite', 'postBatchMutate', 'postBatchMutateIndispensably']
  const around = (name: string): string[] => [`pre${name}`, ...batch, `post${name}`]
  const locked = (name: string): string[] => {
    return [`pre${name}`, `pre${name}AfterRowLock`, ...batch, `post${name}`]
  }
  const row = 'r'
  const put = { row, cells: { 'f:a': '1' } }
  t.same(await callsOf(({ table }) => table.put(put)), around('Put'), 'put')
  t.same(await callsOf(({ table }) => table.delete({ row })), around('Delete'))
  const columns = { 'f:n': 1 }
  t.same(await callsOf(({ table }) => table.increment({ row, columns })), locked('Increment'))
  const appended = { row, columns: { 'f:a': 'x' } }
  t.same(await callsOf(({ table }) => table.append(appended)), locked('Append'))
  const mutations = [{ put }]
  const rowOfPut = ['preMutateRow', 'prePut', ...batch, 'postPut', 'postMutateRow']
  t.same(await callsOf(({ table }) => table.mutateRow({ row, mutations })), rowOfPut)
  const rows = [
    { row, mutations },
    { row: 's', mutations: [{ delete: {} }] },
  ]
  const rowsCalls = ['prePut', 'preDelete', ...batch, 'postPut', 'postDelete']
  t.same(await callsOf(({ table }) => table.mutateRows({ rows })), rowsCalls)
  const unmet = [{ row, column: 'f:a', equals: 'other' }]
  t.same(await callsOf(({ table }) => table.mutateRows({ rows, checks: unmet })), [])
  t.same(await callsOf(({ table }) => table.get({ row })), ['preGet', 'postGet'])
  t.same(await callsOf(({ table }) => table.exists({ row })), [
    'preExists',
    'preGet',
    'postGet',
    'postExists',
  ])
  const check = { row, column: 'f:a', notExists: true as const }
  t.same(await callsOf(({ table }) => table.checkAndMutate(check, { put })), [
    'preCheckAndMutate',
    'preCheckAndMutateAfterRowLock',
    'prePut',
    ...batch,
    'postPut',
    'postCheckAndMutate',
  ])
  const failing = { row, column: 'f:a', equals: 'other' }
  t.same(
    await callsOf(({ table }) => table.checkAndMutate(failing, { put })),
    ['preCheckAndMutate', 'preCheckAndMutateAfterRowLock', 'postCheckAndMutate'],
    'nothing is mutated if the condition does not hold',
  )
  const scanned = await callsOf(
    async ({ table }) => table.scan().nextBatch(10),
    (table) => table.putSync(put),
  )
  t.same(scanned, [
    'preScannerOpen',
    'postScannerOpen',
    'preScannerNext',
    'postScannerNext',
    'preScannerNext',
    'preScannerClose',
    'postScannerClose',
    'postScannerNext',
  ])
})

void t.test('synchronous and list forms call the same methods', async (t) => {
  const calls: string[] = []
  const { table } = await open([{ name: 'recorder', observer: recorder(calls) }])
  const put = (row: string): { row: string; cells: { 'f:a': string } } => {
    return { row, cells: { 'f:a': row } }
  }
  const count = (name: string): number => calls.filter((call) => call === name).length
  table.putSync(put('a'))
  table.putListSync([put('b'), put('c')])
  await table.putList([put('d'), put('e')])
  await table.batch([{ put: put('f') }, { get: { row: 'f' } }])
  table.batchSync([{ put: put('g') }])
  t.equal(count('prePut'), 7)
  t.equal(count('postPut'), 7)
  table.deleteListSync([{ row: 'a' }])
  await table.deleteList([{ row: 'b' }, { row: 'c' }])
  t.equal(count('preDelete'), 3)
  await table.getList([{ row: 'a' }, { row: 'b' }])
  table.getListSync([{ row: 'a' }])
  t.equal(count('preGet'), 4)
  t.same(await table.existsList([{ row: 'a' }, { row: 'd' }]), [false, true])
  t.equal(count('preExists'), 2)
  t.equal([...table.scanSync()].length, 4)
  t.equal(count('preScannerClose'), 1)
  t.equal(table.incrementColumnValueSync('n', 'f:n', 5), 5n)
  t.equal(count('preIncrement'), 1)
})

void t.test('observers are called by priority, then in the order of their load', async (t) => {
  const calls: string[] = []
  const named = (name: string, priority?: number): Coprocessor => ({
    name,
    ...(priority !== undefined && { priority }),
    observer: { preGet: () => void calls.push(name) },
  })
  const { database, table } = await open([
    named('user 1'),
    named('lowest', CoprocessorPriority.lowest),
    named('highest', CoprocessorPriority.highest),
    named('user 2'),
  ])
  await database.registerCoprocessor(named('system', CoprocessorPriority.system))
  await table.get({ row: 'r' })
  t.same(calls, ['highest', 'system', 'user 1', 'user 2', 'lowest'])
})

void t.test('a changed operation goes to the following observers and to the table', async (t) => {
  const seen: unknown[] = []
  const { table } = await open([
    {
      name: 'stamps',
      observer: { prePut: (_context, put) => ({ ...put, timestamp: 7 }) },
    },
    { name: 'looks', observer: { prePut: (_context, put) => void seen.push(put.timestamp) } },
    {
      name: 'counts versions',
      observer: { preGet: (_context, get) => ({ ...get, versions: 'all' as const }) },
    },
  ])
  await table.put({ row: 'r', cells: { 'f:a': '1' } })
  await table.put({ row: 'r', cells: { 'f:a': '2' } })
  t.same(seen, [7, 7])
  t.same(
    table
      .getSync({ row: 'r' })
      .cells()
      .map(({ timestamp, value }) => [timestamp, value.toString()]),
    [[7, '2']],
  )
})

void t.test('bypass skips the table and the observers that follow', async (t) => {
  const calls: string[] = []
  const { database, table } = await open([])
  await table.put({ row: 'r', cells: { 'f:a': 'old' } })
  const stored = await table.get({ row: 'r' })
  const other = await table.get({ row: 'absent' })
  const registration = await database.registerCoprocessor({
    name: 'bypasses',
    observer: {
      preGet: (context) => context.bypass(other),
      preExists: (context) => context.bypass(true),
      prePut: (context) => context.bypass(),
      preDelete: (context) => context.bypass(),
      preIncrement: (context) => context.bypass(stored),
      preAppend: (context) => context.bypass(stored),
      preMutateRow: (context) => context.bypass(stored),
      preCheckAndMutate: (context) => context.bypass({ success: true, result: undefined }),
      preScannerNext: (context) => context.bypass(undefined),
    },
  })
  await database.registerCoprocessor({ name: 'recorder', observer: recorder(calls) })
  calls.length = 0
  t.equal((await table.get({ row: 'r' })).size, 0)
  t.ok(await table.exists({ row: 'absent' }))
  await table.put({ row: 'r', cells: { 'f:a': 'new' } })
  table.putSync({ row: 'r', cells: { 'f:a': 'new' } })
  await table.putList([{ row: 'r', cells: { 'f:a': 'new' } }])
  await table.delete({ row: 'r' })
  t.equal(await table.increment({ row: 'r', columns: { 'f:n': 1 } }), stored)
  t.equal(await table.append({ row: 'r', columns: { 'f:a': 'x' } }), stored)
  const put = { cells: { 'f:a': 'new' } }
  t.equal(await table.mutateRow({ row: 'r', mutations: [{ put }] }), stored)
  const outcome = await table.checkAndMutate({ row: 'r', column: 'f:a', equals: 'no' }, { put })
  t.ok(outcome.success)
  t.same([...table.scanSync()], [])
  t.same(
    calls.filter((call) => !call.includes('Scanner')),
    [],
    'nobody else was asked',
  )
  registration.remove()
  t.equal((await table.get({ row: 'r' })).value('f:a')?.toString(), 'old')
})

void t.test('an observer may judge a checkAndMutate after the row was read', async (t) => {
  const judged: boolean[] = []
  let refuse = true
  const { table } = await open([
    {
      name: 'judge',
      observer: {
        preCheckAndMutateAfterRowLock: (context, check, _action, matched) => {
          judged.push(matched)
          t.equal(context.table.getSync({ row: 'elsewhere' }).size, 0, 'may read other rows')
          t.equal(check.row, 'r')
          if (refuse) context.bypass({ success: false, result: undefined })
        },
      },
    },
  ])
  const check = { row: 'r', column: 'f:a', notExists: true as const }
  const put = { cells: { 'f:a': '1' } }
  t.equal((await table.checkAndMutate(check, { put })).success, false)
  t.notOk(await table.exists({ row: 'r' }))
  refuse = false
  t.equal((await table.checkAndMutate(check, { put })).success, true)
  t.equal((await table.checkAndMutate(check, { put })).success, false)
  t.same(judged, [true, true, false])
  t.equal((await table.get({ row: 'r' })).value('f:a')?.toString(), '1')
})

void t.test('an observer that writes between check and mutation fails the operation', async (t) => {
  const { table } = await open([
    {
      name: 'writer',
      observer: {
        preCheckAndMutateAfterRowLock: (context) =>
          context.table.putSync({ row: 'r', cells: { 'f:a': 'sneaked in' } }),
      },
    },
  ])
  const check = { row: 'r', column: 'f:a', notExists: true as const }
  await t.rejects(table.checkAndMutate(check, { put: { cells: { 'f:a': '1' } } }), {
    code: 'ERR_COPROCESSOR',
  })
  t.equal((await table.get({ row: 'r' })).value('f:a')?.toString(), 'sneaked in')
})

void t.test('mutations that preBatchMutate adds are applied with the batch', async (t) => {
  const adds: Observer = {
    preBatchMutate: (_context, batch) => {
      const [mutation] = batch.mutations
      if (mutation.put !== undefined && mutation.put.row === 'row1') {
        for (const row of ['row1', 'row2', 'row3']) {
          batch.add({ put: { row, cells: { 'f:added': 'x' } } })
        }
      }
      if (mutation.delete !== undefined && mutation.delete.row === 'missing') {
        batch.add({ delete: { row: 'row1' } })
        batch.add({ delete: { row: 'row2', columns: ['f:added'] } })
      }
    },
  }
  const { database, table } = await open([{ name: 'adds', observer: adds }])
  await table.put({ row: 'row1', cells: { 'f:a': '1' } })
  t.same(
    [...table.scanSync()].map((row) => [row.row?.toString(), row.size]),
    [
      ['row1', 2],
      ['row2', 1],
      ['row3', 1],
    ],
  )
  const sequences = new Set(
    [...table.scanSync()].flatMap((row) => row.cells()).map((c) => c.sequence),
  )
  t.equal(sequences.size, 1, 'one sequence, and so one log entry')
  await table.delete({ row: 'missing' })
  t.same(
    [...table.scanSync()].map((row) => row.row?.toString()),
    ['row3'],
  )
  const stamps = database.table('t').getSync({ row: 'row3', versions: 'all' })
  await table.put({ row: 'row1', cells: { 'f:a': '1' } })
  const later = table.getSync({ row: 'row3', versions: 'all' })
  t.equal(later.size, 2)
  t.ok(later.cells()[0].timestamp > stamps.cells()[0].timestamp, 'its own row’s clock')
})

void t.test('a batch is all or nothing when an added mutation is wrong', async (t) => {
  const outcomes: boolean[] = []
  const { table } = await open([
    {
      name: 'adds',
      observer: {
        preBatchMutate: (_context, batch) =>
          batch.add({ put: { row: 'other', cells: { 'absent:a': 'x' } } }),
        postBatchMutateIndispensably: (_context, _batch, success) => void outcomes.push(success),
      },
    },
  ])
  await t.rejects(table.put({ row: 'r', cells: { 'f:a': '1' } }), {
    code: 'ERR_NO_SUCH_COLUMN_FAMILY',
  })
  t.same([...table.scanSync()], [])
  t.same(outcomes, [false])
})

void t.test('an error fails its operation and nothing else', async (t) => {
  let failing = true
  const { table } = await open([
    {
      name: 'fails',
      observer: {
        prePut: (_context, put) => {
          if (failing && put.row === 'bad') throw new Error('not this row')
        },
        preGet: (_context, get) => {
          if (get.row === 'refused') throw new CellarError('ERR_READ_ONLY', 'refused')
        },
        postScannerNext: () => {
          if (failing) throw new TypeError('no scans')
        },
      },
    },
  ])
  const put = (row: string): { row: string; cells: { 'f:a': string } } => {
    return { row, cells: { 'f:a': '1' } }
  }
  await t.rejects(table.put(put('bad')), {
    code: 'ERR_COPROCESSOR',
    message: /'fails' failed in prePut: not this row/,
  })
  t.throws(() => table.putSync(put('bad')), { code: 'ERR_COPROCESSOR' })
  await t.rejects(table.putList([put('a'), put('bad'), put('b')]), { code: 'ERR_BATCH_FAILED' })
  t.ok(await table.exists({ row: 'b' }), 'the others of the list are applied')
  await t.rejects(table.get({ row: 'refused' }), { code: 'ERR_READ_ONLY' })
  t.throws(() => [...table.scanSync()], { code: 'ERR_COPROCESSOR' })
  await t.rejects(table.scan().nextBatch(5), { code: 'ERR_COPROCESSOR' })
  failing = false
  await table.put(put('bad'))
  t.same(
    [...table.scanSync()].map((row) => row.row?.toString()),
    ['a', 'b', 'bad'],
  )
})

void t.test('an answer without meaning is refused', async (t) => {
  const answers: Record<string, Observer> = {
    promise: { preGet: (async () => undefined) as unknown as Observer['preGet'] & object },
    'no operation': { preGet: (() => 7) as unknown as Observer['preGet'] & object },
    'no result': { postGet: (() => ({})) as unknown as Observer['postGet'] & object },
    'bypass without result': {
      preGet: (context: { bypass(result?: unknown): void }) => context.bypass(),
    },
  }
  for (const [name, observer] of Object.entries(answers)) {
    const { table } = await open([{ name, observer }])
    await t.rejects(table.get({ row: 'r' }), { code: 'ERR_COPROCESSOR' }, name)
  }
})

void t.test('pre methods are called once although a block is missing', async (t) => {
  const calls: string[] = []
  const { database, table } = await open([], 0)
  for (let i = 0; i < 200; i++) await table.put({ row: `r${i}`, cells: { 'f:n': Buffer.alloc(8) } })
  await database.flush()
  await database.registerCoprocessor({ name: 'recorder', observer: recorder(calls) })
  calls.length = 0
  await table.get({ row: 'r100' })
  t.same(calls, ['preGet', 'postGet'])
  calls.length = 0
  await table.increment({ row: 'r150', columns: { 'f:n': 1 } })
  t.equal(calls.filter((call) => call.startsWith('pre')).length, 4)
  calls.length = 0
  const check = { row: 'r150', column: 'f:n', equals: Buffer.from([0, 0, 0, 0, 0, 0, 0, 1]) }
  const outcome = await table.checkAndMutate(check, { increment: { columns: { 'f:n': 1 } } })
  t.ok(outcome.success)
  t.equal(calls.filter((call) => call.startsWith('pre')).length, 4)
  calls.length = 0
  let rows = 0
  for await (const result of table.scan()) rows += result.size
  t.equal(rows, 200)
  t.equal(calls.filter((call) => call === 'preScannerNext').length, 201)
})

void t.test('observers are told when their table opens and closes', async (t) => {
  const calls: string[] = []
  const lifecycle: Observer = {
    preOpen: () => void calls.push('preOpen'),
    postOpen: ({ table }) => void calls.push(`postOpen ${table.name}`),
    preClose: ({ table }) => {
      table.putSync({ row: 'farewell', cells: { 'f:a': '1' } })
      calls.push('preClose')
    },
    postClose: () => void calls.push('postClose'),
  }
  const fileSystem = new MemoryFileSystem()
  const coprocessors = [{ name: 'life', tables: ['t'], observer: lifecycle }]
  const options = { fileSystem, executor: 'inline' as const, coprocessors }
  const database = await Database.open('/db', options)
  await database.createTable('u', { families: { f: {} } })
  t.same(calls, [], 'another table')
  await database.createTable('t', { families: { f: {} } })
  t.same(calls, ['preOpen', 'postOpen t'])
  await database.truncateTable('t')
  t.equal(calls.length, 2, 'a truncated table stays open')
  await database.close()
  await database.close()
  t.same(calls.slice(2), ['preClose', 'postClose'])
  const again = await Database.open('/db', options)
  t.same(calls.slice(4), ['preOpen', 'postOpen t'])
  t.ok(await again.table('t').exists({ row: 'farewell' }))
  await t.rejects(
    again.dropTable('t').then(() => again.table('t')),
    { code: 'ERR_TABLE_NOT_FOUND' },
  )
  t.equal(calls.filter((call) => call === 'postClose').length, 2)
  await again.close()
})

void t.test('bad registrations are refused', async (t) => {
  const { database } = await open([])
  const refused: readonly unknown[] = [
    undefined,
    {},
    { name: '' },
    { name: 'x', priority: -1 },
    { name: 'x', priority: 0.5 },
    { name: 'x', unknown: 1 },
    { name: 'x', tables: 't' },
    { name: 'x', observer: 7 },
    { name: 'x', endpoints: { e: 1 } },
    { name: 'x', cellHook: {} },
    { name: 'x', cellHook: { module: '/m.js', options: { f: () => 1 } } },
  ]
  for (const coprocessor of refused) {
    await t.rejects(database.registerCoprocessor(coprocessor as Coprocessor), {
      code: 'ERR_INVALID_ARGUMENT',
    })
  }
  await database.registerCoprocessor({ name: 'same' })
  await t.rejects(database.registerCoprocessor({ name: 'same' }), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(Database.open('/other', { coprocessors: {} as never }), {
    code: 'ERR_INVALID_ARGUMENT',
  })
})
