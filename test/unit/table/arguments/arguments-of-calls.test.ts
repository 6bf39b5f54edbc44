/**
 * Arguments count as of the call, whatever it waits for, and a row's calls keep their order.
 *
 * @runs long
 */
import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  ValueFilter,
  type EmbeddedTable,
  type Result,
} from '../../../../src/entries/index.js'
import { checkCallOrder } from '../../../helpers/call-order.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'

const budgets = { memtableBytesMax: 256 * 1024, flushBytes: 128 * 1024 } as const

async function open(more: object = {}): Promise<{ database: Database; table: EmbeddedTable }> {
  const fileSystem = new MemoryFileSystem()
  const options = { executor: 'inline', compactionEnabled: false } as const
  const database = await Database.open('/db', { ...options, ...budgets, ...more, fileSystem })
  const families = { f: { versions: 1000 }, g: {} }
  return { database, table: await database.createTable('t', { families }) }
}

/** Fills the memory budget, so that the calls that follow are held. */
function press(table: EmbeddedTable): Promise<unknown> {
  const value = 'x'.repeat(2000)
  const puts = Array.from({ length: 200 }, (_, i) =>
    table.put({ row: `press ${i}`, cells: { 'g:v': value } }),
  )
  return Promise.all(puts)
}

const text = (table: EmbeddedTable, row: string, column: string): string | undefined =>
  table.getSync({ row }).value(column)?.toString()

void t.test('2,000 held puts from one buffer store 2,000 values', async (t) => {
  const { database, table } = await open()
  const value = Buffer.alloc(2000)
  const puts: Promise<unknown>[] = []
  for (let i = 0; i < 2000; i++) {
    value.fill(0).write(String(i))
    puts.push(table.put({ row: `r${i}`, cells: { 'f:v': value } }))
  }
  value.fill(0xff)
  await Promise.all(puts)
  let wrong = 0
  for (let i = 0; i < 2000; i++) {
    if (
      !table
        .getSync({ row: `r${i}` })
        .value('f:v')
        ?.toString()
        .startsWith(`${i}\0`)
    )
      wrong++
  }
  t.equal(wrong, 0)
  t.ok(database.statistics().stalls > 0, 'they were held')
  await database.close()
})

void t.test('800 held puts from one buffer of rows make 800 rows', async (t) => {
  const { database, table } = await open()
  const row = Buffer.alloc(4)
  const cells = { 'f:v': 'x'.repeat(2000) }
  const puts: Promise<unknown>[] = []
  for (let i = 0; i < 800; i++) {
    row.write(String(i).padStart(4, '0'))
    puts.push(table.put({ row, cells }))
  }
  await Promise.all(puts)
  const rows = [...table.scanSync()].map((result) => result.row!.toString())
  t.same(
    rows,
    Array.from({ length: 800 }, (_, i) => String(i).padStart(4, '0')),
  )
  await database.close()
})

/** One mutating call of each kind, from memory that is spoiled as soon as the call has returned. */
async function everyCall(database: Database, table: EmbeddedTable): Promise<void> {
  const used: Buffer[] = []
  const objects: Record<string, unknown>[] = []
  const bytes = (content: string): Buffer => {
    const buffer = Buffer.from(content)
    used.push(buffer)
    return buffer
  }
  const object = <T extends Record<string, unknown>>(content: T): T => {
    objects.push(content)
    return content
  }
  const put = (row: string) => object({ row: bytes(row), cells: object({ 'f:v': bytes(row) }) })
  const column = (qualifier: string) => ({ family: bytes('f'), qualifier: bytes(qualifier) })
  const calls: Promise<unknown>[] = [
    table.put(put('put')),
    table.putList([put('list 1'), put('list 2')]),
    table.delete(object({ row: bytes('deleted'), columns: [column('v')] })),
    table.deleteList([object({ row: bytes('deleted too'), families: [bytes('f')] })]),
    table.increment(object({ row: bytes('n'), columns: object({ 'f:n': 5 }) })),
    table.incrementColumnValue(bytes('n'), column('m'), 7),
    table.append(
      object({ row: bytes('a'), columns: [{ column: column('a'), value: bytes('b') }] }),
    ),
    table.mutateRow(
      object({ row: bytes('m'), mutations: [{ put: { cells: { 'f:v': bytes('m') } } }] }),
    ),
    table.mutateRows(
      object({
        rows: [{ row: bytes('ms'), mutations: [{ put: { cells: { 'f:v': bytes('ms') } } }] }],
        checks: [{ row: bytes('checked'), column: column('v'), equals: bytes('checked') }],
      }),
    ),
    table.checkAndMutate(
      object({ row: bytes('checked'), column: column('v'), equals: bytes('checked') }),
      object({ put: { cells: { 'f:w': bytes('checked') } } }),
    ),
    table.checkAndMutate(
      object({
        row: bytes('checked'),
        filter: new ValueFilter('EQUAL', { binary: bytes('checked') }),
      }),
      object({ put: { cells: { 'f:x': bytes('checked') } } }),
    ),
    table.batch([
      object({ put: put('batch') }),
      { append: { row: bytes('b'), columns: { 'f:a': bytes('b') } } },
    ]),
    table.checkAndMutateList([
      {
        check: object({ row: bytes('checked'), column: column('v'), equals: bytes('checked') }),
        action: { put: { cells: { 'f:y': bytes('checked') } } },
      },
    ]),
  ]
  const checked = { table, row: bytes('checked'), column: column('v'), equals: bytes('checked') }
  const atomic = { table: 't', row: bytes('atomic'), mutations: [object({ put: put('atomic') })] }
  calls.push(database.atomic({ checks: [object(checked)], mutations: [object(atomic)] }))
  for (const buffer of used) buffer.fill(0x7e)
  for (const each of objects) for (const name of Object.keys(each)) each[name] = 'spoiled'
  await Promise.all(calls)
}

