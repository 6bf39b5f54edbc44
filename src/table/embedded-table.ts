/**
 * The table interface over the embedded engine. `operations/` implements the operations, `calls/`
 * the waiting of calls; this class joins the two.
 */
import type { ByteRange } from '../base/bytes.js'
import { copyArguments } from '../base/copy-arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { TableState } from '../storage/engine/catalog/catalog.js'
import type { TableParts } from '../storage/engine/engine.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { callEndpoint } from './observers/endpoints.js'
import { ObservedOperations } from './observers/observed-operations.js'
import type { ObserverChain } from './observers/observer-chain.js'
import { inspectSymbol, type Inspect } from '../api/results/display.js'
import { describeTable } from './admin/schema.js'
import { AsyncScanner, SyncScanner } from './reads/scanners.js'
import { PlainOperations } from './operations/plain-operations.js'
import type { TableOperations } from './operations/table-operations.js'
import type { AtomicTarget } from './calls/atomic-request.js'
import { TableCalls } from './calls/table-calls.js'
import { operationsOfChecks, outcomesOfChecks, readList, readPuts } from '../checks/lists.js'
import type { Result } from '../api/results/result.js'
import { getByKeys } from '../api/table.js'
import type * as types from '../api/index.js'

function counterColumn(result: Result, column: types.ColumnName): bigint {
  const value = result.value(column)
  if (value === undefined) throw invalidArgument('the counter was not returned')
  return value.readBigInt64BE(0)
}

/** A table of an open database. Made by `Database.table` and `Database.createTable`. */
export class EmbeddedTable implements types.Table, types.SyncTable {
  readonly name: string
  readonly #parts: TableParts
  readonly #plain: PlainOperations
  readonly #registry: CoprocessorRegistry
  readonly #chain: ObserverChain
  readonly #calls: TableCalls

  /** @internal Made by `Database`. */
  constructor(parts: TableParts, table: TableState, registry: CoprocessorRegistry) {
    this.name = table.name
    this.#parts = parts
    this.#registry = registry
    this.#chain = registry.of(table.name).chain
    this.#plain = new PlainOperations(parts, table, this.#chain)
    this.#calls = new TableCalls(parts, table.name, () => this.#operations())
  }

