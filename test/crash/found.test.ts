/**
 * Smallest histories that once broke a promise about crashes. Each was found by the random tests
 * beside it.
 */
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { FaultyFileSystem } from '../doubles/faulty-fs.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import { Database, type FileSystem } from '../../src/entries/index.js'
import { newFileSystem } from './power-cut/power-cut-runner.js'

const zero = (): number => 0

function optionsFor(fileSystem: FileSystem) {
  return { fileSystem, executor: 'inline' as const }
}

void t.test('a flush of one family leaves no torn row after a power cut', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', optionsFor(fileSystem))
  const table = await database.createTable('t', { families: { f: {}, g: {} } })
  await table.put({ row: 'r', cells: { 'f:v': '1', 'g:v': '1' } })
  const images: SimulatedDisk[] = []
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
  const fileSystem = new SimulatedDisk()
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
  const sizes = {
    logBytesMax: 64 * 1024,
    flushBytes: 1024 * 1024,
    memtableBytesMax: 4 * 1024 * 1024,
  }
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...sizes })
  const older = await database.createTable('older', { families: { f: {} } })
  const newer = await database.createTable('newer', { families: { f: {} } })
  await older.put({ row: 'r', cells: { 'f:v': 'x'.repeat(100_000) } })
  await newer.put({ row: 'r', cells: { 'f:v': 'in the second segment' } })
  const outcomes = await Promise.allSettled([database.flush('older'), database.flush('newer')])
  const failures = outcomes.flatMap((each) =>
    each.status === 'rejected' ? [String(each.reason)] : [],
  )
  t.strictSame(failures, [], 'both flushes succeed')
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

void t.test(
  'a table created after two reopens does not make the database unreadable',
  async (t) => {
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
  },
)

/** A database with one table `t` on a file system that can fail. */
async function openFaulty() {
  const inner = newFileSystem()
  const fileSystem = new FaultyFileSystem(inner)
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...smallMemory })
  const table = await database.createTable('t', { families: { f: {} } })
  return { inner, fileSystem, database, table }
}

const smallMemory = { memtableBytesMax: 256 * 1024, flushBytes: 64 * 1024 }

void t.test('a close whose last sync fails rejects', async (t) => {
  const { fileSystem, database, table } = await openFaulty()
  await table.put({ row: 'r', cells: { 'f:v': '1' } })
  fileSystem.arm({ failAt: 1, errno: 'EIO', only: ({ kind }) => kind === 'sync' })
  await t.rejects(database.close(), { code: 'ERR_IO' })
})

void t.test('a reader that fails to close does not keep the directory locked', async (t) => {
  const { inner, fileSystem, database, table } = await openFaulty()
  await table.put({ row: 'r', cells: { 'f:v': '1' } })
  await database.flush()
  const only = ({ kind, path }: { kind: string; path: string }): boolean =>
    kind === 'close' && path.endsWith('.sst')
  fileSystem.arm({ failAt: 1, errno: 'EIO', persistent: true, only })
  await database.close().catch(() => undefined)
  const again = await Database.open('/db', optionsFor(inner))
  t.ok(again.table('t').existsSync({ row: 'r' }))
  await again.close()
})

void t.test('a flush whose manifest edit fails poisons the database', async (t) => {
  const { fileSystem, database, table } = await openFaulty()
  let poisoned = 0
  database.on('poisoned', () => poisoned++)
  await table.put({ row: 'r', cells: { 'f:v': '1' } })
  const only = ({ path }: { path: string }): boolean => path.includes('MANIFEST')
  fileSystem.arm({ failAt: 1, errno: 'EIO', only })
  await t.rejects(database.flush(), { code: 'ERR_IO' })
  t.equal(poisoned, 1, 'it is told')
  await t.rejects(table.put({ row: 'r', cells: { 'f:v': '2' } }), { code: 'ERR_POISONED' })
  await database.close()
})

void t.test('a synchronous put that fails without poisoning has not happened', async (t) => {
  const { fileSystem, database, table } = await openFaulty()
  const only = ({ path }: { path: string }): boolean => path.endsWith('.sst')
  fileSystem.arm({ failAt: 1, errno: 'ENOSPC', persistent: true, only })
  let failedAt = -1
  for (let i = 0; i < 30 && failedAt < 0; i++) {
    try {
      table.putSync({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(20_000) } })
    } catch {
      failedAt = i
    }
  }
  t.ok(failedAt >= 0, 'memory is used up and cannot be freed')
  t.equal(database.failure, undefined)
  t.notOk(table.existsSync({ row: `r${failedAt}` }), 'the put that threw is not there')
  fileSystem.disarm()
  await database.close()
})

