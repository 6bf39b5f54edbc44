import t from 'tap'
import {
  BulkWriter,
  CellarError,
  type BulkSummary,
  type Database,
  type FileSystem,
  type MemoryFileSystem,
} from '../../../../src/entries/index.js'
import { randomFrom, seed } from '../../storage/version/fixtures.js'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { contentOf, fill, makeTable, tableFiles } from './support.js'

const families = { a: { versions: 3 }, b: {} }

/** Writes a bulk directory with `count` rows of both families. */
async function bulk(
  fileSystem: FileSystem,
  count: number,
  mark: string,
  settings: { directory?: string; timestamp?: number; fileBytesMax?: number } = {},
): Promise<BulkSummary> {
  const { directory = '/bulk', timestamp = 1_000_000, ...rest } = settings
  const writer = await BulkWriter.create(directory, { families, fileSystem, timestamp, ...rest })
  for (let i = 0; i < count; i++) {
    const row = `r${String(i).padStart(count > 10_000 ? 5 : 4, '0')}`
    writer.add({ row, cells: { 'b:y': mark, 'a:x': `${mark}${i}` } })
  }
  return writer.finish()
}

function values(database: Database): string[] {
  const found: string[] = []
  for (const row of database.table('t').scanSync()) found.push(row.value('b:y')?.toString() ?? '')
  return found
}

void t.test('a writer whose finish has failed can be abandoned', async (t) => {
  let finished = 0
  for (let failAt = 1; ; failAt++) {
    const fileSystem = new FaultyFileSystem(new SimulatedDisk())
    const writer = await BulkWriter.create('/bulk', { families, fileSystem })
    writer.add({ row: 'r', cells: { 'a:x': '1', 'b:y': '2' } })
    fileSystem.arm({ failAt, errno: 'ENOSPC' })
    let isFinished = false
    try {
      writer.finish()
      isFinished = true
    } catch (error) {
      t.match(error, { code: 'ERR_NO_SPACE' })
    }
    const { failures } = fileSystem
    fileSystem.disarm()
    writer.abandon()
    const left = fileSystem.listSync('/bulk')
    // The close of a file that was only read may fail.
    const wanted = isFinished ? ['000001.sst', '000002.sst', 'BULK'] : []
    t.strictSame(left, wanted, `call ${failAt}`)
    if (isFinished) finished++
    if (failures === 0) break
  }
  t.equal(finished, 3, 'without a failure, and beside the close of each file that was read')
})

void t.test('what was loaded is there, in all states', async (t) => {
  const test = await TestDatabase.open()
  const table = await makeTable(test.database)
  const summary = await bulk(test.fileSystem, 300, 'bulk')
  t.match(summary, { files: 2, rows: 300, cells: 600 })
  const parts: number[] = []
  const onProgress = (part: number): unknown => parts.push(part)
  const loaded = await test.database.admin.bulkLoad('t', '/bulk', { onProgress })
  t.match(loaded, { files: 2, cells: 600, bytes: summary.bytes })
  t.equal(parts.at(-1), 1)
  t.strictSame(test.fileSystem.listSync('/bulk'), [], 'the files were moved')
  const content = contentOf(table)
  t.equal(content.length, 600)
  t.equal(content[0], 'r0000/a:x@1000000=bulk0')
  await test.reopen()
  t.strictSame(contentOf(test.database.table('t')), content, 'reopened')
  await test.database.compact('t')
  t.strictSame(contentOf(test.database.table('t')), content, 'compacted')
  await test.reopen()
  t.strictSame(contentOf(test.database.table('t')), content, 'compacted and reopened')
  await test.close()
})

const filters = [
  { bloomFilter: 'NONE' },
  { bloomFilter: 'ROW' },
  { bloomFilter: 'ROWCOL' },
  { bloomFilter: 'ROWPREFIX_FIXED_LENGTH', rowPrefixBytes: 3 },
] as const

