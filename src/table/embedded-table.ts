/**
 * The table interface over the embedded engine. `operations/` implements the operations, `calls/`
 * the waiting of calls; this class joins the two.
 */
import { copyArguments } from '../base/copy-arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { TableState } from '../storage/engine/catalog/catalog.js'
import type { Engine } from '../storage/engine/engine.js'
import { TimedOperation, type OperationTimes } from '../storage/engine/write/operation-times.js'
import type { CoprocessorRegistry } from './observers/coprocessor-registry.js'
import { callEndpoint } from './observers/endpoints.js'
import { ObservedOperations } from './observers/observed-operations.js'
import type { ObserverChain } from './observers/observer-chain.js'
import { inspectSymbol, type Inspect } from '../api/results/display.js'
import { describeTable } from './admin/schema.js'
import { AsyncScanner, SyncScanner } from './reads/scanners.js'
import { PlainOperations } from './operations/plain-operations.js'
import {
  blocking,
  type MutationKind,
  type TableOperations,
  type Given,
  type Value,
  type ReadKind,
  type ReadValue,
} from './operations/table-operations.js'
import type { AtomicTarget } from './calls/atomic-request.js'
import { Batch } from './calls/batch.js'
import { TableCalls } from './calls/table-calls.js'
import { operationsOfChecks, outcomesOfChecks, readList, readPuts } from '../checks/lists.js'
import type { Result } from '../api/results/result.js'
import type * as types from '../api/index.js'

/** The figures in which the calls of a kind count. */
const timedAs: Readonly<Record<MutationKind, TimedOperation>> = {
  put: TimedOperation.put,
  delete: TimedOperation.delete,
  increment: TimedOperation.update,
  append: TimedOperation.update,
  checkAndMutate: TimedOperation.checkAndMutate,
  mutateRow: TimedOperation.batch,
  mutateRows: TimedOperation.batch,
}

function counterColumn(result: Result, column: types.ColumnName): bigint {
  const value = result.value(column)
  if (value === undefined) throw invalidArgument('the counter was not returned')
  return value.readBigInt64BE(0)
}

/** A table of an open database. Made by `Database.table` and `Database.createTable`. */
export class EmbeddedTable implements types.Table, types.SyncTable {
  readonly name: string
  readonly #engine: Engine
  readonly #plain: PlainOperations
  readonly #registry: CoprocessorRegistry
  readonly #chain: ObserverChain
  readonly #calls: TableCalls
  readonly #times: OperationTimes

  /** @internal Made by `Database`. */
  constructor(engine: Engine, table: TableState, registry: CoprocessorRegistry) {
    this.name = table.name
    this.#engine = engine
    this.#times = engine.reports.times
    this.#plain = new PlainOperations(engine, table)
    this.#registry = registry
    this.#chain = registry.of(table.name).chain
    this.#calls = new TableCalls(engine, table.name)
  }

