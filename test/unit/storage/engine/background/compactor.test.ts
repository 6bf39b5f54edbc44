/** @runs long */
import { setTimeout as delay } from 'node:timers/promises'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import t from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { FaultyFileSystem } from '../../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../../doubles/simulated-disk.js'
import {
  Database,
  type CompactionSetting,
  type DatabaseEvents,
  type DatabaseOptions,
  type EmbeddedTable,
  type FamilyOptions,
} from '../../../../../src/entries/index.js'

const hour = 3_600_000
const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

type Compaction = DatabaseEvents['compaction'][0]

interface Opened {
  readonly database: Database
  readonly table: EmbeddedTable
  readonly clock: ManualClock
  readonly compactions: Compaction[]
  readonly fileSystem: SimulatedDisk
}

async function open(family: FamilyOptions, options: DatabaseOptions = {}): Promise<Opened> {
  const fileSystem = new SimulatedDisk()
  const clock = new ManualClock(1000 * hour)
  const database = await Database.open('/db', { executor: 'inline', fileSystem, clock, ...options })
  const table = await database.createTable('t', { families: { f: family } })
  const compactions: Compaction[] = []
  database.on('compaction', (compaction) => compactions.push(compaction))
  return { database, table, clock, compactions, fileSystem }
}

/** Flushes a file of rows `from`, `from + step`, ... */
async function writeFile(
  { database, table }: Pick<Opened, 'database' | 'table'>,
  from: number,
  count: number,
  { step = 1, bytes = 100 } = {},
): Promise<void> {
  for (let i = 0; i < count; i++) {
    const row = `row:${String(from + i * step).padStart(6, '0')}`
    const value = Buffer.alloc(bytes)
    for (let at = 0; at < bytes; at++) value[at] = (from * 7 + i * 31 + at * at * 13) & 0xff
    await table.put({ row, cells: { 'f:v': value } })
  }
  await database.flush()
}

async function settle(database: Database): Promise<void> {
  while (database.statistics().compactionQueue > 0) await nextTurn()
}

const rowsOf = (table: EmbeddedTable): string[] =>
  [...table.scanSync()].map((row) => String(row.row))

const tables = (fileSystem: SimulatedDisk): string[] =>
  fileSystem
    .listSync('/db')
    .filter((name) => name.endsWith('.sst'))
    .sort()

void t.test('a family keeps its policy and options, also over an alteration', async (t) => {
  const compaction: CompactionSetting = { policy: 'date-tiered', windowsPerTier: 3 }
  const { database, fileSystem } = await open({ compaction })
  t.same(database.describeTable('t').families['f'].compaction, compaction)
  await database.alterTable('t', { families: { f: { versions: 2 } } })
  t.same(database.describeTable('t').families['f'].compaction, compaction)
  const leveled: CompactionSetting = { policy: 'leveled', tombstoneRatioMin: Infinity }
  await database.alterTable('t', { families: { f: { compaction: leveled } } })
  await database.close()
  const again = await Database.open('/db', { executor: 'inline', fileSystem })
  t.same(again.describeTable('t').families['f'].compaction, leveled, 'after a reopen')
  await again.alterTable('t', { families: { f: { compaction: 'tiered' } } })
  t.same(again.describeTable('t').families['f'].compaction, { policy: 'tiered' })
  await again.close()
})

