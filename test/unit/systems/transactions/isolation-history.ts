/**
 * A random history of transactions over a table with two families, beside the model. Each step is
 * a call of a transaction, or a job: flushes, compactions of a family, engine snapshots, clean-up,
 * pruning of the invalid list, and a reopen. Each read is compared.
 */
import { deepEqual, equal } from 'node:assert/strict'
import { ManualClock } from '../../../../src/base/clock.js'
import type { Random } from '../../../../src/base/random.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import {
  Database,
  QualifierFilter,
  ValueFilter,
  type Filter,
  type Result,
  type Snapshot,
} from '../../../../src/entries/index.js'
import {
  PruneState,
  pruneStatePlugin,
  startOf,
  TransactionalTable,
  transactionalFamily,
  TransactionContext,
  TransactionManager,
  transactionProcessor,
  TransactionPruningService,
} from '../../../../src/systems/transactions/index.js'
import { cellOf, IsolationModel, type ModelTransaction } from './isolation-model.js'

const rows = ['a', 'b', 'c', 'd']
const families = ['f', 'g']
const columns = families.flatMap((family) => ['a', 'b', 'c'].map((name) => `${family}:${name}`))
const lifetimeMilliseconds = 20_000
const graceMilliseconds = 4_000
const second = 1000

interface Running {
  readonly context: TransactionContext
  readonly table: TransactionalTable
  readonly model: ModelTransaction
  readonly id: bigint
  readonly isReader: boolean
}

/** What a read selects, and what of the cells that the model has. */
interface Selection {
  readonly read: { readonly columns?: string[]; readonly filter?: Filter }
  readonly passes: (column: string, value: string) => boolean
}

const everything: Selection = { read: {}, passes: () => true }

/** What a history has done, so that a test can ask whether it did anything. */
export interface Counts {
  commits: number
  conflicts: number
  reads: number
  pruned: number
  jobs: number
}

type Opened = Awaited<ReturnType<typeof openAll>>

async function openAll(fileSystem: SimulatedDisk, clock: ManualClock) {
  const database = await Database.open('/d', {
    fileSystem,
    clock,
    executor: 'inline',
    compactionEnabled: false,
    memtableBytesMax: 256 * 1024,
    flushBytes: 64 * 1024,
    blockCacheBytesMax: 64 * 1024,
  })
  await database.ensureTable('t', {
    families: { f: transactionalFamily(), g: transactionalFamily() },
  })
  const table = await database.ensureTable('prune', { families: { d: {} } })
  const state = await PruneState.open({ table, lifetimeMilliseconds, graceMilliseconds })
  const manager = await TransactionManager.open(database, {
    clock,
    sweepMilliseconds: 0,
    lifetimeMilliseconds,
    timeoutMilliseconds: 10 * second,
    longTimeoutMilliseconds: 100 * second,
  })
  const transactions = () => manager.snapshot()
  await database.registerCoprocessor(transactionProcessor({ tables: ['t'], transactions, state }))
  const plugins = [pruneStatePlugin(state, () => [database.table('t')])]
  const pruning = new TransactionPruningService({ manager, plugins, clock })
  const close = async (): Promise<void> => {
    await manager.close()
    await state.settled()
    await database.close()
  }
  return { database, manager, pruning, close }
}

/** See the file header. */
export class IsolationHistory {
  readonly counts: Counts = { commits: 0, conflicts: 0, reads: 0, pruned: 0, jobs: 0 }
  readonly #random: Random
  readonly #level: 'ROW' | 'COLUMN'
  readonly #model: IsolationModel
  readonly #fileSystem = new SimulatedDisk()
  readonly #clock = new ManualClock(1_489_707_864_000)
  #opened!: Opened
  #running: Running[] = []
  #snapshot: Snapshot | undefined
  #value = 0

  constructor(random: Random, level: 'ROW' | 'COLUMN') {
    this.#random = random
    this.#level = level
    this.#model = new IsolationModel(level)
  }

  /** Throws at the first read or commit that differs from the model. */
  async run(steps: number): Promise<void> {
    this.#opened = await openAll(this.#fileSystem, this.#clock)
    for (let i = 0; i < steps; i++) await this.#step()
    await this.#readEverything()
    this.#snapshot?.close()
    await this.#opened.close()
  }

