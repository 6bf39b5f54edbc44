/** A table of an owned database: mutations through the log of the owner, reads through views. */
import { requireCapability, type Result, type BytesLike, type ColumnName } from '../../api/index.js'
import type * as api from '../../api/index.js'
import { parseDurability } from '../../api/durability.js'
import { copyArguments } from '../../base/copy-arguments.js'
import type { EmbeddedTable } from '../../table/embedded-table.js'
import { checkForm } from '../../checks/forms.js'
import { readList } from '../../checks/lists.js'
import { runBatch } from '../thrift/batch.js'
import { namedRows, rowOfCheck, rowsOfMutation, type NamedRow } from './loads.js'
import { unfilteredGet } from './local-filters.js'
import type { OwnedDatabase } from './owned-database.js'
import { OwnedScanner } from './owned-scanner.js'
import { readRow } from './views.js'

type Durable = { readonly durability?: api.DurabilityOption | undefined }

/** A table of an owned database. Made by `OwnedDatabase.table`. */
export class OwnedTable implements api.Table {
  readonly name: string
  readonly #database: OwnedDatabase
  readonly #store: api.Table

  /** @internal Made by `OwnedDatabase.table`. */
  constructor(database: OwnedDatabase, store: api.Table) {
    this.name = store.name
    this.#database = database
    this.#store = store
  }

  /** Whether the table belongs to a database. */
  isOf(database: OwnedDatabase): boolean {
    return this.#database === database
  }

  describe(): api.TableDescription {
    return this.#store.describe()
  }

