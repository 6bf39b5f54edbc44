/**
 * A random mix of mutating calls from buffers that are used again and again, under pressure: every
 * call must count with the bytes that it was given, and those of one row in the order of the calls.
 */
import type { Database, EmbeddedTable, Result } from '../../src/entries/index.js'

const rowBytes = 12

/** What a row must hold in the end. */
interface ExpectedRow {
  /** Numbers of the calls that appended, in order. */
  readonly appended: number[]
  /** Numbers of the calls that put, in order. */
  readonly put: number[]
  count: number
}

function rowText(row: number): string {
  return `row:${String(row).padStart(rowBytes - 4, '0')}`
}

function numberText(number: number): string {
  return `${String(number).padStart(7, '0')},`
}

/** Puts the number of a call into memory that other calls use as well. */
class Reused {
  private readonly row = Buffer.alloc(rowBytes)
  private readonly number = Buffer.alloc(8)
  private readonly padding = Buffer.alloc(1800)

  fill(row: number, number: number): void {
    this.row.write(rowText(row))
    this.number.write(numberText(number))
    this.padding.fill(number % 251)
  }

  get buffers(): { row: Buffer; number: Buffer; padding: Buffer } {
    return { row: this.row, number: this.number, padding: this.padding }
  }

  spoil(): void {
    this.row.fill(0x7e)
    this.number.fill(0x7e)
    this.padding.fill(0xfe)
  }
}

/** Makes calls and knows what must come of them. REQUIRES a family `f` with many versions. */
export class CallOrder {
  readonly expected = new Map<number, ExpectedRow>()
  /** Calls that were made. */
  calls = 0
  private readonly database: Database
  private readonly table: EmbeddedTable
  private readonly random: () => number
  private readonly rows: number
  private readonly reused = new Reused()
  private readonly pending: Promise<unknown>[] = []

  constructor(database: Database, table: EmbeddedTable, rows: number, random: () => number) {
    this.database = database
    this.table = table
    this.rows = rows
    this.random = random
  }

  /** Makes one call of any kind; it is not waited for. */
  call(): void {
    const { table } = this
    const row = Math.floor(this.random() * this.rows)
    const number = this.calls++
    const expected = this.expected.get(row) ?? { appended: [], put: [], count: 0 }
    this.expected.set(row, expected)
    this.reused.fill(row, number)
    const { row: key, number: value, padding } = this.reused.buffers
    const cells = { 'f:put': value, 'f:padding': padding }
    const columns = { 'f:appended': value }
    const kind = Math.floor(this.random() * 11)
    const objects: Record<string, unknown>[] = [cells, columns]
    if (kind <= 3 || kind === 8 || kind === 10) expected.put.push(number)
    else if (kind === 9) expected.count++
    else expected.appended.push(number)
    if (kind === 0 || kind === 1) this.pending.push(table.put({ row: key, cells }))
    else if (kind === 2) this.pending.push(table.putList([{ row: key, cells }]))
    else if (kind === 3) this.pending.push(table.batch([{ put: { row: key, cells } }]))
    else if (kind === 4) this.pending.push(table.append({ row: key, columns }))
    else if (kind === 5) {
      this.pending.push(table.mutateRow({ row: key, mutations: [{ append: { columns } }] }))
    } else if (kind === 6) {
      const check = { row: key, column: 'f:none', notExists: true } as const
      this.pending.push(table.checkAndMutate(check, { append: { columns } }))
    } else if (kind === 7) table.appendSync({ row: key, columns })
    else if (kind === 8) {
      const rows = [{ row: key, mutations: [{ put: { cells } }] }]
      this.pending.push(table.mutateRows({ rows }))
    } else if (kind === 10) {
      // Holds if the calls on the other row that were made before are over.
      const other = Math.floor(this.random() * this.rows)
      const last = this.expected
        .get(other)
        ?.put.filter((each) => each !== number)
        .at(-1)
      const equals = last === undefined ? null : numberText(last)
      const checks = [{ table, row: rowText(other), column: 'f:put', equals }]
      const mutations = [{ table, row: key, mutations: [{ put: { cells } }] }]
      this.pending.push(this.database.atomic({ checks, mutations }))
    } else this.pending.push(table.incrementColumnValue(key, 'f:count'))
    this.reused.spoil()
    for (const object of objects) for (const name of Object.keys(object)) delete object[name]
  }

  /** Waits for all calls; returns what is wrong with the rows. */
  async finish(): Promise<string[]> {
    await Promise.all(this.pending.splice(0))
    return this.judge()
  }

  /** What is wrong with the rows now. */
  judge(): string[] {
    const wrong: string[] = []
    const rows = [...this.table.scanSync({ versions: 'all' })]
    if (rows.length !== this.expected.size) {
      wrong.push(`${rows.length} rows instead of ${this.expected.size}`)
    }
    for (const result of rows) {
      const row = Number(result.row!.toString().slice(4))
      const expected = this.expected.get(row)
      if (expected === undefined) wrong.push(`row ${result.row!.toString('latin1')} is nobody's`)
      else compareRow(row, result, expected, wrong)
    }
    return wrong
  }
}

function compareRow(row: number, result: Result, expected: ExpectedRow, wrong: string[]): void {
  const appended = numbersOf(result.value('f:appended')?.toString() ?? '')
  compare(`row ${row}, appended`, appended, expected.appended, wrong)
  const put = result.cells().filter(({ qualifier }) => qualifier.toString() === 'put')
  const numbers = put.reverse().flatMap(({ value }) => numbersOf(value.toString()))
  compare(`row ${row}, put`, numbers, expected.put, wrong)
  const count = Number(result.value('f:count')?.readBigInt64BE(0) ?? 0n)
  if (count !== expected.count) wrong.push(`row ${row}: count ${count} for ${expected.count}`)
}

function numbersOf(text: string): number[] {
  return text.split(',').slice(0, -1).map(Number)
}

function compare(what: string, found: number[], expected: number[], wrong: string[]): void {
  if (found.length === expected.length && found.every((n, i) => n === expected[i])) return
  wrong.push(`${what}: ${found.join(' ')} instead of ${expected.join(' ')}`)
}

/** Makes so many calls, some turns of the event loop in between; what is wrong in the end. */
export async function checkCallOrder(
  database: Database,
  random: () => number,
  calls: number,
): Promise<string[]> {
  const families = { f: { versions: 100_000 } }
  const table = await database.createTable('calls', { families })
  const order = new CallOrder(database, table, 40, random)
  while (order.calls < calls) {
    const burst = Math.floor(random() * 400)
    for (let i = 0; i < burst; i++) order.call()
    const pause = random()
    if (pause < 0.3) await new Promise((resolve) => setImmediate(resolve))
    else if (pause < 0.4) void database.flush().catch(() => undefined)
    else if (pause < 0.45) {
      const wrong = await order.finish()
      if (wrong.length > 0) return wrong
    }
  }
  return order.finish()
}
