/**
 * Families whose large values lie in value files (HBase: IS_MOB, MOB_THRESHOLD).
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import {
  Database,
  parseFilter,
  type FamilyOptions,
  type OpenOptions,
} from '../../../src/entries/index.js'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import type { FileSystem } from '../../../src/storage/fs/types.js'
import { FaultyFileSystem } from '../../doubles/faulty-fs.js'
import { TestDatabase } from '../../helpers/test-database.js'

const mob: FamilyOptions = { mob: true, mobThreshold: 1000, compression: 'NONE', versions: 2 }
const rows = 20

/** A value of 5,000 bytes that no other row and round has. */
function large(row: number, round = 0): Buffer {
  return Buffer.alloc(5000, `value ${row} of round ${round};`)
}

function rowOf(row: number): string {
  return `row:${String(row).padStart(3, '0')}`
}

async function put(test: TestDatabase, round = 0, table = 'table'): Promise<void> {
  for (let i = 0; i < rows; i++) {
    const cells = { 'f:large': large(i, round), 'f:small': `${i}`, 'g:n': `${i}` }
    await test.database.table(table).put({ row: rowOf(i), cells })
  }
}

async function open(
  options: FamilyOptions = mob,
  fileSystem: FileSystem = new SimulatedDisk(),
  more: OpenOptions = {},
): Promise<TestDatabase> {
  const databaseOptions = { flushBytes: 4 * 1024 * 1024, ...more }
  const test = await TestDatabase.open({ fileSystem, options: databaseOptions })
  await test.database.createTable('table', { families: { f: options, g: {} } })
  return test
}

function names(test: TestDatabase, extension: string): string[] {
  const listed = test.fileSystem.listSync(test.directory)
  return listed.filter((name) => name.endsWith(extension)).sort()
}

/** The names of value files, once those of removed files are gone. */
async function valueFiles(test: TestDatabase, expected: number): Promise<string[]> {
  for (let turn = 0; turn < 1000 && names(test, '.val').length > expected; turn++) {
    await new Promise((resolve) => setImmediate(resolve))
  }
  return names(test, '.val')
}

function bytesOf(test: TestDatabase, extension: string): number {
  return names(test, extension).reduce((sum, name) => {
    return sum + test.fileSystem.statSync(`${test.directory}/${name}`)!.size
  }, 0)
}

async function check(t: Test, test: TestDatabase, round = 0, name = 'table'): Promise<void> {
  const table = test.database.table(name)
  let seen = 0
  for await (const result of table.scan()) {
    if (!result.value('f:large')!.equals(large(seen, round))) t.fail(`scan of row ${seen}`)
    if (!table.getSync({ row: result.row! }).value('f:large')!.equals(large(seen, round))) {
      t.fail(`synchronous get of row ${seen}`)
    }
    const got = await table.get({ row: result.row!, columns: ['f:large'] })
    if (!got.value('f:large')!.equals(large(seen, round))) t.fail(`get of row ${seen}`)
    seen++
  }
  const reversed = [...table.scanSync({ reversed: true, columns: ['f:large'] })]
  t.same(
    reversed.map((result) => result.value('f:large')!.equals(large(--seen, round))),
    Array.from({ length: rows }, () => true),
  )
}

void t.test('large values are read back from memory, files, and after a reopen', async (t) => {
  const test = await open()
  await put(test)
  await check(t, test)
  await test.flush()
  t.equal(names(test, '.val').length, 1)
  t.ok(bytesOf(test, '.val') > rows * 5000)
  t.ok(bytesOf(test, '.sst') < rows * 500, 'the tables hold references')
  await check(t, test)
  await test.reopen()
  await check(t, test)
  await test.close()
})

void t.test('a value is large above the threshold, not at it', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  await table.put({ row: 'at', cells: { 'f:q': Buffer.alloc(1000, 1) } })
  await test.flush()
  t.same(names(test, '.val'), [])
  await table.put({ row: 'above', cells: { 'f:q': Buffer.alloc(1001, 1) } })
  await test.flush()
  t.equal(names(test, '.val').length, 1)
  await test.close()
})

void t.test('compactions copy references, not values', async (t) => {
  const test = await open()
  await put(test, 0)
  await test.flush()
  await put(test, 1)
  await test.flush()
  const before = names(test, '.val')
  await test.compact(false)
  t.same(names(test, '.val'), before)
  await test.compact(true)
  t.same(names(test, '.val'), before)
  t.equal(names(test, '.sst').length, 2, 'one for each family')
  const versions = test.database.table('table').getSync({ row: rowOf(3), versions: 2 })
  t.same(
    versions.columnCells('f:large').map(({ value }) => value.equals(large(3, 1))),
    [true, false],
  )
  t.ok(versions.columnCells('f:large')[1].value.equals(large(3, 0)))
  await check(t, test, 1)
  await test.close()
})

