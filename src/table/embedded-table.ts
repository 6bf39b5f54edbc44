/**
 * The table interface over the embedded engine: one synchronous core in two forms.
 *
 * The asynchronous forms never block the event loop on the disk: they wait for memory if the budget
 * is exceeded, load missing blocks off the loop, and resolve when the log is as durable as asked.
 * The synchronous forms do all of that before they return.
 */
import { copyArguments } from '../base/copy-arguments.js'
import { checkArray, checkObject, readArguments } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import type { Durability } from '../wal/log.js'
import { isBlockMissing, loadAndRepeat } from './reads/block-loading.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { callEndpoint } from './observers/endpoints.js'
import { ListCall, MutationCall, type ListStep, type MutationStep } from './calls/mutation-calls.js'
import { TablePlace } from './arguments/row-names.js'
import { ObservedOperations, type Step } from './observers/observed-operations.js'
import { openObservedScan } from './observers/observed-scan.js'
import { ListOutcome } from './calls/list-outcome.js'
import { finishWaiting, mutate, mutateSync } from './calls/mutating.js'
import type { ObserverChain } from './observers/observer-chain.js'
import { describeTable } from './admin/schema.js'
import { ScanSession } from './reads/scan-session.js'
import { AsyncScanner, SyncScanner } from './reads/scanners.js'
import { blocking, nonBlocking, TableCore, type Applied } from './table-core.js'
import type { AtomicTarget } from './calls/atomic-request.js'
import { Batch, operationsOfChecks, outcomesOfChecks } from './calls/batch.js'
import type { ReadMode } from '../store/store-reader.js'
import type { Result } from '../api/result.js'
import type * as types from '../api/index.js'

const counterColumn = (result: Result, column: types.ColumnName): bigint => {
  const value = result.value(column)
  if (value === undefined) throw invalidArgument('the counter was not returned')
  return value.readBigInt64BE(0)
}

/** A table of an open database. Made by `Database.table` and `Database.createTable`. */
export class EmbeddedTable implements types.Table, types.SyncTable {
  readonly name: string
  readonly #engine: Engine
  readonly #core: TableCore
  readonly #registry: CoprocessorRegistry
  readonly #chain: ObserverChain
  /** The operations for a table that is observed, that is, while `#chain.active`. */
  readonly #observed: ObservedOperations
  /** Where calls wait that cannot be carried out at once. */
  readonly #place: TablePlace
  readonly #putStep: MutationStep<types.Put, void>

  /** @internal Made by `Database`. */
  constructor(engine: Engine, table: TableState, registry: CoprocessorRegistry) {
    this.name = table.name
    this.#engine = engine
    this.#core = new TableCore(engine, table)
    this.#registry = registry
    this.#chain = registry.of(table.name).chain
    this.#observed = new ObservedOperations(this.#core, this.#chain)
    this.#place = new TablePlace(engine, table.name)
    this.#putStep = (put) => ({ value: undefined, durability: this.#core.put(put) })
  }

