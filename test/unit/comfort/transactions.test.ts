/** Transactions: no lost update, all or nothing, and a transaction that always loses says so. */
import t, { type Test } from 'tap'
import {
  CellarError,
  Database as Engine,
  ErrorCode,
  MemoryFileSystem,
  defineTable,
  transaction,
} from '../../../src/entries/index.js'
import type { Database } from '../../../src/api/index.js'
import { seededRandom } from '../../../src/base/random.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const accounts = defineTable({
  name: 'accounts',
  key: { id: 'utf8' },
  columns: { balance: 'integer', note: 'utf8', old: { ttlMilliseconds: 1e9 } },
})
const transfers = defineTable({
  name: 'transfers',
  key: { account: 'utf8', n: 'integer' },
  columns: { amount: 'integer' },
})

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

onBackends(`transfers at once keep the sum, seed ${seed}`, async (t, db) => {
  const [table, log] = [await accounts.open(db), await transfers.open(db)]
  const ids = ['a', 'b', 'c', 'd']
  for (const id of ids) await table.put({ id, balance: 100 })
  const random = seededRandom(seed)
  const pick = (): string => ids[Math.floor(random() * ids.length)]
  let attempts = 0
  const done = await Promise.allSettled(
    Array.from({ length: 200 }, async (_, n) => {
      const [from, to, amount] = [pick(), pick(), 1 + Math.floor(random() * 60)]
      return transaction(
        db,
        async (tx) => {
          attempts++
          const source = await tx.get(table, from)
          if (source!.balance! < amount) return 0
          tx.put(table, { id: from, balance: source!.balance! - amount })
          const target = await tx.get(table, to)
          tx.put(table, { id: to, balance: target!.balance! + amount })
          tx.put(log, { account: to, n, amount })
          return amount
        },
        { attemptsMax: 300 },
      )
    }),
  )
  const sums = await table
    .scan()
    .map(({ balance }) => balance!)
    .all()
  t.equal(
    sums.reduce((sum, each) => sum + each),
    400,
    'no amount is lost or made',
  )
  t.ok(
    sums.every((each) => each >= 0),
    'no account is overdrawn',
  )
  const amounts = done.map((each) => (each.status === 'fulfilled' ? each.value : NaN))
  const paid = amounts.filter((each) => each > 0)
  t.equal(amounts.filter(Number.isNaN).length, 0)
  t.ok(attempts > 200, `${attempts} attempts of 200 transactions: they met`)
  t.equal(await log.count(), paid.length, 'each transfer has its line')
})

onBackends('updates at once lose nothing', async (t, db) => {
  const table = await accounts.open(db)
  await Promise.all(
    Array.from({ length: 50 }, () =>
      table.update('a', (row) => ({ id: 'a', ...row, balance: (row?.balance ?? 0) + 1 }), {
        attemptsMax: 200,
      }),
    ),
  )
  t.strictSame(await table.get('a'), { id: 'a', balance: 50 })
  t.strictSame(await table.update('a', () => ({ id: 'a', note: '' })), { id: 'a', note: '' })
  t.strictSame(await table.get('a'), { id: 'a', note: '' }, 'a column that is left out is removed')
  t.strictSame(await table.update('a', () => undefined), { id: 'a', note: '' })
  t.strictSame(
    await table.update('a', (row) => ({ ...row!, note: `${row!.note}x` })),
    { id: 'a', note: 'x' },
    'an empty value was checked as one',
  )
  await t.rejects(
    table.update('a', () => ({ id: 'b', note: '' })),
    {
      code: ErrorCode.invalidArgument,
      message: /row of its key/,
    },
  )
})