  get(get: api.Get): Promise<Result> {
    return this.#read(get, async (own) => {
      if (!this.#database.filters.isNeeded(own)) return this.#store.get(own)
      return this.#filtered(await this.#store.get(unfilteredGet(own)), own)
    })
  }

  async getList(gets: readonly api.Get[]): Promise<Result[]> {
    const own = readList(copyArguments(gets).value, 'gets')
    for (const get of own) checkForm(get, 'get')
    const isPlain = own.every(({ snapshot }) => snapshot === undefined)
    if (!isPlain || own.length === 0) return Promise.all(own.map((get) => this.get(get)))
    using view = this.#database.openView()
    await view.ready
    const { filters } = this.#database
    const isNeeded = own.map((get) => filters.isNeeded(get))
    const asked = own.map((get, i) => (isNeeded[i] ? unfilteredGet(get) : get))
    const results = await this.#store.getList(asked)
    return await Promise.all(
      own.map((get, i) => {
        const read = async (): Promise<Result> =>
          isNeeded[i] ? this.#filtered(results[i], get) : results[i]
        return readRow(read, view, this.name, get)
      }),
    )
  }

  async exists(get: api.Get): Promise<boolean> {
    const own = copyArguments(checkForm(get, 'get')).value
    if (own.snapshot === undefined && !this.#database.filters.isNeeded(own)) {
      await this.#database.settled()
      return this.#store.exists(own)
    }
    const { exists } = await this.get({ ...own, checkExistenceOnly: true })
    return exists === true
  }

  async existsList(gets: readonly api.Get[]): Promise<boolean[]> {
    const own = readList(copyArguments(gets).value, 'gets')
    const results = await this.getList(own.map((get) => ({ ...get, checkExistenceOnly: true })))
    return results.map(({ exists }) => exists === true)
  }

  scan(scan: api.Scan = {}): api.ResultScanner {
    const { snapshot, ...own } = copyArguments({ ...checkForm(scan, 'scan') }).value
    if (own.raw === true) requireCapability(this.#database.capabilities, 'rawScans', 'a raw scan')
    const given = scan.snapshot === undefined ? undefined : this.#database.viewOf(snapshot)
    const view = given ?? this.#database.openView()
    try {
      const { filters } = this.#database
      return new OwnedScanner(this.#store, own, { view, filters, closeView: given === undefined })
    } catch (error) {
      if (given === undefined) view.close()
      throw error
    }
  }

  async put(put: api.Put): Promise<api.PutReceipt> {
    const rows = (own: api.Put): NamedRow[] => this.#rows(own, { put: own })
    const { value, sequence } = await this.#run(put, rows, (table, own) => table.putSync(own))
    return { timestamp: value.timestamp, sequence }
  }

  putList(puts: readonly api.Put[]): Promise<void> {
    const rows = (own: readonly api.Put[]): NamedRow[] =>
      own.flatMap((each) => this.#rows(each, {}))
    return this.#mutate(puts, rows, (table, own) => table.putListSync(own.map(plain)))
  }

  delete(deletion: api.Delete): Promise<void> {
    const rows = (own: api.Delete): NamedRow[] => this.#rows(own, { delete: own })
    return this.#mutate(deletion, rows, (table, own) => table.deleteSync(own))
  }

  deleteList(deletions: readonly api.Delete[]): Promise<void> {
    const rows = (own: readonly api.Delete[]): NamedRow[] =>
      own.flatMap((each) => this.#rows(each, { delete: each }))
    return this.#mutate(deletions, rows, (table, own) => table.deleteListSync(own.map(plain)))
  }

  increment(increment: api.Increment): Promise<Result> {
    const rows = (own: api.Increment): NamedRow[] => this.#rows(own, { increment: own })
    return this.#mutate(increment, rows, (table, own) => table.incrementSync(own))
  }

  async incrementColumnValue(
    row: BytesLike,
    column: ColumnName,
    amount: number | bigint = 1,
    durability?: api.DurabilityOption,
  ): Promise<bigint> {
    const { value: own } = copyArguments(column)
    const result = await this.increment({ row, columns: [{ column: own, amount }], durability })
    return result.value(own)!.readBigInt64BE()
  }

  append(append: api.Append): Promise<Result> {
    const rows = (own: api.Append): NamedRow[] => this.#rows(own, { append: own })
    return this.#mutate(append, rows, (table, own) => table.appendSync(own))
  }

  checkAndMutate(check: api.Check, action: api.CheckAction): Promise<api.CheckAndMutateResult> {
    const rows = (own: api.CheckedAction): NamedRow[] => this.#rowsOfChecked(own)
    return this.#mutate({ check, action }, rows, (table, own) => {
      return table.checkAndMutateSync(own.check, own.action)
    })
  }

  checkAndMutateList(list: readonly api.CheckedAction[]): Promise<api.CheckAndMutateResult[]> {
    const rows = (own: readonly api.CheckedAction[]): NamedRow[] =>
      own.flatMap((each) => this.#rowsOfChecked(each))
    return this.#mutate(list, rows, (table, own) => table.checkAndMutateListSync(own))
  }

  mutateRow(mutations: api.RowMutations): Promise<Result> {
    const rows = (own: api.RowMutations): NamedRow[] => this.#rows(own, own)
    return this.#mutate(mutations, rows, (table, own) => table.mutateRowSync(own))
  }

  mutateRows(request: api.MultiRowMutations): Promise<boolean> {
    const rows = ({ rows: list, checks = [] }: api.MultiRowMutations): NamedRow[] => [
      ...checks.map((check) => rowOfCheck(this.name, check)),
      ...list.flatMap((each) => this.#rows(each, each)),
    ]
    return this.#mutate(request, rows, (table, own) => table.mutateRowsSync(own))
  }

  batch(
    operations: readonly api.BatchOperation[],
    callback?: api.BatchCallback,
  ): Promise<api.BatchResult[]> {
    return runBatch(this, readList(operations, 'operations'), callback)
  }

  #rows({ row }: { readonly row: BytesLike }, mutation: object): NamedRow[] {
    const named = rowsOfMutation(this.name, row, mutation)
    return named.length === 0 ? [{ table: this.name, row, load: undefined }] : named
  }

  #rowsOfChecked({ check, action }: api.CheckedAction): NamedRow[] {
    return [rowOfCheck(this.name, check), ...this.#rows(check, action)]
  }

  #filtered(found: Result, get: api.Get): Promise<Result> {
    return this.#database.filters.read(this.name, get.row, found, (copy) => copy.getSync(get))
  }

  async #read(get: api.Get, read: (own: api.Get) => Promise<Result>): Promise<Result> {
    const { snapshot, ...own } = copyArguments({ ...get }).value as api.Get
    if (snapshot === undefined) {
      await this.#database.settled()
      return read(own)
    }
    const view = this.#database.viewOf(get.snapshot)
    return readRow(() => read(own), view, this.name, own)
  }

  async #mutate<A, T>(
    argument: A,
    rowsOf: (own: A) => readonly NamedRow[],
    run: (table: EmbeddedTable, own: A) => T,
  ): Promise<T> {
    return (await this.#run(argument, rowsOf, run)).value
  }

  async #run<A, T>(
    argument: A,
    rowsOf: (own: A) => readonly NamedRow[],
    run: (table: EmbeddedTable, own: A) => T,
  ): Promise<{ readonly value: T; readonly sequence: number | undefined }> {
    const { value, bytes } = copyArguments(argument)
    const own = plain(value)
    const rows = namedRows(() => rowsOf(own))
    return this.#database.mutate([this.name], rows, bytes, ([table]) => run(table, own))
  }
}

/**
 * A mutation without its durability, which is that of the log. `ERR_INVALID_ARGUMENT` for an
 * unknown one.
 */
export function plain<T>(operation: T): T {
  if (typeof operation !== 'object' || operation === null || Array.isArray(operation))
    return operation
  if (!('durability' in operation)) return operation
  parseDurability((operation as Durable).durability, 'FSYNC_WAL')
  return { ...operation, durability: undefined }
}
