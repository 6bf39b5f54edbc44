/**
 * Tables exported as HFiles and loaded again have the same cells: of all kinds, in all
 * compressions, with split keys, and with an index of several levels.
 *
 * @runs campaign
 */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import type { Database } from '../../../../src/api/index.js'
import { seededRandom } from '../../../../src/base/random.js'
import { exportHFiles, loadHFiles } from '../../../../src/entries/hbase.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { MemoryFileSystem } from '../../../../src/storage/fs/memory-fs.js'
import { fillTable, storedCells } from '../../../helpers/cells/hfile-cells.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'
import { codeOf } from '../../../suites/kit.js'

const seed = Number(process.env['SEED'] ?? Date.now() % 1_000_000)
const home = mkdtempSync(join(tmpdir(), 'cellar-hfile-'))
t.teardown(() => rmSync(home, { recursive: true }))

void t.test('random cells go to files and back', async (t) => {
  t.comment(`seed ${seed}`)
  for (const [i, compression] of (['NONE', 'GZ', 'LZ4'] as const).entries()) {
    for (const blockBytes of [1024, 64 * 1024]) {
      const random = seededRandom(seed + i)
      const fileSystem = new MemoryFileSystem()
      const database = await openMemoryDatabase()
      await fillTable(database, 't', random)
      const splitKeys = random() < 0.5 ? [] : ['a', Buffer.from([0]), Buffer.from([255])]
      const options = { compression, blockBytes, indexBlockBytes: 256, splitKeys, fileSystem }
      const exported = await exportHFiles(database, 't', '/out', options)
      const wanted = await storedCells(database, 't')
      const loaded = await loadHFiles(database, 'copy', ['/out'], { fileSystem })
      t.equal(exported.cells, wanted.length, `${compression}, blocks of ${blockBytes}`)
      t.equal(loaded.cells, wanted.length)
      t.equal(loaded.files, exported.files.length)
      t.strictSame(await storedCells(database, 'copy'), wanted)
      await database.close()
    }
  }
})

void t.test('an index of three levels, and a cell above all buffers', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const table = await database.createTable('t', { families: { f: {} } })
  const value = Buffer.alloc(900, 'abcdefg')
  const rows = Array.from({ length: 3_000 }, (_, i) => `row ${String(i).padStart(6, '0')}`)
  await table.putList(rows.map((row) => ({ row, cells: { 'f:a': value }, timestamp: 1 })))
  const large = Buffer.alloc(3 * 1024 * 1024)
  for (let i = 0; i < large.length; i++) large[i] = (i * i) >>> 3
  await table.put({ row: 's', cells: { 'f:a': large }, timestamp: 1 })
  for (const compression of ['NONE', 'LZ4'] as const) {
    const directory = join(home, compression)
    const options = { compression, blockBytes: 1024, indexBlockBytes: 256 }
    await exportHFiles(database, 't', directory, options)
    const copy = `copy${compression}`
    await loadHFiles(database, copy, [directory])
    t.strictSame(await storedCells(database, copy), await storedCells(database, 't'), compression)
  }
})