void t.test('a value file goes when nothing refers to it, and not before', async (t) => {
  const test = await open({ ...mob, versions: 1 })
  await put(test, 0)
  await test.flush()
  const [first] = names(test, '.val')
  await put(test, 1)
  await test.flush()
  const snapshot = test.database.snapshot()
  const scan = test.database.table('table').scan({ snapshot })[Symbol.asyncIterator]()
  await scan.next()
  await test.compact(true)
  t.ok(names(test, '.val').includes(first), 'a scan runs')
  for (let i = 1; i < rows; i++) {
    const next = await scan.next()
    if (next.done !== true) t.ok(next.value.value('f:large')!.equals(large(i, 1)))
  }
  await scan.return?.()
  snapshot.close()
  await test.compact(true)
  const left = await valueFiles(test, 1)
  t.equal(left.length, 1)
  t.notOk(left.includes(first))
  await check(t, test, 1)
  await test.database.dropTable('table')
  t.same(await valueFiles(test, 0), [])
  await test.close()
})

void t.test('values of a file that is mostly garbage are copied by the next merge', async (t) => {
  const test = await open({ ...mob, versions: 1 })
  await put(test, 0)
  await test.flush()
  const [first] = names(test, '.val')
  const table = test.database.table('table')
  for (let i = 0; i < rows - 5; i++) {
    await table.put({ row: rowOf(i), cells: { 'f:large': 'small now' } })
  }
  await test.flush()
  await test.compact(true)
  t.same(names(test, '.val'), [first], 'a quarter of it is referred to')
  await test.compact(true)
  const [second, ...others] = await valueFiles(test, 1)
  t.same(others, [])
  t.not(second, first)
  t.ok(bytesOf(test, '.val') < 5 * 5100)
  for (let i = rows - 5; i < rows; i++) {
    t.ok(
      table
        .getSync({ row: rowOf(i) })
        .value('f:large')!
        .equals(large(i)),
    )
  }
  await test.close()
})

void t.test('altering the threshold takes effect on existing files', async (t) => {
  const test = await open({ ...mob, mob: false })
  await put(test)
  await test.flush()
  t.same(names(test, '.val'), [])
  await test.database.alterTable('table', { families: { f: { mob: true } } })
  await test.compact(true)
  t.equal(names(test, '.val').length, 1)
  await check(t, test)
  await test.database.alterTable('table', { families: { f: { mob: false } } })
  await check(t, test)
  await test.compact(true)
  t.same(await valueFiles(test, 0), [], 'the values are in the table again')
  await check(t, test)
  await test.close()
})

void t.test('filters, counts and appends see the value', async (t) => {
  const test = await open()
  await put(test)
  await test.flush()
  const table = test.database.table('table')
  const filter = parseFilter("ValueFilter(=, 'substring:value 7 of')")
  t.same(
    [...table.scanSync({ filter })].map((result) => result.row!.toString()),
    [rowOf(7)],
  )
  const found: string[] = []
  for await (const result of table.scan({ filter })) found.push(result.row!.toString())
  t.same(found, [rowOf(7)])
  const lengths = parseFilter('KeyOnlyFilter(true)')
  const [first] = [...table.scanSync({ filter: lengths, columns: ['f:large'], limit: 1 })]
  t.equal(first.value('f:large')!.readUInt32BE(), 5000)
  const action = { put: { cells: { 'f:checked': 'yes' } } }
  const where = { row: rowOf(7), column: 'f:large' as const, equals: large(7) }
  t.ok((await table.checkAndMutate(where, action)).success)
  await table.append({ row: rowOf(7), columns: { 'f:large': '+' } })
  t.equal(table.getSync({ row: rowOf(7) }).value('f:large')!.length, 5001)
  await test.close()
})

void t.test('snapshots, clones and restores share values with the table', async (t) => {
  const test = await open({ ...mob, versions: 1 })
  const { admin } = test.database
  await put(test, 0)
  await admin.snapshot('snap', 'table')
  const [first] = names(test, '.val')
  await put(test, 1)
  await test.flush()
  await test.compact(true)
  t.ok(names(test, '.val').includes(first), 'the snapshot refers to it')
  await admin.cloneSnapshot('snap', 'clone')
  await check(t, test, 0, 'clone')
  await check(t, test, 1)
  await test.database.dropTable('table')
  await admin.restoreSnapshot('snap')
  await check(t, test, 0)
  await test.reopen()
  await check(t, test, 0)
  await check(t, test, 0, 'clone')
  await test.database.admin.deleteSnapshot('snap')
  await test.database.dropTable('clone')
  await check(t, test, 0)
  await test.database.dropTable('table')
  t.same(await valueFiles(test, 0), [])
  await test.close()
})

