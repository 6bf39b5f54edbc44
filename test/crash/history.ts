/**
 * A numbered history of operations over one database, and what is known to be acknowledged.
 *
 * Each visible change has a number k = 1, 2, ...; the text of the state after each is kept, so the
 * state that a recovery finds can be placed in the history. Timestamps are the numbers: no clock
 * matters. A list of puts counts as one change for each put, as its puts are independent.
 */
import { ManualClock } from '../../src/base/clock.js'
import { Database } from '../../src/entries/index.js'
import type { DatabaseOptions, FamilyOptions, FileSystem } from '../../src/entries/index.js'
import type { Put, Snapshot } from '../../src/entries/index.js'
import { counterQualifier, Model, showValue, unloggedTable, valueOf } from './model.js'

/** A durability that acknowledges something. */
export type Logged = 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/** Where a row is changed, and how. */
interface RowTarget {
  readonly table: string
  readonly row: string
  readonly durability: Logged
  /** Whether the synchronous form is called. Default false. */
  readonly sync?: boolean
}

/** One operation of a workload. */
export type Operation =
  | (RowTarget & { readonly kind: 'put'; readonly bytes?: number })
  | (RowTarget & { readonly kind: 'putList'; readonly rows: number; readonly bytes?: number })
  | (RowTarget & { readonly kind: 'delete' })
  | (RowTarget & { readonly kind: 'deleteFamily'; readonly family: string })
  | (RowTarget & { readonly kind: 'increment'; readonly family: string; readonly amount: number })
  /**
   * Checks the newest value of `v` in the first family; with `wrong` against another value. Always
   * with the durability of the table, SYNC_WAL.
   */
  | (RowTarget & { readonly kind: 'checkAndPut'; readonly wrong?: boolean })
  /** Deletes the first family of the row and puts the others. */
  | (RowTarget & { readonly kind: 'mutateRow' })
  /**
   * Puts the row in both tables and deletes another one, all or nothing. With `byTables` in the
   * durability of the tables, of which `durability` is the strongest.
   */
  | (RowTarget & { readonly kind: 'atomic'; readonly other: string; readonly byTables?: boolean })
  /** Puts without log, into a table of its own. */
  | { readonly kind: 'unlogged'; readonly row: string; readonly bytes?: number }
  /** All started in one turn. Holds rows operations that do not read. */
  | { readonly kind: 'together'; readonly operations: readonly Operation[] }
  | { readonly kind: 'flush'; readonly table?: string }
  | { readonly kind: 'compact'; readonly major: boolean }
  | {
      readonly kind: 'create'
      readonly table: string
      readonly families: readonly string[]
      /** Default that of the engine. */
      readonly durability?: Logged
    }
  | { readonly kind: 'addFamily' | 'dropFamily'; readonly table: string; readonly family: string }
  | { readonly kind: 'truncate' | 'drop'; readonly table: string }
  | { readonly kind: 'reopen' | 'close' | 'takeSnapshot' | 'closeSnapshot' }

/** How far things are; numbers of changes. */
export interface Progress {
  /** Changes that were started. */
  readonly issued: number
  /** The last change that was acknowledged as safe from the end of the process. */
  readonly synced: number
  /** The last change that was acknowledged as safe from a power cut. */
  readonly fsynced: number
  /** The last unlogged put that a flush or close made durable. */
  readonly unloggedDurable: number
}

/** Clock and timestamp of change k; with gaps, as the engine's clock may step ahead by some. */
function timeOf(change: number): number {
  return 1_000_000 + change * 16
}

export class Workload {
  readonly fileSystem: FileSystem
  readonly directory: string
  readonly options: DatabaseOptions
  readonly clock: ManualClock
  model: Model
  /** `texts[k - first]`: the state after change k. */
  readonly texts: string[]
  /** Unlogged puts by row: their numbers and values, in order. */
  readonly unlogged: Map<string, { readonly number: number; readonly shown: string }[]>
  /** Number of the state at the start. */
  readonly first: number
  issued: number
  synced: number
  fsynced: number
  unloggedIssued: number
  unloggedDurable: number
  database: Database | undefined
  private snapshot: Snapshot | undefined

