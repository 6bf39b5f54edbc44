/** Batches: one commit for what is in memory; what is loaded or fails concerns only itself. */
import t, { type Test } from 'tap'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import {
  MemoryFileSystem,
  type BatchOperation,
  type CellarError,
} from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const rows = 2000
const rowName = (i: number): string => `row-${String(i).padStart(5, '0')}`

void t.test('a batch longer than a turn, of rows on disk and in memory', async (t) => {
  const home = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
  const table = await home.database.createTable('t', { families: { f: {} } })
  const filler = 'x'.repeat(100)
  for (let i = 0; i < rows; i += 2) {
    await table.put({ row: rowName(i), cells: { 'f:a': String(i), 'f:filler': filler } })
  }
  await home.database.flush()
  for (let i = 1; i < rows; i += 2)
    await table.put({ row: rowName(i), cells: { 'f:a': String(i) } })
  const operations = Array.from({ length: rows }, (_, i): BatchOperation => {
    const row = rowName(i)
    if (i % 5 === 0) return { get: { row, columns: ['f:a'] } }
    if (i % 5 === 1) return { put: { row, cells: { 'f:a': 'put' } } }
    if (i % 5 === 2) return { delete: { row, columns: ['f:a'] } }
    if (i % 5 === 3) return { increment: { row, columns: { 'f:count': 1 } } }
    const check = { row, column: 'f:a', equals: i % 3 === 0 ? String(i) : 'other' }
    return { checkAndMutate: { check, action: { put: { cells: { 'f:a': 'checked' } } } } }
  })
  const results = await table.batch(operations)
  t.equal(results.length, rows)
  let wrong = 0
  for (let i = 0; i < rows; i++) {
    const result = results[i]
    const isChecked = i % 5 === 4
    const right =
      result.ok &&
      (i % 5 !== 0 || result.result.value('f:a')?.toString() === String(i)) &&
      result.success === (isChecked ? i % 3 === 0 : undefined)
    if (!right) wrong++
    const stored = (await table.get({ row: rowName(i) })).value('f:a')?.toString()
    const expected = [String(i), 'put', undefined, String(i), i % 3 === 0 ? 'checked' : String(i)]
    if (stored !== expected[i % 5]) wrong++
  }
  t.equal(wrong, 0)
  await home.close()
})

void t.test(
  'mutations of one batch whose sync fails all fail, reads and mistakes apart',
  async (t) => {
    for (const form of ['batch', 'batchSync'] as const) await failingBatch(t, form)
  },
)

async function failingBatch(t: Test, form: 'batch' | 'batchSync'): Promise<void> {
  const fileSystem = new FaultyFileSystem(new MemoryFileSystem())
  const home = await TestDatabase.open({ fileSystem })
  const families = { f: {} }
  const table = await home.database.createTable('t', { families, durability: 'FSYNC_WAL' })
  await table.put({ row: 'a', cells: { 'f:a': '1' } })
  fileSystem.arm({ failAt: 1, errno: 'EIO', only: ({ kind }) => kind === 'sync' })
  const check = { row: 'c', column: 'f:a', notExists: true } as const
  const results = await table[form]([
    { put: { row: 'a', cells: { 'f:a': '2' } } },
    { get: { row: 'a' } },
    { delete: { row: 'b' } },
    { put: { row: 'd', cells: {} } },
    { checkAndMutate: { check, action: { put: { cells: { 'f:a': '3' } } } } },
    { nothing: {} } as never,
  ])
  const codes = results.map((result) => (result.ok ? 'ok' : result.error.code))
  const [io, invalid] = ['ERR_IO', 'ERR_INVALID_ARGUMENT']
  t.same(codes, [io, 'ok', io, invalid, io, invalid], form)
  await home.database.close().catch(() => undefined)
}

void t.test(
  'a synchronous batch sees its own writes, has outcomes in order, and is logged',
  async (t) => {
    const test = await TestDatabase.open()
    const table = await test.database.createTable('sync', { families: { f: {} } })
    const put = (row: string): BatchOperation => ({ put: { row, cells: { 'f:a': row } } })
    const results = table.batchSync([
      put('a'),
      { increment: { row: 'n', columns: { 'f:n': 2 } } },
      { get: { row: 'a' } },
      { put: { row: 'b', cells: {} } },
      put('c'),
      { delete: { row: 'a' } },
    ])
    t.same(
      results.map((result) => (result.ok ? 'ok' : result.error.code)),
      ['ok', 'ok', 'ok', 'ERR_INVALID_ARGUMENT', 'ok', 'ok'],
    )
    t.equal(results[2].ok && results[2].result.value('f:a')?.toString(), 'a')
    await test.reopen()
    const rows = [...test.database.table('sync').scanSync()].map((row) => row.row!.toString())
    t.same(rows, ['c', 'n'])
    await test.close()
  },
)