for (const filter of filters) {
  void t.test(`files with a filter of kind ${filter.bloomFilter} are loaded`, async (t) => {
    const test = await TestDatabase.open()
    const { fileSystem, database } = test
    const table = await database.createTable('t', { families: { f: filter } })
    const writer = await BulkWriter.create('/bulk', { families: { f: filter }, fileSystem })
    // A row with a zero byte is escaped, and one is shorter than the prefix.
    const rows = [
      Buffer.from('a\0bc'),
      'b',
      ...Array.from({ length: 40 }, (_, i) => `row${100 + i}`),
    ]
    for (const row of rows) writer.add({ row, cells: { 'f:a': 'x' } })
    writer.finish()
    await database.admin.bulkLoad('t', '/bulk')
    for (const row of rows) t.equal(table.getSync({ row }).value('f:a')?.toString(), 'x')
    await test.close()
  })
}

void t.test('a load hides equal cells of before and is hidden by those behind it', async (t) => {
  const test = await TestDatabase.open()
  const table = await makeTable(test.database)
  const put = (value: string): Promise<unknown> =>
    table.put({ row: 'r0000', cells: { 'b:y': value }, timestamp: 5 })
  await put('first')
  const view = test.database.snapshot()
  const scan = table.scanSync()
  await bulk(test.fileSystem, 1, 'second', { timestamp: 5 })
  await test.database.admin.bulkLoad('t', '/bulk')
  const read = (): string | undefined => table.getSync({ row: 'r0000' }).value('b:y')?.toString()
  t.equal(read(), 'second', 'over the memtable')
  const [found] = [...scan]
  t.equal(found.value('b:y')?.toString(), 'first', 'not for a scan of before')
  const before = table.getSync({ row: 'r0000', snapshot: view })
  t.equal(before.value('b:y')?.toString(), 'first', 'not for a view of before')
  t.notOk(before.has('a:x'))
  await test.flush()
  t.equal(read(), 'second', 'the flushed file of before holds older mutations')
  await put('third')
  t.equal(read(), 'third')
  await test.flush()
  t.equal(read(), 'third')
  await bulk(test.fileSystem, 1, 'fourth', { timestamp: 5, directory: '/b1' })
  await bulk(test.fileSystem, 1, 'fifth', { timestamp: 5, directory: '/b2' })
  await test.database.admin.bulkLoad('t', ['/b1', '/b2'])
  t.equal(read(), 'fifth', 'of one load the last directory counts')
  t.equal(table.getSync({ row: 'r0000', snapshot: view }).value('b:y')?.toString(), 'first')
  await test.compact(false)
  await test.compact(true)
  t.equal(table.getSync({ row: 'r0000', snapshot: view }).value('b:y')?.toString(), 'first')
  view.close()
  await test.compact(true)
  t.equal(read(), 'fifth')
  await test.reopen()
  t.strictSame(values(test.database), ['fifth'])
  await test.close()
})

void t.test('markers in bulk files mask as markers do', async (t) => {
  const test = await TestDatabase.open()
  const table = await makeTable(test.database)
  for (const timestamp of [1, 2, 3]) {
    await table.put({ row: 'r', cells: { 'a:x': `${timestamp}`, 'b:y': 'y' }, timestamp })
  }
  const { fileSystem } = test
  const writer = await BulkWriter.create('/bulk', { families, fileSystem })
  writer.add({
    row: 'r',
    cells: [
      { column: 'b:', type: 'DeleteFamily', timestamp: 9 },
      { column: 'a:x', type: 'Delete', timestamp: 3 },
      { column: 'a:new', value: 'v', timestamp: 3 },
    ],
  })
  writer.finish()
  await test.database.admin.bulkLoad('t', '/bulk')
  t.strictSame(contentOf(table), ['r/a:new@3=v', 'r/a:x@2=2'])
  await test.database.compact('t')
  t.strictSame(contentOf(table), ['r/a:new@3=v', 'r/a:x@2=2'])
  await test.close()
})

void t.test('files are cut between rows, and overlap nothing of one another', async (t) => {
  const test = await TestDatabase.open()
  await makeTable(test.database)
  const summary = await bulk(test.fileSystem, 20_000, 'x'.repeat(20), { fileBytesMax: 65_536 })
  t.ok(summary.files > 4, `${summary.files} files`)
  await test.database.admin.bulkLoad('t', '/bulk', { copy: true })
  t.equal(test.fileSystem.listSync('/bulk').length, summary.files + 1, 'copied, not moved')
  t.equal(contentOf(test.database.table('t')).length, 40_000)
  await test.database.admin.snapshot('s', 't')
  t.equal(contentOf(await test.database.admin.cloneSnapshot('s', 'c')).length, 40_000)
  await test.close()
})

