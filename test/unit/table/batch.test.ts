/** Batches: one commit for what is in memory; what is loaded or fails concerns only itself. */
import t, { type Test } from 'tap'
import { FaultyFileSystem } from '../../../src/fs/faulty-fs.js'
import { MemoryFileSystem, type BatchOperation } from '../../../src/index.js'
import { TestDatabase } from '../../helpers/test-database.js'

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
