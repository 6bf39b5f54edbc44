/**
 * Calls that come in a chosen tick of an operation. A tick is the moment between two callbacks of
 * the event loop or of promises: whoever awaits anything may meet any call there. A synchronous
 * writer with a full budget flushes in its tick, on its own stack, whatever the operation was about
 * to do.
 */
import { createHook } from 'node:async_hooks'
import {
  CellarError,
  Database,
  type EmbeddedTable,
  type OpenOptions,
} from '../../../src/entries/index.js'

const memtableBytesMax = 256 * 1024
const value = 'x'.repeat(24 * 1024)
/** Options in which synchronous writers soon have to flush. */
export const tightMemory: OpenOptions = {
  memtableBytesMax,
  flushBytes: memtableBytesMax / 4,
  compactionEnabled: false,
}
const families = { f: { versions: 2, compression: 'NONE' }, g: {} } as const

/** One call in one tick of one operation. */
export interface Intrusion {
  readonly operation: string
  readonly call: string
  /** Number of callbacks that run between the start of the operation and the call. */
  readonly tick: number
}

/** What an intrusion has shown. */
export interface Outcome {
  readonly wrong: readonly string[]
  /** Callbacks that ran between the start and the end of the operation. */
  readonly ticks: number
}

/** Where a database is that {@link prepare} made, and how it is opened. */
export interface Ground {
  readonly directory: string
  readonly options: OpenOptions
}

/** A database in which memory is full, and what it must hold. */
class Scene {
  readonly ground: Ground
  readonly wrong: string[] = []
  /** The rows of each table that were acknowledged. */
  readonly rows: Readonly<Record<string, Set<string>>> = { t: new Set(), other: new Set() }
  /** Checks at the end of what the calls have opened. */
  readonly checks: (() => void)[] = []
  database!: Database
  isClosed = false
  /** Whether table `t` loses its rows for everybody, at some moment. */
  isEmptied = false
  private written = 0

  constructor(ground: Ground) {
    this.ground = ground
  }

  get table(): EmbeddedTable {
    return this.database.table('t')
  }

  async open(): Promise<void> {
    const { directory, options } = this.ground
    const database = await Database.open(directory, options)
    this.database = database
    for (const event of ['poisoned', 'flushError', 'compactionError', 'warning'] as const) {
      database.on(event, (what: unknown) => this.report(event, what))
    }
    this.keepView()
  }

  /** Writes until the next synchronous put has to flush. */
  fill(): void {
    while (this.database.statistics().memtableBytes <= memtableBytesMax) this.putSync('t')
  }

  putSync(name: string, content = value): void {
    const row = this.nextRow()
    this.database.table(name).putSync({ row, cells: { 'f:v': content, 'g:v': 'g' } })
    this.rows[name].add(row)
  }

  async put(name: string, durability: 'FSYNC_WAL' | 'SKIP_WAL'): Promise<void> {
    const row = this.nextRow()
    const cells = { 'f:v': 'small', 'g:v': 'g' }
    await this.database.table(name).put({ row, cells, durability })
    if (durability === 'FSYNC_WAL') this.rows[name].add(row)
  }

  /** Opens a view. Later it must show what it shows now. */
  keepView(): void {
    const view = this.database.snapshot()
    const content = (): string =>
      this.isEmptied ? '' : ['t', 'other'].map((name) => [...this.shown(name, view)]).join()
    const before = content()
    this.checks.push(() => {
      if (!this.isEmptied && content() !== before) this.wrong.push('a view changed')
      view.close()
    })
  }

  private *shown(name: string, view: ReturnType<Database['snapshot']>): Generator<string> {
    const raw = { snapshot: view, raw: true, versions: 'all' } as const
    for (const row of this.database.table(name).scanSync(raw)) {
      yield `${String(row.row)} ${row.size} ${row.value('f:v')?.length}`
    }
  }

  /** Opens a scan, which goes on at the end. */
  keepScan(): void {
    const expected = this.rows['t'].size + 2
    const rows = this.table.scanSync({ columns: ['g:v'], caching: 1 })[Symbol.iterator]()
    rows.next()
    this.checks.push(() => {
      let count = 1
      while (rows.next().done !== true) count++
      if (this.isEmptied || count === expected) return
      this.wrong.push(`a scan found ${count} of ${expected} rows`)
    })
  }

  /** Reports an error that no call should get. */
  note(error: unknown): void {
    const code = error instanceof CellarError ? error.code : ''
    if (!expectedCodes.has(code)) this.report('rejected', error)
  }

  report(what: string, error: unknown): void {
    this.wrong.push(`${what}: ${error instanceof Error ? error.stack : JSON.stringify(error)}`)
  }

  private nextRow(): string {
    return `r${String(this.written++).padStart(4, '0')}`
  }
}

type Step = (scene: Scene) => Promise<unknown>

