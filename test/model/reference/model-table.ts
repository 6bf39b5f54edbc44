/**
 * A table of the in-memory backend. It checks the arguments, lets the model carry out the
 * operation, and converts the outcome into results. Every operation ends before its method returns;
 * the methods with promises call the synchronous ones.
 */
import {
  checkBoolean,
  checkFunction,
  checkArray,
  readArguments,
} from '../../../src/base/arguments.js'
import type { ByteRange } from '../../../src/base/bytes.js'
import { copyArguments } from '../../../src/base/copy-arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../../src/base/errors.js'
import { checkForm } from '../../../src/checks/forms.js'
import type { Durability } from '../../../src/api/durability.js'
import { ListFailures } from '../../../src/checks/list-failures.js'
import {
  asCellarError,
  checkOperation,
  noResult,
  operationsOfChecks,
  outcomesOfChecks,
  readCheck,
  readList,
  readPuts,
} from '../../../src/checks/lists.js'
import type * as types from '../../../src/api/index.js'
import { Result, type ResultMarks } from '../../../src/api/results/result.js'
import { getByKeys } from '../../../src/api/table.js'
import { unescape } from '../../../src/storage/cell/cell-key.js'
import { asCell } from './encoded-cell.js'
import { filteredRow } from './filtered-rows.js'
import { droppedTable, ReadView, type ModelCore, type ModelTableState } from './model-core.js'
import { AsyncModelScanner, ModelScanner } from './model-scanners.js'
import { binary } from './plain-cells.js'
import type { StoredCell } from './reading-rules.js'
import type { ReferenceTable } from './reference-table.js'

/** An element of `checkAndMutateList`. */
export type CheckWithAction = {
  /** The condition. */
  readonly check: types.Check
  /** Applied if the condition holds. */
  readonly action: types.CheckAction
}

/** A table of an open in-memory database. */
export class ModelTable implements types.Table, types.SyncTable {
  readonly name: string
  readonly #core: ModelCore
  readonly #id: number

  /** @internal Made by `ModelDatabase`. */
  constructor(core: ModelCore, state: ModelTableState) {
    this.name = state.name
    this.#core = core
    this.#id = state.id
  }

  /**
   * @internal The table's state; undefined if the table belongs to another database than `core`.
   */
  stateIn(core: ModelCore): ModelTableState | undefined {
    return core === this.#core ? this.#state() : undefined
  }

  get coprocessors(): readonly types.TableCoprocessor[] {
    return this.describe().coprocessors ?? []
  }

  describe(): types.TableDescription {
    return this.#state().description
  }

  // Reads

  async get(get: types.Get): Promise<Result> {
    return this.getSync(get)
  }

  getSync(get: types.Get): Result {
    const { result, existenceOnly } = this.#read(get)
    const exists = result.length > 0
    return existenceOnly ? this.#resultOf([], { exists }) : this.#resultOf(result)
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    return this.getListSync(gets)
  }

  getListSync(gets: readonly types.Get[]): Result[] {
    return readList(gets, 'gets').map((get) => this.getSync(get))
  }

  async [getByKeys](keys: readonly ByteRange[], options: types.ReadOptions): Promise<Result[]> {
    return keys.map(({ source, start, end }) => {
      return this.getSync({ ...options, row: unescape(source, start, end) })
    })
  }

  async exists(get: types.Get): Promise<boolean> {
    return this.existsSync(get)
  }

  existsSync(get: types.Get): boolean {
    return this.#read(get).result.length > 0
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    return this.existsListSync(gets)
  }

  existsListSync(gets: readonly types.Get[]): boolean[] {
    return readList(gets, 'gets').map((get) => this.existsSync(get))
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    const { signal } = checkForm(scan, 'scan')
    return new AsyncModelScanner(this.scanSync(scan), signal)
  }

