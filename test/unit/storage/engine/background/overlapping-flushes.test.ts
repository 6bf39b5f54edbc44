/**
 * Flushes of one store that overlap: they share one job, and each of them ends.
 *
 * @runs long
 */
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import {
  Database,
  MemoryFileSystem,
  type EmbeddedTable,
  type File,
  type OpenMode,
  type OpenOptions,
} from '../../../../../src/entries/index.js'
import { hasPool } from '../../../../../src/storage/job/threads/worker-executor.js'

const inline = { executor: 'inline', compactionEnabled: false } as const

async function open(more: OpenOptions = {}): Promise<{
  database: Database
  table: EmbeddedTable
  fileSystem: MemoryFileSystem
  options: OpenOptions
}> {
  const fileSystem = new MemoryFileSystem()
  const options: OpenOptions = { ...inline, fileSystem, ...more }
  const database = await Database.open('/db', options)
  const table = await database.createTable('t', { families: { f: {}, g: {} } })
  return { database, table, fileSystem, options }
}

const put = (table: EmbeddedTable, row: string): Promise<unknown> =>
  table.put({ row, cells: { 'f:v': row, 'g:v': row } })

const tablesOf = (names: readonly string[]): string[] =>
  names.filter((name) => name.endsWith('.sst'))

void t.test('two flushes at a time write each memtable once', async (t) => {
  const { database, table, fileSystem } = await open()
  for (let round = 0; round < 5; round++) {
    await put(table, `r${round}`)
    await Promise.all([database.flush(), database.flush(), database.flush('t')])
    t.equal(tablesOf(fileSystem.listSync('/db')).length, 2 * (round + 1))
  }
  t.equal(database.statistics().flushes, 10)
  await database.close()
})

void t.test('a close beside a flush ends, and so does the flush', async (t) => {
  const { database, table, options } = await open()
  await put(table, 'r')
  const flushed = database.flush()
  await database.close()
  await flushed
  const again = await Database.open('/db', options)
  t.equal(again.table('t').getSync({ row: 'r' }).value('f:v')?.toString(), 'r')
  await again.close()
})

void t.test('a compaction, a snapshot and a flush of one table side by side end', async (t) => {
  const { database, table } = await open({ compactionEnabled: true })
  for (let round = 0; round < 3; round++) {
    await put(table, `r${round}`)
    await Promise.all([
      database.compact('t'),
      database.admin.snapshot(`s${round}`, 't'),
      database.flush('t'),
      database.compact('t'),
    ])
  }
  t.same(
    database.admin.listSnapshots().map(({ name }) => name),
    ['s0', 's1', 's2'],
  )
  t.equal([...table.scanSync()].length, 3)
  await database.close()
})

void t.test('an observer of a flush may close the database', async (t) => {
  let closed: Promise<void> | undefined
  const observer = {
    preFlush: () => {
      closed ??= database.close()
    },
  }
  const { database, table, options } = await open({
    coprocessors: [{ name: 'closing', observer }],
  })
  await put(table, 'r')
  await Promise.allSettled([database.flush()])
  t.ok(closed !== undefined)
  await closed
  const again = await Database.open('/db', { ...options, coprocessors: [] })
  t.equal(again.table('t').getSync({ row: 'r' }).value('g:v')?.toString(), 'r')
  await again.close()
})

void t.test('an observer of a flush may write although memory is full', async (t) => {
  let written = 0
  const observer = {
    preFlush: () => {
      const row = `of the observer ${written++}`
      database.table('t').putSync({ row, cells: { 'f:v': 'x'.repeat(500) } })
    },
  }
  const { database, table } = await open({
    memtableBytesMax: 256 * 1024,
    flushBytes: 64 * 1024,
    coprocessors: [{ name: 'writing', observer }],
  })
  for (let i = 0; i < 400; i++) table.putSync({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(2000) } })
  const atFirst = written
  t.ok(atFirst > 0)
  await database.flush()
  t.equal([...table.scanSync({ prefix: 'r' })].length, 400)
  t.equal([...table.scanSync({ prefix: 'of the observer' })].length, written)
  await database.close()
})

void t.test('flushes that overlap share the failure as well', async (t) => {
  let fails = true
  const observer = {
    preFlush: () => {
      if (fails) throw new Error('not now')
    },
  }
  const { database, table } = await open({ coprocessors: [{ name: 'failing', observer }] })
  await put(table, 'r')
  const outcomes = await Promise.allSettled([database.flush(), database.flush()])
  t.same(
    outcomes.map(({ status }) => status),
    ['rejected', 'rejected'],
  )
  fails = false
  await Promise.all([database.flush(), database.flush()])
  t.equal(database.statistics().flushes, 2)
  await database.close()
})