void t.test(`random loads between random writes read as written (seed ${seed})`, async (t) => {
  const random = randomFrom(seed)
  const test = await TestDatabase.open()
  let table = await makeTable(test.database)
  const expected = new Map<string, string>()
  for (let round = 0; round < 60; round++) {
    const draw = Math.floor(random() * 6)
    const mark = `m${round}`
    if (draw <= 2) {
      const directory = `/bulk${round}`
      const writer = await BulkWriter.create(directory, {
        families,
        fileSystem: test.fileSystem,
        timestamp: 7,
      })
      for (let i = 0; i < 40; i++) {
        if (random() < 0.5) continue
        const row = `r${String(i).padStart(2, '0')}`
        writer.add({ row, cells: { 'b:y': mark } })
        expected.set(row, mark)
      }
      writer.finish()
      await test.database.admin.bulkLoad('t', directory)
    } else if (draw === 3) {
      for (let i = 0; i < 40; i += 3) {
        const row = `r${String(i).padStart(2, '0')}`
        await table.put({ row, cells: { 'b:y': mark }, timestamp: 7 })
        expected.set(row, mark)
      }
    } else if (draw === 4) {
      await test.database.flush()
      if (random() < 0.5) await test.database.compact('t', { major: random() < 0.3 })
    } else {
      await test.reopen()
      table = test.database.table('t')
    }
    const found = [...table.scanSync()].map((row) => [
      row.row!.toString(),
      row.value('b:y')!.toString(),
    ])
    t.strictSame(found, [...expected].sort(), `round ${round}, draw ${draw}`)
  }
  await test.close()
})

async function failureOf(promise: Promise<unknown>): Promise<CellarError> {
  try {
    await promise
  } catch (error) {
    if (error instanceof CellarError) return error
    throw error
  }
  throw new Error('it did not fail')
}

void t.test('a damaged file or list is told, and nothing is loaded', async (t) => {
  const test = await TestDatabase.open()
  const table = await makeTable(test.database)
  await fill(table, 3, 'own')
  await test.flush()
  const fileSystem = test.fileSystem as MemoryFileSystem
  const before = contentOf(table)
  const files = tableFiles(fileSystem)
  await bulk(fileSystem, 50, 'bulk')
  const names = fileSystem.listSync('/bulk')
  t.equal(names.length, 3)
  for (const name of names) {
    const path = `/bulk/${name}`
    const file = fileSystem.openSync(path, 'write')
    const size = file.sizeSync()
    const byte = Buffer.alloc(1)
    for (let at = 0; at < size; at += Math.max(1, Math.floor(size / 40))) {
      file.readSync(byte, 0, 1, at)
      byte[0] ^= 0x20
      file.writeSync(byte, 0, 1, at)
      const error = await failureOf(test.database.admin.bulkLoad('t', '/bulk'))
      t.match(error.code, /ERR_CORRUPTION|ERR_FORMAT_VERSION/, `${name} at ${at}`)
      t.match(error.message, new RegExp(`/bulk/${name}`), "the caller's file is named")
      t.notMatch(error.message, /\/database/, 'not the one that was taken in and removed')
      t.match(error.corruption?.file ?? `/bulk/${name}`, `/bulk/${name}`)
      byte[0] ^= 0x20
      file.writeSync(byte, 0, 1, at)
    }
    file.closeSync()
  }
  const last = fileSystem.openSync('/bulk/000002.sst', 'write')
  const size = last.sizeSync()
  const whole = Buffer.alloc(size)
  last.readSync(whole, 0, size, 0)
  last.truncateSync(size - 1)
  await t.rejects(test.database.admin.bulkLoad('t', '/bulk'), { code: 'ERR_CORRUPTION' })
  last.writeSync(whole, 0, size, 0)
  last.closeSync()
  t.strictSame(contentOf(table), before, 'nothing of it is visible')
  t.strictSame(tableFiles(fileSystem), files, 'no file is left over')
  await test.database.admin.bulkLoad('t', '/bulk')
  t.equal(contentOf(table).length, 100, 'undamaged it can be loaded')
  await test.close()
})

