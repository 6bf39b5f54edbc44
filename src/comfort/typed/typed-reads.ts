/** Reads of typed tables: their options, and the gets and scans that they become. */
import { scanOptions, type Get, type Scan, type ScanOptions } from '../../api/reads.js'
import { checkObject, readArguments } from '../../base/arguments.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import { meantName } from '../../base/near-names.js'
import { keyRangeMembers, rowsOfKeys, type KeyRange } from '../keys/key-range.js'
import type { KeyParts } from '../keys/row-key.js'
import { partsOptions, type PartsOption } from '../ranges.js'
import type { ColumnsOption } from './columns.js'
import type { KeyOf, RowForm } from './row-form.js'

/** Options of a get of a typed table: those of {@link Get} without the row. */
export interface TypedGetOptions<C extends ColumnsOption> extends Omit<
  Get,
  'row' | 'columns' | 'checkExistenceOnly'
> {
  /** The properties to read. Default all. */
  readonly columns?: readonly (keyof C & string)[] | undefined
}

/** The rows of a typed scan, and options of {@link Scan}. */
export interface TypedScanOptions<K extends KeyParts, C extends ColumnsOption>
  extends KeyRange<K>, Omit<ScanOptions, PartsOption | 'columns' | 'raw'> {
  /** The properties to read. Default all. Rows without any of them are left out. */
  readonly columns?: readonly (keyof C & string)[] | undefined
}

/** The get of a row by its key. */
export function getOf<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  key: KeyOf<K>,
  options?: TypedGetOptions<C>,
): Get {
  if (options === undefined) return { row: rows.rowToRead(key), columns: rows.columnNames }
  refuse(options, 'get', ['row', 'checkExistenceOnly'])
  return { ...options, row: rows.rowToRead(key), columns: rows.columnsOf(options.columns) }
}

/** Options of a plain scan that a typed one has not. */
const plainOnly: readonly string[] = ['startRow', 'stopRow', 'raw', ...partsOptions]
const rangeNames = Object.keys(keyRangeMembers)
const scanNames = Object.keys(scanOptions.schema['properties'] as object)

/** The scan of the rows of a range. */
export function scanOf<K extends KeyParts, C extends ColumnsOption>(
  rows: RowForm<K, C>,
  options: TypedScanOptions<K, C>,
): Scan {
  return readArguments(() => {
    refuse(options, 'scan', plainOnly)
    const scan: Record<string, unknown> = {}
    const range: Record<string, unknown> = {}
    for (const [name, value] of Object.entries(options)) {
      if (rangeNames.includes(name)) range[name] = value
      else if (!scanNames.includes(name)) throw unknownOption(name)
      else scan[name] = value
    }
    const span = rowsOfKeys(rows.key, range as KeyRange<K>, options.reversed === true)
    return { ...scan, ...span, columns: rows.columnsOf(options.columns) }
  })
}

/** As of a plain scan. A name that only such a scan has is refused before. */
function unknownOption(name: string): CellarError {
  const known = [...rangeNames, ...scanNames.filter((each) => !plainOnly.includes(each))]
  const meant = meantName(name, known)
  const rest = meant === undefined ? `it has: ${known.join(', ')}` : `did you mean '${meant}'?`
  return invalidArgument(`unknown option '${name}' of a typed scan; ${rest}`)
}

/** What to write instead of options that a typed table has not. */
const instead: Readonly<Record<string, string>> = {
  startRow: 'startKey, with parts of the key',
  stopRow: 'stopKey, with parts of the key',
  row: 'the key as the first argument',
}

function refuse(options: object, call: string, names: readonly string[]): void {
  checkObject(options, `the options of a typed ${call}`)
  for (const name of names) {
    if (!(name in options)) continue
    const advice = instead[name] ?? 'the table of the typed table'
    throw invalidArgument(`a typed ${call} has no option '${name}'; use ${advice}`)
  }
}
