/**
 * Background operations that overlap: each of them ends, no flush or compaction does its work
 * twice, and the data is right afterwards.
 */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import {
  BulkWriter,
  CellarError,
  Database,
  type EmbeddedTable,
  type FileSystem,
  type OpenOptions,
} from '../../../src/entries/index.js'

/** Where the operations run. */
export interface Ground {
  readonly fileSystem?: FileSystem
  /** Does not exist yet; made for this ground alone. */
  readonly directory: string
  readonly bulkDirectory: string
  readonly executor: 'inline' | 'worker'
}

const rows = 40
const budgets = { memtableBytesMax: 256 * 1024, flushBytes: 64 * 1024 } as const
const families = { f: { versions: 2 }, g: {} }

/** What overlapping operations work on. */
class Stage {
  readonly ground: Ground
  database!: Database
  exported: Uint8Array[] = []
  /** Rows of the table `kept`, which nothing drops, by name. */
  readonly kept = new Map<string, string>()
  /** Rows of `kept` that were written, acknowledged or not. */
  readonly attempted = new Set<string>()
  closed: Promise<void> | undefined = undefined
  closesInFlush = false
  private made = 0

  constructor(ground: Ground) {
    this.ground = ground
  }

  get options(): OpenOptions {
    const { fileSystem, executor } = this.ground
    return { executor, ...budgets, ...(fileSystem && { fileSystem }) }
  }

  get table(): EmbeddedTable {
    return this.database.table('t')
  }

  async open(): Promise<void> {
    const { directory, bulkDirectory, fileSystem } = this.ground
    const preFlush = (): void => {
      if (this.closesInFlush) void this.close()
    }
    const coprocessors = [{ name: 'closing', observer: { preFlush } }]
    this.database = await Database.open(directory, { ...this.options, coprocessors })
    await this.database.createTable('t', { families })
    const kept = await this.database.createTable('kept', { families })
    await this.fill(this.table)
    await this.database.admin.snapshot('base', 't')
    for await (const piece of this.database.admin.exportTable('t')) this.exported.push(piece)
    const writer = await BulkWriter.create(bulkDirectory, {
      families,
      ...(fileSystem && { fileSystem }),
      timestamp: 1,
    })
    for (let i = 0; i < rows; i++) writer.add({ row: rowOf(i), cells: cellsOf(i) })
    writer.finish()
    await this.fill(this.table)
    for (let i = 0; i < 10; i++) await this.keep(kept, `k${i}`)
  }

  name(): string {
    return `made${this.made++}`
  }

  async keep(table: EmbeddedTable, row: string): Promise<void> {
    this.attempted.add(row)
    await table.put({ row, cells: { 'f:v': row, 'g:v': row } })
    this.kept.set(row, row)
  }

  close(): Promise<void> {
    return (this.closed ??= this.database.close())
  }

  private async fill(table: EmbeddedTable): Promise<void> {
    const puts = Array.from({ length: rows }, (_, i) => ({ row: rowOf(i), cells: cellsOf(i) }))
    await table.putList(puts)
  }
}

const rowOf = (i: number): string => `r${String(i).padStart(3, '0')}`
const cellsOf = (i: number): Record<string, string> => ({ 'f:v': `f${i}`, 'g:v': `g${i}` })

type Operation = (stage: Stage) => Promise<unknown>

async function drain(pieces: AsyncIterable<unknown>): Promise<void> {
  for await (const piece of pieces) void piece
}

/** Takes changes until the feed has shown some of its own, or ends. */
async function follow(stage: Stage): Promise<void> {
  const feed = stage.database.changes({ table: 'kept' })
  const table = stage.database.table('kept')
  let change = feed.next()
  change.catch(() => undefined)
  for (const row of ['c0', 'c1', 'c2']) await stage.keep(table, `${stage.name()} ${row}`)
  for (let seen = 0; seen < 3; seen++) {
    if ((await change).done === true) return
    if (seen < 2) change = feed.next()
  }
  await feed.return()
}

/** All operations by name. */
export const operations: Readonly<Record<string, Operation>> = {
  flush: ({ database }) => database.flush(),
  'flush of a family': ({ database }) => database.admin.flush('t', 'f'),
  compact: ({ database }) => database.admin.compact('t'),
  'major compact': ({ database }) => database.admin.majorCompact('t'),
  snapshot: (stage) => stage.database.admin.snapshot(stage.name(), 't'),
  'clone of a snapshot': (stage) => stage.database.admin.cloneSnapshot('base', stage.name()),
  restore: ({ database }) => database.admin.restoreSnapshot('base'),
  truncate: ({ database }) => database.truncateTable('t'),
  drop: ({ database }) => database.dropTable('t'),
  alter: ({ database }) => database.alterTable('t', { families: { f: { versions: 5 } } }),
  'bulk load': ({ database, ground }) =>
    database.admin.bulkLoad('t', ground.bulkDirectory, { copy: true }),
  import: ({ database, exported }) => database.admin.importTable(exported, { table: 't' }),
  export: ({ database }) => drain(database.admin.exportTable('t')),
  'change feed': follow,
  'unlogged mutations': async (stage) => {
    const cells = { 'f:v': 'f0', 'g:v': 'g0' }
    await stage.table.put({ row: rowOf(0), cells, durability: 'SKIP_WAL' })
    await stage.database.admin.flush('t', 'g')
  },
  'synchronous writer': async (stage) => {
    const kept = stage.database.table('kept')
    const value = 'x'.repeat(4000)
    for (let i = 0; i < 70; i++) {
      if (i % 35 === 34) await Promise.resolve()
      kept.putSync({ row: `sync${i}`, cells: { 'g:v': value } })
      stage.kept.set(`sync${i}`, value)
    }
  },
  backup: async (stage) => {
    const { directory, fileSystem } = stage.ground
    const kept = [...stage.kept.keys()]
    const name = stage.name()
    await stage.database.backup(`${directory}-${name}`)
    await Database.restore(`${directory}-${name}`, `${directory}-of-${name}`, {
      ...(fileSystem && { fileSystem }),
    })
    const restored = await Database.open(`${directory}-of-${name}`, stage.options)
    for (const row of kept) {
      const found = restored.table('kept').getSync({ row })
      if (found.isEmpty) throw new Error(`the backup lacks row ${row}`)
    }
    await restored.close()
  },
  close: (stage) => stage.close(),
  'close in an observer': async (stage) => {
    stage.closesInFlush = true
    await stage.database.flush()
  },
}