const before = {
  checked: { 'f:v': 'checked' },
  deleted: { 'f:v': 'old' },
  'deleted too': { 'f:v': 'old' },
}

/** What the calls above leave, with the rows of before. */
const after: readonly (readonly [string, string, string | undefined])[] = [
  ['put', 'f:v', 'put'],
  ['list 1', 'f:v', 'list 1'],
  ['list 2', 'f:v', 'list 2'],
  ['deleted', 'f:v', undefined],
  ['deleted too', 'f:v', undefined],
  ['n', 'f:n', '\0\0\0\0\0\0\0\x05'],
  ['n', 'f:m', '\0\0\0\0\0\0\0\x07'],
  ['a', 'f:a', 'b'],
  ['m', 'f:v', 'm'],
  ['ms', 'f:v', 'ms'],
  ['checked', 'f:w', 'checked'],
  ['checked', 'f:x', 'checked'],
  ['checked', 'f:y', 'checked'],
  ['batch', 'f:v', 'batch'],
  ['b', 'f:a', 'b'],
  ['atomic', 'f:v', 'atomic'],
]

const observer = { prePut: () => undefined, preBatchMutate: () => undefined }

for (const observed of [false, true]) {
  const how = observed ? ' of an observed table' : ''
  const more = observed ? { coprocessors: [{ name: 'watching', observer }] } : {}

  void t.test(`every call${how} counts as of the call while it is held`, async (t) => {
    const { database, table } = await open(more)
    for (const [row, cells] of Object.entries(before)) await table.put({ row, cells })
    const pressed = press(table)
    await everyCall(database, table)
    await pressed
    for (const [row, column, value] of after) t.equal(text(table, row, column), value, row)
    await database.close()
  })

  void t.test(`every call${how} counts as of the call while a block is loaded`, async (t) => {
    const { database, table } = await open({ blockCacheBytesMax: 0, ...more })
    for (const [row, cells] of Object.entries(before)) await table.put({ row, cells })
    for (const row of ['n', 'a', 'b']) await table.put({ row, cells: { 'f:other': 'x' } })
    await database.flush()
    await everyCall(database, table)
    for (const [row, column, value] of after) t.equal(text(table, row, column), value, row)
    await database.close()
  })

  void t.test(`reads${how} count as of the call while a block is loaded`, async (t) => {
    const { database, table } = await open({ blockCacheBytesMax: 0, ...more })
    for (const row of ['a', 'b']) await table.put({ row, cells: { 'f:v': row, 'f:w': row } })
    await database.flush()
    const row = Buffer.from('a')
    const columns: unknown[] = [Buffer.from('f:v')]
    const get = { row, columns: columns as Buffer[] }
    const read = table.get(get)
    const exists = table.exists(get)
    const batch = table.batch([{ get }])
    const scanner = table.scan({ startRow: row, limit: 1, columns: get.columns })
    row.write('b')
    ;(columns[0] as Buffer).write('f:w')
    columns.push('f:nothing')
    t.same([(await read).row?.toString(), (await read).value('f:w')], ['a', undefined])
    t.equal((await read).value('f:v')?.toString(), 'a')
    t.equal(await exists, true)
    const [outcome] = await batch
    t.equal(outcome.ok && outcome.result.value('f:v')?.toString(), 'a')
    const { value: found } = (await scanner.next()) as { value: Result }
    t.same([found.row?.toString(), found.value('f:v')?.toString()], ['a', 'a'])
    scanner.close()
    await database.close()
  })
}