void t.test('mistakes of a load are told and change nothing', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await test.database.createTable('other', { families: { a: {} } })
  const { fileSystem } = test
  await t.rejects(admin.bulkLoad('t', '/nothing'), { code: 'ERR_INVALID_ARGUMENT' })
  await bulk(fileSystem, 5, 'bulk')
  await t.rejects(admin.bulkLoad('none', '/bulk'), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(admin.bulkLoad('other', '/bulk'), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  await t.rejects(admin.bulkLoad('t', 7 as never), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(admin.bulkLoad('t', [7] as never), { code: 'ERR_INVALID_ARGUMENT' })
  const signal = AbortSignal.abort()
  await t.rejects(admin.bulkLoad('t', '/bulk', { signal }), { code: 'ERR_ABORTED' })
  await admin.modifyTable('t', { readOnly: true })
  await t.rejects(admin.bulkLoad('t', '/bulk'), { code: 'ERR_READ_ONLY' })
  await admin.modifyTable('t', { readOnly: false })
  await admin.disableTable('t')
  await t.rejects(admin.bulkLoad('t', '/bulk'), { code: 'ERR_TABLE_NOT_ENABLED' })
  await admin.enableTable('t')
  t.strictSame(contentOf(table), [])
  t.equal(fileSystem.listSync('/bulk').length, 3, 'the bulk files stay')
  t.strictSame(tableFiles(fileSystem as MemoryFileSystem), [])
  await test.close()
})

void t.test('a bulk writer refuses what is out of order or malformed', async (t) => {
  const test = await TestDatabase.open()
  await makeTable(test.database)
  const { fileSystem } = test
  const writer = await BulkWriter.create('/bulk', { families, fileSystem })
  const cells = { 'a:x': '1' }
  const wrong = { code: 'ERR_INVALID_ARGUMENT' }
  writer.add({ row: 'b', cells })
  t.throws(() => writer.add({ row: 'a', cells }), wrong, 'a row below')
  t.throws(() => writer.add({ row: 'b', cells }), wrong, 'the same row')
  t.throws(() => writer.add({ row: '', cells }), wrong, 'an empty row')
  t.throws(() => writer.add({ row: 'c', cells: {} }), wrong, 'no cells')
  t.throws(() => writer.add({ row: 'c', cells: 7 as never }), wrong)
  t.throws(() => writer.add({ row: 'c', cells: [7] as never }), wrong)
  t.throws(() => writer.add({ row: 'c', cells: { 'a:x': 7 as never } }), wrong)
  t.throws(() => writer.add({ row: 'c', cells, timestamp: -1 }), wrong)
  t.throws(() => writer.add({ row: 'c', cells, ttlMilliseconds: 0 }), wrong)
  const marker = { column: 'a:x', type: 'DeleteFamily' as const }
  t.throws(() => writer.add({ row: 'c', cells: [marker] }), wrong)
  const unknown = { code: 'ERR_NO_SUCH_COLUMN_FAMILY' }
  t.throws(() => writer.add({ row: 'c', cells: { 'z:x': '1' } }), unknown)
  const large = Buffer.alloc(11 * 1024 * 1024)
  t.throws(() => writer.add({ row: 'c', cells: { 'a:x': large } }), { code: 'ERR_TOO_LARGE' })
  writer.add({ row: 'b\0', cells })
  writer.add({
    row: 'c',
    cells: [
      { column: 'a:x', value: '1' },
      { column: 'a:x', value: '2' },
    ],
  })
  t.match(writer.finish(), { rows: 3, cells: 3 })
  t.throws(() => writer.add({ row: 'd', cells }), { code: 'ERR_CLOSED' })
  await test.database.admin.bulkLoad('t', '/bulk', { copy: true })
  t.equal(test.database.table('t').getSync({ row: 'c' }).value('a:x')?.toString(), '2')
  await t.rejects(BulkWriter.create('/bulk', { families, fileSystem }), wrong, 'not empty')
  await t.rejects(BulkWriter.create('/b2', { families: {}, fileSystem }), wrong)
  await t.rejects(BulkWriter.create('', { families, fileSystem }), wrong)
  const abandoned = await BulkWriter.create('/b3', { families, fileSystem })
  abandoned.add({ row: 'a', cells })
  abandoned.abandon()
  t.strictSame(fileSystem.listSync('/b3'), [])
  await t.rejects(test.database.admin.bulkLoad('t', '/b3'), wrong, 'not finished')
  await test.close()
})