  /**
   * @internal The table's part of an atomic batch of `engine`, with a judgement of its observers;
   * undefined if the table belongs to another database.
   */
  atomicTarget(engine: Engine): AtomicTarget | undefined {
    if (engine !== this.#engine) return undefined
    return { core: this.#core, chain: this.#chain }
  }

  describe(): types.TableDescription {
    return describeTable(this.#core.description())
  }

  get(get: types.Get): Promise<Result> {
    if (this.#chain.active) return this.#readStep(get, (own) => this.#observed.get(own))
    return this.#read(get, (own) => this.#core.get(own, nonBlocking))
  }

  getSync(get: types.Get): Result {
    if (this.#chain.active) return this.#observed.get(get)(blocking)
    return this.#core.get(get, blocking)
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    return Promise.all(readList(gets, 'gets').map((get) => this.get(get)))
  }

  getListSync(gets: readonly types.Get[]): Result[] {
    return readList(gets, 'gets').map((get) => this.getSync(get))
  }

  async exists(get: types.Get): Promise<boolean> {
    if (this.#chain.active) return this.#readStep(get, (own) => this.#observed.exists(own))
    return (await this.#read(get, (own) => this.#core.get(own, nonBlocking, true))).exists!
  }

  existsSync(get: types.Get): boolean {
    if (this.#chain.active) return this.#observed.exists(get)(blocking)
    return this.#core.get(get, blocking, true).exists!
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    return Promise.all(readList(gets, 'gets').map((get) => this.exists(get)))
  }

  existsListSync(gets: readonly types.Get[]): boolean[] {
    return readList(gets, 'gets').map((get) => this.existsSync(get))
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    return new AsyncScanner(this.#engine, this.#openScan(scan, false))
  }

  scanSync(scan: types.Scan = {}): types.SyncResultScanner {
    return new SyncScanner(this.#engine, this.#openScan(scan, true))
  }

  #openScan(scan: types.Scan, mayBlock: boolean): ScanSession {
    if (this.#chain.active) {
      const table = this.#core.state()
      const { warn } = this.#registry
      return openObservedScan(this.#engine, table, this.#chain, scan, mayBlock, warn)
    }
    return this.#core.openScan(scan, mayBlock)
  }

  put(put: types.Put): Promise<void> {
    const engine = this.#engine
    if (this.#chain.active) return this.#mutateObserved(put, (own) => this.#observed.put(own))
    if (engine.waiting.count > 0 || engine.isHeld) {
      return MutationCall.wait(this.#place, put, this.#putStep)
    }
    try {
      return engine.commit(this.#core.put(put))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  putSync(put: types.Put): void {
    if (this.#chain.active) return this.#mutateSync(put, () => this.#observed.put(put)(blocking))
    this.#admitSync(put)
    this.#engine.commitSync(this.#core.put(put))
  }

  putList(puts: readonly types.Put[]): Promise<void> {
    if (this.#chain.active) {
      return this.#applyObserved(puts, 'puts', checkHasCells, (put) => this.#observed.put(put))
    }
    return this.#putAll(puts)
  }

  async #putAll(puts: readonly types.Put[]): Promise<void> {
    puts = readPuts(puts)
    return this.#runList(puts, (outcome) => (own, at) => this.#core.putGroup(own, at, outcome))
  }

  putListSync(puts: readonly types.Put[]): void {
    if (this.#chain.active) {
      this.#applyListSync(
        puts,
        'puts',
        checkHasCells,
        (put) => this.#observed.put(put)(blocking).durability,
      )
      return
    }
    puts = readPuts(puts)
    const outcome = new ListOutcome()
    let at = 0
    finishWaiting(this.#place, { rows: puts })
    while (at < puts.length) {
      try {
        this.#engine.admitSync()
        at = this.#core.putGroup(puts, at, outcome)
      } catch (error) {
        outcome.failed(at++, error)
      }
    }
    if (outcome.strongest !== undefined) this.#engine.commitSync(outcome.strongest)
    outcome.throwFailures(puts.length)
  }

  delete(deletion: types.Delete): Promise<void> {
    if (this.#chain.active) {
      return this.#mutateObserved(deletion, (own) => this.#observed.delete(own))
    }
    return this.#mutate(deletion, (own, mode) => ({
      value: undefined,
      durability: this.#core.delete(own, mode),
    }))
  }

  deleteSync(deletion: types.Delete): void {
    if (this.#chain.active) {
      return this.#mutateSync(deletion, () => this.#observed.delete(deletion)(blocking))
    }
    this.#admitSync(deletion)
    this.#engine.commitSync(this.#core.delete(deletion, blocking))
  }

  deleteList(deletions: readonly types.Delete[]): Promise<void> {
    if (this.#chain.active) {
      return this.#applyObserved(deletions, 'deletions', checkNothing, (deletion) =>
        this.#observed.delete(deletion),
      )
    }
    return this.#applyList(deletions, 'deletions', checkNothing, (deletion, mode) =>
      this.#core.delete(deletion, mode),
    )
  }

  deleteListSync(deletions: readonly types.Delete[]): void {
    if (this.#chain.active) {
      this.#applyListSync(
        deletions,
        'deletions',
        checkNothing,
        (deletion) => this.#observed.delete(deletion)(blocking).durability,
      )
      return
    }
    this.#applyListSync(deletions, 'deletions', checkNothing, (deletion, mode) =>
      this.#core.delete(deletion, mode),
    )
  }

  increment(increment: types.Increment): Promise<Result> {
    if (this.#chain.active) {
      return this.#mutateObserved(increment, (own) => this.#observed.increment(own))
    }
    return this.#mutate(increment, (own, mode) => this.#core.increment(own, mode))
  }

  incrementSync(increment: types.Increment): Result {
    if (this.#chain.active)
      return this.#mutateSync(increment, () => this.#observed.increment(increment)(blocking))
    return this.#mutateSync(increment, () => this.#core.increment(increment, blocking))
  }

  async incrementColumnValue(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): Promise<bigint> {
    const { value: own } = copyArguments(column)
    const result = await this.increment({ row, columns: [{ column: own, amount }], durability })
    return counterColumn(result, own)
  }

  incrementColumnValueSync(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): bigint {
    const result = this.incrementSync({ row, columns: [{ column, amount }], durability })
    return counterColumn(result, column)
  }

  append(append: types.Append): Promise<Result> {
    if (this.#chain.active) {
      return this.#mutateObserved(append, (own) => this.#observed.append(own))
    }
    return this.#mutate(append, (own, mode) => this.#core.append(own, mode))
  }

  appendSync(append: types.Append): Result {
    if (this.#chain.active)
      return this.#mutateSync(append, () => this.#observed.append(append)(blocking))
    return this.#mutateSync(append, () => this.#core.append(append, blocking))
  }

  checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    const operation = { check, action }
    if (this.#chain.active) {
      return this.#mutateObserved(operation, (own) =>
        this.#observed.checkAndMutate(own.check, own.action),
      )
    }
    return this.#mutate(operation, (own, mode) =>
      this.#core.checkAndMutate(own.check, own.action, mode),
    )
  }

  checkAndMutateSync(check: types.Check, action: types.CheckAction): types.CheckAndMutateResult {
    if (this.#chain.active) {
      return this.#mutateSync({ check }, () =>
        this.#observed.checkAndMutate(check, action)(blocking),
      )
    }
    return this.#mutateSync({ check }, () => this.#core.checkAndMutate(check, action, blocking))
  }

  async checkAndMutateList(
    list: readonly { readonly check: types.Check; readonly action: types.CheckAction }[],
  ): Promise<types.CheckAndMutateResult[]> {
    return outcomesOfChecks(await this.#makeBatch(operationsOfChecks(list)).run())
  }

  checkAndMutateListSync(
    list: readonly { readonly check: types.Check; readonly action: types.CheckAction }[],
  ): types.CheckAndMutateResult[] {
    return outcomesOfChecks(this.#makeBatch(operationsOfChecks(list)).runSync())
  }

  mutateRow(mutations: types.RowMutations): Promise<Result> {
    if (this.#chain.active) {
      return this.#mutateObserved(mutations, (own) => this.#observed.mutateRow(own))
    }
    return this.#mutate(mutations, (own, mode) => this.#core.mutateRow(own, mode))
  }

  mutateRowSync(mutations: types.RowMutations): Result {
    if (this.#chain.active)
      return this.#mutateSync(mutations, () => this.#observed.mutateRow(mutations)(blocking))
    return this.#mutateSync(mutations, () => this.#core.mutateRow(mutations, blocking))
  }

  mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    if (this.#chain.active) {
      return this.#mutateObserved(request, (own) => this.#observed.mutateRows(own))
    }
    return this.#mutate(request, (own, mode) => this.#core.mutateRows(own, mode))
  }

  mutateRowsSync(request: types.MultiRowMutations): boolean {
    if (this.#chain.active) {
      return this.#mutateSync(request, () => this.#observed.mutateRows(request)(blocking))
    }
    return this.#mutateSync(request, () => this.#core.mutateRows(request, blocking))
  }

  async batch(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): Promise<types.BatchResult[]> {
    return this.#makeBatch(operations, callback).run()
  }

  batchSync(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): types.BatchResult[] {
    return this.#makeBatch(operations, callback).runSync()
  }

  #makeBatch(operations: readonly types.BatchOperation[], callback?: types.BatchCallback): Batch {
    const observed = this.#chain.active ? this.#observed : undefined
    return new Batch(this.#engine, this.#core, observed, operations, callback)
  }

  /**
   * Calls a named function next to the data (HBase: coprocessor endpoint): one of a coprocessor of
   * the table, or `rowCount`, `sum`, `min`, `max` (see `endpoints.ts`). Rejects with what it
   * throws; `ERR_INVALID_ARGUMENT` if there is no such function.
   */
  async callEndpoint(name: string, request?: unknown): Promise<unknown> {
    this.#core.state()
    return callEndpoint(this, this.#registry.of(this.name), name, request)
  }

  /** Runs a read without promises in between if all it needs is in memory. */
  #read<O, T>(get: O, step: (get: O) => T): Promise<T> {
    try {
      const value = step(get)
      return this.#engine.turn.spend() ? Promise.resolve(value) : this.#nextTurn(value)
    } catch (error) {
      if (!isBlockMissing(error)) return Promise.reject(error)
      // The block is read later, the arguments count as of now.
      const own = copyArguments(get).value
      return loadAndRepeat(this.#engine, () => step(own))
    }
  }

  async #nextTurn<T>(value: T): Promise<T> {
    await this.#engine.turn.waitForTurn()
    return value
  }

  /** As {@link EmbeddedTable.get} of an observed table: the step is made once and may repeat. */
  #readStep<O, T>(get: O, make: (get: O) => Step<T>): Promise<T> {
    try {
      const step = make(copyArguments(get).value)
      return this.#read(undefined, () => step(nonBlocking))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A mutation of an observed table: the step is made once and may repeat. */
  async #mutateObserved<O, T>(operation: O, make: (operation: O) => Step<Applied<T>>): Promise<T> {
    const own = copyArguments(operation).value
    const step = make(own)
    return this.#mutate(own, (_operation, mode) => step(mode))
  }

  async #applyObserved<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    make: (operation: T) => Step<Applied<void>>,
  ): Promise<void> {
    const own = copyArguments(readList(operations, what, check)).value
    const steps = own.map(make)
    return this.#runList(own, (outcome) => (_operations, at, mode) => {
      return attemptOne(outcome, at, () => steps[at](mode).durability)
    })
  }

  #mutate<O, T>(operation: O, step: MutationStep<O, T>): Promise<T> {
    return mutate(this.#place, operation, step)
  }

  #mutateSync<T>(operation: unknown, step: () => Applied<T>): T {
    return mutateSync(this.#place, operation, step)
  }

  /** Before a synchronous mutation: makes room, and lets the calls that wait go first. */
  #admitSync(operation: unknown): void {
    finishWaiting(this.#place, operation)
    this.#engine.admitSync()
  }

  async #applyList<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    apply: (operation: T, mode: ReadMode) => Durability,
  ): Promise<void> {
    operations = readList(operations, what, check)
    return this.#runList(operations, (outcome) => (own, at, mode) => {
      return attemptOne(outcome, at, () => apply(own[at], mode))
    })
  }

  /** Carries out a list; there is one commit for all of it. */
  async #runList<T>(
    operations: readonly T[],
    stepOf: (outcome: ListOutcome) => ListStep<T>,
  ): Promise<void> {
    const outcome = new ListOutcome()
    await new ListCall(this.#place, operations, stepOf(outcome)).run()
    if (outcome.strongest !== undefined) await this.#engine.commit(outcome.strongest)
    outcome.throwFailures(operations.length)
  }

  #applyListSync<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    apply: (operation: T, mode: ReadMode) => Durability,
  ): void {
    operations = readList(operations, what, check)
    const outcome = new ListOutcome()
    for (let i = 0; i < operations.length; i++) {
      try {
        this.#admitSync(operations[i])
        outcome.applied(apply(operations[i], blocking))
      } catch (error) {
        outcome.failed(i, error)
      }
    }
    if (outcome.strongest !== undefined) this.#engine.commitSync(outcome.strongest)
    outcome.throwFailures(operations.length)
  }
}