  /** The operations of one call, with observers if the table has any. */
  #operations(): TableOperations {
    return this.#chain.active ? new ObservedOperations(this.#plain, this.#chain) : this.#plain
  }

  /**
   * @internal The table's part of an atomic batch of `engine`, with its observers; undefined if the
   * table belongs to another database.
   */
  atomicTarget(engine: Engine): AtomicTarget | undefined {
    if (engine !== this.#engine) return undefined
    return { operations: this.#plain, chain: this.#chain }
  }

  describe(): types.TableDescription {
    return describeTable(this.#plain.description())
  }

  get(get: types.Get): Promise<Result> {
    return this.#read('get', get)
  }

  getSync(get: types.Get): Result {
    const startedAt = this.#times.begin(TimedOperation.get)
    const result = this.#operations().get(get, blocking)
    if (startedAt !== 0) this.#times.end(TimedOperation.get, startedAt, this.name, get)
    return result
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    return this.#readList('get', readList(gets, 'gets'))
  }

  getListSync(gets: readonly types.Get[]): Result[] {
    return readList(gets, 'gets').map((get) => this.getSync(get))
  }

  exists(get: types.Get): Promise<boolean> {
    return this.#read('exists', get)
  }

  existsSync(get: types.Get): boolean {
    const startedAt = this.#times.begin(TimedOperation.get)
    const exists = this.#operations().exists(get, blocking)
    if (startedAt !== 0) this.#times.end(TimedOperation.get, startedAt, this.name, get)
    return exists
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    return this.#readList('exists', readList(gets, 'gets'))
  }

  existsListSync(gets: readonly types.Get[]): boolean[] {
    return readList(gets, 'gets').map((get) => this.existsSync(get))
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    return new AsyncScanner(this.#engine, this.#operations().openScan(scan, false))
  }

  scanSync(scan: types.Scan = {}): types.SyncResultScanner {
    return new SyncScanner(this.#engine, this.#operations().openScan(scan, true))
  }

  put(put: types.Put): Promise<void> {
    const startedAt = this.#times.begin(TimedOperation.put)
    const done = this.#calls.put(this.#operations(), put)
    if (startedAt === 0) return done
    return this.#times.endLater(TimedOperation.put, startedAt, done, this.name, put)
  }

  putSync(put: types.Put): void {
    const startedAt = this.#times.begin(TimedOperation.put)
    this.#calls.putSync(this.#operations(), put)
    if (startedAt !== 0) this.#times.end(TimedOperation.put, startedAt, this.name, put)
  }

  async putList(puts: readonly types.Put[]): Promise<void> {
    return this.#list('put', readPuts(puts))
  }

  putListSync(puts: readonly types.Put[]): void {
    this.#listSync('put', readPuts(puts))
  }

  delete(deletion: types.Delete): Promise<void> {
    return this.#mutate('delete', deletion)
  }

  deleteSync(deletion: types.Delete): void {
    this.#mutateSync('delete', deletion)
  }

  async deleteList(deletions: readonly types.Delete[]): Promise<void> {
    return this.#list('delete', readList(deletions, 'deletions'))
  }

  deleteListSync(deletions: readonly types.Delete[]): void {
    this.#listSync('delete', readList(deletions, 'deletions'))
  }

  increment(increment: types.Increment): Promise<Result> {
    return this.#mutate('increment', increment)
  }

  incrementSync(increment: types.Increment): Result {
    return this.#mutateSync('increment', increment)
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
    return this.#mutate('append', append)
  }

  appendSync(append: types.Append): Result {
    return this.#mutateSync('append', append)
  }

  checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    return this.#mutate('checkAndMutate', { check, action })
  }

  checkAndMutateSync(check: types.Check, action: types.CheckAction): types.CheckAndMutateResult {
    return this.#mutateSync('checkAndMutate', { check, action })
  }

  async checkAndMutateList(
    list: readonly types.CheckedAction[],
  ): Promise<types.CheckAndMutateResult[]> {
    return outcomesOfChecks(await this.#makeBatch(operationsOfChecks(list)).run())
  }

  checkAndMutateListSync(list: readonly types.CheckedAction[]): types.CheckAndMutateResult[] {
    return outcomesOfChecks(this.#makeBatch(operationsOfChecks(list)).runSync())
  }

  mutateRow(mutations: types.RowMutations): Promise<Result> {
    return this.#mutate('mutateRow', mutations)
  }

  mutateRowSync(mutations: types.RowMutations): Result {
    return this.#mutateSync('mutateRow', mutations)
  }

  mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    return this.#mutate('mutateRows', request)
  }

  mutateRowsSync(request: types.MultiRowMutations): boolean {
    return this.#mutateSync('mutateRows', request)
  }

  async batch(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): Promise<types.BatchResult[]> {
    const batch = (): Promise<types.BatchResult[]> => this.#makeBatch(operations, callback).run()
    return this.#timed(TimedOperation.batch, operations, batch)
  }

  batchSync(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): types.BatchResult[] {
    const batch = (): types.BatchResult[] => this.#makeBatch(operations, callback).runSync()
    return this.#timed(TimedOperation.batch, operations, batch)
  }

  #read<K extends ReadKind>(kind: K, get: types.Get): Promise<ReadValue<K>> {
    const startedAt = this.#times.begin(TimedOperation.get)
    const result = this.#calls.read(this.#operations(), kind, get)
    if (startedAt === 0) return result
    return this.#times.endLater(TimedOperation.get, startedAt, result, this.name, get)
  }

  /** Reads in one loop; only rows whose blocks are not in memory need promises. */
  #readList<K extends ReadKind>(kind: K, gets: readonly types.Get[]): Promise<ReadValue<K>[]> {
    const values = gets.map((get) =>
      this.#timed(TimedOperation.get, get, () => {
        return this.#calls.readNow(this.#operations(), kind, get)
      }),
    )
    return this.#calls.listRead(values)
  }

  #mutate<K extends MutationKind>(kind: K, operation: Given<K>): Promise<Value<K>> {
    return this.#timed(timedAs[kind], operation, () =>
      this.#calls.mutate(this.#operations(), kind, operation),
    )
  }

  #mutateSync<K extends MutationKind>(kind: K, operation: Given<K>): Value<K> {
    return this.#timed(timedAs[kind], operation, () =>
      this.#calls.mutateSync(this.#operations(), kind, operation),
    )
  }

  #list<K extends 'put' | 'delete'>(kind: K, list: readonly Given<K>[]): Promise<void> {
    return this.#timed(TimedOperation.batch, list, () =>
      this.#calls.list(this.#operations(), kind, list),
    )
  }

  #listSync<K extends 'put' | 'delete'>(kind: K, list: readonly Given<K>[]): void {
    this.#timed(TimedOperation.batch, list, () =>
      this.#calls.listSync(this.#operations(), kind, list),
    )
  }

  /** Runs a call, and times the call or the promise that it returns. */
  #timed<T>(kind: TimedOperation, operation: unknown, run: () => T): T {
    const startedAt = this.#times.begin(kind)
    const result = run()
    if (startedAt === 0) return result
    if (result instanceof Promise) {
      return this.#times.endLater(kind, startedAt, result, this.name, operation) as T
    }
    this.#times.end(kind, startedAt, this.name, operation)
    return result
  }

  #makeBatch(operations: readonly types.BatchOperation[], callback?: types.BatchCallback): Batch {
    return new Batch(this.#engine, this.name, this.#operations(), operations, callback)
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
