/**
 * Checks the arguments of operations with the checks that all backends share, before the model uses
 * them.
 */
import { noSuchFamily } from '../../../src/api/names.js'
import { checkBoolean, checkInteger, isText, loneSurrogate } from '../../../src/base/arguments.js'
import type { Clock } from '../../../src/base/clock.js'
import { invalidArgument } from '../../../src/base/errors.js'
import { parseCondition } from '../../../src/checks/conditions.js'
import { parseDelete } from '../../../src/checks/deletes.js'
import { parseDurability, type Durability } from '../../../src/api/durability.js'
import {
  checkAction,
  checkMutation,
  checkMutations,
  durabilityOf,
  readMultiRow,
  type RowList,
} from '../../../src/checks/operations.js'
import { checkSlop, checkValue, markerWithQualifier, readPut } from '../../../src/checks/puts.js'
import {
  checkFilter,
  checkGet,
  checkIsolation,
  groupColumns,
  parseFamilyRanges,
  parseTime,
  parseTimeRange,
  parseVersions,
} from '../../../src/checks/reads.js'
import { checkForm } from '../../../src/checks/forms.js'
import { rowMutationsOptions } from '../../../src/api/mutations.js'
import { checkSameRow, parseBounds, rowBytes } from '../../../src/checks/rows.js'
import { checkScan, parseCuts, parseLimits, type ScanCuts } from '../../../src/checks/scans.js'
import {
  checkAmount,
  checkTail,
  columnsOfAppend,
  columnsOfIncrement,
  parseUpdate,
} from '../../../src/checks/updates.js'
import type {
  Append,
  Check,
  CheckAction,
  Delete,
  Increment,
  MultiRowMutations,
  Mutation,
  Put,
  RowMutations,
  RowOperation,
} from '../../../src/api/mutations.js'
import type { Get, ReadOptions, Scan } from '../../../src/api/reads.js'
import { isFamilyMarker } from '../../../src/storage/cell/cell-key.js'
import { CellType } from '../../../src/storage/cell/cell-type.js'
import {
  escapeQualifier,
  parseSingleColumn,
  type BytesLike,
  type ColumnName,
} from '../../../src/storage/cell/column-name.js'
import { cellOverheadBytes, checkCellBytes } from '../../../src/storage/cell/limits.js'
import { bytesOf, type PlainCell } from './plain-cells.js'
import {
  checkTimestamp,
  latestTimestamp,
  type Timestamp,
} from '../../../src/storage/cell/timestamp.js'

/** The limits of a database. */
export interface ModelLimits {
  readonly clock: Clock
  /** Largest cell in bytes; 0 = no limit. */
  readonly cellBytesMax: number
  /** Timestamps further ahead of the clock than this are refused; Infinity = no limit. */
  readonly timestampSlopMilliseconds: number
}

/** The facts about a table that the checks need. */
export interface CheckedTable {
  readonly name: string
  readonly familyByName: ReadonlyMap<string, unknown>
  readonly familyNames: readonly string[]
  readonly durability: Durability
}

/** Checks the operations of one table. Each check of a mutation returns its durability. */
export class ArgumentChecks {
  readonly #limits: ModelLimits
  readonly #table: CheckedTable

  constructor(limits: ModelLimits, table: CheckedTable) {
    this.#limits = limits
    this.#table = table
  }

  put(put: Put): Durability {
    rowBytes(checkForm(put, 'put').row)
    this.#cellsOfPut(put)
    return this.#durability(put)
  }

  delete(deletion: Delete): Durability {
    rowBytes(checkForm(deletion, 'delete').row)
    this.#markersOfDelete(deletion)
    return this.#durability(deletion)
  }

  increment(increment: Increment): Durability {
    rowBytes(checkForm(increment, 'increment').row)
    this.#columnsOfIncrement(increment)
    return this.#durability(increment)
  }

  append(append: Append): Durability {
    rowBytes(checkForm(append, 'append').row)
    this.#columnsOfAppend(append)
    return this.#durability(append)
  }

  mutateRow(request: RowMutations): Durability {
    const { row } = rowMutationsOptions.check(checkForm(request, 'mutateRow'))
    this.#mutations(row, request.mutations)
    return this.#durability(request)
  }

  mutateRows(request: MultiRowMutations): Durability {
    const { rows, checks } = readMultiRow(request)
    for (const check of checks) this.check(check)
    for (const row of rows) this.rowOfSeveral(row)
    return this.#durability(request)
  }

  /** Checks one row of a mutation of several rows. */
  rowOfSeveral({ row, mutations }: RowList): void {
    rowBytes(row)
    this.#mutations(row, mutations)
  }

  /** Checks a condition, or a filter, of a checkAndMutate. */
  check(check: Check): void {
    const condition = parseCondition(checkForm(check, 'check'))
    rowBytes(check.row)
    parseTimeRange(check.timeRange)
    if (condition === undefined) checkFilter(check.filter)
    else this.#family(check.column!)
  }

  /** Checks an action, even if it is not carried out, so that errors show early. */
  action(row: BytesLike, action: CheckAction): Durability {
    checkAction(action)
    if ('mutations' in action) this.#mutations(row, action.mutations)
    else this.#mutation(row, action)
    const [operation] = Object.values(action) as object[]
    return this.#durability('mutations' in action ? action : operation)
  }

