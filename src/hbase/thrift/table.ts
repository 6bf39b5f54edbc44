/** A table of a remote HBase. */
import { noSuchFamily } from '../../api/names.js'
import { copyArguments } from '../../base/copy-arguments.js'
import { readArguments } from '../../base/arguments.js'
import { CellarError, ErrorCode, hasCode, invalidArgument } from '../../base/errors.js'
import { emptyReceipt, Result } from '../../api/index.js'
import type * as types from '../../api/index.js'
import { parseCondition } from '../../checks/conditions.js'
import { checkForm } from '../../checks/forms.js'
import { operationsOfChecks, outcomesOfChecks, readList, readPuts } from '../../checks/lists.js'
import { checkAction, durabilityOf } from '../../checks/operations.js'
import { rowBytes } from '../../checks/rows.js'
import { rowMutationsOptions } from '../../api/mutations.js'
import { HBaseErrorCode } from './wire/errors.js'
import { runBatch } from './batch.js'
import type { Client, EncodedCall } from './client.js'
import { refuse } from './capabilities.js'
import { methods, type Method } from './wire/methods.js'
import {
  appendStruct,
  columnParts,
  incrementStruct,
  RowStructBuilder,
  type RowStructs,
  type UpdateStruct,
} from './mutations.js'
import { getStruct } from './reads.js'
import { writeList } from './row-lists.js'
import { notInThrift } from './refusals.js'
import { resultOf, type ResultStruct } from './results.js'
import { HBaseScanner, planScan } from './scanner.js'
import type { TableCatalog } from './table-catalog.js'
import type { Struct } from './wire/structs.js'

/** HBase's numbers of comparisons. */
const operators = {
  LESS: 0,
  LESS_OR_EQUAL: 1,
  EQUAL: 2,
  NOT_EQUAL: 3,
  GREATER_OR_EQUAL: 4,
  GREATER: 5,
} as const

/** Errors after which the known description of a table may be wrong. */
const stale = [ErrorCode.tableNotFound, ErrorCode.noSuchColumnFamily, HBaseErrorCode.refused]

/** A call, and the families to check before it is sent. */
interface PreparedCall {
  readonly request: EncodedCall
  readonly families: readonly string[]
}

/** A table of a remote HBase. Made by `Database.table`. */
export class HBaseTable implements types.Table {
  readonly name: string
  readonly #client: Client
  readonly #catalog: TableCatalog

  constructor(name: string, client: Client, catalog: TableCatalog) {
    this.name = name
    this.#client = client
    this.#catalog = catalog
  }

  /**
   * The description that the database last read of the table. Throws `ERR_TABLE_NOT_FOUND` if it
   * has not read one: `await database.admin.getDescriptor(name)` reads it.
   */
  describe(): types.TableDescription {
    return this.#catalog.known(this.name)
  }

