/**
 * What the seam adds on top of any backend: encodings, typed tables, helpers, pages, display.
 *
 * @runs long
 */
import { inspect } from 'node:util'
import t, { type Test } from 'tap'
import {
  countRows,
  deleteRange,
  encodings,
  readPage,
  type BatchOperation,
  type Database,
  type EmbeddedTable,
  type Mutation,
  type Scan,
  type Put,
} from '../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../src/entries/memory.js'
import { hasCode } from '../../../src/base/errors.js'
import { seededRandom } from '../../../src/base/random.js'
import { TestDatabase } from '../../helpers/test-database.js'

interface Neighbours {
  readonly next: string | undefined
  readonly previous: string | undefined
}

async function filled(t: Test, rows: number): Promise<{ db: Database; table: EmbeddedTable }> {
  const { database: db } = await TestDatabase.open()
  t.teardown(() => db.close())
  const table = await db.createTable('t', { families: { f: { versions: 3 } } })
  for (let i = 0; i < rows; i++) await table.put({ row: `r${i}`, cells: { 'f:v': String(i) } })
  return { db, table }
}

void t.test('scanners have the standard iterator helpers', async (t) => {
  const { table } = await filled(t, 9)
  const text = (result: { value(column: string): Buffer | undefined }): string =>
    String(result.value('f:v'))
  t.equal((await table.scan().all()).length, 9)
  t.strictSame(await table.scan({ limit: 3 }).map(text).toArray(), ['0', '1', '2'])
  t.strictSame(await table.scan().drop(2).take(3).map(text).all(), ['2', '3', '4'])
  t.strictSame(
    await table
      .scan()
      .map(async (row, index) => Number(text(row)) * index)
      .filter((square) => square % 2 === 1)
      .flatMap((square) => [square, -square])
      .all(),
    [1, -1, 9, -9, 25, -25, 49, -49],
  )
  t.equal(await table.scan().reduce((sum, row) => sum + Number(text(row)), 0), 36)
  t.equal(await table.scan().some((row) => text(row) === '5'), true)
  t.equal(await table.scan().every((row) => text(row) < '5'), false)
  t.equal((await table.scan().find((row) => text(row) === '7'))?.row?.toString(), 'r7')
  t.equal(await table.scan().find(() => false), undefined)
  const seen: string[] = []
  await table.scan().forEach((row, index) => void seen.push(`${index}${text(row)}`))
  t.equal(seen.at(-1), '88')
  t.strictSame(table.scanSync().map(text).drop(7).all(), ['7', '8'])
  t.equal(
    table.scanSync().reduce((sum, row) => sum + Number(text(row)), 0),
    36,
  )
  t.strictSame(
    table
      .scanSync()
      .take(2)
      .flatMap((row) => [text(row), '-'])
      .toArray(),
    ['0', '-', '1', '-'],
  )
})