/** Operations after which table `t` need not hold what it held. */
const changing = /^(restore|truncate|drop|bulk load|import)$/
/** Operations in which a job may end early, or be done again by a synchronous writer. */
const ending = /^(drop|truncate|restore|alter|close|close in an observer|synchronous writer)$/
const expectedCodes: ReadonlySet<string> = new Set([
  'ERR_CLOSED',
  'ERR_TABLE_NOT_FOUND',
  'ERR_ABORTED',
])

/** Counts jobs of one directory that began and that ended. */
class JobCounts {
  readonly began: Record<string, number> = { flush: 0, compaction: 0 }
  readonly ended: Record<string, number> = { flush: 0, compaction: 0 }
  private readonly stops: (() => void)[] = []

  constructor(directory: string) {
    for (const [counts, when] of [
      [this.began, 'start'],
      [this.ended, 'end'],
    ] as const) {
      for (const kind of ['flush', 'compaction']) {
        const listener = (message: unknown): void => {
          if ((message as { directory: string }).directory === directory) counts[kind]++
        }
        subscribe(`cellardb:${kind}:${when}`, listener)
        this.stops.push(() => unsubscribe(`cellardb:${kind}:${when}`, listener))
      }
    }
  }

  stop(): void {
    for (const stop of this.stops) stop()
  }
}

/** Starts all at once, in this order, and waits for their end. Returns what went wrong. */
export async function overlap(ground: Ground, names: readonly string[]): Promise<string[]> {
  const wrong: string[] = []
  const stage = new Stage(ground)
  await stage.open()
  const jobs = new JobCounts(ground.directory)
  const outcomes = await Promise.allSettled(names.map((name) => attempt(operations[name], stage)))
  for (const [i, outcome] of outcomes.entries()) {
    if (outcome.status === 'fulfilled') continue
    const { reason } = outcome as { reason: unknown }
    const code = reason instanceof CellarError ? reason.code : ''
    if (!expectedCodes.has(code)) wrong.push(`${names[i]}: ${String(reason)}`)
  }
  await stage.close()
  jobs.stop()
  if (!names.some((name) => ending.test(name))) {
    const { began, ended } = jobs
    if (began['flush'] !== ended['flush']) {
      wrong.push(`${began['flush']} flushes for ${ended['flush']} memtables`)
    }
    // A close ends compactions of the background.
    if (began['compaction'] > ended['compaction'] + 2) {
      wrong.push(`${began['compaction']} compactions began, ${ended['compaction']} ended`)
    }
  }
  wrong.push(...(await judge(stage, names)))
  return wrong
}

async function attempt(operation: Operation, stage: Stage): Promise<void> {
  await operation(stage)
}

/** What is wrong with the data after a reopen. */
async function judge(stage: Stage, names: readonly string[]): Promise<string[]> {
  const wrong: string[] = []
  const database = await Database.open(stage.ground.directory, stage.options)
  const missing = new Map(stage.kept)
  for (const row of database.table('kept').scanSync()) {
    const name = row.row!.toString()
    const value = missing.get(name)
    missing.delete(name)
    const isRight = value === undefined ? stage.attempted.has(name) : true
    if (!isRight || (value !== undefined && row.value('g:v')?.toString() !== value)) {
      wrong.push(`kept: row ${name} is wrong`)
    }
  }
  for (const name of missing.keys()) wrong.push(`kept: row ${name} is missing`)
  const found = database.hasTable('t') ? [...database.table('t').scanSync()] : []
  for (const row of found) {
    const i = Number(row.row!.toString().slice(1))
    const [f, g] = ['f:v', 'g:v'].map((column) => row.value(column)?.toString())
    if (f !== `f${i}` || g !== `g${i}`) wrong.push(`row ${i}: ${f} and ${g}`)
  }
  const isWhole = found.length === rows
  if (!isWhole && (found.length > 0 || !names.some((name) => changing.test(name)))) {
    wrong.push(`${found.length} of ${rows} rows`)
  }
  await database.close()
  return wrong
}