void t.test('of equal cells the newest file wins', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const fileSystem = new MemoryFileSystem()
  for (const value of ['old', 'new']) {
    const table = await database.createTable(value, { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:a': value }, timestamp: 7 })
    const { files } = await exportHFiles(database, value, `/${value}`, { fileSystem })
    // As HBase names files of a bulk load, in a region, which has no list.
    fileSystem.unlinkSync(`/${value}/_CELLAR`)
    const [from, to] = ['', `_SeqId_${value === 'old' ? 4 : 12}_`].map((end) => {
      return `/${value}/f/${files[0].file}${end}`
    })
    fileSystem.renameSync(from, to)
  }
  for (const [name, directories] of Object.entries({ a: ['/old', '/new'], b: ['/new', '/old'] })) {
    const { cells } = await loadHFiles(database, name, directories, { fileSystem })
    t.equal(cells, 1)
    t.equal(String((await database.table(name).get({ row: 'r' })).value('f:a')), 'new')
  }
})

void t.test('of equal cells of one bulk load the smallest file wins, as in HBase', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const fileSystem = new MemoryFileSystem()
  const values = ['small', 'x'.repeat(100), 'y'.repeat(200)]
  for (const [i, value] of values.entries()) {
    const table = await database.createTable(`t${i}`, { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:a': value }, timestamp: 7 })
    await exportHFiles(database, `t${i}`, `/t${i}`, { fileSystem })
  }
  fileSystem.makeDirectorySync('/region/f')
  for (const names of ['012', '120', '201']) {
    for (const i of values.keys()) {
      const source = fileSystem.listSync(`/t${i}/f`)[0]
      const target = `${names[i].repeat(32)}_SeqId_4_`
      fileSystem.renameSync(`/t${i}/f/${source}`, `/region/f/${target}`)
    }
    await loadHFiles(database, `loaded${names}`, ['/region'], { fileSystem })
    const found = (await database.table(`loaded${names}`).get({ row: 'r' })).value('f:a', 'utf8')
    t.equal(found, 'small', names)
    for (const i of values.keys()) {
      const target = `${names[i].repeat(32)}_SeqId_4_`
      fileSystem.renameSync(`/region/f/${target}`, `/t${i}/f/${target}`)
    }
  }
})

void t.test('what is refused changes nothing', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  await database.createTable('t', { families: { f: {} } })
  await database.table('t').put({ row: 'r', cells: { 'f:a': 'v' } })
  const held = join(home, 'held')
  await exportHFiles(database, 't', held)
  const before = readdirSync(held, { recursive: true })
  const bare = { ...reduceToRows(database), admin: {} as Database['admin'] }
  const codes = {
    full: await exportHFiles(database, 't', held).catch(codeOf),
    absent: await exportHFiles(database, 'none', join(home, 'none')).catch(codeOf),
    rows: await exportHFiles(bare, 't', join(home, 'none')).catch(codeOf),
    rowsLoad: await loadHFiles(bare, 't', [held]).catch(codeOf),
    option: await exportHFiles(database, 't', held, { compression: 'ZIP' as 'GZ' }).catch(codeOf),
    nothing: await loadHFiles(database, 'new', []).catch(codeOf),
    missing: await loadHFiles(database, 'new', [join(home, 'none')]).catch(codeOf),
    empty: await loadHFiles(database, 'new', [join(held, 'f')]).catch(codeOf),
  }
  t.strictSame(codes, {
    full: 'ERR_DIRECTORY_NOT_EMPTY',
    absent: 'ERR_TABLE_NOT_FOUND',
    rows: 'ERR_UNSUPPORTED',
    rowsLoad: 'ERR_UNSUPPORTED',
    option: 'ERR_INVALID_ARGUMENT',
    nothing: 'ERR_INVALID_ARGUMENT',
    missing: 'ERR_INVALID_ARGUMENT',
    empty: 'ERR_INVALID_ARGUMENT',
  })
  writeFileSync(join(held, 'f', 'abc.def'), '')
  t.equal(await loadHFiles(database, 'new', [held]).catch(codeOf), 'ERR_UNSUPPORTED', 'a reference')
  rmSync(join(held, 'f', 'abc.def'))
  t.strictSame(readdirSync(held, { recursive: true }), before)
  await database.createTable('other', { families: { g: {} } })
  t.equal(
    await loadHFiles(database, 'other', [held]).catch(codeOf),
    'ERR_NO_SUCH_COLUMN_FAMILY',
    'a family that the table lacks',
  )
  const signal = AbortSignal.abort()
  const target = join(home, 'aborted')
  t.equal(await exportHFiles(database, 't', target, { signal }).catch(codeOf), 'ERR_ABORTED')
  t.equal(await loadHFiles(database, 'new', [held], { signal }).catch(codeOf), 'ERR_ABORTED')
  t.strictSame(database.admin.listTableNames(), ['other', 't'], 'no table was made')
})

void t.test('a family whose name begins with an underscore is loaded', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const fileSystem = new MemoryFileSystem()
  const table = await database.createTable('t', { families: { _f: {}, g: {} } })
  await table.put({ row: 'r', cells: { '_f:q': 'x', 'g:q': 'y' } })
  await exportHFiles(database, 't', '/out', { fileSystem })
  t.match(await loadHFiles(database, 'u', ['/out'], { fileSystem }), { files: 2, cells: 2 })
})

void t.test('what an export left that was killed is removed by the next', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  const fileSystem = new MemoryFileSystem()
  await fillTable(database, 't', seededRandom(seed))
  fileSystem.makeDirectorySync('/out/f')
  fileSystem.openSync(`/out/f/_${'0'.repeat(32)}`, 'create').closeSync()
  const { files } = await exportHFiles(database, 't', '/out', { fileSystem })
  const names = fileSystem.listSync('/out/f')
  t.strictSame(
    names.sort(),
    files.flatMap(({ family, file }) => (family === 'f' ? [file] : [])).sort(),
  )
})

void t.test('two exports into one directory never make one of both', async (t) => {
  const database = await openMemoryDatabase()
  t.teardown(() => database.close())
  for (const [name, rows] of Object.entries({ few: 10, many: 30_000 })) {
    const table = await database.createTable(name, { families: { f: {} } })
    const puts = Array.from({ length: rows }, (_, i) => ({ row: `${i}`, cells: { 'f:a': name } }))
    await table.putList(puts)
  }
  for (const [first, second] of [
    ['few', 'many'],
    ['many', 'few'],
    ['many', 'many'],
  ]) {
    const fileSystem = new MemoryFileSystem()
    const ends = await Promise.allSettled(
      [first, second].map((table) => exportHFiles(database, table, '/out', { fileSystem })),
    )
    const done = ends.flatMap((end, i) => (end.status === 'fulfilled' ? [[first, second][i]] : []))
    const reasons = ends.flatMap((end) => (end.status === 'rejected' ? [codeOf(end.reason)] : []))
    t.ok(done.length <= 1, `${first} and ${second}: ${done.length} succeeds`)
    t.same(new Set(reasons), new Set(['ERR_DIRECTORY_NOT_EMPTY']))
    for (const table of done) {
      await loadHFiles(database, 'copy', ['/out'], { fileSystem })
      t.strictSame(await storedCells(database, 'copy'), await storedCells(database, table))
      await database.admin.deleteTable('copy')
    }
  }
})
