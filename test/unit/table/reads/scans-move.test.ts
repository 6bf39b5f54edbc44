/**
 * Open scans leave a memtable that was flushed and go on in the table: they give what they would
 * have given at once, whatever is written, flushed and merged meanwhile, and nothing refers to the
 * memory of the memtable any more, which the next ones overwrite.
 *
 * CELLAR_SEED: the seed of the random part, by default a new one.
 *
 * @runs campaign
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { NodeFileSystem } from '../../../../src/storage/fs/node-fs.js'
import {
  ColumnPaginationFilter,
  FilterList,
  KeyOnlyFilter,
  PageFilter,
  PrefixFilter,
  ValueFilter,
  type Filter,
  type Result,
  type ResultScanner,
  type Scan,
  type SyncResultScanner,
  type SyncTable,
  type Table,
} from '../../../../src/entries/index.js'
import { hasPool } from '../../../../src/storage/job/threads/worker-executor.js'
import { plainResult, showResult } from '../../../helpers/cells/plain-cells.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { lengthOf } from '../../../helpers/length.js'

const mebibyte = 1024 * 1024
const seed = Number(process.env['CELLAR_SEED'] ?? Date.now() % 1_000_000)
const random = seededRandom(seed)
const rows = 60

t.setTimeout(1_800_000)

/** Long enough that the arena of a memtable is worth to be used again. */
const valueBytes = 3000

const integer = (below: number): number => Math.floor(random() * below)
const chance = (part: number): boolean => random() < part
const rowOf = (i: number): string => `r${String(i).padStart(3, '0')}`

function show(result: Result): string {
  return showResult(plainResult(result))
}

/** Makes options and, each time anew because filters remember, the filter. */
function randomScan(): () => Scan {
  const reversed = chance(0.3)
  const from = rowOf(integer(rows / 2))
  const to = rowOf(rows / 2 + integer(rows / 2))
  const filters: (() => Filter)[] = [
    () => new PageFilter(20),
    () => new PrefixFilter('r0'),
    () => new KeyOnlyFilter(),
    () => new ColumnPaginationFilter(2, 1),
    () =>
      new FilterList('MUST_PASS_ONE', [new ValueFilter('GREATER', 'v5'), new PrefixFilter('r01')]),
  ]
  const filter = chance(0.4) ? filters[integer(filters.length)] : undefined
  const raw = chance(0.2)
  const scan: Scan = {
    reversed,
    ...(chance(0.3) && { startRow: reversed ? to : from }),
    ...(chance(0.3) && { stopRow: reversed ? from : to }),
    ...(filter === undefined && chance(0.4) && { batch: 1 + integer(3) }),
    ...(chance(0.3) && { versions: 10 }),
    ...(chance(0.2) && { timeRange: [5, 30] as const }),
    ...(raw && { raw, versions: 10 }),
    ...(!raw && chance(0.3) && { columns: ['f:a', 'g'] }),
    ...(chance(0.2) && { limit: 1 + integer(50) }),
    ...(chance(0.3) && { cacheBlocks: false }),
  }
  return () => (filter === undefined ? scan : { ...scan, filter: filter() })
}

function writeSome(table: SyncTable, count: number): void {
  for (let i = 0; i < count; i++) {
    const row = rowOf(integer(rows))
    const family = 'fg'[integer(2)]
    const qualifier = 'abc'[integer(3)]
    const column = `${family}:${qualifier}`
    const timestamp = 1 + integer(40)
    if (chance(0.85)) {
      const value = `v${integer(10)}`.padEnd(valueBytes, String(integer(10)))
      table.putSync({ row, cells: [{ column, value, timestamp }] })
    } else if (chance(0.5)) {
      table.deleteSync({
        row,
        [chance(0.5) ? 'columns' : 'columnVersions']: [{ family, qualifier, timestamp }],
      })
    } else {
      table.deleteSync({ row, families: [{ family: 'f', timestamp }] })
    }
  }
}

interface OpenScan {
  readonly scan: Scan
  readonly expected: readonly string[]
  readonly sync: SyncResultScanner | undefined
  readonly async: ResultScanner | undefined
  readonly got: string[]
  ended: boolean
}

function open(table: SyncTable & Table): OpenScan {
  const make = randomScan()
  const isSync = chance(0.5)
  const expected = [...table.scanSync(make())].map(show)
  return {
    scan: make(),
    expected,
    sync: isSync ? table.scanSync(make()) : undefined,
    async: isSync ? undefined : table.scan(make()),
    got: [],
    ended: false,
  }
}

async function step(scan: OpenScan, results: number): Promise<void> {
  for (let i = 0; i < results && !scan.ended; i++) {
    const next = scan.sync === undefined ? await scan.async!.next() : scan.sync.next()
    if (next.done === true) scan.ended = true
    else scan.got.push(show(next.value))
  }
}

// Without piscina there are no worker threads.
const executors = hasPool() ? (['inline', 'worker'] as const) : (['inline'] as const)

for (const executor of executors) {
  void t.test(`scans over flushes, ${executor}, seed ${seed}`, async (t) => {
    const options = {
      memtableBytesMax: 16 * mebibyte,
      flushBytes: 4 * mebibyte,
      executor,
    }
    const home = mkdtempSync(join(tmpdir(), 'cellar-scans-'))
    t.teardown(() => rmSync(home, { recursive: true }))
    const place =
      executor === 'inline' ? {} : { fileSystem: new NodeFileSystem(), directory: join(home, 'd') }
    const test = await TestDatabase.open({ options, ...place })
    const { database } = test
    const families = { f: { versions: 2, blockBytes: 4096 }, g: { blockBytes: 4096 } }
    const table = await database.createTable('t', { families })
    let scans: OpenScan[] = []
    for (let round = 0; round < lengthOf('CELLAR_SCANS_ROUNDS', 3, 7); round++) {
      writeSome(table, 400)
      for (let i = 0; i < 6; i++) scans.push(open(table))
      for (const scan of scans) if (chance(0.6)) await step(scan, integer(4))
      writeSome(table, 100)
      const flushed = database.flush('t')
      // Some are opened while the job runs, others while the manifest is written.
      for (let i = 0; i < 3; i++) {
        scans.push(open(table))
        await new Promise<void>((resolve) => setImmediate(resolve))
      }
      await flushed
      t.equal(database.statistics().pinnedMemtableBytes, 0, 'scans have left the memtables')
      if (round % 4 === 3) await database.compact('t', { major: chance(0.5) })
      for (const scan of scans) if (chance(0.3)) await step(scan, integer(10))
      const ending = scans.filter(() => chance(0.3))
      for (const scan of ending) {
        await step(scan, Infinity)
        t.same(scan.got, scan.expected, `a scan with ${JSON.stringify(scan.scan)}`)
      }
      scans = scans.filter((scan) => !ending.includes(scan))
    }
    for (const scan of scans) {
      await step(scan, Infinity)
      t.same(scan.got, scan.expected, `a scan with ${JSON.stringify(scan.scan)}`)
    }
    await database.close()
  })
}