void t.test(
  'file numbers stay dense when flushes overlap on threads',
  { skip: !hasPool() && 'piscina is not installed' },
  async (t) => {
    const directory = mkdtempSync(join(tmpdir(), 'cellar-flushes-'))
    t.teardown(() => rmSync(directory, { recursive: true, force: true }))
    const options = { executor: 'worker', compactionEnabled: false } as const
    const database = await Database.open(join(directory, 'db'), options)
    const table = await database.createTable('t', { families: { f: {} } })
    const flushes: Promise<void>[] = []
    for (let i = 0; i < 20; i++) {
      await table.put({ row: `r${i}`, cells: { 'f:v': 'v' } })
      flushes.push(database.flush())
    }
    await Promise.all(flushes)
    const numbers = tablesOf(readdirSync(join(directory, 'db')))
      .map((name) => parseInt(name, 10))
      .sort((a, b) => a - b)
    t.equal(database.statistics().flushes, numbers.length)
    const [first] = numbers
    t.same(
      numbers,
      numbers.map((_, i) => first + i),
    )
    await database.close()
  },
)

void t.test('a synchronous put in any microtask behind a sync lets a flush end', async (t) => {
  const bytesMax = 256 * 1024
  const value = Buffer.alloc(24 * 1024)
  for (let microtasks = 0; microtasks < 12; microtasks++) {
    const { database, table } = await open({ memtableBytesMax: bytesMax, flushBytes: bytesMax / 4 })
    database.on('poisoned', (error) => t.fail(`${microtasks} microtasks: ${error.message}`))
    let row = 0
    const write = (): void => {
      table.putSync({ row: `r${row++}`, cells: { 'f:v': value } })
    }
    // The flush and this writer wait for the same sync of the log.
    const behind = table
      .put({ row: 'first', cells: { 'f:v': 'v' }, durability: 'FSYNC_WAL' })
      .then(async () => {
        for (let i = 0; i < microtasks; i++) await Promise.resolve()
        write()
      })
    while (database.statistics().memtableBytes <= bytesMax) write()
    await Promise.all([database.flush(), behind])
    t.equal([...table.scanSync()].length, row + 1)
    await database.close()
  }
})

/** A file system in which syncs of the log wait. */
class SlowLog extends MemoryFileSystem {
  gate: Promise<void> = Promise.resolve()

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    if (!path.endsWith('.log')) return file
    const sync = file.sync.bind(file)
    return Object.assign(file, { sync: () => this.gate.then(sync) })
  }
}

void t.test('a flush is in use when the log of its mutations is durable, not before', async (t) => {
  const fileSystem = new SlowLog()
  const { database, table } = await open({ fileSystem })
  await put(table, 'r')
  let release!: () => void
  fileSystem.gate = new Promise((resolve) => (release = resolve))
  const flushed = database.flush()
  for (let i = 0; i < 30; i++) await new Promise(setImmediate)
  t.equal(database.statistics().flushes, 0)
  release()
  await flushed
  t.equal(database.statistics().flushes, 2)
  await database.close()
})

/** A file system in which each sync of an SSTable waits to be released. */
class SlowTables extends MemoryFileSystem {
  readonly waiting: (() => void)[] = []

  override openSync(path: string, mode: OpenMode): File {
    const file = super.openSync(path, mode)
    if (!path.endsWith('.sst')) return file
    const sync = file.sync.bind(file)
    const turn = (): Promise<void> => new Promise((resolve) => this.waiting.push(resolve))
    return Object.assign(file, { sync: () => turn().then(sync) })
  }
}

void t.test('a job that a writer took over does not hide the next one as it ends', async (t) => {
  const fileSystem = new SlowTables()
  const bytesMax = 256 * 1024
  const { database, table } = await open({ fileSystem, memtableBytesMax: bytesMax })
  const running = (): number => database.statistics().jobs.length
  const turns = async (isDone: () => boolean): Promise<void> => {
    for (let i = 0; i < 1000 && !isDone(); i++) await new Promise(setImmediate)
    t.ok(isDone())
  }
  table.putSync({ row: 'first', cells: { 'f:v': 'v' } })
  const first = database.flush()
  await turns(() => fileSystem.waiting.length === 1)
  // Fills memory, so this thread flushes what is frozen.
  const before = database.statistics().flushes
  for (let i = 0; database.statistics().flushes < before + 1; i++) {
    table.putSync({ row: `r${i}`, cells: { 'f:v': Buffer.alloc(16 * 1024) } })
  }
  table.putSync({ row: 'next', cells: { 'f:v': 'v' } })
  const second = database.flush()
  await turns(() => fileSystem.waiting.length === 2)
  t.equal(running(), 2, 'the job that was taken over has not ended')
  fileSystem.waiting.shift()!()
  await turns(() => running() < 2)
  t.equal(running(), 1, 'the next one still runs')
  let isDone = false
  const done = Promise.all([first, second]).then(() => (isDone = true))
  await turns(() => {
    fileSystem.waiting.shift()?.()
    return isDone
  })
  await done
  await database.close()
})