/** What goes on while a call comes. */
export const operations: Readonly<Record<string, Step>> = {
  flush: ({ database }) => database.flush(),
  'flush of a family': ({ database }) => database.admin.flush('t', 'f'),
  compaction: ({ database }) => database.compact(),
  close: (scene) => {
    scene.isClosed = true
    return scene.database.close()
  },
  'snapshot of a table': ({ database }) => database.admin.snapshot('s', 't'),
  backup: ({ database, ground }) => database.backup(`${ground.directory}-backup`),
  drop: (scene) => {
    scene.isEmptied = true
    return scene.database.dropTable('t')
  },
  truncation: (scene) => {
    scene.isEmptied = true
    return scene.database.truncateTable('t')
  },
  alteration: ({ database }) => database.alterTable('t', { families: { f: { versions: 5 } } }),
}

/** Calls that flush on their own stack. */
export const blockingCalls: Readonly<Record<string, Step>> = {
  'a synchronous put': async (scene) => scene.putSync('t'),
  'a synchronous put elsewhere': async (scene) => scene.putSync('other'),
  'many synchronous puts': async (scene) => {
    for (let i = 0; i < 15; i++) scene.putSync(i % 3 === 0 ? 'other' : 't')
  },
  'a synchronous put behind a synced one': async (scene) => {
    await scene.put('other', 'FSYNC_WAL')
    scene.putSync('t')
  },
  'a synchronous put in every tick': async (scene) => {
    for (let i = 0; i < 20; i++) {
      scene.putSync('t')
      await Promise.resolve()
    }
  },
  'a synchronous put in a listener': async (scene) => {
    scene.database.once('flush', () => {
      try {
        scene.putSync('t')
      } catch (error) {
        scene.note(error)
      }
    })
  },
  'unlogged puts, then a synchronous one': async (scene) => {
    void scene.put('t', 'SKIP_WAL').catch(() => undefined)
    scene.putSync('t')
  },
}

/** All calls. */
export const calls: Readonly<Record<string, Step>> = {
  ...blockingCalls,
  flush: operations['flush'],
  'flush of a family': operations['flush of a family'],
  compaction: operations['compaction'],
  'snapshot of a table': ({ database }) => database.admin.snapshot('s2', 't'),
  backup: operations['backup'],
  view: async (scene) => scene.keepView(),
  scan: async (scene) => scene.keepScan(),
  drop: operations['drop'],
  truncation: operations['truncation'],
  alteration: operations['alteration'],
  close: operations['close'],
}

/** Errors of calls that end, or come too late. */
const expectedCodes: ReadonlySet<string> = new Set([
  'ERR_CLOSED',
  'ERR_TABLE_NOT_FOUND',
  'ERR_ABORTED',
  'ERR_LOCKED',
])

/** Runs an operation with a call in one of its ticks, and judges the database afterwards. */
export async function intrude(
  ground: Ground,
  { operation, call, tick }: Intrusion,
): Promise<Outcome> {
  const scene = new Scene(ground)
  await scene.open()
  const note = (error: unknown): void => scene.note(error)
  let ticks = 0
  let called: Promise<unknown> | undefined
  const hook = createHook({
    before() {
      if (ticks++ === tick) called = calls[call](scene).catch(note)
    },
  })
  const synced = scene.put('other', 'FSYNC_WAL')
  scene.fill()
  const ended = operations[operation](scene).catch(note)
  hook.enable()
  try {
    await ended
  } finally {
    hook.disable()
  }
  await Promise.all([synced, called])
  await finish(scene)
  return { wrong: scene.wrong, ticks }
}

/** Makes a database with two files in each table, and closes it. */
export async function prepare({ directory, options }: Ground): Promise<void> {
  const database = await Database.open(directory, options)
  await database.createTable('t', { families })
  await database.createTable('other', { families })
  for (let i = 0; i < 2; i++) {
    for (const table of ['t', 'other']) {
      await database.table(table).put({ row: `before ${i}`, cells: { 'f:v': 'v', 'g:v': 'g' } })
    }
    await database.flush()
  }
  await database.close()
}

/** The open database still works, and the next open finds every row. */
async function finish(scene: Scene): Promise<void> {
  const { database, wrong } = scene
  try {
    if (!scene.isClosed) {
      for (const check of scene.checks) check()
      scene.putSync('other')
      await database.flush()
    }
    await database.close()
    const again = await Database.open(scene.ground.directory, scene.ground.options)
    for (const [name, rows] of Object.entries(scene.rows)) {
      if (name === 't' && scene.isEmptied) continue
      const missing = new Set(rows)
      for (const row of again.table(name).scanSync()) missing.delete(String(row.row))
      if (missing.size > 0) wrong.push(`table ${name} lacks ${[...missing].join()}`)
    }
    await again.close()
  } catch (error) {
    scene.report('afterwards', error)
  }
}
