/**
 * The table interface over the embedded engine: one synchronous core in two forms.
 *
 * The asynchronous forms never block the event loop on the disk: they wait for memory if the budget
 * is exceeded, load missing blocks off the loop, and resolve when the log is as durable as asked.
 * The synchronous forms do all of that before they return.
 */
import { invalidArgument } from '../base/errors.js'
import type { TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import type { Durability } from '../wal/log.js'
import { isBlockMissing, loadAndRepeat } from './block-loading.js'
import type { CoprocessorRegistry } from './coprocessor-registry.js'
import { callEndpoint } from './endpoints.js'
import { ObservedOperations, type Step } from './observed-operations.js'
import { openObservedScan } from './observed-scan.js'
import { ListOutcome } from './list-outcome.js'
import { mutate, mutateSync } from './mutating.js'
import type { ObserverChain } from './observer-chain.js'
import { describeTable } from './schema.js'
import { ScanSession } from './scan-session.js'
import { AsyncScanner, SyncScanner } from './scanners.js'
import { blocking, checkObject, nonBlocking, TableCore, type Applied } from './table-core.js'
import type { AtomicTarget } from './atomic-request.js'
import { Batch, operationsOfChecks, outcomesOfChecks } from './batch.js'
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

  /** @internal Made by `Database`. */
  constructor(engine: Engine, table: TableState, registry: CoprocessorRegistry) {
    this.name = table.name
    this.#engine = engine
    this.#core = new TableCore(engine, table)
    this.#registry = registry
    this.#chain = registry.of(table.name).chain
    this.#observed = new ObservedOperations(this.#core, this.#chain)
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
    if (this.#chain.active) return this.#readStep(() => this.#observed.get(get))
    return this.#read(() => this.#core.get(get, nonBlocking))
  }

  getSync(get: types.Get): Result {
    if (this.#chain.active) return this.#observed.get(get)(blocking)
    return this.#core.get(get, blocking)
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    return Promise.all(checkList(gets, 'gets').map((get) => this.get(get)))
  }

  getListSync(gets: readonly types.Get[]): Result[] {
    return checkList(gets, 'gets').map((get) => this.getSync(get))
  }

  async exists(get: types.Get): Promise<boolean> {
    if (this.#chain.active) return this.#readStep(() => this.#observed.exists(get))
    return (await this.get({ ...get, checkExistenceOnly: true })).exists!
  }

  existsSync(get: types.Get): boolean {
    if (this.#chain.active) return this.#observed.exists(get)(blocking)
    return this.getSync({ ...get, checkExistenceOnly: true }).exists!
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    return Promise.all(checkList(gets, 'gets').map((get) => this.exists(get)))
  }

  existsListSync(gets: readonly types.Get[]): boolean[] {
    return checkList(gets, 'gets').map((get) => this.existsSync(get))
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    return new AsyncScanner(this.#engine, scan?.signal, this.#openScan(scan, false))
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
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.put(put))
    if (engine.isHeld) return this.#putWhenAdmitted(put)
    try {
      return engine.commit(this.#core.put(put))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** Waits without a chain of promises: overload means many waiting puts. */
  #putWhenAdmitted(put: types.Put): Promise<void> {
    const engine = this.#engine
    return new Promise((resolve, reject) => {
      engine.admitLater(() => {
        try {
          resolve(engine.commit(this.#core.put(put)))
        } catch (error) {
          reject(error)
        }
      }, reject)
    })
  }

  putSync(put: types.Put): void {
    if (this.#chain.active) return this.#mutateSync(() => this.#observed.put(put)(blocking))
    this.#engine.admitSync()
    this.#engine.commitSync(this.#core.put(put))
  }

  putList(puts: readonly types.Put[]): Promise<void> {
    if (this.#chain.active) {
      return this.#applyObserved(puts, 'puts', checkHasCells, (put) => this.#observed.put(put))
    }
    return this.#putAll(puts)
  }

  async #putAll(puts: readonly types.Put[]): Promise<void> {
    checkPuts(puts)
    const { turn } = this.#engine
    const outcome = new ListOutcome()
    let at = 0
    while (at < puts.length) {
      if (this.#engine.isHeld) await this.#engine.admit()
      const next = this.#core.putGroup(puts, at, outcome)
      if (!turn.spend(next - at)) await turn.waitForTurn()
      at = next
    }
    if (outcome.strongest !== undefined) await this.#engine.commit(outcome.strongest)
    outcome.throwFailures(puts.length)
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
    checkPuts(puts)
    const outcome = new ListOutcome()
    let at = 0
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
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.delete(deletion))
    return this.#mutate((mode) => ({
      value: undefined,
      durability: this.#core.delete(deletion, mode),
    }))
  }

  deleteSync(deletion: types.Delete): void {
    if (this.#chain.active) return this.#mutateSync(() => this.#observed.delete(deletion)(blocking))
    this.#engine.admitSync()
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
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.increment(increment))
    return this.#mutate((mode) => this.#core.increment(increment, mode))
  }

  incrementSync(increment: types.Increment): Result {
    if (this.#chain.active)
      return this.#mutateSync(() => this.#observed.increment(increment)(blocking))
    return this.#mutateSync(() => this.#core.increment(increment, blocking))
  }

  async incrementColumnValue(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): Promise<bigint> {
    const result = await this.increment({ row, columns: [{ column, amount }], durability })
    return counterColumn(result, column)
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
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.append(append))
    return this.#mutate((mode) => this.#core.append(append, mode))
  }

  appendSync(append: types.Append): Result {
    if (this.#chain.active) return this.#mutateSync(() => this.#observed.append(append)(blocking))
    return this.#mutateSync(() => this.#core.append(append, blocking))
  }

  checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    if (this.#chain.active) {
      return this.#mutateObserved(() => this.#observed.checkAndMutate(check, action))
    }
    return this.#mutate((mode) => this.#core.checkAndMutate(check, action, mode))
  }

  checkAndMutateSync(check: types.Check, action: types.CheckAction): types.CheckAndMutateResult {
    if (this.#chain.active) {
      return this.#mutateSync(() => this.#observed.checkAndMutate(check, action)(blocking))
    }
    return this.#mutateSync(() => this.#core.checkAndMutate(check, action, blocking))
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
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.mutateRow(mutations))
    return this.#mutate((mode) => this.#core.mutateRow(mutations, mode))
  }

  mutateRowSync(mutations: types.RowMutations): Result {
    if (this.#chain.active)
      return this.#mutateSync(() => this.#observed.mutateRow(mutations)(blocking))
    return this.#mutateSync(() => this.#core.mutateRow(mutations, blocking))
  }

  /**
   * Puts and deletes of several rows, all or none; false if a check does not hold. An extension of
   * this backend.
   */
  mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    if (this.#chain.active) return this.#mutateObserved(() => this.#observed.mutateRows(request))
    return this.#mutate((mode) => this.#core.mutateRows(request, mode))
  }

  /** As {@link mutateRows}, before returning. */
  mutateRowsSync(request: types.MultiRowMutations): boolean {
    if (this.#chain.active) {
      return this.#mutateSync(() => this.#observed.mutateRows(request)(blocking))
    }
    return this.#mutateSync(() => this.#core.mutateRows(request, blocking))
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
  #read<T>(step: () => T): Promise<T> {
    try {
      const value = step()
      return this.#engine.turn.spend() ? Promise.resolve(value) : this.#nextTurn(value)
    } catch (error) {
      if (isBlockMissing(error)) return loadAndRepeat(this.#engine, step)
      return Promise.reject(error)
    }
  }

  async #nextTurn<T>(value: T): Promise<T> {
    await this.#engine.turn.waitForTurn()
    return value
  }

  /** As {@link EmbeddedTable.get} of an observed table: the step is made once and may repeat. */
  #readStep<T>(make: () => Step<T>): Promise<T> {
    try {
      const step = make()
      return this.#read(() => step(nonBlocking))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /** A mutation of an observed table: the step is made once and may repeat. */
  async #mutateObserved<T>(make: () => Step<Applied<T>>): Promise<T> {
    return this.#mutate(make())
  }

  async #applyObserved<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    make: (operation: T) => Step<Applied<void>>,
  ): Promise<void> {
    for (const operation of checkList(operations, what)) check(operation)
    const steps = operations.map(make)
    return this.#applyList(steps, what, checkNothing, (step, mode) => step(mode).durability)
  }

  #mutate<T>(step: (mode: ReadMode) => Applied<T>): Promise<T> {
    return mutate(this.#engine, step)
  }

  #mutateSync<T>(step: () => Applied<T>): T {
    return mutateSync(this.#engine, step)
  }

  async #applyList<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    apply: (operation: T, mode: ReadMode) => Durability,
  ): Promise<void> {
    for (const operation of checkList(operations, what)) check(operation)
    const outcome = new ListOutcome()
    for (let i = 0; i < operations.length; i++) {
      if (this.#engine.isHeld) await this.#engine.admit()
      if (!this.#engine.turn.spend()) await this.#engine.turn.waitForTurn()
      try {
        outcome.applied(apply(operations[i], nonBlocking))
      } catch (error) {
        if (!isBlockMissing(error)) outcome.failed(i, error)
        else {
          await loadAndRepeat(this.#engine, () => apply(operations[i], nonBlocking)).then(
            (durability) => outcome.applied(durability),
            (failure: unknown) => outcome.failed(i, failure),
          )
        }
      }
    }
    if (outcome.strongest !== undefined) await this.#engine.commit(outcome.strongest)
    outcome.throwFailures(operations.length)
  }

  #applyListSync<T>(
    operations: readonly T[],
    what: string,
    check: (operation: T) => void,
    apply: (operation: T, mode: ReadMode) => Durability,
  ): void {
    for (const operation of checkList(operations, what)) check(operation)
    const outcome = new ListOutcome()
    for (let i = 0; i < operations.length; i++) {
      try {
        this.#engine.admitSync()
        outcome.applied(apply(operations[i], blocking))
      } catch (error) {
        outcome.failed(i, error)
      }
    }
    if (outcome.strongest !== undefined) this.#engine.commitSync(outcome.strongest)
    outcome.throwFailures(operations.length)
  }
}

function checkList<T>(list: readonly T[], what: string): readonly T[] {
  if (!Array.isArray(list)) throw invalidArgument(`${what} must be an array`)
  return list as readonly T[]
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

function checkPuts(puts: readonly types.Put[]): void {
  checkList(puts, 'puts')
  for (let i = 0; i < puts.length; i++) checkHasCells(puts[i])
}
