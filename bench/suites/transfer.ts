/**
 * The suite `transfer`: export and import of a table beside what they are limited by: a scan of the
 * same rows, a bulk write and load of the same rows, and a major compaction of the same file.
 *
 * Parts are sizes of the cells: `small`, 100 bytes, two cells a row, and `large`, 4 KiB, one cell a
 * row, a twentieth of the rows. Every round does all of them in turn. What counts is the processor
 * time of all threads, the least of the rounds, which a busy machine disturbs less than a clock;
 * MB are 10^6 bytes of keys and values, not compressed. Streams go through memory.
 */
import { join } from 'node:path'
import { BulkWriter, Database, type ExportOptions } from '../../src/entries/index.js'
import { UsageError } from '../harness/options.js'
import type { ResultRecord } from '../harness/report/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { compressiblePool, ValuePool } from '../harness/draws/values.js'

/** A kind of rows. */
interface Shape {
  readonly part: string
  readonly valueBytes: number
  readonly columns: readonly `f:${string}`[]
  /** Rows for each of `--records`. */
  readonly rowsPerRecord: number
}

const shapes: readonly Shape[] = [
  { part: 'small', valueBytes: 100, columns: ['f:a', 'f:b'], rowsPerRecord: 1 },
  { part: 'large', valueBytes: 4096, columns: ['f:a'], rowsPerRecord: 1 / 20 },
]

/** What one round of one workload took. */
interface Took {
  readonly seconds: number
  readonly cpuSeconds: number
}

const families = { f: {} }
const sourceTable = 'source'

class Transfer {
  readonly #database: Database
  readonly #directory: string
  readonly #shape: Shape
  readonly #rows: number
  readonly #values: ValuePool
  #exported: Buffer[] = []
  /** Names of what is made, never used twice. */
  #made = 0
  cells = 0
  bytes = 0

  constructor(database: Database, directory: string, shape: Shape, rows: number, seed: number) {
    this.#database = database
    this.#directory = directory
    this.#shape = shape
    this.#rows = rows
    this.#values = new ValuePool(compressiblePool(seed), shape.valueBytes)
  }

  /** Fills the table that is exported and merges it into one file. */
  async fill(): Promise<void> {
    await this.#database.createTable(sourceTable, { families })
    await this.#bulkWrite(sourceTable)
  }

  /** By the names of the rows of the result, in the order of a round. */
  readonly workloads: Readonly<Record<string, () => Promise<void>>> = {
    scan: async () => {
      let rows = 0
      const scan = this.#database.table(sourceTable).scan({ cacheBlocks: false })
      for await (const result of scan) rows += result.isEmpty ? 0 : 1
      this.#check(rows, 'scanned')
    },
    'export, no compression': () => this.#export({ compression: 'NONE' }),
    'export, LZ4': () => this.#export({ compression: 'LZ4' }),
    import: async () => {
      const table = `t${++this.#made}`
      const { rows } = await this.#database.admin.importTable(this.#exported, { table })
      this.#check(rows, 'imported')
      await this.#database.dropTable(table)
    },
    'bulk write and load': async () => {
      const table = `t${++this.#made}`
      await this.#database.createTable(table, { families })
      await this.#bulkWrite(table)
      await this.#database.dropTable(table)
    },
    'major compaction': () => this.#database.admin.majorCompact(sourceTable),
  }

  async #export(options: ExportOptions): Promise<void> {
    this.#exported = []
    const onProgress: ExportOptions['onProgress'] = ({ cells, bytes }) => {
      this.cells = cells
      this.bytes = bytes
    }
    const stream = this.#database.admin.exportTable(sourceTable, { ...options, onProgress })
    for await (const piece of stream) this.#exported.push(piece)
    this.#check(this.cells / this.#shape.columns.length, 'exported')
  }

  async #bulkWrite(table: string): Promise<void> {
    const directory = join(this.#directory, `bulk-${++this.#made}`)
    const writer = await BulkWriter.create(directory, { families })
    const { columns } = this.#shape
    for (let i = 0; i < this.#rows; i++) {
      const row = String(i).padStart(16, '0')
      writer.add({ row, cells: columns.map((column) => ({ column, value: this.#values.next() })) })
    }
    writer.finish()
    await this.#database.admin.bulkLoad(table, directory)
  }

  #check(rows: number, what: string): void {
    if (rows !== this.#rows) throw new Error(`${rows} rows were ${what} of ${this.#rows}`)
  }
}

async function measured(work: () => Promise<void>): Promise<Took> {
  const cpu = process.cpuUsage()
  const start = performance.now()
  await work()
  const seconds = (performance.now() - start) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return { seconds, cpuSeconds: (user + system) / 1e6 }
}

/** Rounds before what is measured, so that it is compiled code. */
const warmingRounds = 2

async function measureShape(
  { options, directory, progress }: SuiteContext,
  shape: Shape,
): Promise<ResultRecord[]> {
  const { seed, repeat, isQuick } = options
  const records = options.records ?? (isQuick ? 2000 : 300_000)
  const rows = Math.max(100, Math.ceil(records * shape.rowsPerRecord))
  const database = await Database.open(join(directory, shape.part), {
    compactionEnabled: false,
    // The import does not read its files back either, and one thread is compared with one.
    compactionVerify: false,
    compactionSplitBytesMin: Number.MAX_SAFE_INTEGER,
  })
  const transfer = new Transfer(database, directory, shape, rows, seed)
  await transfer.fill()
  const took = new Map<string, Took[]>()
  for (let round = -warmingRounds; round < repeat; round++) {
    progress.begin(`${shape.part}, round ${round}`)
    for (const [name, work] of Object.entries(transfer.workloads)) {
      const one = await measured(work)
      if (round >= 0) took.set(name, [...(took.get(name) ?? []), one])
    }
    progress.end()
  }
  await database.close()
  return [...took].map(([name, list]) => recordOf(`${shape.part}: ${name}`, rows, transfer, list))
}

function recordOf(
  workload: string,
  records: number,
  { cells, bytes }: Transfer,
  took: readonly Took[],
): ResultRecord {
  const seconds = Math.min(...took.map((one) => one.seconds))
  const cpuSeconds = Math.min(...took.map((one) => one.cpuSeconds))
  const rates = took.map((one) => cells / one.seconds)
  return {
    suite: 'transfer',
    workload,
    engine: 'cellar',
    durability: 'buffered',
    records,
    operations: cells,
    seconds,
    cpuSeconds,
    opsPerSecond: cells / seconds,
    repeats: took.length,
    spread: { low: Math.min(...rates), high: Math.max(...rates) },
    extra: {
      megabytesPerSecond: bytes / 1e6 / seconds,
      cpuMegabytesPerSecond: bytes / 1e6 / cpuSeconds,
    },
  }
}

async function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { parts, repeat } = context.options
  for (const part of parts) {
    if (!shapes.some((shape) => shape.part === part))
      throw new UsageError(`there is no part ${part}`)
  }
  const wanted = shapes.filter(({ part }) => parts.length === 0 || parts.includes(part))
  context.progress.expect(wanted.length * (warmingRounds + repeat))
  const results: ResultRecord[] = []
  for (const shape of wanted) results.push(...(await measureShape(context, shape)))
  return { results, engines: {}, leftOut: [], failures: [] }
}

/** See the file header. */
export const suite: Suite = {
  name: 'transfer',
  summary: 'export and import beside a scan, a bulk load and a compaction; parts: small, large',
  run,
}
