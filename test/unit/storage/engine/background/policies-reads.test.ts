/**
 * The same history under every policy, executor, block size, codec and memtable size reads the
 * same, at the end and by snapshots that were taken on the way.
 *
 * Timestamps only grow and deletes concern all versions, because else HBase itself lets the time of
 * a compaction decide what is read.
 *
 * @runs campaign
 */
import t from 'tap'
import { ManualClock } from '../../../../../src/base/clock.js'
import { seededRandom } from '../../../../../src/base/random.js'
import {
  Database,
  MemoryFileSystem,
  type CompactionSetting,
  type DatabaseOptions,
  type EmbeddedTable,
  type FamilyOptions,
  type Result,
  type Snapshot,
} from '../../../../../src/entries/index.js'
import { hasPool } from '../../../../../src/storage/job/threads/worker-executor.js'
import { lengthOf } from '../../../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)
const start = 1_700_000_000_000
/** Each step changes 40 rows, and most of them are followed by a flush or a compaction. */
const steps = lengthOf('CELLAR_POLICY_STEPS', 5, 40)

interface Configuration {
  readonly name: string
  readonly database?: DatabaseOptions
  readonly family?: FamilyOptions
}

const small: readonly CompactionSetting[] = [
  { policy: 'exploring', filesMin: 2 },
  { policy: 'leveled', flushedFilesMin: 2, baseBytes: 8192, fileBytes: 4096, levelRatio: 3 },
  { policy: 'tiered', runsMax: 4, widthMin: 2 },
  { policy: 'lazy-leveled', runsMax: 4, widthMin: 2, fileBytes: 8192 },
  { policy: 'fifo' },
  { policy: 'date-tiered', baseWindowMilliseconds: 2000, incomingFilesMin: 2 },
]

const configurations: readonly Configuration[] = [
  ...small.map((compaction) => ({ name: compaction.policy, family: { compaction } })),
  ...(['NONE', 'GZ'] as const).map((compression) => {
    return { name: compression, family: { compression, compaction: small[1] } }
  }),
  { name: 'small blocks', family: { blockBytes: 1024, compaction: small[1] } },
  { name: 'large blocks, ROWCOL', family: { blockBytes: 1 << 20, bloomFilter: 'ROWCOL' } },
  {
    name: 'memtables of 64 KiB',
    database: { flushBytes: 65_536 },
    family: { compaction: small[3] },
  },
  { name: 'cut jobs', database: { compactionSplitBytesMin: 1 }, family: { compaction: small[1] } },
  {
    name: 'no read-back, no cache',
    database: { compactionVerify: false, blockCacheBytesMax: 0 },
    family: { compaction: small[2] },
  },
]

function textOf(row: Result): string[] {
  return row.cells().map(({ row, family, qualifier, timestamp, value }) => {
    return [row, family, qualifier, timestamp, value].map(String).join(' ')
  })
}

function describe(table: EmbeddedTable, snapshot: Snapshot | undefined): string {
  const options = snapshot === undefined ? {} : { snapshot }
  return [...table.scanSync({ versions: 'all', ...options })].flatMap(textOf).join('\n')
}

/** By single gets and by a reversed scan: the same rows, found in other ways. */
function describeOtherwise(table: EmbeddedTable): string {
  const rows = [...table.scanSync({ reversed: true })].map((row) => row.row!).reverse()
  return rows.flatMap((row) => textOf(table.getSync({ row, versions: 'all' }))).join('\n')
}

async function mutate(table: EmbeddedTable, random: (below: number) => number): Promise<void> {
  const row = `row:${String(random(80)).padStart(3, '0')}`
  const choice = random(20)
  if (choice === 0) await table.delete({ row })
  else if (choice === 1) await table.delete({ row, columns: [`f:q${random(4)}`] })
  else {
    const value = Buffer.alloc(20 + random(200), random(256))
    await table.put({ row, cells: { [`f:q${random(4)}`]: value } })
  }
}

async function run({ name, database: options, family }: Configuration): Promise<string[]> {
  const next = seededRandom(seed)
  const random = (below: number): number => Math.floor(next() * below)
  const clock = new ManualClock(start)
  const inMemory = options?.executor === 'worker' ? {} : { fileSystem: new MemoryFileSystem() }
  const directory = options?.executor === 'worker' ? t.testdir({}) : '/db'
  const all: DatabaseOptions = { executor: 'inline', clock, ...inMemory, ...options }
  let database = await Database.open(directory, all)
  const settings: FamilyOptions = { versions: 3, ttlMilliseconds: 10_000, ...family }
  await database.createTable('t', { families: { f: settings } })
  const seen: string[] = []
  const snapshots: Snapshot[] = []
  for (let step = 0; step < steps; step++) {
    const table = database.table('t')
    for (let i = 0; i < 40; i++) {
      clock.milliseconds += 1 + random(20)
      await mutate(table, random)
    }
    await database.flush()
    if (step % 9 === 4) snapshots.push(database.snapshot())
    if (step % 13 === 9) await database.compact('t', { major: step === 22 })
    if (step % 7 === 0) seen.push(describe(table, undefined))
    if (step === 20) {
      while (database.statistics().compactionQueue > 0) await nextTurn()
      for (const snapshot of snapshots.splice(0)) {
        seen.push(describe(table, snapshot))
        snapshot.close()
      }
      await database.close()
      database = await Database.open(directory, all)
    }
  }
  while (database.statistics().compactionQueue > 0) await nextTurn()
  const table = database.table('t')
  for (const snapshot of snapshots) seen.push(describe(table, snapshot))
  const last = describe(table, undefined)
  const awaited: string[] = []
  for await (const { row } of table.scan()) awaited.push(String(row))
  const rows = [...table.scanSync()].map(({ row }) => String(row))
  if (awaited.join() !== rows.join()) throw new Error(`${name}: awaited and other scans differ`)
  if (describeOtherwise(table) !== last) throw new Error(`${name}: gets and scans differ`)
  seen.push(last)
  await database.close()
  return seen
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

void t.test(`every configuration reads the same, seed ${seed}`, async (t) => {
  const expected = await run({ name: 'none', database: { compactionEnabled: false } })
  t.ok(expected.join('').length > 10_000, 'there is much to read')
  for (const configuration of configurations) {
    const found = await run(configuration)
    const wrong = found.findIndex((text, index) => text !== expected[index])
    t.equal(wrong, -1, configuration.name)
    t.equal(found.length, expected.length)
  }
})

void t.test(`worker threads read the same, seed ${seed}`, async (t) => {
  if (!hasPool()) {
    t.comment('piscina is not installed')
    return
  }
  const expected = await run({ name: 'none', database: { compactionEnabled: false } })
  for (const compaction of [small[1], small[3]]) {
    const database = { executor: 'worker' as const, compactionSplitBytesMin: 1 }
    t.same(await run({ name: compaction.policy, database, family: { compaction } }), expected)
  }
})