/**
 * Fills the memory by synchronous puts into `big` while the flush of `small` waits for the log.
 * Resolves to the outcome of the flush.
 */
async function fillDuringFlush(
  t: Test,
  tableNames: readonly string[],
): Promise<PromiseSettledResult<void>> {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...smallMemory })
  for (const name of tableNames) await database.createTable(name, { families: { f: {} } })
  const big = database.table('big')
  await database.table('small').put({ row: 'r', cells: { 'f:v': '1' } })
  let filled = false
  let failure: unknown
  const fill = (): void => {
    let operations = 0
    fileSystem.beforeOperation = () => {
      if (++operations > 3000) throw new Error('it goes on for ever')
    }
    try {
      for (let i = 0; i < 20; i++) {
        big.putSync({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(20_000) } })
      }
    } catch (error) {
      failure = error
    }
    filled = true
  }
  fileSystem.beforeOperation = ({ kind, path }) => {
    if (kind !== 'sync' || !path.endsWith('.log')) return
    fileSystem.beforeOperation = undefined
    queueMicrotask(fill)
  }
  const [outcome] = await Promise.allSettled([database.flush('small')])
  t.equal(filled, true, 'the flush has waited for the log')
  t.equal(failure, undefined, 'the puts succeed')
  fileSystem.beforeOperation = undefined
  await database.close().catch(() => undefined)
  return outcome
}

void t.test('a synchronous writer does not wait for ever for a flush under way', async (t) => {
  const outcome = await fillDuringFlush(t, ['small', 'big'])
  t.equal(outcome.status, 'fulfilled', 'the flush succeeds')
})

void t.test('a flush that a synchronous writer has overtaken still succeeds', async (t) => {
  const outcome = await fillDuringFlush(t, ['big', 'small'])
  t.strictSame(outcome, { status: 'fulfilled', value: undefined })
})

void t.test('a sync that another failed sync has overtaken acknowledges nothing', async (t) => {
  const { inner, fileSystem, database, table } = await openFaulty()
  let failed = false
  inner.beforeOperation = ({ kind }) => {
    if (kind !== 'sync') return
    inner.beforeOperation = undefined
    queueMicrotask(() => {
      const only = ({ kind }: { kind: string }): boolean => kind === 'sync'
      fileSystem.arm({ failAt: 1, errno: 'EIO', only, syncFailure: 'revert' })
      try {
        table.putSync({ row: 's', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
      } catch {
        failed = true
      }
    })
  }
  const put = table.put({ row: 'r', cells: { 'f:v': '1' }, durability: 'FSYNC_WAL' })
  const acknowledged = await put.then(
    () => true,
    () => false,
  )
  t.ok(failed, 'the other sync has failed')
  await database.close().catch(() => undefined)
  const again = await Database.open('/db', optionsFor(inner))
  const present = again.table('t').existsSync({ row: 'r' })
  t.ok(present || !acknowledged, `acknowledged: ${acknowledged}, present: ${present}`)
  await again.close()
})

void t.test('writers that waited for memory do not overrun the budget together', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...smallMemory })
  const table = await database.createTable('t', { families: { f: {} } })
  const puts: Promise<void>[] = []
  let most = 0
  const look = (): void => void (most = Math.max(most, database.statistics().memtableBytes))
  for (let i = 0; i < 400; i++) {
    const put = table.put({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(5000) } })
    puts.push(put.then(look))
  }
  await Promise.all(puts)
  t.ok(database.statistics().stalls > 0, 'writers have waited')
  t.ok(most < 1.25 * smallMemory.memtableBytesMax, `${most} bytes at most`)
  await database.close()
})

void t.test('a database is opened through a symbolic link to its directory', async (t) => {
  const home = mkdtempSync(join(tmpdir(), 'cellar-link-'))
  t.teardown(() => rmSync(home, { recursive: true, force: true }))
  const inline = { executor: 'inline' as const }
  await (await Database.open(join(home, 'database'), inline)).close()
  symlinkSync(join(home, 'database'), join(home, 'link'))
  await (await Database.open(join(home, 'link'), inline)).close()
  t.pass('it opens')
})

void t.test('the memory that is accounted for is that of the memtables', async (t) => {
  const fileSystem = newFileSystem()
  const database = await Database.open('/db', { ...optionsFor(fileSystem), ...smallMemory })
  const table = await database.createTable('t', { families: { f: {} } })
  for (let i = 0; i < 300; i++) {
    table.putSync({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(5000) } })
  }
  await database.flush()
  const { memtableBytes, tables } = database.statistics()
  t.equal(memtableBytes, tables.t.families.f.memtableBytes)
  t.ok(memtableBytes >= 0, `${memtableBytes} bytes are accounted for`)
  await database.close()
})