  async #step(): Promise<void> {
    if (this.#chance(0.2)) this.#clock.milliseconds += this.#below(3 * second)
    const kind = this.#random()
    if (this.#running.length === 0 || (kind < 0.12 && this.#running.length < 4)) {
      await this.#start()
    } else if (kind < 0.75) {
      const running = this.#oneOf(this.#running)
      if (!running.isReader && this.#isTooOld(running)) await this.#abort(running)
      else if (kind < 0.33 && !running.isReader) await this.#write(running)
      else if (kind < 0.52) await this.#read(running)
      else if (kind < 0.54) await this.#checkpoint(running)
      else if (kind < 0.69) await this.#commit(running)
      else if (kind < 0.71) await this.#abort(running)
      else await this.#giveUp(running)
    } else if (kind < 0.97) await this.#job()
    else if (kind < 0.985) await this.#readEverything()
    else await this.#reopen()
  }

  async #start(): Promise<void> {
    const { database, manager } = this.#opened
    const table = new TransactionalTable(database, 't', {
      conflictLevel: this.#level,
      bufferBytesMax: this.#chance(0.3) ? 0 : 1 << 20,
      checkLifetime: (pointer) => manager.checkLifetime(pointer),
    })
    const isReader = this.#chance(0.3)
    const context = new TransactionContext(manager, [table])
    const { transactionId: id } = await context.start()
    this.#running.push({ context, table, model: this.#model.start(), id, isReader })
  }

  async #write({ table, model }: Running): Promise<void> {
    const row = this.#oneOf(rows)
    const kind = this.#random()
    if (kind < 0.65) {
      // Often one family only, so that jobs find the other one empty.
      const named = columns.filter(() => this.#chance(0.3))
      const cells: Record<string, string> = {}
      for (const column of named.length > 0 ? named : [this.#oneOf(columns)]) {
        cells[column] = this.#chance(0.1) ? '' : `v${++this.#value}`
      }
      await table.put({ row, cells })
      for (const [column, value] of Object.entries(cells)) model.put(row, column, value)
    } else if (kind < 0.75) {
      const column = this.#oneOf(columns)
      await table.delete({ row, columns: [column] })
      model.deleteColumn(row, column)
    } else if (kind < 0.88) {
      const family = this.#oneOf(families)
      await table.delete({ row, families: [family] })
      model.deleteAll(row, `${family}:`)
    } else {
      await table.delete({ row })
      model.deleteAll(row, '')
    }
  }

  async #read({ table, model }: Running): Promise<void> {
    this.counts.reads++
    const isCurrentExcluded = this.#chance(0.2)
    const level = isCurrentExcluded ? 'SNAPSHOT_EXCLUDE_CURRENT' : 'SNAPSHOT'
    const selection = this.#selection()
    const options = { ...selection.read, visibilityLevel: level } as const
    const state = model.view(isCurrentExcluded)
    const wanted = (row: string): string[] => this.#expected(state, row, selection)
    const row = this.#oneOf(rows)
    const kind = this.#random()
    if (kind < 0.4) {
      deepEqual(shownOf(await table.get({ row, ...options })), wanted(row), `get of ${row}`)
    } else if (kind < 0.55) {
      equal(await table.exists({ row, ...options }), wanted(row).length > 0, `exists of ${row}`)
    } else if (kind < 0.7) {
      const results = await table.getList(rows.map((row) => ({ row, ...options })))
      deepEqual(results.map(shownOf), rows.map(wanted), 'getList')
    } else {
      const [startRow, reversed] = [row, this.#chance(0.3)]
      const found: string[][] = []
      const scan = { startRow, reversed, ...options }
      for await (const result of await table.scan(scan)) found.push(shownOf(result))
      const order = reversed ? [...rows].reverse() : rows
      const expected = order.slice(order.indexOf(row)).map(wanted)
      deepEqual(
        found,
        expected.filter(({ length }) => length > 0),
        `scan from ${row}`,
      )
    }
  }

  #selection(): Selection {
    const kind = this.#random()
    if (kind < 0.35) {
      const named = [...columns, ...families].filter(() => this.#chance(0.25))
      if (named.length === 0) return everything
      // The last mention of a family counts, as in every read; so each is named in one way.
      const whole = families.filter((family) => named.includes(family))
      const selected = named.filter((name) => whole.includes(name) || !whole.includes(name[0]))
      return {
        read: { columns: selected },
        passes: (column) => selected.includes(column) || selected.includes(column[0]),
      }
    }
    if (kind < 0.45) {
      const name = this.#oneOf(['a', 'b'])
      const filter = new QualifierFilter('EQUAL', Buffer.from(name))
      return { read: { filter }, passes: (column) => column.slice(2) === name }
    }
    if (kind < 0.55) {
      const bound = `v${1 + this.#below(9)}`
      const filter = new ValueFilter('LESS', Buffer.from(bound))
      return { read: { filter }, passes: (_column, value) => value < bound }
    }
    return everything
  }

  #expected(state: ReadonlyMap<string, string>, row: string, { passes }: Selection): string[] {
    const found: string[] = []
    for (const column of columns) {
      const value = state.get(cellOf(row, column))
      if (value !== undefined && passes(column, value)) found.push(`${row}|${column}=${value}`)
    }
    return found
  }

