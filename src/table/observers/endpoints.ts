/**
 * Endpoints: named functions that run next to the data of a table (HBase: coprocessor endpoints).
 *
 * Every table has four: `rowCount`, `sum`, `min` and `max`. Their request is an {@link
 * AggregateRequest}. They have the semantics of HBase's AggregateImplementation with its
 * LongColumnInterpreter. A coprocessor may add endpoints, and replace these.
 */
import {
  checkArray,
  checkBytesLike,
  checkObject,
  checkText,
  readArguments,
  shown,
} from '../../base/arguments.js'
import { emptyBytes, toBytes } from '../../base/bytes.js'
import { CellarError, invalidArgument } from '../../base/errors.js'
import { coprocessorError } from '../../storage/coprocessor/coprocessor-error.js'
import { FilterCode } from '../../storage/filter/filter.js'
import { FirstKeyOnlyFilter } from '../../storage/filter/column-count-filters.js'
import { parseColumn } from '../../storage/cell/column-name.js'
import type { Endpoint } from '../../api/coprocessor.js'
import type { Result } from '../../api/results/result.js'
import type { TableCoprocessors } from './table-coprocessors.js'
import type { Scan, Table } from '../../api/index.js'

/**
 * The rows and cells to aggregate. `rowCount` takes any scan. `sum`, `min` and `max` take a scan
 * that names columns of exactly one family. They skip values that are not eight bytes long.
 */
export type AggregateRequest = Scan

/** Sums wrap around at 64 bits, as Java's long does. */
const bits = 64

/** Returns one cell of each row, without its value. */
class RowMarkFilter extends FirstKeyOnlyFilter {
  readonly replacesValues = true

  override filterCell(): FilterCode {
    const code = super.filterCell()
    return code === FilterCode.include ? FilterCode.includeAndNextRow : code
  }

  transformCell(): Buffer {
    return emptyBytes
  }
}

const endpoints: Readonly<Record<string, Endpoint>> = {
  /** Number of rows that the scan returns. */
  rowCount: async (table, request): Promise<number> => {
    const scan = checkRequest(request)
    const narrowed = scan.columns === undefined && scan.filter === undefined
    let rows = 0
    const counted = narrowed ? { ...scan, filter: new RowMarkFilter() } : scan
    for await (const result of table.scan(counted)) if (!result.partial) rows++
    return rows
  },
  /** Sum of all values as a bigint; undefined if there are none. */
  sum: (table, request) => fold(table, request, (sum, value) => BigInt.asIntN(bits, sum + value)),
  /** Smallest value as a bigint; undefined if there are none. */
  min: (table, request) => fold(table, request, (least, value) => (value < least ? value : least)),
  /** Largest value as a bigint; undefined if there are none. */
  max: (table, request) => fold(table, request, (most, value) => (value > most ? value : most)),
}

/** Calls an endpoint of a table; see `EmbeddedTable.callEndpoint`. */
export async function callEndpoint(
  table: Parameters<Endpoint>[0],
  coprocessors: TableCoprocessors,
  name: string,
  request: unknown,
): Promise<unknown> {
  checkText(name, 'endpoint')
  const own = coprocessors.endpoint(name)
  if (own === undefined) {
    if (Object.hasOwn(endpoints, name)) return endpoints[name](table, request)
    throw invalidArgument(`table '${table.name}' has no endpoint ${shown(name)}`)
  }
  try {
    return await own.run(table, request)
  } catch (error) {
    throw error instanceof CellarError ? error : coprocessorError(own.owner, name, error)
  }
}

/** Checks the scan. As in HBase an empty or reversed range is refused. */
function checkRequest(request: unknown): Scan {
  const scan = readArguments(() => ({
    ...checkObject((request ?? {}) as Scan, 'an aggregate request'),
  }))
  const { startRow = '', stopRow = '' } = scan
  checkBytesLike(startRow, 'startRow')
  checkBytesLike(stopRow, 'stopRow')
  const start = toBytes(startRow)
  const stop = toBytes(stopRow)
  if (stop.length === 0 || start.length === 0 || scan.reversed === true) return scan
  if (Buffer.compare(start, stop) < 0) return scan
  throw invalidArgument('startRow of an aggregate must be below its stopRow')
}

async function fold(
  table: Table,
  request: unknown,
  combine: (so: bigint, value: bigint) => bigint,
): Promise<bigint | undefined> {
  const scan = checkRequest(request)
  const families = readArguments(() => {
    const columns = checkArray(scan.columns ?? [], 'columns')
    return new Set(columns.map((column) => parseColumn(column).family))
  })
  if (families.size !== 1) throw invalidArgument('an aggregate needs columns of one family')
  let folded: bigint | undefined
  const add = (result: Result): void => {
    for (const { value } of result) {
      if (value.length !== 8) continue
      const number = value.readBigInt64BE(0)
      folded = folded === undefined ? number : combine(folded, number)
    }
  }
  for await (const result of table.scan(scan)) add(result)
  return folded
}