  /** @param start the state that the files hold, if not that of a new database */
  constructor(
    fileSystem: FileSystem,
    directory: string,
    options: DatabaseOptions,
    start?: Workload & { readonly recovered: number },
  ) {
    this.fileSystem = fileSystem
    this.directory = directory
    this.model = new Model()
    this.first = start?.issued ?? 0
    this.texts = [start === undefined ? '' : start.texts[start.recovered - start.first]]
    this.unlogged = new Map(start?.unlogged)
    this.issued = this.first
    this.synced = this.first
    this.fsynced = this.first
    this.unloggedIssued = start?.unloggedIssued ?? 0
    this.unloggedDurable = 0
    this.clock = new ManualClock(timeOf(this.first))
    this.options = {
      executor: 'inline',
      memtableBytesMax: 256 * 1024,
      flushBytes: 64 * 1024,
      blockCacheBytesMax: 64 * 1024,
      // So that a job has several.
      valueFileBytesMax: 200,
      ...options,
      clock: this.clock,
      fileSystem,
    }
  }

  get progress(): Progress {
    const { issued, synced, fsynced, unloggedDurable } = this
    return { issued, synced, fsynced, unloggedDurable }
  }

  textAfter(change: number): string {
    return this.texts[change - this.first]
  }

  async open(): Promise<Database> {
    this.database = await Database.open(this.directory, this.options)
    return this.database
  }

  async run(operations: readonly Operation[]): Promise<void> {
    for (const operation of operations) await this.perform(operation)
  }

  /** Starts an operation, waits for its acknowledgement, and takes note of it. */
  async perform(operation: Operation): Promise<void> {
    if (operation.kind === 'together') {
      await Promise.all(operation.operations.map((each) => this.perform(each)))
      return
    }
    const unlogged = this.unloggedIssued
    const failedBefore = this.database?.failure !== undefined
    const run = this.start(operation)
    const change = this.issued
    await run
    // A database that failed before can be closed, but that promises nothing.
    if (failedBefore) return
    if (operation.kind === 'checkAndPut') {
      this.synced = Math.max(this.synced, change)
    } else if ('durability' in operation) {
      if (operation.durability !== 'ASYNC_WAL') this.synced = Math.max(this.synced, change)
      if (operation.durability === 'FSYNC_WAL') this.fsynced = Math.max(this.fsynced, change)
    } else if (promisesEverything(operation)) {
      this.synced = Math.max(this.synced, change)
      this.fsynced = Math.max(this.fsynced, change)
    }
    const whole = operation.kind === 'flush' && operation.table === undefined
    if (whole || operation.kind === 'reopen' || operation.kind === 'close') {
      this.unloggedDurable = Math.max(this.unloggedDurable, unlogged)
    }
  }

  /**
   * As {@link perform}, for operations that may fail. The change of one that failed is taken back,
   * unless the failure poisoned the database: then it may turn up after the next open, or not.
   *
   * @returns what it was rejected with, undefined if it succeeded.
   */
  async attempt(operation: Operation): Promise<unknown> {
    const change = this.issued
    const model = cloneModel(this.model)
    const poisoned = this.database!.failure !== undefined
    try {
      await this.perform(operation)
      return undefined
    } catch (error) {
      if (poisoned || this.database!.failure === undefined) this.takeBack(change, model)
      return error
    }
  }

  private takeBack(change: number, model: Model): void {
    this.texts.length = change - this.first + 1
    this.issued = change
    this.model = model
  }

  private changed(): void {
    this.issued++
    this.texts.push(this.model.text())
  }

  private next(): number {
    this.clock.milliseconds = timeOf(this.issued + 1)
    return this.issued + 1
  }

