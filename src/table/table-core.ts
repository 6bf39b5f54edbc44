/**
 * The synchronous core of a table's operations (design D1): validate, read, check, write into log
 * buffer and memtables, all in one turn. `EmbeddedTable` wraps it in a synchronous and an
 * asynchronous form.
 *
 * With `mayBlock` false a read that misses a block throws `BlockMissing` before anything was
 * changed; the caller loads the block and runs the whole operation again.
 */
import {
  argumentError,
  checkArray,
  checkBoolean,
  checkBytesLike,
  checkObject,
  readArguments,
} from '../base/arguments.js'
import { toBytes } from '../base/bytes.js'
import { Moment } from '../base/clock.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { allTime, type TimeRange, type Timestamp } from '../cell/timestamp.js'
import type { FamilyState, TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import type { CollectedRow } from '../scan/row-collector.js'
import type { ReadMode } from '../store/store-reader.js'
import type { Durability } from '../wal/log.js'
import { conditionHolds, parseCondition } from './operations/checks.js'
import { parseSingleColumn } from '../cell/column-name.js'
import { applyAtomic } from './operations/atomic.js'
import { addAppend, addIncrement } from './operations/counters.js'
import { addDelete, planFamily } from './operations/deletes.js'
import { parseDurability } from './operations/durability.js'
import type { Intervention, RowAddition } from './operations/intervention.js'
import type { ListOutcome } from './calls/list-outcome.js'
import { MutationWriter } from './operations/mutation-writer.js'
import {
  checkGet,
  encode,
  durabilityOf,
  hasOneKey,
  isMutations,
  multiRowNames,
  rowMutationsNames,
  rowNames,
} from './reads/operation-shapes.js'
import {
  parseTimeRange,
  asPlan,
  ReadPlans,
  withCaching,
  type FamilyPlan,
  type ReadPlan,
} from './reads/read-plan.js'
import { Result } from '../api/result.js'
import { PageResult } from './reads/page-result.js'
import { RowKey } from './arguments/row-key.js'
import { RowReads } from './reads/row-read.js'
import { planScan } from './reads/scan-plan.js'
import { ScanPool } from './reads/scan-pool.js'
import { ScanSession } from './reads/scan-session.js'
import { readPointOf, readTimeOf } from './reads/snapshot.js'
import { StoredCells } from './reads/stored-cells.js'
import type {
  BytesLike,
  Check,
  CheckAction,
  ColumnName,
  Delete,
  DurabilityOption,
  Get,
  Increment,
  Append,
  MultiRowMutations,
  Mutation,
  Put,
  RowMutations,
  RowOperation,
  Scan,
} from '../api/index.js'

/** What a mutation did: what the caller gets, and how durable it asked it to be. */
export interface Applied<T> {
  readonly value: T
  readonly durability: Durability
}

/** The column that a check looks at, and how it is read. */
interface CheckedColumn {
  readonly table: TableState
  readonly name: ColumnName
  readonly family: FamilyState
  readonly escapedQualifier: Buffer
  readonly plan: ReadPlan
}

const emptyRow: CollectedRow = { page: Buffer.alloc(0), cells: [], partial: false }

/** Reads may wait for the disk: the mode of the synchronous forms. */
export const blocking: ReadMode = { mayBlock: true, cacheBlocks: true }
/** Reads must not wait for the disk: the mode of the asynchronous forms. */
export const nonBlocking: ReadMode = { mayBlock: false, cacheBlocks: true }

export class TableCore {
  readonly engine: Engine
  readonly name: string
  private current: TableState
  private reads: RowReads
  private plans: ReadPlans
  private scans: ScanPool
  private readonly row = new RowKey()
  private readonly writer: MutationWriter
  private readonly stored = new StoredCells()
  private readonly moment: Moment
  private lastChecked: CheckedColumn | undefined = undefined

  constructor(engine: Engine, table: TableState) {
    this.engine = engine
    this.name = table.name
    this.current = table
    this.reads = new RowReads(table)
    this.plans = new ReadPlans(table)
    this.scans = new ScanPool(table, engine.clock)
    this.writer = new MutationWriter(engine)
    this.moment = new Moment(engine.clock)
  }

  /** The table as it is now; `ERR_CLOSED`, `ERR_TABLE_NOT_FOUND`, `ERR_TABLE_NOT_ENABLED`. */
  state(): TableState {
    this.engine.checkOpen()
    const table = this.current.live ? this.current : this.refresh()
    if (!table.settings.disabled) return table
    const message = `table '${this.name}' is disabled; Admin.enableTable opens it again`
    throw new CellarError(ErrorCode.tableNotEnabled, message)
  }

  /** As {@link state}, of a disabled table as well. */
  description(): TableState {
    this.engine.checkOpen()
    return this.current.live ? this.current : this.refresh()
  }

  private refresh(): TableState {
    const table = this.engine.tables.get(this.name)
    if (table === undefined || table.tableId !== this.current.tableId) {
      throw new CellarError(ErrorCode.tableNotFound, `table '${this.name}' was dropped`)
    }
    this.current = table
    this.reads = new RowReads(table)
    this.plans = new ReadPlans(table)
    this.scans = new ScanPool(table, this.engine.clock)
    return table
  }

  /** Reads a row, or with `existenceOnly` only whether there is one. */
  get(get: Get, mode: ReadMode, existenceOnly = false): Result {
    const table = this.state()
    let plan: ReadPlan
    let readPoint: number
    let time: number | undefined
    try {
      checkGet(get)
      existenceOnly ||= checkBoolean(get.checkExistenceOnly, 'checkExistenceOnly', false)
      this.row.set(get.row)
      plan = this.plans.plan(get)
      readPoint = readPointOf(get, this.engine)
      time = readTimeOf(get)
    } catch (error) {
      throw argumentError(error)
    }
    const row = this.readRow(plan, readPoint, mode, existenceOnly, time)
    if (!existenceOnly) return new PageResult(row, table.familyNames)
    return new PageResult(emptyRow, table.familyNames, { exists: row.cells.length > 0 })
  }

  /** Opens a scan. */
  openScan(scan: Scan, mayBlock: boolean): ScanSession {
    const table = this.state()
    const { plan, readPoint, readTime } = readArguments(() => ({
      plan: planScan(table, scan, this.plans),
      readPoint: readPointOf(scan, this.engine),
      readTime: readTimeOf(scan),
    }))
    return new ScanSession(this.engine, table, plan, readPoint, mayBlock, readTime, this.scans)
  }

  /** Applies a put. */
  put(put: Put, mode: ReadMode = blocking, intervention?: Intervention): Durability {
    const table = this.writable()
    let durability: Durability
    try {
      this.begin(table, put, 'put')
      this.writer.addPut(put)
      durability = this.durability(table, put.durability)
    } catch (error) {
      throw argumentError(error)
    }
    return this.apply(table, durability, mode, intervention)
  }

  /**
   * Applies the next puts of a list, `puts[from]` and so on, as one group, and tells `outcome`.
   * Returns the place of the first that did not fit; at least one is taken.
   */
  putGroup(puts: readonly Put[], from: number, outcome: ListOutcome): number {
    const table = this.writable()
    const { writer } = this
    let durability = table.settings.durability
    let at = from
    writer.beginGroup(table, this.row, this.engine.now())
    for (; at < puts.length && (at === from || writer.hasRoom); at++) {
      const put = puts[at]
      writer.beginMember()
      try {
        const own = this.durability(table, put.durability)
        if (at === from) durability = own
        if (own !== durability) {
          writer.dropMember()
          break
        }
        this.row.set(put.row)
        writer.addPut(put)
        writer.endMember()
      } catch (error) {
        writer.dropMember()
        outcome.failed(at, argumentError(error))
      }
    }
    try {
      if (writer.applyGroup(durability)) outcome.applied(durability)
    } catch (error) {
      outcome.failedTogether(from, at, error)
    }
    return at
  }

  /** Applies a delete. */
  delete(deletion: Delete, mode: ReadMode, intervention?: Intervention): Durability {
    const table = this.writable()
    const durability = encode(() => {
      this.begin(table, deletion, 'delete')
      this.addDelete(table, deletion, mode, intervention)
      return this.durability(table, deletion.durability)
    })
    return this.apply(table, durability, mode, intervention)
  }

  /** Applies an increment or an append. */
  increment(increment: Increment, mode: ReadMode, intervention?: Intervention): Applied<Result> {
    const table = this.writable()
    const durability = encode(() => this.encodeIncrement(table, increment, mode))
    this.apply(table, durability, mode, intervention)
    return { value: this.writtenResult(table), durability }
  }

  /** An increment without its effect: reads the row, and finds mistakes. */
  rehearseIncrement(increment: Increment, mode: ReadMode): void {
    const table = this.writable()
    encode(() => this.encodeIncrement(table, increment, mode))
  }

  /** An append without its effect. */
  rehearseAppend(append: Append, mode: ReadMode): void {
    const table = this.writable()
    encode(() => this.encodeAppend(table, append, mode))
  }

  append(append: Append, mode: ReadMode, intervention?: Intervention): Applied<Result> {
    const table = this.writable()
    const durability = encode(() => this.encodeAppend(table, append, mode))
    this.apply(table, durability, mode, intervention)
    return { value: this.writtenResult(table), durability }
  }

  private encodeIncrement(table: TableState, increment: Increment, mode: ReadMode): Durability {
    this.begin(table, increment, 'increment')
    addIncrement(this.writer, increment, (families) => this.readStored(families, mode))
    return this.durability(table, increment.durability)
  }

  private encodeAppend(table: TableState, append: Append, mode: ReadMode): Durability {
    this.begin(table, append, 'append')
    addAppend(this.writer, append, (families) => this.readStored(families, mode))
    return this.durability(table, append.durability)
  }

  /** Applies all mutations of a row under one sequence. */
  mutateRow(mutations: RowMutations, mode: ReadMode, intervention?: Intervention): Applied<Result> {
    const table = this.writable()
    const durability = encode(() => {
      this.begin(table, rowMutationsNames.check(mutations), 'mutateRow')
      this.addMutations(table, mutations.row, mutations.mutations, mode, intervention)
      return this.durability(table, mutations.durability)
    })
    this.apply(table, durability, mode, intervention)
    return { value: this.writtenResult(table, { exists: true }), durability }
  }

  /** Evaluates a condition and applies the action if it holds. */
  checkAndMutate(
    check: Check,
    action: CheckAction,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<{ success: boolean; result: Result | undefined }> {
    const table = this.writable()
    const matched = this.evaluate(table, check, mode)
    if (intervention !== undefined) {
      if (intervention.judged(matched !== undefined)) {
        const durability = table.settings.durability
        return { value: { success: false, result: undefined }, durability }
      }
    }
    const act = intervention?.action ?? action
    const durability = encode(() => {
      // The observer may have read another row by this core.
      this.row.set(check.row)
      // The action is checked even if it is not carried out, so that mistakes show early.
      this.writer.begin(table, this.row, matched, matched === undefined)
      return this.durability(table, this.addAction(table, check.row, act, mode, intervention))
    })
    if (matched === undefined) return { value: { success: false, result: undefined }, durability }
    this.apply(table, durability, mode, intervention)
    const result = this.writer.givesResult ? this.writtenResult(table) : undefined
    return { value: { success: true, result }, durability }
  }

  /** Applies mutations of several rows under one sequence; false if a check does not hold. */
  mutateRows(
    request: MultiRowMutations,
    mode: ReadMode,
    intervention?: Intervention,
  ): Applied<boolean> {
    const { rows, checks, asked } = readArguments(() => {
      multiRowNames.check(request)
      const rows = checkArray(request.rows, 'rows of mutateRows')
      if (rows.length === 0) throw invalidArgument('mutateRows needs at least one row')
      const checks = checkArray(request.checks ?? [], 'checks of mutateRows')
      return { rows, checks, asked: request.durability }
    })
    const all = checks.map((check) => ({ core: this, check }))
    const part = { core: this, rows, intervention }
    const { value, durability } = applyAtomic([part], all, asked, mode)
    return { value: value.success, durability }
  }

  /** Whether a check of an atomic batch holds in the newest state. */
  holds(check: Check, mode: ReadMode): boolean {
    return this.evaluate(this.writable(), check, mode) !== undefined
  }

  /**
   * Adds puts and deletes of several rows, and what observers add, to an atomic batch: to the
   * mutation that another table's writer has begun, or to a new one. Returns the writer that holds
   * the mutation now.
   */
  addRows(
    rows: MultiRowMutations['rows'],
    begun: MutationWriter | undefined,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): MutationWriter {
    const table = this.writable()
    const { writer } = this
    let open = begun
    encode(() => {
      for (const each of rows) {
        const { row, mutations } = rowNames.check(each)
        this.row.set(row)
        if (open === undefined) writer.begin(table, this.row)
        else if (open === writer) writer.nextRow()
        else writer.join(open, table, this.row)
        open = writer
        for (const mutation of checkArray(mutations, 'mutations')) {
          checkObject(mutation, 'mutation')
          if ('put' in mutation || 'delete' in mutation) continue
          throw invalidArgument('mutations of several rows are puts and deletes')
        }
        this.addMutations(table, row, mutations, mode, intervention)
      }
    })
    if (intervention !== undefined) this.addAdditions(table, intervention.additions, mode)
    return writer
  }

  /** How durable a mutation of the table is that asks for so much. */
  durabilityOf(asked: DurabilityOption | undefined): Durability {
    return this.durability(this.writable(), asked)
  }

  /** Timestamp of the checked cell if the condition holds (0 without a cell), else undefined. */
  private evaluate(table: TableState, check: Check, mode: ReadMode): Timestamp | undefined {
    const { condition, column, plan } = encode(() => {
      const condition = parseCondition(checkObject(check, 'check'))
      this.row.set(check.row)
      const timeRange = parseTimeRange(check.timeRange)
      if (condition !== undefined) {
        const column = this.checkedColumn(table, check.column!, timeRange)
        return { condition, column, plan: column.plan }
      }
      const range = check.timeRange === undefined ? {} : { timeRange: check.timeRange }
      return { condition, plan: this.plans.plan({ filter: check.filter, ...range }) }
    })
    this.stored.set(this.readRow(plan, this.engine.lastSequence, mode))
    if (condition === undefined) {
      return this.stored.isEmpty ? undefined : this.stored.first().timestampValue
    }
    const cell = this.stored.find(column.family.index, column.escapedQualifier)
    if (!conditionHolds(condition, cell)) return undefined
    return cell === undefined ? 0 : cell.timestampValue
  }

  /** The column of a check, which most often is that of the check before. */
  private checkedColumn(table: TableState, column: ColumnName, range: TimeRange): CheckedColumn {
    const last = this.lastChecked
    const isPlain = range === allTime && typeof column === 'string'
    if (isPlain && last?.table === table && last.name === column) return last
    const { family: name, escapedQualifier } = parseSingleColumn(column)
    const family = table.familyByName.get(name) ?? this.unknownFamily(table, name)
    const plan = asPlan([planFamily(family, [escapedQualifier], range)])
    const checked = { table, name: column, family, escapedQualifier, plan }
    if (isPlain) this.lastChecked = checked
    return checked
  }

  private addAction(
    table: TableState,
    row: BytesLike,
    action: CheckAction,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): DurabilityOption | undefined {
    checkObject(action, 'the action of a check')
    if (!hasOneKey(action) && !isMutations(action)) {
      throw invalidArgument(
        'the action of a check is one of {put}, {delete}, {increment}, {append}, {mutations}',
      )
    }
    if ('mutations' in action) {
      this.addMutations(table, row, action.mutations, mode, intervention)
      return (action as RowMutations).durability
    }
    return this.addMutation(table, row, action, mode, intervention)
  }

  private addMutations(
    table: TableState,
    row: BytesLike,
    mutations: readonly Mutation[],
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): void {
    const list = checkArray(mutations, 'mutations')
    if (list.length === 0) throw invalidArgument('mutations needs at least one mutation')
    for (const mutation of list) {
      this.addMutation(table, row, mutation, mode, intervention)
    }
  }

  /** Adds one mutation of the row and returns the durability that it asks for. */
  private addMutation(
    table: TableState,
    row: BytesLike,
    mutation: Mutation,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): DurabilityOption | undefined {
    if (!hasOneKey(checkObject(mutation, 'mutation'))) {
      throw invalidArgument('a mutation is one of {put}, {delete}, {increment}, {append}')
    }
    if ('put' in mutation) {
      this.sameRow(row, mutation.put)
      this.writer.addPut(mutation.put)
      return durabilityOf(mutation.put)
    }
    if ('delete' in mutation) {
      this.sameRow(row, mutation.delete)
      this.addDelete(table, mutation.delete, mode, intervention)
      return durabilityOf(mutation.delete)
    }
    if ('increment' in mutation) {
      this.sameRow(row, mutation.increment)
      addIncrement(this.writer, mutation.increment, (plans) => this.readStored(plans, mode))
      return durabilityOf(mutation.increment)
    }
    if ('append' in mutation) {
      this.sameRow(row, mutation.append)
      addAppend(this.writer, mutation.append, (plans) => this.readStored(plans, mode))
      return durabilityOf(mutation.append)
    }
    throw invalidArgument(`unknown mutation '${Object.keys(mutation)[0]}'`)
  }

  private sameRow(row: BytesLike, operation: { readonly row?: BytesLike }): void {
    checkObject(operation, 'mutation')
    if (operation.row === undefined) return
    checkBytesLike(operation.row, 'the row of a mutation')
    if (toBytes(operation.row).equals(toBytes(row))) return
    throw new CellarError(ErrorCode.wrongRow, 'a mutation names another row than the one it is for')
  }

  private addDelete(
    table: TableState,
    deletion: RowOperation<Delete>,
    mode: ReadMode,
    intervention?: Intervention,
  ): void {
    addDelete(
      this.writer,
      deletion,
      table.families,
      (families, versions) => this.readStored(families, mode, versions),
      intervention?.chooserOf?.(deletion),
    )
  }

  /** Starts a mutation of a row. */
  private begin(table: TableState, operation: { readonly row: BytesLike }, what: string): void {
    this.row.set(checkObject(operation, what).row)
    this.writer.begin(table, this.row)
  }

  private writable(): TableState {
    const table = this.state()
    this.engine.checkWritable()
    if (!table.settings.readOnly) return table
    throw new CellarError(ErrorCode.readOnly, `table '${this.name}' is read-only`)
  }

  private apply(
    table: TableState,
    durability: Durability,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): Durability {
    if (intervention !== undefined) this.addAdditions(table, intervention.additions, mode)
    this.writer.apply(durability)
    return durability
  }

  private addAdditions(table: TableState, additions: readonly RowAddition[], mode: ReadMode): void {
    for (const addition of additions) {
      const isPut = 'put' in addition
      this.row.set(isPut ? addition.put.row : addition.delete.row)
      this.writer.nextRow()
      if (isPut) this.writer.addPut(addition.put)
      else this.addDelete(table, addition.delete, mode)
    }
  }

  private durability(table: TableState, asked: DurabilityOption | undefined): Durability {
    return parseDurability(asked, table.settings.durability)
  }

  private writtenResult(table: TableState, marks?: { readonly exists: true }): Result {
    const row = this.writer.hasResult ? this.writer.takeResult() : emptyRow
    return PageResult.written(row, table.familyNames, marks)
  }

  /** Reads cells of the mutated row at the newest state. */
  private readStored(families: readonly FamilyPlan[], mode: ReadMode, versions = 1): StoredCells {
    if (this.writer.isTrial) {
      this.stored.set(emptyRow)
      return this.stored
    }
    const plans = families.map(({ family, query }) => ({ family, query: { ...query, versions } }))
    this.stored.set(this.readRow(asPlan(plans), this.engine.lastSequence, mode))
    return this.stored
  }

  /** Reads `this.row`. */
  private readRow(
    plan: ReadPlan,
    readPoint: number,
    mode: ReadMode,
    existenceOnly = false,
    time?: number,
  ): CollectedRow {
    const reads = this.reads
    const read = reads.acquire()
    try {
      const { buffer, length } = this.row
      if (plan.plain !== undefined && !existenceOnly) {
        const cells = read.readPlain(plan, plan.plain, buffer, length, readPoint, mode.mayBlock)
        if (cells !== undefined) return cells
      }
      const how = withCaching(mode, plan)
      this.moment.renew(time)
      read.begin(plan, buffer, length, readPoint, this.moment, how, existenceOnly)
      return read.step()
    } finally {
      reads.release(read)
    }
  }

  private unknownFamily(table: TableState, family: string): never {
    this.writer.begin(table, this.row)
    this.writer.family(family)
    throw invalidArgument(`unknown column family '${family}'`)
  }
}