void t.test('wrong policies are refused and change nothing', async (t) => {
  const { database } = await open({ ttlMilliseconds: 10_000, compaction: 'fifo' })
  const wrong: readonly FamilyOptions[] = [
    { compaction: 'fast' as unknown as 'fifo' },
    { compaction: 5 as unknown as 'fifo' },
    { compaction: { policy: 'leveled', levelRatio: 1 } },
    { compaction: { policy: 'leveled', fileBytes: 0.5 } },
    { compaction: { policy: 'tiered', depth: 3 } as unknown as CompactionSetting },
    { compaction: 'fifo', ttlMilliseconds: Infinity },
    { compaction: 'fifo', ttlMilliseconds: 10_000, minVersions: 1, versions: 2 },
  ]
  for (const family of wrong) {
    const create = database.createTable('u', { families: { f: family } })
    await t.rejects(create, { code: 'ERR_INVALID_ARGUMENT' })
    const alter = database.alterTable('t', { families: { f: family } })
    await t.rejects(alter, { code: 'ERR_INVALID_ARGUMENT' })
  }
  const withoutTtl = database.alterTable('t', { families: { f: { ttlMilliseconds: Infinity } } })
  await t.rejects(withoutTtl, /time to live/)
  t.same(database.listTables(), ['t'])
  t.equal(database.describeTable('t').families['f'].ttlMilliseconds, 10_000)
  await t.rejects(Database.open('/x', { compactionBytesPerSecondMax: 1 }), /BytesPerSecondMax/)
  await t.rejects(Database.open('/x', { compactionRestMilliseconds: 0 }), /RestMilliseconds/)
  t.throws(() => database.limitCompaction(NaN), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(database.compact('t', { major: false, startRow: 'a' }), /need major/)
  await database.close()
})

for (const policy of ['fifo', 'date-tiered'] as const) {
  void t.test(`${policy} drops expired files without reading a block`, async (t) => {
    const opened = await open({ ttlMilliseconds: 24 * 3600 * 1000, compaction: policy })
    const { database, table, clock, compactions, fileSystem } = opened
    for (let day = 0; day < 3; day++) {
      await writeFile(opened, day * 1000, 200)
      await settle(database)
      clock.milliseconds += 24 * hour
    }
    t.equal(compactions.length, 1, 'the first day is over')
    for (const compaction of compactions) {
      t.match(compaction, { kind: 'drop', inputFiles: 1, entries: 0, bytes: 0 })
    }
    clock.milliseconds += hour
    await database.compact('t', { major: false })
    const { blocksRead, compactionBytesRead, compactionFileDrops } = database.statistics()
    t.match({ blocksRead, compactionBytesRead }, { blocksRead: 0, compactionBytesRead: 0 })
    t.equal(compactionFileDrops, 3)
    t.equal(tables(fileSystem).length, 0)
    t.same(rowsOf(table), [])
    await database.close()
  })
}

void t.test('files that overlap nothing are moved, not rewritten', async (t) => {
  const compaction = { policy: 'leveled', flushedFilesMin: 1, fileBytes: 4096 } as const
  const opened = await open({ compaction })
  const { database, table, compactions, fileSystem } = opened
  for (let file = 0; file < 6; file++) await writeFile(opened, file * 100, 100)
  await settle(database)
  t.ok(compactions.length > 0)
  t.ok(compactions.every(({ kind }) => kind === 'move'))
  const { compactionBytesRead, compactionMoves, tables: statistics } = database.statistics()
  t.equal(compactionBytesRead, 0)
  t.equal(compactionMoves, 6)
  t.equal(statistics['t'].families['f'].levels[0].files, 0)
  t.equal(statistics['t'].families['f'].runs, 1)
  const rows = rowsOf(table)
  t.equal(rows.length, 600)
  await database.close()
  const again = await Database.open('/db', { executor: 'inline', fileSystem })
  t.same(rowsOf(again.table('t')), rows, 'after a reopen')
  t.ok(again.table('t').existsSync({ row: 'row:000555' }))
  await again.close()
})

void t.test('a major compaction of some rows leaves other files alone', async (t) => {
  const compaction = { policy: 'leveled', flushedFilesMin: 100, fileBytes: 4096 } as const
  const opened = await open({ compaction }, { compactionSplitBytesMin: 1 })
  const { database, table, compactions, fileSystem } = opened
  await writeFile(opened, 0, 300)
  await database.compact('t')
  await writeFile(opened, 0, 300)
  await database.compact('t')
  const before = tables(fileSystem)
  t.ok(before.length > 4, `${before.length} files`)
  await table.delete({ row: 'row:000100' })
  await database.flush()
  await database.compact('t', { startRow: 'row:000100', stopRow: 'row:000101' })
  const after = tables(fileSystem)
  const kept = before.filter((name) => after.includes(name))
  t.ok(kept.length >= before.length - 2, `${kept.length} of ${before.length} are left alone`)
  t.match(compactions.at(-1), { kind: 'merge', major: true, droppedEntries: 2 })
  t.equal(rowsOf(table).length, 299)
  await database.compact('t', { startRow: 'zzz' })
  t.same(tables(fileSystem), after, 'nothing lies behind')
  await database.close()
})

void t.test('a large merge is cut between rows and loses nothing', async (t) => {
  const compaction = { policy: 'leveled', flushedFilesMin: 100, fileBytes: 1 << 20 } as const
  const opened = await open({ compaction, versions: 5 }, { compactionSplitBytesMin: 1 })
  const { database, table, compactions } = opened
  for (let file = 0; file < 5; file++) await writeFile(opened, 0, 400, { bytes: 60 })
  await database.compact('t')
  t.match(compactions.at(-1), { outputFiles: 2, entries: 2000, droppedEntries: 0 })
  for (const row of table.scanSync({ versions: 'all' })) t.equal(row.size, 5)
  t.equal(rowsOf(table).length, 400)
  await database.close()
})

void t.test('compactions rest, go on, are slowed down and end with the database', async (t) => {
  const opened = await open({ compaction: { policy: 'tiered', widthMin: 2 } })
  const { database, compactions } = opened
  database.pauseCompaction()
  for (let file = 0; file < 5; file++) await writeFile(opened, 0, 3000)
  for (let i = 0; i < 20; i++) await nextTurn()
  t.equal(compactions.length, 0, 'nothing runs while they rest')
  const requested = database.compact('t')
  database.limitCompaction(1024)
  database.resumeCompaction()
  await new Promise((resolve) => setTimeout(resolve, 200))
  t.equal(database.statistics().compactionsRunning, 1)
  t.equal(compactions.length, 0, 'a kibibyte a second is slow')
  database.pauseCompaction()
  database.limitCompaction(Infinity)
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.equal(compactions.length, 0)
  database.resumeCompaction()
  await requested
  t.ok(compactions.length > 0)
  await writeFile(opened, 0, 3000)
  database.limitCompaction(1024)
  const rejected = t.rejects(database.compact('t'), { code: 'ERR_CLOSED' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  await database.close()
  await rejected
  const left = tables(opened.fileSystem)
  const again = await Database.open('/db', { executor: 'inline', fileSystem: opened.fileSystem })
  t.same(tables(opened.fileSystem), left, 'the close has left no orphan')
  t.equal(rowsOf(again.table('t')).length, 3000)
  await again.close()
})

void t.test('stale data goes once the family is at rest, and not before', async (t) => {
  for (const compactionRestMilliseconds of [Infinity, 20]) {
    const opened = await open({}, { compactionRestMilliseconds })
    const { database, table, compactions } = opened
    await writeFile(opened, 0, 100)
    await database.compact('t', { major: true })
    const { fileBytes } = database.statistics().tables['t'].families['f']
    compactions.length = 0
    await writeFile(opened, 0, 100)
    await settle(database)
    const rests = compactionRestMilliseconds === Infinity
    if (!rests) while (compactions.length === 0) await delay(10)
    else await delay(100)
    await settle(database)
    const now = database.statistics().tables['t'].families['f']
    t.equal(now.files, rests ? 2 : 1)
    t.equal(now.fileBytes > 1.5 * fileBytes, rests)
    t.equal(rowsOf(table).length, 100)
    await database.close()
  }
})

/** A deep run of rows, and `files` small newer runs beside it, which the policy leaves alone. */
async function writeRuns(opened: Opened, files: number): Promise<void> {
  await writeFile(opened, 0, 3000)
  await opened.database.compact('t')
  for (let file = 0; file < files; file++) await writeFile(opened, file, 20, { step: 100 })
  await settle(opened.database)
  opened.compactions.length = 0
}

void t.test('scans make the runs go that they meet, once the family is at rest', async (t) => {
  for (const reads of ['scans', 'gets', 'none'] as const) {
    const opened = await open({}, { compactionRestMilliseconds: 5 })
    const { database, table, compactions } = opened
    await writeRuns(opened, 3)
    const runs = (): number => database.statistics().tables['t'].families['f'].runs
    t.equal(runs(), 4)
    if (reads === 'none') await delay(100)
    else {
      for (let i = 0; runs() > 1; i++) {
        const startRow = `row:${String(i % 1900).padStart(6, '0')}`
        if (reads === 'scans') void [...table.scanSync({ startRow, limit: 3 })]
        else table.getSync({ row: 'row:000100', columns: ['f:v'], versions: 2 })
        if (i % 50 === 0) await delay(1)
      }
      await settle(database)
      t.match(compactions.at(-1), { kind: 'merge', major: true })
    }
    t.equal(runs(), reads === 'none' ? 4 : 1, reads)
    t.equal(rowsOf(table).length, 3000)
    await database.close()
  }
})

void t.test('scans of a family that is never at rest make no merge', async (t) => {
  const opened = await open({}, { compactionRestMilliseconds: Infinity })
  const { database, table, compactions } = opened
  await writeRuns(opened, 3)
  for (let i = 0; i < 1000; i++) void [...table.scanSync({ limit: 3 })]
  await writeFile(opened, 50, 20, { step: 100 })
  await settle(database)
  const { runs } = database.statistics().tables['t'].families['f']
  t.ok(runs > 1 && compactions.every(({ major }) => !major), `${runs} runs stay`)
  await database.close()
})

void t.test('a merge for reads that fails must be paid for again', async (t) => {
  const inner = new SimulatedDisk()
  const fileSystem = new FaultyFileSystem(inner)
  const opened = await open({}, { fileSystem, compactionRestMilliseconds: 5 })
  const { database, table } = opened
  await writeRuns(opened, 3)
  const rows = rowsOf(table)
  const failures: unknown[] = []
  database.on('compactionError', (failure) => failures.push(failure))
  fileSystem.arm({
    failAt: 1,
    errno: 'ENOSPC',
    persistent: true,
    only: ({ kind, path }) => kind === 'write' && path.endsWith('.sst'),
  })
  while (failures.length === 0) {
    for (let i = 0; i < 50; i++) void [...table.scanSync({ limit: 3 })]
    await delay(1)
  }
  await delay(1500)
  t.equal(failures.length, 1, 'the pause of a failed compaction is over, and nothing was tried')
  fileSystem.disarm()
  t.same(rowsOf(table), rows)
  while (database.statistics().tables['t'].families['f'].runs > 1) {
    for (let i = 0; i < 50; i++) void [...table.scanSync({ limit: 3 })]
    await delay(1)
  }
  t.same(rowsOf(table), rows)
  await database.close()
})

void t.test('a compaction of a table that is dropped meanwhile is told so', async (t) => {
  const opened = await open({ compaction: 'tiered' }, { compactionEnabled: false })
  const { database, fileSystem } = opened
  for (let file = 0; file < 3; file++) await writeFile(opened, 0, 3000)
  database.limitCompaction(1024)
  const running = t.rejects(database.compact('t'), { code: 'ERR_TABLE_NOT_FOUND' })
  const waiting = t.rejects(database.compact('t'), { code: 'ERR_TABLE_NOT_FOUND' })
  await new Promise((resolve) => setTimeout(resolve, 100))
  await database.dropTable('t')
  await running
  await waiting
  t.same(tables(fileSystem), [])
  await t.rejects(database.compact('t'), { code: 'ERR_TABLE_NOT_FOUND' })
  await database.close()
})

void t.test('an aborted compaction stops in the middle', async (t) => {
  const opened = await open({}, { compactionEnabled: false })
  const { database, fileSystem } = opened
  for (let file = 0; file < 3; file++) await writeFile(opened, 0, 3000)
  const before = tables(fileSystem)
  database.limitCompaction(1024 * 1024)
  const controller = new AbortController()
  const running = database.compact('t', {
    signal: controller.signal,
    onProgress: (part) => {
      if (part > 0) controller.abort(new Error('enough'))
    },
  })
  await t.rejects(running, { code: 'ERR_ABORTED', cause: { message: 'enough' } })
  t.same(tables(fileSystem), before)
  database.limitCompaction(Infinity)
  await database.compact('t')
  t.equal(tables(fileSystem).length, 1)
  await database.close()
})

void t.test('a full disk fails the compaction and nothing else', async (t) => {
  const inner = new SimulatedDisk()
  const fileSystem = new FaultyFileSystem(inner)
  const options = { executor: 'inline', fileSystem, compactionEnabled: false } as const
  const database = await Database.open('/db', options)
  const table = await database.createTable('t', { families: { f: {} } })
  for (let file = 0; file < 3; file++) await writeFile({ database, table }, 0, 5000)
  const rows = rowsOf(table)
  for (const failAt of [1, 2, 3]) {
    await database.flush()
    const before = tables(inner)
    const only = ({ kind, path }: { kind: string; path: string }): boolean =>
      kind === 'write' && path.endsWith('.sst')
    fileSystem.arm({ failAt, errno: 'ENOSPC', persistent: true, only })
    await t.rejects(database.compact('t'), { code: 'ERR_NO_SPACE' })
    fileSystem.disarm()
    t.same(tables(inner), before, 'inputs are untouched and no output is left')
    t.same(rowsOf(table), rows)
    await table.put({ row: 'still', cells: { 'f:v': 'serving' } })
    await table.delete({ row: 'still' })
  }
  await database.compact('t')
  t.equal(tables(inner).length, 1, 'the next attempt works')
  t.same(rowsOf(table), rows)
  t.equal(database.failure, undefined)
  await database.close()
})

void t.test('an output that does not read as it was written is not installed', async (t) => {
  const fileSystem = new SimulatedDisk()
  const options = { executor: 'inline', fileSystem, compactionEnabled: false } as const
  const database = await Database.open('/db', options)
  const table = await database.createTable('t', { families: { f: {} } })
  for (let file = 0; file < 3; file++) await writeFile({ database, table }, 0, 5000)
  const before = tables(fileSystem)
  const rows = rowsOf(table)
  let damaged = false
  fileSystem.beforeOperation = ({ kind, path }) => {
    if (kind !== 'sync' || !path.endsWith('.sst') || before.some((name) => path.endsWith(name))) {
      return
    }
    damaged = true
    const file = fileSystem.openSync(path, 'write')
    file.writeSync(Buffer.from([0xde, 0xad]), 0, 2, 5000)
    file.closeSync()
  }
  await t.rejects(database.compact('t'), { code: 'ERR_CORRUPTION' })
  t.ok(damaged)
  fileSystem.beforeOperation = undefined
  t.same(tables(fileSystem), before)
  t.same(rowsOf(table), rows)
  await database.compact('t')
  t.equal(tables(fileSystem).length, 1)
  await database.close()
})

void t.test('writers wait when compactions are behind, and are told so', async (t) => {
  const compaction = { policy: 'tiered', runsMax: 2, widthMin: 2 } as const
  const limits = { compactionDebtRunsMax: 4, compactionBytesPerSecondMax: 1024 }
  const opened = await open({ compaction }, limits)
  const { database, table } = opened
  const states: string[] = []
  database.on('pressure', ({ state }) => states.push(state))
  for (let file = 0; database.pressure.state !== 'stop'; file++) {
    t.ok(file < 20)
    await writeFile(opened, 0, 200)
  }
  let written = false
  const put = table.put({ row: 'late', cells: { 'f:v': '1' } }).then(() => (written = true))
  const list = table.putList([{ row: 'later', cells: { 'f:v': '1' } }])
  await new Promise((resolve) => setTimeout(resolve, 100))
  t.notOk(written, 'promises wait')
  table.putSync({ row: 'sync', cells: { 'f:v': '1' } })
  t.ok(table.existsSync({ row: 'sync' }), 'synchronous writers do not')
  t.ok(database.statistics().compactionStalls > 0)
  database.limitCompaction(Infinity)
  await put
  await list
  await settle(database)
  t.equal(database.pressure.state, 'none')
  t.same([states.includes('slow'), states.includes('stop'), states.at(-1)], [true, true, 'none'])
  await database.close()
})

void t.test('who waits for compactions is let go by a close', async (t) => {
  const compaction = { policy: 'tiered', runsMax: 2, widthMin: 2 } as const
  const limits = { compactionDebtRunsMax: 2, compactionBytesPerSecondMax: 1024 }
  const opened = await open({ compaction }, limits)
  while (opened.database.pressure.state !== 'stop') await writeFile(opened, 0, 200)
  const put = opened.table.put({ row: 'late', cells: { 'f:v': '1' } })
  const rejected = t.rejects(put, { code: 'ERR_CLOSED' })
  await opened.database.close()
  await rejected
})

void t.test('nobody waits for compactions of a database that has failed', async (t) => {
  const compaction = { policy: 'tiered', runsMax: 2, widthMin: 2 } as const
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const limits = { compactionDebtRunsMax: 2, compactionBytesPerSecondMax: 1024, fileSystem }
  const opened = await open({ compaction }, limits)
  const { database, table } = opened
  while (database.pressure.state !== 'stop') await writeFile(opened, 0, 200)
  fileSystem.arm({ failAt: 1, persistent: true, errno: 'EIO' })
  const late = { row: 'late', cells: { 'f:v': '1' } }
  t.throws(() => table.putSync(late), { code: 'ERR_IO' })
  await t.rejects(table.put(late), { code: 'ERR_POISONED' })
  await t.rejects(table.putList([late]), { code: 'ERR_POISONED' })
  await t.rejects(table.increment({ row: 'late', columns: { 'f:n': 1 } }), { code: 'ERR_POISONED' })
  fileSystem.disarm()
  await database.close()
})

void t.test('monitors hear of flushes and compactions on diagnostics channels', async (t) => {
  const heard: string[] = []
  const names = ['flush:start', 'flush:end', 'compaction:start', 'compaction:end', 'pressure']
  const listeners = names.map((name) => {
    const listener = (message: unknown): void => {
      t.match(message, { directory: '/db' })
      heard.push(name)
    }
    subscribe(`cellardb:${name}`, listener)
    return () => unsubscribe(`cellardb:${name}`, listener)
  })
  const opened = await open({}, { compactionEnabled: false })
  await writeFile(opened, 0, 10)
  await writeFile(opened, 0, 10)
  await opened.database.compact('t')
  await opened.database.close()
  for (const stop of listeners) stop()
  const flush = ['flush:start', 'flush:end']
  t.same(heard, [...flush, ...flush, 'compaction:start', 'compaction:end'])
})

void t.test('what is dropped is counted by reason', async (t) => {
  const opened = await open({ ttlMilliseconds: 3_600_000 }, { compactionEnabled: false })
  const { database, table, clock } = opened
  await writeFile(opened, 0, 10)
  clock.milliseconds += 2 * hour
  await writeFile(opened, 100, 10)
  await writeFile(opened, 100, 4)
  await table.delete({ row: 'row:000109' })
  await database.flush()
  await database.compact('t')
  t.match(database.statistics().droppedBy, { expired: 10, versions: 4, masked: 1, markers: 1 })
  await database.close()
})

void t.test('a merge rests while memory fills up and a flush runs', async (t) => {
  const fileSystem = new FaultyFileSystem(new SimulatedDisk())
  const memory = { memtableBytesMax: 32 * 1024 * 1024, flushBytes: 16 * 1024 * 1024 }
  const options = { fileSystem, compactionEnabled: false, ...memory }
  const database = await Database.open('/db', { executor: 'inline', ...options })
  const families = { f: { compression: 'NONE' } } as const
  const table = await database.createTable('t', { families, durability: 'SKIP_WAL' })
  const value = Buffer.alloc(1000, 'v')
  const write = (rows: number): void => {
    for (let i = 0; i < rows; i++) table.putSync({ row: `row:${i}`, cells: { 'f:v': value } })
  }
  for (let file = 0; file < 4; file++) {
    write(4000 - file)
    await database.flush()
  }
  const written: string[] = []
  fileSystem.arm({
    failAt: Infinity,
    errno: 'EIO',
    only: ({ kind, path }) => {
      if (kind === 'write' && path.endsWith('.sst') && written.at(-1) !== path) written.push(path)
      return false
    },
  })
  const flushed = new Promise((resolve) => database.once('flush', resolve))
  const merged = database.compact('t')
  // A memtable is full at half of the budget.
  write(20_000)
  t.equal(database.statistics().flushesRunning, 1)
  await Promise.all([merged, flushed])
  t.equal(new Set(written).size, 2, 'a flush and a merge')
  t.ok(written.length <= 3, `the merge goes on behind the flush: ${written.join(' ')}`)
  await database.close()
})