void t.test('an export holds the values, an import takes them in', async (t) => {
  const test = await open()
  await put(test)
  await test.flush()
  const { admin } = test.database
  const chunks: Uint8Array[] = []
  for await (const chunk of admin.exportTable('table')) chunks.push(chunk)
  await admin.importTable(chunks, { table: 'copy' })
  await check(t, test, 0, 'copy')
  await test.compact(true)
  t.equal(names(test, '.val').length, 2, 'the first compaction moves them out')
  await check(t, test, 0, 'copy')
  await test.close()
})

void t.test('a cell keeps its own time to live', async (t) => {
  const test = await open()
  const table = test.database.table('table')
  const cells = { 'f:large': large(1) }
  await table.put({ row: 'a', cells, ttlMilliseconds: 1000 })
  await test.flush()
  t.ok(table.getSync({ row: 'a' }).value('f:large')!.equals(large(1)))
  test.clock.milliseconds += 1001
  t.ok(table.getSync({ row: 'a' }).isEmpty)
  await test.compact(true)
  t.same(await valueFiles(test, 0), [])
  await test.close()
})

void t.test('damage of a value is reported by file and offset, and only there', async (t) => {
  const test = await open()
  await put(test)
  await test.flush()
  const [name] = names(test, '.val')
  const path = `${test.directory}/${name}`
  await test.database.close()
  const file = test.fileSystem.openSync(path, 'write')
  // The third value begins at 2 x 5013.
  file.writeSync(Buffer.from([0]), 0, 1, 2 * 5013 + 100)
  file.closeSync()
  test.database = await Database.open(test.directory, test.options)
  const table = test.database.table('table')
  const expected = { code: 'ERR_CORRUPTION', corruption: { file: path, offset: 2 * 5013 } }
  t.throws(() => table.getSync({ row: rowOf(2) }), expected)
  await t.rejects(table.get({ row: rowOf(2) }), expected)
  t.ok(
    table
      .getSync({ row: rowOf(3) })
      .value('f:large')!
      .equals(large(3)),
  )
  t.equal(
    table
      .getSync({ row: rowOf(2), columns: ['f:small'] })
      .value('f:small')!
      .toString(),
    '2',
  )
  await test.close()
})

void t.test(
  'a value file that is missing, cut or damaged at its end is told at open',
  async (t) => {
    for (const harm of ['missing', 'cut', 'footer'] as const) {
      const test = await open()
      await put(test)
      await test.flush()
      const path = `${test.directory}/${names(test, '.val')[0]}`
      await test.database.close()
      const { size } = test.fileSystem.statSync(path)!
      if (harm === 'missing') {
        test.fileSystem.unlinkSync(path)
      } else {
        const file = test.fileSystem.openSync(path, 'write')
        if (harm === 'cut') file.truncateSync(size - 1)
        else file.writeSync(Buffer.from([9]), 0, 1, size - 45)
        file.closeSync()
      }
      const opening = Database.open(test.directory, test.options)
      await t.rejects(opening, { code: 'ERR_CORRUPTION', corruption: { file: path } }, harm)
    }
  },
)

void t.test('a failed write of values fails the flush and changes nothing', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const test = await open(mob, fileSystem)
  await put(test)
  fileSystem.arm({
    failAt: 1,
    errno: 'EIO',
    only: ({ kind, path }) => kind === 'sync' && path.endsWith('.val'),
  })
  await t.rejects(test.flush(), { code: 'ERR_IO' })
  t.same(names(test, '.val'), [])
  await check(t, test)
  await test.flush()
  await check(t, test)
  await test.close()
})

/** About four values of `large` each. */
const cut: OpenOptions = { valueFileBytesMax: 18_000, compactionEnabled: false }

void t.test('value files are cut at their limit, by flushes and by compactions', async (t) => {
  const test = await open({ ...mob, versions: 1 }, new SimulatedDisk(), cut)
  await put(test)
  await test.flush()
  t.equal(names(test, '.val').length, rows / 4)
  const flushed = names(test, '.val')
  await check(t, test)
  t.match(test.database.statistics().tables['table'].families['f'], { valueFiles: rows / 4 })
  // Less than half of each file stays, so all values that stay are copied.
  const table = test.database.table('table')
  for (let i = 0; i < rows; i++) {
    if (i % 4 > 0) await table.put({ row: rowOf(i), cells: { 'f:large': 'small now' } })
  }
  await test.flush()
  await test.compact(true)
  await test.compact(true)
  const merged = await valueFiles(test, 2)
  t.equal(merged.length, 2, 'five values')
  t.notOk(merged.some((name) => flushed.includes(name)))
  await test.reopen()
  for (let i = 0; i < rows; i += 4) {
    const value = test.database
      .table('table')
      .getSync({ row: rowOf(i) })
      .value('f:large')
    t.ok(value!.equals(large(i)), `row ${i}`)
  }
  await test.close()
})