  scanSync(scan: types.Scan = {}): ModelScanner {
    const { reference, checks } = this.#state()
    const { cuts, own, snapshot } = readArguments(() => {
      const given = copyArguments(scan).value
      const cuts = checks.scan(given)
      return { own: given, cuts, snapshot: ReadView.of(this.#core, given.snapshot) }
    })
    const view = this.#core.model.viewOf(reference, snapshot)
    return new ModelScanner(reference, own, view, cuts, () => this.#core.checkOpen())
  }

  #read(get: types.Get): { result: readonly StoredCell[]; existenceOnly: boolean } {
    const { reference, checks } = this.#state()
    const { own, snapshot } = readArguments(() => {
      const given = copyArguments(get).value
      checks.get(given)
      return { own: given, snapshot: ReadView.of(this.#core, given.snapshot) }
    })
    const view = this.#core.model.viewOf(reference, snapshot)
    const row = binary(own.row)
    const { filter } = own
    const result =
      filter === undefined
        ? reference.rowCells(row, own, view)
        : filteredRow(reference, row, own, view, filter)
    const existenceOnly = checkBoolean(own.checkExistenceOnly, 'checkExistenceOnly', false)
    return { result, existenceOnly }
  }

  // Mutations

  async put(put: types.Put): Promise<types.PutReceipt> {
    return this.putSync(put)
  }

  putSync(put: types.Put): types.PutReceipt {
    this.#mutate(
      put,
      ({ checks }, own) => checks.put(own),
      (table, own) => this.#core.model.put(table, own),
    )
    const { serverTime, sequence } = this.#core.model
    return { timestamp: serverTime === 0n ? undefined : Number(serverTime), sequence }
  }

  async putList(puts: readonly types.Put[]): Promise<void> {
    this.putListSync(puts)
  }

  putListSync(puts: readonly types.Put[]): void {
    this.#each(readPuts(puts), (put) => this.putSync(put))
  }

  async delete(deletion: types.Delete): Promise<void> {
    this.deleteSync(deletion)
  }

  deleteSync(deletion: types.Delete): void {
    this.#mutate(
      deletion,
      ({ checks }, own) => checks.delete(own),
      (table, own) => this.#core.model.delete(table, own),
    )
  }

  async deleteList(deletions: readonly types.Delete[]): Promise<void> {
    this.deleteListSync(deletions)
  }

  deleteListSync(deletions: readonly types.Delete[]): void {
    this.#each(readList(deletions, 'deletions'), (deletion) => this.deleteSync(deletion))
  }

  async increment(increment: types.Increment): Promise<Result> {
    return this.incrementSync(increment)
  }

  incrementSync(increment: types.Increment): Result {
    const cells = this.#mutate(
      increment,
      ({ checks }, own) => checks.increment(own),
      (table, own) => this.#core.model.increment(table, own),
    )
    return this.#resultOf(cells)
  }

  async incrementColumnValue(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): Promise<bigint> {
    return this.incrementColumnValueSync(row, column, amount, durability)
  }

  incrementColumnValueSync(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): bigint {
    const own = copyArguments(column).value
    const result = this.incrementSync({ row, columns: [{ column: own, amount }], durability })
    const value = result.value(own)
    if (value === undefined) throw invalidArgument('the counter was not returned')
    return value.readBigInt64BE(0)
  }

  async append(append: types.Append): Promise<Result> {
    return this.appendSync(append)
  }

  appendSync(append: types.Append): Result {
    const cells = this.#mutate(
      append,
      ({ checks }, own) => checks.append(own),
      (table, own) => this.#core.model.append(table, own),
    )
    return this.#resultOf(cells)
  }