void t.test('whatever ends a helper early closes the scan', async (t) => {
  const { table } = await filled(t, 5)
  const failing = table.scan()
  const failure = new Error('of the callback')
  await t.rejects(
    failing
      .map(() => {
        throw failure
      })
      .all(),
    failure,
  )
  t.strictSame(await failing.next(), { done: true, value: undefined })
  const found = table.scan()
  await found.find(() => true)
  t.strictSame(await found.next(), { done: true, value: undefined })
  const unused = table.scan()
  await unused.map((row) => row).return()
  t.strictSame(await unused.next(), { done: true, value: undefined }, 'even if it never began')
  const none = table.scan()
  t.strictSame(await none.take(0).all(), [])
  t.strictSame(await none.next(), { done: true, value: undefined })
  const inTime = table.scanSync()
  t.equal(
    inTime.some(() => true),
    true,
  )
  t.strictSame(inTime.next(), { done: true, value: undefined })
  t.throws(() => table.scan().take(-1), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => table.scanSync().drop('1' as never), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => table.scan().map(undefined as never), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('pages cover a scan, each row once', async (t) => {
  const { table } = await filled(t, 10)
  for (const scan of [{}, { prefix: 'r' }, { startRow: 'r2', stopRow: 'r8' }]) {
    for (const reversed of [false, true]) {
      const range =
        reversed && 'startRow' in scan
          ? { startRow: scan.stopRow, stopRow: scan.startRow, reversed }
          : { ...scan, reversed }
      const rows: string[] = []
      let page: string | undefined
      do {
        const read = await readPage(table, { ...range, limit: 3, page })
        t.ok(read.rows.length > 0, 'no page is empty')
        rows.push(...read.rows.map((row) => String(row.row)))
        page = read.next
      } while (page !== undefined)
      t.strictSame(
        rows,
        await table
          .scan(range)
          .map((row) => String(row.row))
          .all(),
      )
    }
  }
  const { next } = await readPage(table, { limit: 3 })
  const refused = { code: 'ERR_INVALID_ARGUMENT' }
  await t.rejects(readPage(table, { limit: 3, page: next, reversed: true }), refused)
  await t.rejects(readPage(table, { limit: 3, page: next, prefix: 'x' }), refused)
  await t.rejects(readPage(table, { limit: 3, page: next, startRow: 'r9' }), refused)
  await t.rejects(readPage(table, { limit: 3, page: '!' }), refused)
  await t.rejects(readPage(table, { limit: 0 }), refused)
  await t.rejects(readPage(table, {} as never), refused)
  await t.rejects(readPage(table, { limit: 3, prefx: 'r' } as never), refused)
  const pieces = { maxResultBytes: 1, allowPartialResults: true }
  for (const parts of [{ batch: 1 }, { needCursorResult: true }, pieces]) {
    await t.rejects(readPage(table, { limit: 3, ...parts }), refused, 'parts of rows')
    await t.rejects(countRows(table, parts as never), refused)
    await t.rejects(deleteRange(table, { prefix: 'r', ...parts }), refused)
  }
  await t.rejects(countRows(table, { raw: true } as never), refused, 'deleted rows')
})

const pageSeed = Number(process.env['CELLAR_SEED'] ?? 20261124)

void t.test(`pages lead to both sides while rows come and go, seed ${pageSeed}`, async (t) => {
  const random = seededRandom(pageSeed)
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]
  const names = Array.from({ length: 30 }, (_, n) => `r${String(n).padStart(2, '0')}`)
  const { table } = await filled(t, 0)
  const present = new Set<string>()
  const ranges = [
    { holds: () => true, forward: {}, backward: {} },
    {
      holds: (row: string) => row.startsWith('r1'),
      forward: { prefix: 'r1' },
      backward: { prefix: 'r1' },
    },
    {
      holds: (row: string) => row > 'r05' && row <= 'r25',
      forward: { startRow: 'r05', startInclusive: false, stopRow: 'r25', stopInclusive: true },
      backward: { startRow: 'r25', stopRow: 'r05' },
    },
  ]
  for (let walk = 0; walk < 40; walk++) {
    const reversed = random() < 0.5
    const limit = 1 + Math.floor(random() * 4)
    const { holds, forward, backward } = pick(ranges)
    const scan = { ...(reversed ? backward : forward), reversed, limit }
    const read = async (page: string | undefined): Promise<{ rows: string[] } & Neighbours> => {
      const { rows, next, previous } = await readPage(table, { ...scan, page })
      return { rows: rows.map(({ row }) => String(row)), next, previous }
    }
    const listed = (): string[] => {
      const rows = [...present].filter(holds).sort()
      return reversed ? rows.reverse() : rows
    }
    const isBehind = (row: string, other: string): boolean => (reversed ? row < other : row > other)
    let current = await read(undefined)
    t.strictSame(current.rows, listed().slice(0, limit))
    t.equal(current.previous, undefined, 'nothing lies before the first page')
    for (let step = 0; step < 12; step++) {
      for (let change = 0; change < 3; change++) {
        const row = pick(names)
        if (present.delete(row)) await table.delete({ row })
        else {
          await table.put({ row, cells: { 'f:v': '' } })
          present.add(row)
        }
      }
      if (current.rows.length === 0) break
      const isNext = random() < 0.5
      const page = isNext ? current.next : current.previous
      if (page === undefined) continue
      const [first, last] = [current.rows[0], current.rows.at(-1)!]
      const beside = listed().filter((row) => (isNext ? isBehind(row, last) : isBehind(first, row)))
      current = await read(page)
      const expected = isNext ? beside.slice(0, limit) : beside.slice(-limit)
      t.strictSame(
        current.rows,
        expected,
        `${isNext ? 'next' : 'previous'}, ${JSON.stringify(scan)}`,
      )
      t.equal((isNext ? current.next : current.previous) !== undefined, beside.length > limit)
      const back = await read(isNext ? current.previous : current.next)
      if (present.has(isNext ? last : first)) {
        t.equal(isNext ? back.rows.at(-1) : back.rows[0], isNext ? last : first, 'the way back')
      }
    }
  }
})

void t.test('values have encodings, per call', async (t) => {
  const { table } = await filled(t, 0)
  await table.put({ row: 'a', cells: { 'f:json': encodings.json().encode({ x: [1] }) } })
  await table.incrementColumnValue('a', 'f:n', 7)
  const result = await table.get({ row: 'a' })
  t.strictSame(result.value('f:json', 'json'), { x: [1] })
  t.equal(result.value('f:n', 'int64'), 7n)
  t.equal(result.value('f:n', 'integer'), 7)
  t.equal(result.value('f:none', 'json'), undefined)
  t.throws(() => result.value('f:n', 'json'), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => result.value('f:json', 'int64'), { code: 'ERR_INVALID_ARGUMENT' })
  t.throws(() => result.value('f:n', 'int32' as never), { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('text of every length is read as it was written, or refused', async (t) => {
  const { table } = await filled(t, 0)
  const texts = ['', 'é', '🂡', '\u0000', '\u007f', '\u0080']
  for (const length of [1, 63, 64, 65, 300]) {
    texts.push('x'.repeat(length), `${'x'.repeat(length - 1)}é`, `é${'x'.repeat(length)}`)
  }
  const cells = Object.fromEntries(texts.map((text, i) => [`f:${i}`, text]))
  await table.put({ row: 'a', cells })
  const result = await table.get({ row: 'a' })
  for (const [i, text] of texts.entries()) {
    t.equal(result.value(`f:${i}`, 'utf8'), text)
    t.equal(encodings.utf8.decode(result.value(`f:${i}`)!), text)
    t.strictSame(result.value(`f:${i}`, 'bytes'), Buffer.from(text))
  }
  for (const length of [0, 62, 63, 64, 300]) {
    const stored = Buffer.concat([Buffer.alloc(length, 'x'), Buffer.from([0xff])])
    await table.put({ row: 'b', cells: { 'f:v': stored } })
    const wrong = await table.get({ row: 'b' })
    const refused = { code: 'ERR_INVALID_ARGUMENT', message: /column "f:v".*not UTF-8/ }
    t.throws(() => wrong.value('f:v', 'utf8'), refused)
    t.strictSame(wrong.value('f:v', 'bytes'), stored)
  }
})

void t.test('ensureTable creates, adds families and refuses what differs', async (t) => {
  const { db } = await filled(t, 0)
  const made = await db.ensureTable('e', { families: { a: { versions: 2 } } })
  await made.put({ row: 'r', cells: { 'a:v': '1' } })
  const again = await db.admin.ensureTable('e', { families: { a: { versions: 2 }, b: {} } })
  t.strictSame(Object.keys(again.describe().families), ['a', 'b'])
  t.equal((await again.get({ row: 'r' })).value('a:v', 'utf8'), '1')
  await db.ensureTable('e', { families: { a: { compaction: 'lazy-leveled' } } })
  const exists = { code: 'ERR_TABLE_EXISTS', message: /'a' of 'e' exists with versions 2, not 3/ }
  await t.rejects(db.ensureTable('e', { families: { a: { versions: 3 } } }), exists)
  const typo = { families: { a: { verions: 2 } } } as never
  await t.rejects(db.ensureTable('e', typo), { code: 'ERR_INVALID_ARGUMENT' })
  const both = await Promise.all([1, 2].map(() => db.ensureTable('twice', { families: { f: {} } })))
  t.strictSame(
    both.map(({ name }) => name),
    ['twice', 'twice'],
  )
})

void t.test('objects print and have a JSON form', async (t) => {
  const { db, table } = await filled(t, 1)
  await table.put({ row: 'r0', cells: { 'f:v': 'new', 'f:bytes': Buffer.of(0, 255) } })
  const result = await table.get({ row: 'r0', versions: 2 })
  t.equal(inspect(result), "Result { row: 'r0', 'f:bytes': '\\\\x00\\\\xFF', 'f:v': 'new' }")
  const shape = JSON.parse(JSON.stringify(result)) as { row: string; cells: object[] }
  t.match(shape, {
    row: 'r0',
    cells: [
      { column: 'f:bytes', value: '\\x00\\xFF' },
      { column: 'f:v', value: 'new' },
      { column: 'f:v', value: '0' },
    ],
  })
  const [cell] = result.cells()
  t.equal(
    inspect(result.cell('f:v')).replace(/timestamp: \d+/, 'timestamp: 1'),
    "Cell { row: 'r0', column: 'f:v', timestamp: 1, value: 'new' }",
  )
  t.match(JSON.parse(JSON.stringify(cell)), { column: 'f:bytes', value: '\\x00\\xFF' })
  t.equal(inspect(table), "Table { name: 't', families: [ 'f' ] }")
  t.match(inspect(db), /^Database \{\s+directory: .*,\s+open: true,\s+tables: \[ 't' \]\s+\}$/)
  t.match(JSON.parse(JSON.stringify(db)), { open: true, tables: ['t'] })
  t.equal(inspect(await table.get({ row: 'none' })), 'Result {}')
})

void t.test('a failed list has its failures by position', async (t) => {
  const { table } = await filled(t, 0)
  const puts: Put[] = [
    { row: 'a', cells: { 'f:v': '1' } },
    { row: 'b', cells: { 'g:v': '1' } },
  ]
  const error: unknown = await table.putList(puts).catch((failure: unknown) => failure)
  t.ok(hasCode(error, 'ERR_BATCH_FAILED'))
  if (hasCode(error, 'ERR_BATCH_FAILED')) {
    t.strictSame(
      [...(error.failures ?? [])].map(([at, { code }]) => [at, code]),
      [[1, 'ERR_NO_SUCH_COLUMN_FAMILY']],
    )
  }
  const count: number = await table.callEndpoint('rowCount')
  t.equal(count, 1)
})

void t.test('a mutation has one member, for the compiler and at run time', async (t) => {
  const { table } = await filled(t, 0)
  const put = { cells: { 'f:v': '1' } }
  // @ts-expect-error A put and a delete are no mutation.
  const both: Mutation = { put, delete: {} }
  await t.rejects(table.mutateRow({ row: 'r', mutations: [both] }), {
    code: 'ERR_INVALID_ARGUMENT',
  })
  // @ts-expect-error A get and a put are no operation of a batch.
  const operation: BatchOperation = { get: { row: 'r' }, put: { row: 'r', ...put } }
  const [outcome] = await table.batch([operation])
  t.match(outcome, { ok: false, error: { code: 'ERR_INVALID_ARGUMENT' } })
  // @ts-expect-error A scan has rows to begin and end at, or a prefix.
  const scan: Scan = { prefix: 'r', startRow: 'r' }
  t.throws(() => table.scan(scan), { code: 'ERR_INVALID_ARGUMENT' })
  t.ok((await table.get({ row: 'r' })).isEmpty)
})

void t.test('a cell decodes a member when it is asked for, once', async (t) => {
  const { table } = await filled(t, 1)
  const timestamp = 2n ** 60n + 1n
  await table.put({ row: 'a\0b', cells: { 'f:q\0': 'value' }, timestamp })
  const [cell] = (await table.get({ row: 'a\0b' })).cells()
  const decoded = (): unknown[] =>
    Object.values(cell).filter((member) => typeof member === 'bigint')
  const kept = cell as unknown as Record<string, unknown>
  t.strictSame(
    [kept['keptRow'], kept['keptQualifier'], kept['keptValue']],
    [undefined, undefined, undefined],
  )
  t.equal(String(cell.value), 'value')
  t.equal(cell.value, cell.value, 'the same Buffer again')
  t.strictSame([kept['keptRow'], kept['keptQualifier']], [undefined, undefined])
  t.strictSame([String(cell.row), String(cell.qualifier)], ['a\0b', 'q\0'])
  t.strictSame([cell.timestampExact, cell.timestamp], [timestamp, Number(timestamp)])
  t.strictSame([cell.family, cell.type, decoded()], ['f', 'Put', []])
  t.ok(cell.sequence > 0)
  const [again] = (await table.get({ row: 'a\0b' })).cells()
  t.equal(inspect(again), inspect(cell))
})

void t.test('a feed begins with the first mutation after the call', async (t) => {
  const { database: embedded } = await TestDatabase.open()
  for (const db of [embedded, await openMemoryDatabase()]) {
    const table = await db.admin.ensureTable('t', { families: { f: {} } })
    await table.put({ row: 'before', cells: { 'f:v': '1' } })
    const feed = db.changes()
    await table.put({ row: 'after', cells: { 'f:v': '2' } })
    const { value } = await feed.next()
    t.equal(String(value?.cells[0].row), 'after')
    await feed.return()
    await db.close()
  }
})