  get(get: Get): void {
    checkGet(get)
    checkBoolean(get.checkExistenceOnly, 'checkExistenceOnly', false)
    rowBytes(get.row)
    this.#read(get, false)
  }

  scan(scan: Scan): ScanCuts {
    checkScan(scan)
    const limits = parseLimits(scan)
    this.#read(scan, scan.raw ?? false)
    parseBounds(scan)
    return parseCuts(scan, limits, scan.filter)
  }

  /** Checks the size of a cell that an increment or append makes. */
  cellBytes({ row, family, qualifier, value }: PlainCell): void {
    const rowPart = escapeQualifier(bytesOf(row)).length
    const qualifierPart = escapeQualifier(bytesOf(qualifier)).length
    const bytes = rowPart + family.length + qualifierPart + value.length + cellOverheadBytes
    checkCellBytes(bytes, this.#limits.cellBytesMax)
  }

  #read(options: ReadOptions, raw: boolean): void {
    parseVersions(options.versions)
    parseTime(options)
    groupColumns(this.#table, options.columns, raw)
    checkInteger(options.cellsPerFamilyMax, 'cellsPerFamilyMax', 0)
    checkInteger(options.cellsPerFamilyOffset, 'cellsPerFamilyOffset', 0)
    parseFamilyRanges(this.#table, options.familyTimeRanges)
    checkFilter(options.filter)
    checkBoolean(options.cacheBlocks, 'cacheBlocks', true)
    checkBoolean(options.loadFamiliesOnDemand, 'loadFamiliesOnDemand', false)
    if (options.isolation !== undefined) checkIsolation(options.isolation, options.snapshot)
  }

  #mutations(row: BytesLike, mutations: readonly Mutation[]): void {
    rowBytes(row)
    for (const mutation of checkMutations(mutations)) this.#mutation(row, mutation)
  }

  #mutation(row: BytesLike, mutation: Mutation): void {
    checkMutation(mutation)
    const [operation] = Object.values(mutation) as readonly { readonly row?: BytesLike }[]
    if (mutation.put !== undefined) {
      checkSameRow(row, operation)
      this.#cellsOfPut(mutation.put)
    } else if (mutation.delete !== undefined) {
      checkSameRow(row, operation)
      this.#markersOfDelete(mutation.delete)
    } else if (mutation.increment !== undefined) {
      checkSameRow(row, operation)
      this.#columnsOfIncrement(mutation.increment)
    } else if (mutation.append !== undefined) {
      checkSameRow(row, operation)
      this.#columnsOfAppend(mutation.append)
    } else throw invalidArgument(`unknown mutation '${Object.keys(mutation)[0]}'`)
    this.#durability(operation)
  }

  #cellsOfPut(put: RowOperation<Put>): void {
    readPut(put, {
      addCell: (name, _place, type, timestamp, _ttl, value) => {
        const { escapedQualifier } = this.#family(name)
        checkValue(value)
        const hasQualifier = escapedQualifier.length > 0
        if (type !== CellType.put && isFamilyMarker(type) && hasQualifier) {
          throw markerWithQualifier()
        }
        if (typeof value === 'string' && !isText(value)) throw loneSurrogate('value')
        this.#timestamp(timestamp, true)
      },
    })
  }

  #markersOfDelete(deletion: RowOperation<Delete>): void {
    const { markers, versions, timestamp } = parseDelete(deletion)
    for (const marker of [...markers, ...versions]) {
      this.#knownFamily(marker.family)
      this.#timestamp(marker.timestamp, false)
    }
    this.#timestamp(timestamp, false)
  }

  #columnsOfIncrement(increment: RowOperation<Increment>): void {
    const columns = columnsOfIncrement(increment)
    for (const { column } of columns) this.#family(column)
    for (const { amount } of columns) checkAmount(amount)
    this.#updateOptions(increment)
  }

  #columnsOfAppend(append: RowOperation<Append>): void {
    const columns = columnsOfAppend(append)
    for (const { column } of columns) this.#family(column)
    for (const { amount } of columns) checkTail(amount)
    this.#updateOptions(append)
  }

  #updateOptions(operation: RowOperation<Increment> | RowOperation<Append>): void {
    parseUpdate(operation, (timestamp) => this.#timestamp(timestamp, true))
  }

  /** Family and qualifier of a column. Throws `ERR_NO_SUCH_COLUMN_FAMILY`. */
  #family(column: ColumnName): { family: string; escapedQualifier: Buffer } {
    const parsed = parseSingleColumn(column)
    this.#knownFamily(parsed.family)
    return parsed
  }

  #knownFamily(family: string): void {
    const { familyByName, name, familyNames } = this.#table
    if (!familyByName.has(family)) throw noSuchFamily(family, name, familyNames)
  }

  #timestamp(timestamp: Timestamp | undefined, isPut: boolean): void {
    if (timestamp === undefined || timestamp === latestTimestamp) return
    checkTimestamp(timestamp, 'timestamp')
    const { clock, timestampSlopMilliseconds: slop } = this.#limits
    if (isPut && slop !== Infinity) checkSlop(timestamp, clock.now(), slop)
  }

  #durability(operation: object): Durability {
    return parseDurability(durabilityOf(operation), this.#table.durability)
  }
}