  async checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    return this.checkAndMutateSync(check, action)
  }

  checkAndMutateSync(check: types.Check, action: types.CheckAction): types.CheckAndMutateResult {
    const { success, result } = this.#mutate(
      { check, action },
      ({ checks }, own) => {
        checks.check(own.check)
        return checks.action(own.check.row, own.action)
      },
      (table, own) => this.#core.model.checkAndMutate(table, own.check, own.action),
    )
    return { success, result: result && this.#resultOf(result) }
  }

  async checkAndMutateList(
    list: readonly CheckWithAction[],
  ): Promise<types.CheckAndMutateResult[]> {
    return this.checkAndMutateListSync(list)
  }

  checkAndMutateListSync(list: readonly CheckWithAction[]): types.CheckAndMutateResult[] {
    return outcomesOfChecks(this.batchSync(operationsOfChecks(list)))
  }

  async mutateRow(mutations: types.RowMutations): Promise<Result> {
    return this.mutateRowSync(mutations)
  }

  mutateRowSync(mutations: types.RowMutations): Result {
    const cells = this.#mutate(
      mutations,
      ({ checks }, own) => checks.mutateRow(own),
      (table, own) => this.#core.model.mutateRow(table, own),
    )
    return this.#resultOf(cells, { exists: true })
  }

  async mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    return this.mutateRowsSync(request)
  }

  mutateRowsSync(request: types.MultiRowMutations): boolean {
    return this.#mutate(
      request,
      ({ checks }, own) => checks.mutateRows(own),
      (table, own) => this.#core.model.mutateRows(table, own),
    )
  }

  async batch(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): Promise<types.BatchResult[]> {
    return this.batchSync(operations, callback)
  }

  batchSync(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): types.BatchResult[] {
    const list = readArguments(() => checkArray(operations, 'operations'))
    checkFunction(callback, 'the callback of a batch')
    let thrown: { readonly error: unknown } | undefined
    const results = list.map((operation, position) => {
      const outcome = this.#outcomeOf(operation)
      try {
        callback?.(outcome, position)
      } catch (error) {
        thrown ??= { error }
      }
      return outcome
    })
    if (thrown !== undefined) throw thrown.error
    return results
  }

  #outcomeOf(given: types.BatchOperation): types.BatchResult {
    try {
      const operation = checkOperation(given)
      if (operation.get !== undefined) return { ok: true, result: this.getSync(operation.get) }
      if (operation.increment !== undefined) {
        return { ok: true, result: this.incrementSync(operation.increment) }
      }
      if (operation.append !== undefined)
        return { ok: true, result: this.appendSync(operation.append) }
      if (operation.mutateRow !== undefined) {
        return { ok: true, result: this.mutateRowSync(operation.mutateRow) }
      }
      if (operation.checkAndMutate !== undefined) {
        const { check, action } = readCheck(operation.checkAndMutate)
        const { success, result = noResult } = this.checkAndMutateSync(check, action)
        return { ok: true, success, result }
      }
      if (operation.put !== undefined) this.putSync(operation.put)
      else this.deleteSync(operation.delete)
      return { ok: true, result: this.#resultOf([]) }
    } catch (error) {
      return { ok: false, error: asCellarError(error) }
    }
  }

  /** Applies the operations of a list, each on its own. */
  #each<T>(operations: readonly T[], apply: (operation: T) => void): void {
    const failures = new ListFailures()
    for (const [position, operation] of operations.entries()) {
      try {
        apply(operation)
      } catch (error) {
        failures.failed(position, error)
      }
    }
    failures.throwFailures(operations.length)
  }

  /** Copies and checks the arguments, then applies the mutation. */
  #mutate<O, T>(
    operation: O,
    check: (state: ModelTableState, own: O) => Durability,
    apply: (table: ReferenceTable, own: O) => T,
  ): T {
    const state = this.#state()
    checkWritable(state)
    const { own, durability } = readArguments(() => {
      const own = copyArguments(operation).value
      return { own, durability: check(state, own) }
    })
    return this.#core.mutate(durability, () => apply(state.reference, own))
  }

  #resultOf(cells: readonly StoredCell[], marks?: ResultMarks): Result {
    const families = [...this.#state().reference.families.keys()]
    return Result.of(cells.map(asCell), { ...marks, families })
  }

  /** The present state of the table. Throws `ERR_CLOSED` or `ERR_TABLE_NOT_FOUND`. */
  #state(): ModelTableState {
    this.#core.checkOpen()
    const state = this.#core.tables.get(this.name)
    if (state === undefined || state.id !== this.#id) throw droppedTable(this.name)
    return state
  }
}

/** Throws `ERR_READ_ONLY` if the table is read-only. */
export function checkWritable({ name, description }: ModelTableState): void {
  if (!description.readOnly) return
  throw new CellarError(ErrorCode.readOnly, `table '${name}' is read-only`)
}