  /** The operations of one call, with observers if the table has any. */
  #operations(): TableOperations {
    return this.#chain.active ? new ObservedOperations(this.#plain, this.#chain) : this.#plain
  }

  /**
   * @internal The table's part of an atomic batch of an engine, with its observers; undefined if
   * the table belongs to another database.
   */
  atomicTarget(parts: TableParts): AtomicTarget | undefined {
    if (parts !== this.#parts) return undefined
    return { operations: this.#plain, chain: this.#chain }
  }

  get coprocessors(): readonly types.TableCoprocessor[] {
    return this.#plain.description().settings.coprocessors
  }

  describe(): types.TableDescription {
    return describeTable(this.#plain.description())
  }

  get(get: types.Get): Promise<Result> {
    return this.#calls.read('get', get)
  }

  getSync(get: types.Get): Result {
    return this.#calls.readSync('get', get)
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    return this.#calls.readList('get', readList(gets, 'gets'))
  }

  getListSync(gets: readonly types.Get[]): Result[] {
    return readList(gets, 'gets').map((get) => this.getSync(get))
  }

  /** @internal */
  async [getByKeys](keys: readonly ByteRange[], options: types.ReadOptions): Promise<Result[]> {
    return this.#calls.readKeys(keys, options)
  }

  exists(get: types.Get): Promise<boolean> {
    return this.#calls.read('exists', get)
  }

  existsSync(get: types.Get): boolean {
    return this.#calls.readSync('exists', get)
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    return this.#calls.readList('exists', readList(gets, 'gets'))
  }

  existsListSync(gets: readonly types.Get[]): boolean[] {
    return readList(gets, 'gets').map((get) => this.existsSync(get))
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    return new AsyncScanner(this.#parts, this.#operations().openScan(scan, false))
  }

  scanSync(scan: types.Scan = {}): types.SyncResultScanner {
    return new SyncScanner(this.#parts, this.#operations().openScan(scan, true))
  }

  put(put: types.Put): Promise<types.PutReceipt> {
    return this.#calls.put(put)
  }

  putSync(put: types.Put): types.PutReceipt {
    return this.#calls.putSync(put)
  }

  async putList(puts: readonly types.Put[]): Promise<void> {
    return this.#calls.list('put', readPuts(puts))
  }

  putListSync(puts: readonly types.Put[]): void {
    this.#calls.listSync('put', readPuts(puts))
  }

  delete(deletion: types.Delete): Promise<void> {
    return this.#calls.mutate('delete', deletion)
  }

  deleteSync(deletion: types.Delete): void {
    this.#calls.mutateSync('delete', deletion)
  }

  async deleteList(deletions: readonly types.Delete[]): Promise<void> {
    return this.#calls.list('delete', readList(deletions, 'deletions'))
  }

  deleteListSync(deletions: readonly types.Delete[]): void {
    this.#calls.listSync('delete', readList(deletions, 'deletions'))
  }

  increment(increment: types.Increment): Promise<Result> {
    return this.#calls.mutate('increment', increment)
  }

  incrementSync(increment: types.Increment): Result {
    return this.#calls.mutateSync('increment', increment)
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
    return this.#calls.mutate('append', append)
  }

  appendSync(append: types.Append): Result {
    return this.#calls.mutateSync('append', append)
  }

  checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    return this.#calls.mutate('checkAndMutate', { check, action })
  }

  checkAndMutateSync(check: types.Check, action: types.CheckAction): types.CheckAndMutateResult {
    return this.#calls.mutateSync('checkAndMutate', { check, action })
  }

  async checkAndMutateList(
    list: readonly types.CheckedAction[],
  ): Promise<types.CheckAndMutateResult[]> {
    return outcomesOfChecks(await this.#calls.makeBatch(operationsOfChecks(list)).run())
  }

  checkAndMutateListSync(list: readonly types.CheckedAction[]): types.CheckAndMutateResult[] {
    return outcomesOfChecks(this.#calls.makeBatch(operationsOfChecks(list)).runSync())
  }

  mutateRow(mutations: types.RowMutations): Promise<Result> {
    return this.#calls.mutate('mutateRow', mutations)
  }

  mutateRowSync(mutations: types.RowMutations): Result {
    return this.#calls.mutateSync('mutateRow', mutations)
  }

  mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    return this.#calls.mutate('mutateRows', request)
  }

  mutateRowsSync(request: types.MultiRowMutations): boolean {
    return this.#calls.mutateSync('mutateRows', request)
  }

  async batch(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): Promise<types.BatchResult[]> {
    return this.#calls.batch(operations, callback)
  }

  batchSync(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): types.BatchResult[] {
    return this.#calls.batchSync(operations, callback)
  }

  /**
   * Calls a named function next to the data (HBase: coprocessor endpoint): one of a coprocessor of
   * the table, or `rowCount`, `sum`, `min`, `max` (see `endpoints.ts`). Rejects with the function's
   * error; `ERR_INVALID_ARGUMENT` if there is no such function.
   */
  callEndpoint<N extends keyof types.Endpoints>(
    name: N,
    request?: types.Endpoints[N]['request'],
  ): Promise<types.Endpoints[N]['answer']>
  callEndpoint(name: string, request?: unknown): Promise<unknown>
  async callEndpoint(name: string, request?: unknown): Promise<unknown> {
    this.#plain.state()
    return callEndpoint(this, this.#registry.of(this.name), name, request)
  }

  /** Name and options, for `JSON.stringify`. */
  toJSON(): types.TableDescription {
    return this.describe()
  }

  /** Name and families, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    const members = { name: this.name, families: Object.keys(this.describe().families) }
    return `Table ${inspect(members, options)}`
  }
}
