/**
 * Worker threads that are terminated while they flush or compact: the job is tried again, nothing
 * is lost, no file is left over, and the main thread goes on.
 *
 * @runs campaign
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { readdirSync } from 'node:fs'
import type { Worker } from 'node:worker_threads'
import t from 'tap'
import { Database, type DatabaseOptions, type EmbeddedTable } from '../../src/entries/index.js'
import { hasPool } from '../../src/storage/job/threads/worker-executor.js'
import { lengthOf } from '../helpers/length.js'

/** Why nothing here can run, if so. */
const reason =
  process.env['CELLAR_EXECUTOR'] === 'inline'
    ? 'CELLAR_EXECUTOR=inline: no threads'
    : !hasPool()
      ? 'piscina is not installed'
      : undefined

/** All threads that were started since; Node tells of each. */
class Threads {
  readonly alive = new Set<Worker>()
  private readonly listener = (message: unknown): void => {
    const { worker } = message as { worker: Worker }
    this.alive.add(worker)
    worker.once('exit', () => this.alive.delete(worker))
  }

  constructor() {
    subscribe('worker_threads', this.listener)
  }

  async killAll(): Promise<number> {
    const workers = [...this.alive]
    await Promise.all(workers.map((worker) => worker.terminate()))
    return workers.length
  }

  close(): void {
    unsubscribe('worker_threads', this.listener)
  }
}

const pause = (milliseconds: number): Promise<void> =>
  new Promise((resolve) => setTimeout(resolve, milliseconds))

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await pause(2)
}

const rows = 1500

async function fill(database: Database, table: EmbeddedTable, files: number): Promise<void> {
  for (let file = 0; file < files; file++) {
    const puts = Array.from({ length: rows }, (_, i) => {
      const row = `row:${String((i * 7919 + file) % (2 * rows)).padStart(6, '0')}`
      return { row, cells: { 'f:v': `${file} of ${i} ${'x'.repeat((i * 31) % 90)}` } }
    })
    await table.putList(puts)
    await database.flush()
  }
}

function contents(table: EmbeddedTable): string[] {
  return [...table.scanSync({ versions: 'all' })].flatMap((row) =>
    row.cells().map((cell) => `${String(cell.row)} ${cell.timestamp} ${String(cell.value)}`),
  )
}

const tables = (directory: string): string[] =>
  readdirSync(directory)
    .filter((name) => name.endsWith('.sst'))
    .sort()

const options: DatabaseOptions = {
  executor: 'worker',
  compactionEnabled: false,
  compactionSplitBytesMin: 1,
}

async function open(directory: string): Promise<{ database: Database; table: EmbeddedTable }> {
  const database = await Database.open(directory, options)
  const compaction = { policy: 'leveled', fileBytes: 32 * 1024 } as const
  const family = { versions: 2, compaction }
  if (database.hasTable('t')) return { database, table: database.table('t') }
  return { database, table: await database.createTable('t', { families: { f: family } }) }
}

/** Slow enough to be met, in bytes a second. */
const slowRate = 64 * 1024
/** And so slow that nothing more is done before the thread is killed. */
const haltingRate = 1024

/** Resolves when so much of the running compaction is done, or it is over. */
async function progressOf(database: Database, part: number): Promise<void> {
  let over = false
  database.on('compactionProgress', ({ bytesDone, bytesTotal }) => {
    if (over || bytesDone < part * bytesTotal) return
    over = true
    database.limitCompaction(haltingRate)
  })
  await until(() => over || database.statistics().compactionsRunning === 0)
}

/** Where the thread is killed. */
const stages: Readonly<Record<string, (database: Database) => Promise<void>>> = {
  'at the start': async (database) => {
    await until(() => database.statistics().compactionsRunning > 0)
  },
  'before the first output': async (database) => {
    await until(() => database.statistics().compactionsRunning > 0)
    await pause(20)
  },
  'in the middle': (database) => progressOf(database, 0.4),
  'near the end': (database) => progressOf(database, 0.85),
  'while the outputs are read back': (database) => progressOf(database, 0.92),
}