onBackends('each kind of change by another call makes a transaction lose', async (t, db) => {
  const table = await accounts.open(db)
  const changes: Record<string, () => Promise<unknown>> = {
    'another value': () => table.put({ id: 'a', balance: 2 }),
    'a value where there was none': () => table.put({ id: 'a', note: 'x' }),
    'a removed value': () => table.delete('a', 'balance'),
    'a removed row': () => table.delete('a'),
  }
  for (const [name, change] of Object.entries(changes)) {
    await table.delete('a')
    await table.put({ id: 'a', balance: 1 })
    let attempts = 0
    const lost = transaction(
      db,
      async (tx) => {
        attempts++
        await tx.get(table, 'a')
        if (attempts === 1) await change()
        tx.put(table, { id: 'b', balance: attempts })
      },
      { attemptsMax: 3 },
    )
    await lost
    t.equal(attempts, 2, name)
    t.strictSame(await table.get('b'), { id: 'b', balance: 2 })
  }
  let attempts = 0
  const never = transaction(
    db,
    async (tx) => {
      const row = await tx.get(table, 'a')
      await table.put({ id: 'a', balance: ++attempts + 1000 })
      tx.put(table, { id: 'b', balance: row?.balance ?? 0, note: 'lost' })
    },
    { attemptsMax: 4 },
  )
  await t.rejects(never, {
    code: ErrorCode.conflict,
    message: /in 4 attempts; nothing was written/,
  })
  t.equal(attempts, 4)
  t.equal((await table.get('b'))?.note, undefined)
})

onBackends('a transaction sees its own writes and one moment', async (t, db) => {
  const table = await accounts.open(db)
  await table.put({ id: 'a', balance: 1, note: 'n', old: 'o' })
  await table.put({ id: 'b', balance: 1 })
  await transaction(db, async (tx) => {
    t.strictSame(await tx.get(table, 'a'), { id: 'a', balance: 1, note: 'n', old: 'o' })
    if (db.capabilities.snapshots) {
      await table.put({ id: 'b', balance: 2 })
      t.equal((await tx.get(table, 'b'))?.balance, 1, 'as of the beginning')
      await table.put({ id: 'b', balance: 1 })
    }
    tx.put(table, { id: 'a', balance: 5 })
    tx.delete(table, 'a', 'note')
    t.strictSame(await tx.get(table, 'a'), { id: 'a', balance: 5, old: 'o' })
    tx.delete(table, 'a')
    t.equal(await tx.get(table, 'a'), undefined)
    tx.put(table, { id: 'a', note: 'again', old: 'p' })
    t.strictSame(await tx.get(table, 'a'), { id: 'a', note: 'again', old: 'p' })
  })
  t.strictSame(await table.get('a'), { id: 'a', note: 'again', old: 'p' }, 'no marker hides a put')
})

onBackends(
  'nothing is written by one that throws, and one that is over is closed',
  async (t, db) => {
    const table = await accounts.open(db)
    const failure = new Error('of the caller')
    let kept: Parameters<Parameters<typeof transaction>[1]>[0] | undefined
    await t.rejects(
      transaction(db, (tx) => {
        kept = tx
        tx.put(table, { id: 'a', balance: 1 })
        throw failure
      }),
      failure,
    )
    t.equal(await table.count(), 0)
    t.throws(() => kept!.put(table, { id: 'a', balance: 1 }), {
      code: ErrorCode.closed,
      message: /await/,
    })
    t.equal(await transaction(db, () => 7), 7, 'one without writes')
    await transaction(db, (tx) => {
      const row = table.rows.row('raw')
      tx.check({ table: table.table, row, column: 'f:note', notExists: true })
      tx.mutate({ table: table.table, row, mutations: [{ put: { cells: { 'f:note': 'x' } } }] })
    })
    t.strictSame(await table.get('raw'), { id: 'raw', note: 'x' })
    let attempts = 0
    const refused = transaction(db, (tx) => {
      attempts++
      tx.check({ table: table.table, row: 'raw', column: 'f:note', notExists: true })
      tx.put(table, { id: 'a', balance: 1 })
    })
    await t.rejects(refused, { code: ErrorCode.conflict, message: /check 0/ })
    t.equal(attempts, 1, 'a check of the caller is not tried again')
    const other = await defineTable({
      name: 'accounts',
      key: { id: 'utf8' },
      columns: { note: 'utf8' },
    }).open(db)
    await t.rejects(
      transaction(db, async (tx) => {
        await tx.get(table, 'a')
        await tx.get(other, 'a')
      }),
      { code: ErrorCode.invalidArgument, message: /two definitions/ },
    )
    t.ok(
      (await transaction(db, () => 1, { attemptMax: 1 } as never).catch(
        (error: unknown) => error,
      )) instanceof CellarError,
    )
  },
)

