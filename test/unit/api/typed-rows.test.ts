/** Keys and values of typed tables: what was read names the same row, and what is wrong is said. */
import t from 'tap'
import { ErrorCode, typedTable } from '../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { seededRandom } from '../../../src/base/random.js'
import { TestDatabase } from '../../helpers/test-database.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const refused = { code: ErrorCode.invalidArgument }
const binary = Buffer.of(0xff, 0x00, 0xc3)

void t.test(
  `every row that a typed table reads is found again by its key, seed ${seed}`,
  async (t) => {
    const test = await TestDatabase.open()
    t.teardown(() => test.close())
    const table = await test.database.createTable('t', { families: { f: {} } })
    const random = seededRandom(seed)
    const below = (bound: number): number => Math.floor(random() * bound)
    const rows = Array.from({ length: 300 }, () =>
      Buffer.from(Array.from({ length: 1 + below(4) }, () => below(256))),
    )
    const typed = typedTable(table, { v: 'f:v' }, { rowEncoding: 'bytes' })
    for (const row of rows) await typed.put(row, { v: row.toString('hex') })
    let count = 0
    for (const { row, v } of await typed.scan().all()) {
      count++
      t.ok(Buffer.isBuffer(row) && row.toString('hex') === v, `scanned ${v}`)
      if ((await typed.get(row))?.v !== v) t.fail(`get of ${v}`)
      if ((await typed.getList([row]))[0]?.v !== v) t.fail(`getList of ${v}`)
      if (typed.getSync(row)?.row.equals(row) !== true) t.fail(`getSync of ${v}`)
      if (!(await typed.compareAndSet(row, 'v', v, 'x'))) t.fail(`compareAndSet of ${v}`)
      await typed.delete(row)
      if ((await typed.get(row)) !== undefined) t.fail(`delete of ${v}`)
    }
    t.equal(count, new Set(rows.map((row) => row.toString('hex'))).size)
  },
)

void t.test('a typed table of text refuses rows and values that are not UTF-8', async (t) => {
  for (const database of [await openMemoryDatabase(), (await TestDatabase.open()).database]) {
    const table = await database.createTable('t', { families: { f: {} } })
    await table.put({ row: binary, cells: { 'f:v': 'v' } })
    await table.put({ row: 'é', cells: { 'f:v': binary, 'f:n': '1' } })
    const typed = typedTable(table, { v: 'f:v', n: { column: 'f:n', encoding: 'int64' } })
    const hint = { ...refused, message: /not UTF-8.*rowEncoding: 'bytes'/ }
    await t.rejects(typed.scan({ startRow: binary }).all(), hint)
    t.throws(() => typed.scanSync({ startRow: binary }).all(), hint)
    await t.rejects(typed.get(binary), hint)
    await t.rejects(typed.put(binary, { v: 'v' }), hint)
    await t.rejects(typed.delete(binary), hint)
    await t.rejects(typed.increment(binary, 'n'), hint)
    await t.rejects(typed.compareAndSet(binary, 'v', 'v', 'w'), hint)
    t.throws(() => typed.fromResult(table.getSync({ row: binary })), hint)
    const value = { ...refused, message: /column '?"?f:v.*not UTF-8/ }
    await t.rejects(typed.get('é'), value)
    const result = await table.get({ row: 'é' })
    t.throws(() => result.value('f:v', 'utf8'), value)
    t.strictSame(result.value('f:v', 'bytes'), binary)
    await table.delete({ row: 'é' })
    await typed.put(Buffer.from('é'), { v: 'Zoë' })
    t.strictSame(await typed.get('é'), { row: 'é', v: 'Zoë' })
    await database.close()
  }
})

void t.test('what a typed table cannot use is refused with a reason', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const table = await database.createTable('t', { families: { f: {} } })
  const typed = typedTable(table, { v: 'f:v' })
  const as = <T>(value: unknown): T => value as T
  await t.rejects(typed.getList(as(5)), { ...refused, message: /rows must be an array, got 5/ })
  await t.rejects(typed.getList(['a'], as(null)), refused)
  await t.rejects(typed.get('a', as(5)), refused)
  t.throws(() => typed.fromResult(as(5)), refused)
  t.throws(() => typed.fromResult(as({})), refused)
  t.throws(() => typed.fromResult(table.getSync({ row: 'none' })), {
    ...refused,
    message: /an empty result has no row/,
  })
  await t.rejects(typed.get('a', as({ columns: ['f:w'] })), {
    ...refused,
    message: /no option 'columns'/,
  })
  t.throws(() => typed.scan(as({ raw: true })), { ...refused, message: /no option 'raw'/ })
  t.throws(() => typedTable(table, { v: 'f:v' }, { rowEncoding: 'text' as never }), {
    ...refused,
    message: /rowEncoding must be one of utf8, bytes/,
  })
  t.throws(() => typedTable(table, { v: 'f:v' }, { rowEncodng: 'bytes' } as never), {
    ...refused,
    message: /did you mean 'rowEncoding'/,
  })
  t.throws(() => typedTable(as({}), { v: 'f:v' }), refused)
  for (const name of ['deletionOf', 'cellsOf', 'checkOf', 'property', 'columns']) {
    t.notOk(name in typed, `${name} is internal`)
  }
})
