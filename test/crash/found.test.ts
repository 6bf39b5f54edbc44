/**
 * Smallest histories that once broke a promise about crashes. Each was found by the random tests
 * beside it.
 */
import t from 'tap'
import { MemoryFileSystem } from '../../src/fs/memory-fs.js'
import { Database } from '../../src/index.js'
import { newFileSystem } from './power-cut-runner.js'

const zero = (): number => 0

function optionsFor(fileSystem: MemoryFileSystem) {
  return { fileSystem, executor: 'inline' as const }
}

void t.test('a flush of one family leaves no torn row after a power cut', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', optionsFor(fileSystem))
  const table = await database.createTable('t', { families: { f: {}, g: {} } })
  await table.put({ row: 'r', cells: { 'f:v': '1', 'g:v': '1' } })
  const images: MemoryFileSystem[] = []
  fileSystem.beforeOperation = () => images.push(fileSystem.crash('dropUnsynced', zero))
  await database.flush()
  fileSystem.beforeOperation = undefined
  await database.close()
  for (const [index, image] of images.entries()) {
    const after = await Database.open('/db', optionsFor(image))
    const result = after.table('t').getSync({ row: 'r' })
    t.equal(result.has('f:v'), result.has('g:v'), `operation ${index} of the flush`)
    await after.close()
  }
})

void t.test('a flush of one table leaves no hole before it in another', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', optionsFor(fileSystem))
  const first = await database.createTable('first', { families: { f: {} } })
  const second = await database.createTable('second', { families: { f: {} } })
  await first.put({ row: 'r', cells: { 'f:v': 'earlier' } })
  await second.put({ row: 'r', cells: { 'f:v': 'later' } })
  await database.flush('second')
  const image = fileSystem.crash('dropUnsynced', zero)
  await database.close()
  const after = await Database.open('/db', optionsFor(image))
  t.ok(after.table('second').existsSync({ row: 'r' }), 'what was flushed is there')
  t.ok(after.table('first').existsSync({ row: 'r' }), 'and so is what was written before it')
  await after.close()
})

void t.test('a change of the catalog leaves no hole before it', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', optionsFor(fileSystem))
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:v': '1' } })
  await database.createTable('u', { families: { f: {} } })
  const image = fileSystem.crash('dropUnsynced', zero)
  await database.close()
  const after = await Database.open('/db', optionsFor(image))
  t.ok(after.hasTable('u'), 'the table that was created later is there')
  t.ok(after.table('t').existsSync({ row: 'r' }), 'and so is the earlier write')
  await after.close()
})

void t.test('every directory that the open creates is durable', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/new/deep/db', optionsFor(fileSystem))
  await database.createTable('t', { families: { f: {} } })
  const image = fileSystem.crash('dropUnsynced', zero)
  await database.close()
  const after = await Database.open('/new/deep/db', optionsFor(image))
  t.ok(after.hasTable('t'), 'the table is there after a power cut')
  await after.close()
})

void t.test('flushes of two tables at once do not take back the floor of the log', async (t) => {
  const fileSystem = newFileSystem()
  const sizes = { logBytesMax: 64 * 1024, flushBytes: 1024 * 1024, memtableBytesMax: 4 * 1024 * 1024 }
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...sizes })
  const older = await database.createTable('older', { families: { f: {} } })
  const newer = await database.createTable('newer', { families: { f: {} } })
  await older.put({ row: 'r', cells: { 'f:v': 'x'.repeat(100_000) } })
  await newer.put({ row: 'r', cells: { 'f:v': 'in the second segment' } })
  const outcomes = await Promise.allSettled([database.flush('older'), database.flush('newer')])
  const failures = outcomes.flatMap((each) => (each.status === 'rejected' ? [each.reason] : []))
  t.strictSame(failures.map(String), [], 'both flushes succeed')
  await t.resolves(database.close())
})

void t.test('flushes of two tables at once leave a log that can be opened', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', optionsFor(fileSystem))
  const one = await database.createTable('one', { families: { f: {} } })
  const two = await database.createTable('two', { families: { f: {} } })
  await database.createTable('untouched', { families: { f: {} } })
  await one.put({ row: 'r', cells: { 'f:v': '1' } })
  await two.put({ row: 'r', cells: { 'f:v': '1' } })
  await database.close()
  const again = await Database.open('/db', optionsFor(fileSystem))
  await Promise.allSettled([again.flush('one'), again.flush('two')])
  await again.close()
  const last = await Database.open('/db', optionsFor(fileSystem))
  t.ok(last.table('two').existsSync({ row: 'r' }))
  await last.close()
})

void t.test('a table created after two reopens does not make the database unreadable', async (t) => {
  const fileSystem = newFileSystem()
  const reopen = (): Promise<Database> => Database.open('/db', optionsFor(fileSystem))
  let database = await reopen()
  const table = await database.createTable('t', { families: { f: {} } })
  await table.put({ row: 'r', cells: { 'f:v': '1' } })
  await database.flush()
  for (let i = 0; i < 2; i++) {
    await database.close()
    database = await reopen()
  }
  await database.createTable('u', { families: { f: {} } })
  await database.close()
  const last = await reopen()
  t.ok(last.table('t').existsSync({ row: 'r' }))
  await last.close()
})