void t.test('a job has 64 value files at most, the last of which takes the rest', async (t) => {
  const test = await open(mob, new SimulatedDisk(), {
    ...cut,
    memtableBytesMax: 16 * 1024 * 1024,
    valueFileBytesMax: 1,
  })
  const table = test.database.table('table')
  const count = 100
  for (let i = 0; i < count; i++) await table.put({ row: rowOf(i), cells: { 'f:v': large(i) } })
  await test.flush()
  t.equal(names(test, '.val').length, 64)
  await test.compact(true)
  t.equal(names(test, '.val').length, 64, 'references are copied, not values')
  for (let i = 0; i < count; i++) {
    if (
      !table
        .getSync({ row: rowOf(i) })
        .value('f:v')!
        .equals(large(i))
    )
      t.fail(`row ${i}`)
  }
  await test.database.alterTable('table', { families: { f: { ...mob, mob: false } } })
  await test.compact(true)
  t.same(await valueFiles(test, 0), [])
  await test.close()
})

void t.test('a failure in the second value file of a job leaves none', async (t) => {
  for (const kind of ['open', 'write', 'sync'] as const) {
    for (let failAt = 1; failAt <= rows / 4; failAt++) {
      const fileSystem = new FaultyFileSystem(new SimulatedDisk())
      const test = await open(mob, fileSystem, cut)
      await put(test)
      const only = (call: { kind: string; path: string }): boolean =>
        call.kind === kind && call.path.endsWith('.val')
      fileSystem.arm({ failAt, errno: 'ENOSPC', only })
      await t.rejects(test.flush(), { code: 'ERR_NO_SPACE' }, `${kind} ${failAt}`)
      t.same(names(test, '.val'), [])
      await test.flush()
      t.equal(names(test, '.val').length, rows / 4)
      await check(t, test)
      await test.close()
    }
  }
})

/** A table with one value file, and how often that was read. */
async function openCounting(t: Test) {
  const test = await open(mob, new FaultyFileSystem(new SimulatedDisk(), undefined, { log: true }))
  await put(test)
  await test.flush()
  const [name] = names(test, '.val')
  await check(t, test)
  const { log } = test.fileSystem as FaultyFileSystem
  const reads = (): number =>
    log.filter(({ kind, path }) => kind === 'read' && path.endsWith(name)).length
  return { test, table: test.database.table('table'), reads, path: `${test.directory}/${name}` }
}

void t.test('values asked for one behind the other are read together', async (t) => {
  const { test, table, reads } = await openCounting(t)
  const valuesRead = (): number => test.database.statistics().valuesRead
  let [readsBefore, valuesBefore] = [reads(), valuesRead()]
  const took = (): [number, number] => {
    const counts: [number, number] = [reads() - readsBefore, valuesRead() - valuesBefore]
    readsBefore = reads()
    valuesBefore = valuesRead()
    return counts
  }
  for await (const result of table.scan()) t.ok(result.value('f:large'))
  const [scanned, values] = took()
  t.equal(values, rows, 'each value is checked once')
  t.ok(scanned >= 4 && scanned < 8, `${scanned} reads of the file for a scan`)
  t.equal([...table.scanSync()].length, rows)
  t.ok(took()[0] < 8)
  // Nothing follows anything: one value, one read.
  await test.reopen()
  readsBefore = reads()
  const reopened = test.database.table('table')
  for (let i = 0; i < rows; i++) await reopened.get({ row: rowOf((i * 7) % rows) })
  const [got] = took()
  t.equal(got, rows, `${got} reads for gets here and there`)
  await test.close()
})

void t.test('damage in what was read together is told for its own value', async (t) => {
  const { test, path } = await openCounting(t)
  await test.database.close()
  const file = test.fileSystem.openSync(path, 'write')
  file.writeSync(Buffer.from([0]), 0, 1, 12 * 5013 + 100)
  file.closeSync()
  test.database = await Database.open(test.directory, test.options)
  const table = test.database.table('table')
  const expected = { code: 'ERR_CORRUPTION', corruption: { file: path, offset: 12 * 5013 } }
  let seen = 0
  const scan = async (): Promise<void> => {
    for await (const result of table.scan()) {
      if (!result.value('f:large')!.equals(large(seen++))) t.fail(`row ${seen}`)
    }
  }
  await t.rejects(scan(), expected)
  t.ok(seen <= 12)
  t.throws(() => [...table.scanSync()], expected)
  t.equal([...table.scanSync({ stopRow: rowOf(12) })].length, 12)
  t.equal([...table.scanSync({ startRow: rowOf(13) })].length, rows - 13)
  await test.close()
})
