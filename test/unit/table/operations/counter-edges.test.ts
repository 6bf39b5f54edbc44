/** Counters are signed numbers of 64 bits that wrap around, as HBase's. */
import t from 'tap'
import { Database, MemoryFileSystem, type EmbeddedTable } from '../../../../src/entries/index.js'

const max = 2n ** 63n - 1n
const min = -(2n ** 63n)

async function open(): Promise<{ database: Database; table: EmbeddedTable }> {
  const options = { executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/db', { ...options, fileSystem: new MemoryFileSystem() })
  return { database, table: await database.createTable('t', { families: { f: {} } }) }
}

function bytesOf(value: bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(value)
  return bytes
}

/** What is stored, the amount, and the sum. */
const sums: readonly (readonly [bigint | undefined, bigint | number, bigint])[] = [
  [undefined, 1, 1n],
  [undefined, max, max],
  [undefined, min, min],
  [0n, 0, 0n],
  [1n, -1, 0n],
  [-1n, 1, 0n],
  [0n, -1, -1n],
  // Carries between the halves of 32 bits, both ways.
  [2n ** 32n - 1n, 1, 2n ** 32n],
  [2n ** 32n, -1, 2n ** 32n - 1n],
  [-(2n ** 32n), -1, -(2n ** 32n) - 1n],
  [-(2n ** 32n) - 1n, 1, -(2n ** 32n)],
  [2n ** 31n - 1n, 1, 2n ** 31n],
  [-(2n ** 31n), -1, -(2n ** 31n) - 1n],
  // Beyond what a number holds exactly.
  [2n ** 53n - 1n, 1, 2n ** 53n],
  [2n ** 53n, 1, 2n ** 53n + 1n],
  [2n ** 53n + 1n, Number.MAX_SAFE_INTEGER, 2n ** 54n],
  [-(2n ** 53n), -1, -(2n ** 53n) - 1n],
  [0x0123456789abcdefn, 0x1111111111111111n, 0x123456789abcdf00n],
  // The ends, and around them.
  [max - 1n, 1, max],
  [max, 1, min],
  [max, max, -2n],
  [max, min, -1n],
  [min, -1, max],
  [min, min, 0n],
  [min, max, -1n],
  [min + 1n, -1, min],
]

void t.test('increments add with 64 bits', async (t) => {
  const { database, table } = await open()
  for (const [i, [stored, amount, sum]] of sums.entries()) {
    const row = `r${i}`
    const name = `${stored} + ${amount}`
    if (stored !== undefined) await table.put({ row, cells: { 'f:n': bytesOf(stored) } })
    t.equal(await table.incrementColumnValue(row, 'f:n', amount), sum, name)
    t.same(table.getSync({ row }).value('f:n'), bytesOf(sum), name)
    t.equal(table.incrementColumnValueSync(row, 'f:n', 0), sum, `${name}, read again`)
  }
  await database.close()
})

void t.test('sums are the same when the counter is in a file and after a reopen', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const options = { executor: 'inline', compactionEnabled: false, fileSystem } as const
  let database = await Database.open('/db', options)
  let table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:n': bytesOf(max) } })
  await database.flush()
  t.equal(await table.incrementColumnValue('r', 'f:n', 1), min)
  await database.close()
  database = await Database.open('/db', options)
  table = database.table('t')
  t.equal(await table.incrementColumnValue('r', 'f:n', -1), max)
  await database.close()
})

void t.test('amounts beyond 64 bits are refused and change nothing', async (t) => {
  const { database, table } = await open()
  await table.put({ row: 'r', cells: { 'f:n': bytesOf(5n) } })
  for (const amount of [max + 1n, min - 1n, 2 ** 53, 0.5, NaN, Infinity]) {
    const increment = table.incrementColumnValue('r', 'f:n', amount)
    await t.rejects(increment, { code: 'ERR_INVALID_ARGUMENT' }, String(amount))
  }
  t.same(table.getSync({ row: 'r' }).value('f:n'), bytesOf(5n))
  await database.close()
})