  /** Starts the operation in this turn, and notes its effect. */
  private start(operation: Operation): Promise<unknown> {
    const database = this.database!
    switch (operation.kind) {
      case 'put':
      case 'putList':
      case 'delete':
      case 'deleteFamily':
      case 'increment':
      case 'checkAndPut':
      case 'mutateRow':
      case 'atomic':
        return this.startRow(operation)
      case 'unlogged':
        return this.startUnlogged(operation.row, operation.bytes ?? 0)
      case 'flush':
        return database.flush(operation.table)
      case 'compact':
        return database.compact(undefined, { major: operation.major })
      case 'create':
        this.model.createTable(operation.table, operation.families)
        this.changed()
        return database.createTable(operation.table, {
          durability: operation.durability,
          families: Object.fromEntries(
            operation.families.map((family) => [family, familyOptions(family)]),
          ),
        })
      case 'addFamily':
      case 'dropFamily':
        return this.startAlter(operation.table, operation.family, operation.kind === 'addFamily')
      case 'truncate':
        this.model.truncate(operation.table)
        this.changed()
        return database.truncateTable(operation.table)
      case 'drop':
        this.model.tables.delete(operation.table)
        this.changed()
        return database.dropTable(operation.table)
      case 'reopen':
        this.closeSnapshot()
        return database.close().then(() => this.open())
      case 'close':
        this.closeSnapshot()
        return database.close()
      case 'takeSnapshot':
        this.snapshot ??= database.snapshot()
        return Promise.resolve()
      case 'closeSnapshot':
        this.closeSnapshot()
        return Promise.resolve()
      case 'together':
        throw new Error('groups do not nest')
    }
  }

  private closeSnapshot(): void {
    this.snapshot?.close()
    this.snapshot = undefined
  }

  private startAlter(table: string, family: string, add: boolean): Promise<unknown> {
    const families = this.model.tables.get(table)!
    if (add) families.set(family, new Map())
    else families.delete(family)
    this.changed()
    const alteration = add
      ? { families: { [family]: familyOptions(family) } }
      : { dropFamilies: [family] }
    return this.database!.alterTable(table, alteration)
  }

  private startUnlogged(row: string, bytes: number): Promise<unknown> {
    const number = ++this.unloggedIssued
    const value = valueOf(number, bytes)
    const history = [...(this.unlogged.get(row) ?? []), { number, shown: showValue(value) }]
    this.unlogged.set(row, history)
    this.clock.milliseconds = timeOf(this.issued)
    return this.database!.table(unloggedTable).put({
      row,
      cells: { 'f:v': value },
      timestamp: timeOf(number),
      durability: 'SKIP_WAL',
    })
  }

  private startRow(
    operation: Extract<Operation, { readonly durability: Logged }>,
  ): Promise<unknown> {
    const { table, row, durability } = operation
    const calls = this.database!.table(table)
    const number = this.next()
    const timestamp = timeOf(number)
    const wait = (asynchronous: () => Promise<unknown>, synchronous: () => unknown) =>
      operation.sync === true ? immediately(synchronous) : asynchronous()
    switch (operation.kind) {
      case 'put': {
        const put = this.putOf(table, row, number, operation.bytes ?? 0)
        this.changed()
        const full = { ...put, timestamp, durability }
        return wait(
          () => calls.put(full),
          () => calls.putSync(full),
        )
      }
      case 'putList': {
        const puts: Put[] = []
        for (let i = 0; i < operation.rows; i++) {
          const put = this.putOf(table, `${row}${i}`, number + i, operation.bytes ?? 0)
          puts.push({ ...put, timestamp: timeOf(number + i), durability })
          this.changed()
        }
        this.clock.milliseconds = timeOf(this.issued)
        return wait(
          () => calls.putList(puts),
          () => calls.putListSync(puts),
        )
      }
      case 'delete': {
        this.model.deleteRow(table, row)
        this.changed()
        const deletion = { row, timestamp, durability }
        return wait(
          () => calls.delete(deletion),
          () => calls.deleteSync(deletion),
        )
      }
      case 'deleteFamily': {
        this.model.deleteFamily(table, operation.family, row)
        this.changed()
        const deletion = { row, families: [operation.family], timestamp, durability }
        return wait(
          () => calls.delete(deletion),
          () => calls.deleteSync(deletion),
        )
      }
      case 'increment': {
        const { family, amount } = operation
        const before = this.model.get(table, family, row, counterQualifier) ?? 'counter 0'
        const sum = Number(before.slice(8)) + amount
        this.model.put(table, family, row, counterQualifier, `counter ${sum}`)
        this.changed()
        const columns = { [`${family}:${counterQualifier}`]: amount }
        return wait(
          () => calls.increment({ row, columns, durability }),
          () => calls.incrementSync({ row, columns, durability }),
        )
      }
      case 'checkAndPut':
        return this.startCheck(operation, number)
      case 'atomic': {
        const { other } = operation
        const gone = `${row}0`
        const puts = [table, other].map((name) => {
          const { cells } = this.putOf(name, row, number, 0)
          return { table: name, row, mutations: [{ put: { cells, timestamp } }] }
        })
        this.model.deleteRow(other, gone)
        this.changed()
        const deletion = { table: other, row: gone, mutations: [{ delete: { timestamp } }] }
        const asked = operation.byTables === true ? undefined : durability
        return this.database!.atomic({ mutations: [...puts, deletion], durability: asked })
      }
      case 'mutateRow': {
        const [deleted, ...rest] = this.model.families(table)
        this.model.deleteFamily(table, deleted, row)
        const cells: Record<string, string> = {}
        for (const family of rest) {
          cells[`${family}:v`] = valueOf(number, 0)
          this.model.put(table, family, row, 'v', showValue(valueOf(number, 0)))
        }
        this.changed()
        const deletion = { delete: { families: [deleted], timestamp } }
        const mutations = rest.length === 0 ? [deletion] : [deletion, { put: { cells, timestamp } }]
        return wait(
          () => calls.mutateRow({ row, mutations, durability }),
          () => calls.mutateRowSync({ row, mutations, durability }),
        )
      }
    }
  }

