/** What goes wrong around flushes and compactions, and that nothing of it stays. */
import t from 'tap'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import {
  Database,
  MemoryFileSystem,
  type OpenOptions,
  type Table,
} from '../../../../../src/entries/index.js'

const options = { executor: 'inline', compactionEnabled: false } as const

async function open(more: OpenOptions = {}) {
  const inner = new MemoryFileSystem()
  const fileSystem = new FaultyFileSystem(inner)
  const database = await Database.open('/db', { ...options, fileSystem, ...more })
  const family = { compaction: { policy: 'tiered', widthMin: 2 } } as const
  const table = await database.createTable('t', { families: { f: family, g: family } })
  return { inner, fileSystem, database, table }
}

async function writeFiles(database: Database, table: Table, count: number): Promise<void> {
  for (let file = 0; file < count; file++) {
    const puts = Array.from({ length: 500 }, (_, i) => {
      return { row: `row:${i}`, cells: { 'f:v': `${file}`, 'g:v': `${file}` } }
    })
    await table.putList(puts)
    await database.flush()
  }
}

const tables = (fileSystem: MemoryFileSystem): string[] =>
  fileSystem
    .listSync('/db')
    .filter((name) => name.endsWith('.sst'))
    .sort()

const isTable = ({ kind, path }: { kind: string; path: string }): boolean =>
  kind === 'open' && path.endsWith('.sst')

void t.test('a flush whose file cannot be opened leaves no file behind', async (t) => {
  const { inner, fileSystem, database, table } = await open()
  for (const flush of ['first', 'second']) {
    await table.put({ row: 'r', cells: { 'f:v': flush } })
    const before = tables(inner)
    // Made, looked at by the job, and then opened for readers.
    fileSystem.arm({ failAt: 3, errno: 'EMFILE', persistent: true, only: isTable })
    await t.rejects(database.flush(), { code: 'ERR_IO' })
    t.ok(fileSystem.failures > 0)
    t.same(tables(inner), before, flush)
    fileSystem.disarm()
    await database.flush()
    t.equal(tables(inner).length, before.length + 1)
  }
  t.equal(table.getSync({ row: 'r' }).value('f:v')?.toString(), 'second')
  await database.close()
})

void t.test('a listener that throws fails no compaction', async (t) => {
  const { database, table } = await open()
  await writeFiles(database, table, 2)
  const listeners = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const thrown = new Promise((resolve) => process.once('uncaughtException', resolve))
  t.teardown(() => {
    process.removeAllListeners('uncaughtException')
    for (const listener of listeners) process.on('uncaughtException', listener)
  })
  database.once('compaction', () => {
    throw new Error('the fault of the listener')
  })
  await database.compact('t')
  t.equal(database.statistics().compactions, 2)
  t.match(await thrown, { message: 'the fault of the listener' }, 'it is not swallowed')
  await database.close()
})

void t.test('a progress function that throws ends its compaction with the error', async (t) => {
  const { inner, database, table } = await open()
  await writeFiles(database, table, 2)
  const before = tables(inner)
  for (const limit of [20_000, Infinity]) {
    database.limitCompaction(limit)
    const onProgress = (): void => {
      throw new Error('the fault of the listener')
    }
    await t.rejects(database.compact('t', { family: 'f', onProgress }), /the fault of the listener/)
    t.equal(database.statistics().compactionQueue, 0)
    if (limit !== Infinity) t.same(tables(inner), before, 'it was ended')
  }
  await database.close()
})

void t.test('an observer that fails a selection once delays it', async (t) => {
  let calls = 0
  const observer = {
    preCompactSelection: () => {
      if (++calls === 1) throw new Error('not now')
    },
  }
  const { database, table } = await open({
    compactionEnabled: true,
    coprocessors: [{ name: 'late', observer }],
  })
  const errors: unknown[] = []
  database.on('compactionError', ({ error }) => errors.push(error))
  const compacted = new Promise((resolve) => database.on('compaction', resolve))
  const puts = [{ row: 'r', cells: { 'f:v': '1' } }]
  database.pauseCompaction()
  for (let file = 0; file < 2; file++) {
    await table.putList(puts)
    await database.flush()
  }
  database.resumeCompaction()
  // The pause before the next attempt keeps no process alive.
  const alive = setInterval(() => undefined, 1000)
  await compacted
  clearInterval(alive)
  t.match(errors, [{ code: 'ERR_COPROCESSOR' }])
  await database.close()
})

void t.test('compactions that are switched off do not come back by themselves', async (t) => {
  const { database, table } = await open({ compactionEnabled: true })
  database.pauseCompaction()
  await writeFiles(database, table, 3)
  t.ok(database.statistics().compactionQueue > 0, 'they wait')
  database.admin.compactionSwitch(false)
  database.resumeCompaction()
  t.equal(database.statistics().compactionQueue, 0)
  await new Promise((resolve) => setTimeout(resolve, 50))
  t.equal(database.statistics().compactions, 0)
  database.admin.compactionSwitch(true)
  await new Promise((resolve) => database.on('compaction', resolve))
  await database.close()
})

void t.test('a close between the families of a compaction ends it', async (t) => {
  for (let turns = 0; turns < 12; turns++) {
    const { database, table } = await open()
    await writeFiles(database, table, 1)
    const seen = database.compact('t').then(
      () => 'done',
      (error: { code: string }) => error.code,
    )
    for (let i = 0; i < turns; i++) await new Promise((resolve) => setImmediate(resolve))
    await database.close()
    t.match(await seen, /^(done|ERR_CLOSED)$/)
  }
})