void t.test('a backend without atomic batches is refused by name', async (t) => {
  const db = await openMemoryDatabase()
  const lesser = Object.create(db, {
    capabilities: { value: { ...db.capabilities, atomicAcrossTables: false } },
  }) as Database
  await t.rejects(
    transaction(lesser, () => 1),
    {
      code: ErrorCode.unsupported,
      message: /atomicAcrossTables/,
    },
  )
  await db.close()
})

onBackends('increments of transactions add up, and give an order back', async (t, db) => {
  const table = await accounts.open(db)
  await table.put({ id: 'a', balance: 5, note: 'stays' })
  const add = (amount: number | bigint): Promise<number> =>
    transaction(db, async (tx) => await tx.increment(table, 'a', 'balance', amount))
  const sums = await Promise.all([1, 2n, -3, 4].map(add))
  t.strictSame(await table.get('a'), { id: 'a', balance: 9, note: 'stays' })
  t.equal(new Set(sums).size, 4, `each saw the others: ${sums.join()}`)
  const both = await transaction(db, async (tx) => {
    const first = tx.increment(table, 'b', 'balance')
    const second = tx.increment(table, 'b', 'balance', 10)
    return Promise.all([first, second, tx.get(table, 'b')])
  })
  t.strictSame(both, [1, 11, { id: 'b', balance: 11 }], 'two of one transaction, at once')
  const refused = transaction(db, async (tx) => {
    tx.put(table, { id: 'c', note: 'taken back' })
    if ((await tx.increment(table, 'a', 'balance', -10)) < 0) throw new Error('too little')
  })
  await t.rejects(refused, /too little/)
  t.equal((await table.get('a'))?.balance, 9)
  t.equal(await table.get('c'), undefined)
  const code = { code: ErrorCode.invalidArgument }
  await t.rejects(add(1.5), code)
  await t.rejects(add('1' as never), code)
  await t.rejects(add(Number.MAX_SAFE_INTEGER), code, 'a sum that no number holds')
  await t.rejects(
    transaction(db, (tx) => tx.increment(table, 'a', 'note' as never)),
    code,
  )
})

const files = defineTable({
  name: 'files',
  key: { id: 'bytes' },
  columns: { content: 'bytes', note: 'utf8' },
})

onBackends('what a transaction gave may be changed in place', async (t, db) => {
  const table = await files.open(db)
  const id = Buffer.from('a')
  const content = async (): Promise<string> => String((await table.get({ id }))?.content)
  await table.put({ id, content: Buffer.from('hello') })
  const updated = await table.update({ id }, (row) => {
    row!.content![0] = 0x48
    return row
  })
  t.equal(String(updated?.content), 'Hello')
  t.equal(await content(), 'Hello', 'the change is written')
  const attempts = await transaction(
    db,
    async (tx) => {
      const row = (await tx.get(table, { id }))!
      row.content![1] = 0x45
      t.equal(String((await tx.get(table, { id }))?.content), 'Hello', 'a get gives its own bytes')
      tx.put(table, row)
      row.content!.fill(0)
      row.id[0] = 0x62
      return 1
    },
    { attemptsMax: 1 },
  )
  t.equal(attempts, 1)
  t.equal(await content(), 'HEllo')
  t.equal(await table.count(), 1)
})