void t.test('a synchronous call comes behind the held calls of its row', async (t) => {
  const { database, table } = await open()
  const pressed = press(table)
  const held = [
    table.put({ row: 'r', cells: { 'f:v': 'held' } }),
    table.append({ row: 'r', columns: { 'f:a': '1' } }),
    table.put({ row: 'other', cells: { 'f:v': 'held' } }),
  ]
  table.putSync({ row: 'r', cells: { 'f:v': 'sync' } })
  table.appendSync({ row: 'r', columns: { 'f:a': '2' } })
  t.equal(text(table, 'r', 'f:v'), 'sync')
  t.equal(text(table, 'r', 'f:a'), '12')
  t.equal(text(table, 'other', 'f:v'), undefined, 'other rows go on waiting')
  await Promise.all([pressed, ...held])
  t.equal(text(table, 'r', 'f:v'), 'sync')
  t.equal(text(table, 'r', 'f:a'), '12')
  t.equal(text(table, 'other', 'f:v'), 'held')
  await database.close()
})

void t.test('a call comes behind one of its row that waits for a block', async (t) => {
  const { database, table } = await open({ blockCacheBytesMax: 0 })
  await table.put({ row: 'r', cells: { 'f:a': '0' } })
  await database.flush()
  const calls = [
    table.append({ row: 'r', columns: { 'f:a': '1' } }),
    table.put({ row: 'r', cells: { 'f:v': 'second' } }),
    table.append({ row: 'r', columns: { 'f:a': '2' } }),
    table.batch([{ append: { row: 'r', columns: { 'f:a': '3' } } }]),
    table.put({ row: 'r', cells: { 'f:a': '4' } }),
  ]
  await Promise.all(calls)
  const versions = table.getSync({ row: 'r', versions: 'all' }).cells()
  const values = versions.filter(({ qualifier }) => qualifier.toString() === 'a')
  t.same(
    values.map(({ value }) => value.toString()),
    ['4', '0123', '012', '01', '0'],
  )
  await database.close()
})

void t.test('the end of a list comes before the calls behind it', async (t) => {
  const { database, table } = await open()
  const puts = Array.from({ length: 5000 }, (_, i) => ({ row: `r${i}`, cells: { 'f:v': 'list' } }))
  const list = table.putList(puts)
  const put = table.put({ row: 'r4999', cells: { 'f:v': 'behind' } })
  for (const each of puts) each.cells['f:v'] = 'too late'
  await Promise.all([list, put])
  t.equal(text(table, 'r4999', 'f:v'), 'behind')
  t.equal(text(table, 'r4998', 'f:v'), 'list')
  await database.close()
})

void t.test('waiting arguments are counted, and given back', async (t) => {
  const { database, table } = await open()
  const calls = Array.from({ length: 400 }, (_, i) =>
    table.put({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(2000) } }),
  )
  t.ok(database.statistics().waitingCalls > 100)
  t.ok(database.statistics().waitingArgumentBytes > 100 * 2000)
  await Promise.all(calls)
  t.equal(database.statistics().waitingCalls, 0)
  t.equal(database.statistics().waitingArgumentBytes, 0)
  await database.close()
})

void t.test('calls that wait are told of a close, and later ones do not hang', async (t) => {
  const { database, table } = await open()
  const calls = Array.from({ length: 400 }, (_, i) =>
    table.put({ row: `r${i % 3}`, cells: { 'f:v': 'x'.repeat(2000) } }),
  )
  const outcomes = Promise.allSettled(calls)
  await database.close()
  for (const outcome of await outcomes) {
    if (outcome.status === 'rejected') t.match(outcome.reason, { code: 'ERR_CLOSED' })
  }
  await t.rejects(table.put({ row: 'r', cells: { 'f:v': '' } }), { code: 'ERR_CLOSED' })
})

for (const round of [0, 1, 2]) {
  void t.test(`random calls from reused buffers, seed ${seed + round}`, async (t) => {
    const { database } = await open({ blockCacheBytesMax: round === 1 ? 0 : 1024 * 1024 })
    t.same(await checkCallOrder(database, randomFrom(seed + round), 1500), [])
    await database.close()
  })
}