  private startCheck(
    operation: Extract<Operation, { readonly kind: 'checkAndPut' }>,
    number: number,
  ): Promise<unknown> {
    const { table, row } = operation
    const [family] = this.model.families(table)
    // Long values are kept as digests; those are taken from the database itself.
    const column = `${family}:v`
    const calls = this.database!.table(table)
    const shown = this.model.get(table, family, row, 'v')
    const expected =
      shown === undefined || !shown.includes('~')
        ? (shown ?? null)
        : calls.getSync({ row, columns: [column] }).value(column)!
    const equals = operation.wrong === true ? 'another value' : expected
    const action = { put: this.cellsOnly(table, row, number, operation.wrong !== true) }
    if (operation.wrong !== true) this.changed()
    const check = { row, column, equals }
    const outcome = calls.checkAndMutate(check, action).then(({ success }) => {
      if (success === (operation.wrong === true)) {
        throw new Error(`the check of ${row} went wrong, success is ${success}`)
      }
    })
    return outcome
  }

  private cellsOnly(table: string, row: string, number: number, apply: boolean) {
    const before = this.model
    if (!apply) this.model = cloneModel(before)
    const { cells } = this.putOf(table, row, number, 0)
    this.model = before
    return { cells, timestamp: timeOf(number) }
  }

  /** A put of the same value into all families of a row. */
  private putOf(table: string, row: string, number: number, bytes: number) {
    const value = valueOf(number, bytes)
    const shown = showValue(value)
    const cells: Record<string, string> = {}
    for (const family of this.model.families(table)) {
      cells[`${family}:v`] = value
      this.model.put(table, family, row, 'v', shown)
    }
    return { row, cells }
  }
}

/** Whether its acknowledgement covers all operations before it, logged or not. */
function promisesEverything(operation: Operation): boolean {
  if (operation.kind === 'flush') return operation.table === undefined
  return !['unlogged', 'takeSnapshot', 'closeSnapshot', 'compact'].includes(operation.kind)
}

async function immediately(step: () => unknown): Promise<unknown> {
  return step()
}

/** A copy that shares nothing. */
export function cloneModel(model: Model): Model {
  const copy = new Model()
  for (const [table, families] of model.tables) {
    copy.tables.set(table, new Map([...families].map(([name, cells]) => [name, new Map(cells)])))
  }
  return copy
}

/** The family `g` keeps values in files of their own, so that failures meet those as well. */
function familyOptions(family: string): FamilyOptions {
  return family === 'g' ? { mob: true, mobThreshold: 2 } : {}
}
