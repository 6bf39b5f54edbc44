/**
 * Power cuts in every kind of compaction: before every operation of the file system that the
 * compaction makes, under every policy. A compaction changes nothing that anybody sees, so each
 * image must show exactly what was there before, and nothing may be left over.
 *
 * CELLAR_SEED: the seed. CELLAR_CRASH_SEEDS: images of each place and random policy, default 2.
 *
 * @runs campaign
 */
import t, { type Test } from 'tap'
import { ManualClock } from '../../src/base/clock.js'
import { crashPolicies } from '../doubles/power-cut.js'
import { SimulatedDisk } from '../doubles/simulated-disk.js'
import {
  Database,
  type Coprocessor,
  type EmbeddedTable,
  type FamilyOptions,
  type OpenOptions,
} from '../../src/entries/index.js'
import { seed } from '../unit/storage/version/fixtures.js'
import { generatorOf } from './recovery.js'
import { lengthOf } from '../helpers/length.js'

const seedsPerPolicy = lengthOf('CELLAR_CRASH_SEEDS', 1, 2)
const directory = '/db'
const hour = 3_600_000

interface Opened {
  readonly database: Database
  readonly table: EmbeddedTable
  readonly clock: ManualClock
}

interface Scenario {
  readonly name: string
  readonly family: FamilyOptions
  readonly options?: OpenOptions
  /** Writes what is compacted. */
  readonly prepare: (opened: Opened) => Promise<void>
  readonly compact: (database: Database) => Promise<void>
  /** What the compactions must have been; `blocksRead` for them. */
  readonly check: (t: Test, database: Database, blocksRead: number) => void
}

/** A flushed file of rows `from` to `from + count`, some of them deleted. */
async function writeFile({ database, table }: Opened, from: number, count: number): Promise<void> {
  for (let i = from; i < from + count; i++) {
    const row = `row:${String(i).padStart(4, '0')}`
    const value = `${i}:${'x'.repeat((i * 31) % 60)}`
    if (i % 7 === 3) await table.delete({ row })
    else await table.put({ row, cells: { 'f:v': value } })
  }
  await database.flush()
}

/** Three days of messages; the first two have expired. */
async function writeDays(opened: Opened): Promise<void> {
  for (let day = 0; day < 3; day++) {
    await writeFile(opened, day * 20, 20)
    opened.clock.milliseconds += 24 * hour
  }
}

/** Jobs of each compaction. */
const parts: number[] = []
const partCounter: Coprocessor = {
  name: 'part counter',
  cellHook: {
    module: `data:text/javascript,export const createCellHook = () => ({
      decide: () => 0, finish: () => 1 })`,
  },
  observer: { postCompact: (_, { reports }) => void parts.push(reports.length) },
}

const leveled = { policy: 'leveled', flushedFilesMin: 1, fileBytes: 2048 } as const
const day = 24 * 3600

const drops: readonly Scenario[] = (['fifo', 'date-tiered'] as const).map((policy) => ({
  name: `a ${policy} drop`,
  family: { ttlMilliseconds: 1.5 * day * 1000, compaction: policy },
  prepare: writeDays,
  compact: (database) => database.compact('t', { major: false }),
  check: (t, database, blocksRead) => {
    const { compactionFileDrops, compactions } = database.statistics()
    t.match({ compactionFileDrops, compactions }, { compactionFileDrops: 2, compactions: 0 })
    t.equal(blocksRead, 0)
  },
}))