  async get(get: types.Get): Promise<Result> {
    const { struct, families } = readArguments(() => getStruct(get))
    const exists = get.checkExistenceOnly === true
    const call = this.#prepare(
      exists ? methods.existsAll : methods.get,
      exists ? { gets: [struct] } : { get: struct },
      families,
    )
    const { answer, known } = await this.#run(call)
    if (exists) return Result.of([], { exists: (answer as boolean[])[0] })
    return resultOf(answer as ResultStruct, { families: known })
  }

  async getList(gets: readonly types.Get[]): Promise<Result[]> {
    const list = readList(gets, 'gets')
    if (list.length === 0) return []
    if (list.some((get) => get.checkExistenceOnly === true)) {
      return Promise.all(list.map((get) => this.get(get)))
    }
    const { answer, known } = await this.#run(this.#prepareGets(methods.getMultiple, list))
    const results = answer as ResultStruct[]
    return results.map((struct) => resultOf(struct, { families: known }))
  }

  async exists(get: types.Get): Promise<boolean> {
    return (await this.existsList([checkForm(get, 'get')]))[0]
  }

  async existsList(gets: readonly types.Get[]): Promise<boolean[]> {
    const list = readList(gets, 'gets')
    if (list.length === 0) return []
    const { answer } = await this.#run(this.#prepareGets(methods.existsAll, list))
    return answer as boolean[]
  }

  scan(scan: types.Scan = {}): types.ResultScanner {
    if (checkForm(scan, 'scan').raw === true) refuse('rawScans', 'a raw scan')
    const plan = readArguments(() => planScan(scan, this.#client.settings.pageRows))
    return new HBaseScanner(this.#client, this, plan)
  }

  async put(put: types.Put): Promise<types.PutReceipt> {
    await this.#run(this.#prepareRow(this.#putStructs(put)))
    return emptyReceipt
  }

  async putList(puts: readonly types.Put[]): Promise<void> {
    await writeList(this, readPuts(puts), (put) => this.#putStructs(put))
  }

  async delete(deletion: types.Delete): Promise<void> {
    await this.#run(this.#prepareRow(this.#deleteStructs(deletion)))
  }

  async deleteList(deletions: readonly types.Delete[]): Promise<void> {
    const list = readList(deletions, 'deletions')
    await writeList(this, list, (deletion) => this.#deleteStructs(deletion))
  }

  async increment(increment: types.Increment): Promise<Result> {
    const update = readArguments(() => incrementStruct(checkForm(increment, 'increment')))
    return this.#update(methods.increment, 'increment', update)
  }

  async incrementColumnValue(
    row: types.BytesLike,
    column: types.ColumnName,
    amount: number | bigint = 1,
    durability: types.DurabilityOption = 'USE_DEFAULT',
  ): Promise<bigint> {
    const { value: own } = copyArguments(column)
    const result = await this.increment({ row, columns: [{ column: own, amount }], durability })
    const value = result.value(own)
    if (value === undefined) throw invalidArgument('the counter was not returned')
    return value.readBigInt64BE(0)
  }

  async append(append: types.Append): Promise<Result> {
    const { cellBytesMax } = this.#client.settings
    const update = readArguments(() => appendStruct(checkForm(append, 'append'), cellBytesMax))
    return this.#update(methods.append, 'append', update)
  }

  async checkAndMutate(
    check: types.Check,
    action: types.CheckAction,
  ): Promise<types.CheckAndMutateResult> {
    const call = readArguments(() => this.#prepareCheck(check, action))
    const { answer } = await this.#run(call)
    return { success: answer === true, result: undefined }
  }

  async checkAndMutateList(
    list: readonly types.CheckedAction[],
  ): Promise<types.CheckAndMutateResult[]> {
    return outcomesOfChecks(await this.batch(operationsOfChecks(list)))
  }

  async mutateRow(mutations: types.RowMutations): Promise<Result> {
    await this.#run(this.#prepareMutations(mutations))
    return Result.of([], { exists: true })
  }

  /** As `Table.checkMutateRow`. Goes by the description that the database last read. */
  checkMutateRow(mutations: types.RowMutations): void {
    const { families } = this.#prepareMutations(mutations)
    const description = this.#catalog.known(this.name)
    const known = Object.keys(description.families)
    const absent = families.find((family) => !known.includes(family))
    if (absent !== undefined) throw noSuchFamily(absent, this.name, known)
    if (description.readOnly) {
      throw new CellarError(ErrorCode.readOnly, `table '${this.name}' is read-only`)
    }
  }

  async mutateRows(request: types.MultiRowMutations): Promise<boolean> {
    checkForm(request, 'mutateRows')
    return refuse('atomicAcrossRows', 'mutateRows')
  }

  async batch(
    operations: readonly types.BatchOperation[],
    callback?: types.BatchCallback,
  ): Promise<types.BatchResult[]> {
    return runBatch(this, readList(operations, 'operations'), callback)
  }

  #builder(row: types.BytesLike, durability: types.DurabilityOption | undefined): RowStructBuilder {
    return new RowStructBuilder(row, durability, this.#client.settings.cellBytesMax)
  }

  #putStructs(put: types.Put): RowStructs {
    return readArguments(() => {
      const builder = this.#builder(checkForm(put, 'put').row, put.durability)
      builder.addPut(put)
      return builder.build()
    })
  }

  #deleteStructs(deletion: types.Delete): RowStructs {
    return readArguments(() => {
      const builder = this.#builder(checkForm(deletion, 'delete').row, deletion.durability)
      builder.addDelete(deletion)
      return builder.build()
    })
  }

  #prepareMutations(mutations: types.RowMutations): PreparedCall {
    const structs = readArguments(() => {
      rowMutationsOptions.check(checkForm(mutations, 'mutateRow'))
      const builder = this.#builder(mutations.row, mutations.durability)
      builder.addAll(mutations.mutations)
      return builder.build()
    })
    return this.#prepareRow(structs)
  }

  #prepare(
    method: Method,
    parameters: Struct,
    families: readonly string[],
    isIdempotent = method.isIdempotent,
  ): PreparedCall {
    const all = { table: this.name, ...parameters }
    const what = `table '${this.name}'`
    return { request: this.#client.encode(method, all, what, isIdempotent), families }
  }

  #prepareGets(method: Method, gets: readonly types.Get[]): PreparedCall {
    const structs = readArguments(() => gets.map((get) => getStruct(get)))
    const families = structs.flatMap((each) => each.families)
    return this.#prepare(method, { gets: structs.map(({ struct }) => struct) }, families)
  }

  /** The call for puts and deletes of one row: one alone in the plain form. */
  #prepareRow({ row, mutations, families, isRepeatable }: RowStructs): PreparedCall {
    const [only] = mutations
    if (mutations.length === 1) {
      const isPut = 'put' in only
      const method = isPut ? methods.put : methods.deleteSingle
      const parameters = isPut ? { put: only['put'] } : { delete: only['deleteSingle'] }
      return this.#prepare(method, parameters, families, isRepeatable)
    }
    return this.#prepare(
      methods.mutateRow,
      { mutations: { row, mutations } },
      families,
      isRepeatable,
    )
  }

  #prepareCheck(check: types.Check, action: types.CheckAction): PreparedCall {
    const row = rowBytes(checkForm(check, 'check').row)
    const condition = parseCondition(check)
    if (condition === undefined) throw notInThrift('checkFilter')
    if (check.timeRange !== undefined) throw notInThrift('checkTimeRange')
    const column = columnParts(check.column as types.ColumnName)
    checkAction(action)
    const builder = this.#builder(row, durabilityOf(action))
    builder.addAll('mutations' in action ? action.mutations : [action])
    const { mutations, families } = builder.build()
    const operator = operators[condition.operator]
    const value = condition.expected
    const parameters = { row, ...column, operator, value, mutations: { row, mutations } }
    return this.#prepare(methods.checkAndMutate, parameters, [column.family, ...families])
  }

  async #update(
    method: Method,
    member: 'increment' | 'append',
    { struct, families }: UpdateStruct,
  ): Promise<Result> {
    const call = this.#prepare(method, { [member]: struct }, families)
    const { answer, known } = await this.#run(call)
    return resultOf(answer as ResultStruct, { families: known })
  }

  /** @internal Writes puts and deletes of one row. */
  writeRow(structs: RowStructs): Promise<unknown> {
    return this.#send(this.#prepareRow(structs).request)
  }

  /** @internal Writes several rows by one call. */
  writeRows(method: Method, parameters: Struct, isRepeatable: boolean): Promise<unknown> {
    return this.#send(this.#prepare(method, parameters, [], isRepeatable).request)
  }

  /** @internal Checks names of families, and returns all of the table. */
  async checkFamilies(families: readonly string[]): Promise<readonly string[]> {
    return this.#catalog.checkFamilies(this.name, families)
  }

  async #run(call: PreparedCall): Promise<{ answer: unknown; known: readonly string[] }> {
    const known =
      this.#catalog.knownFamilies(this.name, call.families) ??
      (await this.checkFamilies(call.families))
    return { answer: await this.#send(call.request), known }
  }

  async #send(request: EncodedCall): Promise<unknown> {
    try {
      return await this.#client.call(request)
    } catch (error) {
      await this.checkFailure(error)
      throw error
    }
  }

  /** @internal Reads the description again after errors that may come of it. */
  async checkFailure(error: unknown): Promise<void> {
    if (!stale.some((code) => hasCode(error, code))) return
    this.#catalog.forget(this.name)
    // The gateway does not always say that a table is gone; this read does.
    await this.#catalog.read(this.name)
  }
}