for (const observed of [false, true]) {
  const what = observed ? 'with observers' : 'without observers'
  void t.test(
    `operations on one row keep their order when blocks are missing, ${what}`,
    async (t) => {
      const test = await TestDatabase.open({ options: { blockCacheBytesMax: 0 } })
      const options = { families: { f: { versions: 3 } } }
      const table = await test.database.createTable('t', options)
      let prepared = 0
      if (observed) {
        const preDelete = (): void => void prepared++
        await test.database.registerCoprocessor({ name: 'watch', observer: { preDelete } })
      }
      const names = Array.from({ length: 20 }, (_, i) => rowName(i))
      for (const row of names) await table.put({ row, cells: { 'f:a': 'old', 'f:n': counter(5) } })
      await test.flush()
      const results = await table.batch(
        names.flatMap((row): BatchOperation[] => [
          { delete: { row, columnVersions: ['f:a'] } },
          { put: { row, cells: { 'f:a': 'new' } } },
          { increment: { row, columns: { 'f:n': 1 } } },
          { get: { row } },
          { append: { row, columns: { 'f:a': '!' } } },
          { mutateRow: { row, mutations: [{ increment: { columns: { 'f:n': 10 } } }] } },
        ]),
      )
      t.ok(results.every(({ ok }) => ok))
      const gets = results.flatMap((each, i) => (each.ok && i % 6 === 3 ? [each.result] : []))
      t.same(
        gets.map((result) => [result.value('f:a')?.toString(), result.value('f:n')]),
        names.map(() => ['new', counter(6)]),
        'a get sees the mutations before it and none behind it',
      )
      const stored = await table.getList(names.map((row) => ({ row, versions: 'all' as const })))
      t.same(
        stored.map((result) => result.columnCells('f:a').map(({ value }) => value.toString())),
        names.map(() => ['new!', 'new']),
        'the delete hit the version that was there before the put',
      )
      t.same(
        stored.map((result) => result.value('f:n')),
        names.map(() => counter(16)),
      )
      t.equal(prepared, observed ? names.length : 0, 'observers are asked once')
      await test.close()
    },
  )
}

function counter(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}

for (const form of ['batch', 'batchSync'] as const) {
  void t.test(`a callback is told of each outcome once (${form})`, async (t) => {
    const test = await TestDatabase.open()
    const table = await test.database.createTable('t', { families: { f: {} } })
    const operations: BatchOperation[] = [
      { put: { row: 'a', cells: { 'f:a': '1' } } },
      { put: { row: 'b', cells: {} } },
      { get: { row: 'a' } },
      { increment: { row: 'a', columns: { 'f:n': 1 } } },
    ]
    const told: [number, boolean][] = []
    const results = await table[form](operations, (result, position) => {
      told.push([position, result.ok])
    })
    t.same(
      told.sort(([a], [b]) => a - b),
      results.map(({ ok }, position) => [position, ok]),
    )
    const mistake = new Error('mine')
    const failing = async (): Promise<unknown> => {
      return table[form](operations, () => {
        throw mistake
      })
    }
    await t.rejects(failing(), mistake)
    t.same(table.getSync({ row: 'a' }).value('f:n'), counter(2), 'and yet all was carried out')
    const code = 'ERR_INVALID_ARGUMENT'
    await t.rejects(async () => table[form](operations, 'callback' as never), { code })
    const rejects = async (): Promise<never> => {
      throw mistake
    }
    await t.rejects(async () => table[form](operations, rejects as () => never), { code })
    t.same(table.getSync({ row: 'a' }).value('f:n'), counter(2), 'it is refused at once')
    await t.rejects(async () => table[form](operations, () => rejects() as never), { code })
    t.same(table.getSync({ row: 'a' }).value('f:n'), counter(3), 'known after the first outcome')
    await test.close()
  })
}

for (const form of ['checkAndMutateList', 'checkAndMutateListSync'] as const) {
  void t.test(`a list of checks applies what does not fail (${form})`, async (t) => {
    const test = await TestDatabase.open()
    const table = await test.database.createTable('t', { families: { f: {} } })
    const put = { put: { cells: { 'f:a': '1' } } }
    const checkOf = (row: string, column = 'f:a') => ({ row, column, notExists: true as const })
    const list = [
      { check: checkOf('a'), action: put },
      { check: checkOf('b', 'bad:a'), action: put },
      { check: checkOf('c'), action: { increment: { columns: { 'f:n': 1 } } } },
      { check: { row: 'd', column: 'f:a', equals: 'x' }, action: put },
    ]
    const error = await t.rejects(async () => table[form](list), { code: 'ERR_BATCH_FAILED' })
    t.same([...(error as unknown as CellarError).failures!.keys()], [1])
    t.same(
      [...table.scanSync()].map(({ row }) => row!.toString()),
      ['a', 'c'],
    )
    const good = await table[form]([list[3], { ...list[2], check: checkOf('e') }])
    t.same(
      good.map(({ success, result }) => [success, result?.size]),
      [
        [false, undefined],
        [true, 1],
      ],
    )
    await test.close()
  })
}