const scenarios: readonly Scenario[] = [
  {
    name: 'a trivial move',
    family: { compaction: leveled },
    prepare: async (opened) => {
      for (let file = 0; file < 3; file++) await writeFile(opened, file * 20, 20)
    },
    compact: (database) => database.compact('t', { major: false }),
    check: (t, database) => {
      const { compactionMoves, compactions } = database.statistics()
      t.ok(compactionMoves > 0, `${compactionMoves} moves`)
      t.equal(compactions, 0)
    },
  },
  ...drops,
  {
    name: 'a leveled merge with jobs that are cut by rows',
    family: { versions: 2, compaction: leveled, blockBytes: 1024 },
    options: { compactionSplitBytesMin: 1, coprocessors: [partCounter] },
    prepare: async (opened) => {
      for (let file = 0; file < 3; file++) await writeFile(opened, file * 10, 150)
    },
    compact: (database) => database.compact('t', { major: true }),
    check: (t, database) => {
      const { compactions, tableFiles } = database.statistics()
      t.ok(compactions > 0 && tableFiles > 1, `${compactions} merges, ${tableFiles} files`)
      t.ok(parts.includes(2), 'a merge was cut into two jobs')
    },
  },
  {
    name: 'a major compaction of some rows',
    family: { compaction: leveled },
    prepare: async (opened) => {
      const { database } = opened
      await writeFile(opened, 0, 120)
      await database.compact('t')
      await writeFile(opened, 40, 30)
      await writeFile(opened, 50, 30)
    },
    compact: (database) => database.compact('t', { startRow: 'row:0040', stopRow: 'row:0070' }),
    check: (t, database) => {
      const { compactions, compactionEntriesRead, compactionEntriesWritten } = database.statistics()
      t.equal(compactions, 2)
      t.ok(compactionEntriesRead > compactionEntriesWritten, 'markers are gone')
    },
  },
]

/** All that anybody can see, old versions included. */
function contents(table: EmbeddedTable): string {
  return [...table.scanSync({ versions: 'all' })]
    .flatMap((row) => row.cells())
    .map((cell) => `${String(cell.row)} ${cell.timestamp} ${String(cell.value)}`)
    .join('\n')
}

const tables = (fileSystem: SimulatedDisk): number =>
  fileSystem.listSync(directory).filter((name) => name.endsWith('.sst')).length

/** What is found in an image; throws if it cannot be opened or compacted. */
async function recovered(image: SimulatedDisk, options: OpenOptions, deep: boolean) {
  const database = await Database.open(directory, { ...options, fileSystem: image })
  const found = contents(database.table('t'))
  // Files that nothing names stay only as long as nothing proves that the manifest is complete.
  const kept = database.recovery.filesKept.filter((name) => name.endsWith('.sst')).length
  let leftOver = tables(image) - database.statistics().tableFiles - kept
  let after = found
  if (deep) {
    await database.compact('t')
    after = contents(database.table('t'))
  }
  await database.close()
  if (kept > 0 && leftOver === 0) {
    const again = await Database.open(directory, { ...options, fileSystem: image })
    leftOver = tables(image) - again.statistics().tableFiles
    await again.close()
  }
  return { found, after, leftOver }
}

for (const [index, scenario] of scenarios.entries()) {
  void t.test(`the power is cut in ${scenario.name} (seed ${seed})`, async (t) => {
    const fileSystem = new SimulatedDisk()
    const clock = new ManualClock(1000 * hour)
    const options: OpenOptions = {
      executor: 'inline',
      compactionEnabled: false,
      clock,
      ...scenario.options,
    }
    const database = await Database.open(directory, { ...options, fileSystem })
    const table = await database.createTable('t', { families: { f: scenario.family } })
    await scenario.prepare({ database, table, clock })
    const before = contents(table)
    const images: SimulatedDisk[] = []
    let place = 0
    const take = (): void => {
      place++
      for (const [number, policy] of crashPolicies.entries()) {
        for (let i = 0; i < seedsPerPolicy; i++) {
          images.push(fileSystem.crash(policy, generatorOf(seed, index, place, number, i)))
        }
      }
    }
    const blocksBefore = database.statistics().blocksRead
    fileSystem.beforeOperation = take
    await scenario.compact(database)
    take()
    fileSystem.beforeOperation = undefined
    scenario.check(t, database, database.statistics().blocksRead - blocksBefore)
    t.equal(contents(table), before, 'a compaction changes nothing that is seen')
    await database.close()
    for (const [number, image] of images.entries()) {
      const { found, after, leftOver } = await recovered(image, options, number % 5 === 0)
      const place = `image ${number} of ${images.length}`
      if (found !== before) t.equal(found, before, place)
      if (after !== before) t.equal(after, before, `${place}, compacted again`)
      if (leftOver !== 0) t.equal(leftOver, 0, `${place}: files that nothing names`)
    }
    t.comment(`${place} places, ${images.length} images`)
    t.ok(place > 3, 'the power was cut at each step')
  })
}