/** Carries out one operation of a list; returns the place behind it. */
function attemptOne(outcome: ListOutcome, at: number, apply: () => Durability): number {
  try {
    outcome.applied(apply())
  } catch (error) {
    if (isBlockMissing(error)) throw error
    outcome.failed(at, error)
  }
  return at + 1
}

/** A copy of a caller's list, each element checked. */
function readList<T>(
  list: readonly T[],
  what: string,
  check: (element: T) => void = checkNothing,
): readonly T[] {
  return readArguments(() => {
    const copy = checkArray(list, what)
    for (let i = 0; i < copy.length; i++) check(copy[i])
    return copy
  })
}

function checkNothing(): void {}

/** A put without cells fails the whole list before anything is written (spec 2.2). */
function checkHasCells(put: types.Put): void {
  const cells: unknown = checkObject(put, 'put').cells
  if (typeof cells !== 'object' || cells === null || isEmpty(cells)) {
    throw invalidArgument('a put of the list has no cells')
  }
}

function isEmpty(cells: object): boolean {
  if (Array.isArray(cells)) return cells.length === 0
  for (const name in cells) if (name !== undefined) return false
  return true
}

function readPuts(puts: readonly types.Put[]): readonly types.Put[] {
  return readList(puts, 'puts', checkHasCells)
}