  async #checkpoint({ context, model }: Running): Promise<void> {
    await context.checkpoint()
    model.checkpoint()
  }

  async #commit(running: Running): Promise<void> {
    const { context, model } = this.#forget(running)
    const isConflict = this.#model.conflicts(model)
    let code: unknown
    await context.finish().catch((error: { code?: unknown }) => (code = error.code ?? error))
    if (code === 'ERR_TRANSACTION_CONFLICT') this.counts.conflicts++
    equal(code, isConflict ? 'ERR_TRANSACTION_CONFLICT' : undefined, 'outcome of a commit')
    if (isConflict) return
    this.#model.commit(model)
    this.counts.commits++
  }

  async #abort(running: Running): Promise<void> {
    await this.#forget(running).context.abort()
  }

  /** Its writes stay behind. */
  async #giveUp(running: Running): Promise<void> {
    const { table, id } = this.#forget(running)
    if (this.#chance(0.7)) await table.get({ row: 'a' })
    await this.#opened.manager.invalidate(id)
  }

  async #job(): Promise<void> {
    const { database, manager, pruning } = this.#opened
    this.counts.jobs++
    const kind = this.#random()
    if (kind < 0.35) await database.flush('t')
    else if (kind < 0.75) {
      await database.compact('t', { major: this.#chance(0.7), family: this.#oneOf(families) })
    } else if (kind < 0.82) {
      this.#snapshot?.close()
      this.#snapshot = this.#chance(0.5) ? database.snapshot() : undefined
    } else if (kind < 0.9) {
      await manager.cleanUp()
      this.#running = this.#running.filter(({ id }) => manager.isInProgress(id))
    } else {
      this.#clock.milliseconds += this.#chance(0.3) ? 15 * second : 0
      this.counts.pruned += await pruning.run()
    }
  }

  async #reopen(): Promise<void> {
    this.#snapshot?.close()
    this.#snapshot = undefined
    await this.#opened.close()
    // Their clients are gone. What they wrote stays, and their timeout makes them invalid.
    this.#running = []
    this.#opened = await openAll(this.#fileSystem, this.#clock)
  }

  async #readEverything(): Promise<void> {
    await this.#start()
    const running = this.#running.at(-1)!
    for (let i = 0; i < 3; i++) await this.#read(running)
    const found: string[] = []
    for await (const result of await running.table.scan()) found.push(...shownOf(result))
    const state = running.model.view()
    deepEqual(
      found,
      rows.flatMap((row) => this.#expected(state, row, everything)),
      'the whole table',
    )
    await this.#abort(running)
  }

  /** Whether it may write no more. */
  #isTooOld({ id }: Running): boolean {
    return this.#clock.now() - startOf(id) > lifetimeMilliseconds
  }

  #forget(running: Running): Running {
    this.#running = this.#running.filter((each) => each !== running)
    return running
  }

  #chance(probability: number): boolean {
    return this.#random() < probability
  }

  #below(bound: number): number {
    return Math.floor(this.#random() * bound)
  }

  #oneOf<T>(list: readonly T[]): T {
    return list[this.#below(list.length)]
  }
}

function shownOf(result: Result): string[] {
  return result.cells().map(({ row, family, qualifier, value }) => {
    return `${row.toString()}|${family}:${qualifier.toString()}=${value.toString()}`
  })
}