/** Makes a flush long enough to be met. */
const slowHook = `data:text/javascript,${encodeURIComponent(`
  const word = new Int32Array(new SharedArrayBuffer(4))
  let calls = 0
  export const createCellHook = () => ({
    decide: () => (++calls % 100 === 0 && Atomics.wait(word, 0, 0, 20), 0),
  })`)}`

if (reason === undefined) {
  const stageCount = lengthOf('CELLAR_KILL_STAGES', 2, Infinity)
  for (const [stage, reached] of Object.entries(stages).slice(-stageCount)) {
    void t.test(`a thread that is killed ${stage} costs a retry`, async (t) => {
      const threads = new Threads()
      t.teardown(() => threads.close())
      const directory = t.testdir({})
      const { database, table } = await open(directory)
      await fill(database, table, 3)
      const before = contents(table)
      const inputs = tables(directory)
      database.limitCompaction(slowRate)
      const compacted = database.compact('t')
      await until(() => threads.alive.size > 0 && database.statistics().compactionsRunning > 0)
      await reached(database)
      t.ok(
        inputs.every((name) => tables(directory).includes(name)),
        'inputs are there',
      )
      t.same(contents(table), before, 'reads go on')
      const killed = await threads.killAll()
      database.limitCompaction(Infinity)
      await compacted
      t.ok(killed > 0, `${killed} threads were killed`)
      t.same(contents(table), before)
      const { tables: statistics, compactionEntriesRead } = database.statistics()
      t.equal(tables(directory).length, statistics['t'].families['f'].files, 'no file too many')
      t.equal(compactionEntriesRead, 3 * rows, 'every entry was read once for the result')
      await database.close()
      const again = await open(directory)
      t.same(contents(again.table), before, 'after a reopen')
      await again.database.close()
    })
  }

  void t.test('a thread that is killed in a flush costs a retry', async (t) => {
    const threads = new Threads()
    t.teardown(() => threads.close())
    const directory = t.testdir({})
    const coprocessors = [{ name: 'slow', cellHook: { module: slowHook } }]
    const database = await Database.open(directory, { ...options, coprocessors })
    const table = await database.createTable('t', { families: { f: {} } })
    const puts = Array.from({ length: rows }, (_, i) => ({
      row: `r${i}`,
      cells: { 'f:v': `${i}` },
    }))
    await table.putList(puts)
    const before = contents(table)
    const flushed = database.flush()
    await until(() => tables(directory).length > 0)
    t.equal(database.statistics().flushes, 0, 'the file is being written')
    t.equal(await threads.killAll(), 1)
    t.same(contents(table), before, 'reads go on')
    await flushed
    t.match(database.statistics(), { flushes: 1, flushedEntries: rows, tableFiles: 1 })
    t.equal(tables(directory).length, 1, 'no file too many')
    t.same(contents(table), before)
    await database.close()
    const again = await Database.open(directory, options)
    t.same(contents(again.table('t')), before, 'after a reopen')
    await again.close()
  })

  void t.test('two families are compacted side by side', async (t) => {
    const directory = t.testdir({})
    const database = await Database.open(directory, options)
    // Outputs on level 0 are never cut, so each merge is one job on one thread.
    const family = { compaction: 'exploring' } as const
    const table = await database.createTable('t', { families: { f: family, g: family } })
    for (let file = 0; file < 2; file++) {
      const puts = Array.from({ length: 2000 }, (_, i) => {
        return { row: `row:${i}`, cells: { 'f:v': `${file}`, 'g:v': `${file}` } }
      })
      await table.putList(puts)
      await database.flush()
    }
    database.limitCompaction(64 * 1024)
    const both = Promise.all([
      database.compact('t', { family: 'f', major: true }),
      database.compact('t', { family: 'g', major: true }),
    ])
    await until(() => database.statistics().compactionsRunning === 2)
    t.equal(database.statistics().compactionsRunning, 2)
    database.limitCompaction(Infinity)
    await both
    t.equal(database.statistics().tableFiles, 2)
    await database.close()
  })
} else {
  void t.test('worker threads that are killed', { skip: reason }, () => undefined)
}