onBackends('a transaction takes its arguments as they are at the call', async (t, db) => {
  const table = await files.open(db)
  await table.put({ id: Buffer.from('c'), note: 'checked' })
  const bytes = (['key', 'value', 'row', 'note', 'checked'] as const).map((text) =>
    Buffer.from(text),
  )
  const [id, content, row, note, checked] = bytes
  const options = { timestamp: 5 }
  await transaction(db, (tx) => {
    tx.put(table, { id, content }, options)
    tx.mutate({ table: 'files', row, put: { cells: { 'f:note': note } } })
    tx.check({ table: 'files', row: 'c', column: 'f:note', equals: checked })
    for (const each of bytes) each.fill(0)
    options.timestamp = 6
  })
  const found = await table.table.scan().all()
  const shown = found.flatMap((result) =>
    result.cells().map(({ row, value }) => `${String(row)} ${String(value)}`),
  )
  t.strictSame(shown, ['c checked', 'key value', 'row note'])
  t.equal(found[1].cells()[0].timestamp, 5)
})

onBackends('a put of a transaction has the options of a mutation', async (t, db) => {
  const table = await files.open(db)
  for (const options of [
    { ttlMillis: 5 },
    { durability: 'SKIP_WAL' },
    { ttlMilliseconds: 0 },
    null,
  ]) {
    const put = transaction(db, (tx) => {
      tx.put(table, { id: Buffer.from('a'), note: 'n' }, options as never)
    })
    await t.rejects(put, { code: ErrorCode.invalidArgument }, JSON.stringify(options))
  }
  t.equal(await table.count(), 0)
})

onBackends('writes are those of the call, and what is no object is refused', async (t, db) => {
  const table = await defineTable({ name: 'documents', columns: { data: 'bytes' } }).open(db)
  const plain = await db.admin.ensureTable('plain', { families: { f: {} } })
  await db.admin.ensureTable('other', { families: { f: {} } })
  await transaction(db, (tx) => {
    const data = Buffer.from('good')
    const cells = { 'f:q': Buffer.from('good') }
    const mutation = { table: 'plain', row: 'r', put: { cells } }
    const check = { table: 'plain', row: 'r', column: 'f:q', equals: null as string | null }
    tx.put(table, { id: 'a', data })
    tx.mutate(mutation)
    tx.check(check)
    data.write('evil')
    cells['f:q'].write('evil')
    mutation.table = 'other'
    check.equals = 'changed'
  })
  t.equal(String((await table.get('a'))!.data), 'good')
  t.equal((await plain.get({ row: 'r' })).value('f:q', 'utf8'), 'good')

  const refused = { code: ErrorCode.invalidArgument }
  for (const wrong of [null, undefined, 5]) {
    await t.rejects(
      transaction(db, (tx) => tx.check(wrong as never)),
      refused,
    )
    await t.rejects(
      transaction(db, (tx) => tx.mutate(wrong as never)),
      refused,
    )
  }
  await t.rejects(
    transaction(db, (tx) => tx.get(accounts as never, 'a')),
    refused,
    'a definition is no table',
  )
})

onBackends('updates of one row in one transaction lose none', async (t, db) => {
  const table = await accounts.open(db)
  await table.put({ id: 'a', balance: 0 })
  await transaction(db, async (tx) => {
    const more = (): unknown =>
      tx.update(table, 'a', (row) => ({ id: 'a', balance: row!.balance! + 1 }))
    await Promise.all([more(), more(), more()])
  })
  t.equal((await table.get('a'))!.balance, 3)

  const torn = transaction(db, async (tx) => {
    const slow = tx.update(table, 'a', async (row) => {
      await new Promise(setImmediate)
      return { id: 'a', balance: row!.balance! + 1 }
    })
    await Promise.all([slow, tx.increment(table, 'a', 'balance')])
  })
  await t.rejects(torn, { code: ErrorCode.invalidArgument, message: /one call .* after the other/ })
  t.equal((await table.get('a'))!.balance, 3, 'nothing was written')
})
