/**
 * The result of a read: the cells of one row, in HBase's order (HBase: Result).
 *
 * Every backend may hold cells in its own way. A backend with cells as objects calls `Result.of`.
 * The embedded engine keeps encoded pages and decodes a cell when it is asked for.
 *
 * Callers may keep the Buffers of a result, but must not change them.
 */
import { checkArray, checkObject, isBytes, readArguments, shown } from '../../base/arguments.js'
import { emptyBytes, toBytes, type ByteRange } from '../../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { escaped, unescape } from '../../storage/cell/cell-key.js'
import type { CellTypeName } from '../../storage/cell/cell-type.js'
import {
  noQualifier,
  parseColumn,
  type ColumnName,
  type ParsedColumn,
} from '../../storage/cell/column-name.js'
import {
  inspectSymbol,
  shownBytes,
  shownResult,
  type Inspect,
  type ResultDisplay,
} from './display.js'
import {
  decodeValue,
  encodingOf,
  type Encoding,
  type EncodingOption,
  type ValueOf,
} from './encodings.js'
import * as maps from './result-maps.js'

/**
 * One version of one column, or a delete marker in a raw scan. A cell may decode a member when the
 * caller asks for it, so name the members that you copy: a spread may not find them.
 */
export interface Cell {
  /** Key of the row. */
  readonly row: Buffer
  /** Name of the column family. */
  readonly family: string
  /** The column's name within its family; may be empty. */
  readonly qualifier: Buffer
  /** Milliseconds since 1970. Exact below 2^53; else see `timestampExact`. */
  readonly timestamp: number
  /** The timestamp in full, for timestamps beyond 2^53. */
  readonly timestampExact: bigint
  /** `'Put'`, or the kind of a delete marker. */
  readonly type: CellTypeName
  /** The stored bytes; empty for delete markers. */
  readonly value: Buffer
  /** Sequence of the mutation that wrote the cell. */
  readonly sequence: number
}

/** The members of a result apart from its cells. */
export interface ResultMarks {
  /** See {@link Result.partial}. Default false. */
  readonly partial?: boolean | undefined
  /** See {@link Result.exists}. */
  readonly exists?: boolean | undefined
  /** See {@link Result.cursor}. */
  readonly cursor?: Buffer | undefined
  /** Names of all families of the table. Default: unknown, so no name of a family is refused. */
  readonly families?: readonly string[] | undefined
}

/**
 * The cells of one row, or of a part of it; empty if there are none.
 *
 * A call with a family that the table did not have at the read throws `ERR_NO_SUCH_COLUMN_FAMILY`,
 * as the read does. A call for one column throws `ERR_INVALID_ARGUMENT` for a name without
 * qualifier.
 */
export abstract class Result {
  /** Whether more cells of the row follow in the next result of the scan (`batch`). */
  readonly partial: boolean
  /**
   * For a get with `checkExistenceOnly`: whether there are cells. True for row mutations that were
   * applied. Otherwise undefined.
   */
  readonly exists: boolean | undefined
  /**
   * For a scan with `needCursorResult`: the present row of the scan. Such a result has no cells.
   * All other results have no cursor.
   */
  readonly cursor: Buffer | undefined

  /** Names of the table's families at the read; undefined if they are unknown. */
  protected readonly families: readonly string[] | undefined

  /** For backends; see {@link Result.of} for cells as objects. */
  protected constructor(
    partial: boolean,
    exists: boolean | undefined,
    cursor: Buffer | undefined,
    families: readonly string[] | undefined,
  ) {
    this.partial = partial
    this.exists = exists
    this.cursor = cursor
    this.families = families
  }

  /**
   * Makes a result from cells, for backends that have them as objects. The cells must be of one row
   * and in HBase's order: family, qualifier, newest first. Throws `ERR_INVALID_ARGUMENT` if they
   * are not of one row.
   */
  static of(cells: readonly Cell[], marks: ResultMarks = {}): Result {
    return readArguments(() => {
      const own = checkArray(cells, 'the cells of a result')
      return new CellResult(own, checkObject(marks, 'the marks of a result'))
    })
  }

  /** Number of cells. */
  abstract get size(): number

  /** The row, or undefined if the result is empty. */
  abstract get row(): Buffer | undefined

  /** The newest cell of a column, or undefined (HBase: getColumnLatestCell). */
  abstract cell(column: ColumnName): Cell | undefined

  /** All cells in HBase's order: family, qualifier, newest first (HBase: listCells). */
  abstract cells(): Cell[]

  /** The cells of one column or family, newest first (HBase: getColumnCells). */
  abstract columnCells(column: ColumnName): Cell[]

  /** Whether the result has no cells: the row is absent, or has none of the selected cells. */
  get isEmpty(): boolean {
    return this.size === 0
  }

  /** Value of the newest cell of a column, or undefined. */
  value(column: ColumnName): Buffer | undefined
  /**
   * The value of the newest cell in an encoding: `'json'`, `'utf8'`, `'int64'`, `'bytes'` or one of
   * your own. Throws `ERR_INVALID_ARGUMENT` if the stored bytes do not fit the encoding.
   */
  value<E extends EncodingOption>(column: ColumnName, encoding: E): ValueOf<E> | undefined
  value(column: ColumnName, encoding?: EncodingOption): unknown {
    if (encoding === undefined) return this.storedValue(column)
    return this.decoded(column, encodingOf(encoding), 'column', column)
  }

  /** The value that {@link value} returns without an encoding. */
  protected storedValue(column: ColumnName): Buffer | undefined {
    return this.cell(column)?.value
  }

  /** @internal The row with the escapes of keys (storage/cell/cell-key.ts). */
  escapedRow(): ByteRange {
    return escaped(this.row ?? emptyBytes)
  }

  /** @internal The newest value of a column; undefined if there is none. */
  valueRange(column: ColumnName): ByteRange | undefined {
    const source = this.storedValue(column)
    return source && { source, start: 0, end: source.length }
  }

  /**
   * @internal The decoded value of the newest cell of a column, or undefined; `where` and `name` as
   * of `decodeValue`.
   */
  decoded<T>(
    column: ColumnName,
    encoding: Encoding<T>,
    where: string,
    name?: unknown,
  ): T | undefined {
    const stored = this.storedValue(column)
    return stored === undefined ? undefined : decodeValue(encoding, stored, where, name)
  }

  /** Whether the result has a cell of the column, or of the family if the name has no qualifier. */
  abstract has(column: ColumnName): boolean

  /** Whether the newest cell of a column exists and is empty (HBase: containsEmptyColumn). */
  hasEmpty(column: ColumnName): boolean {
    return this.value(column)?.length === 0
  }

  /**
   * Whether the newest cell of a column exists and is not empty (HBase: containsNonEmptyColumn).
   */
  hasNonEmpty(column: ColumnName): boolean {
    const value = this.value(column)
    return value !== undefined && value.length > 0
  }

  /** The cells, as {@link cells}. */
  [Symbol.iterator](): IterableIterator<Cell> {
    return this.cells()[Symbol.iterator]()
  }

  /** The form of the cells for people, for `JSON.stringify`. No code reads that form. */
  toJSON(): ResultDisplay {
    return shownResult(this)
  }

  /** Row and newest values, for `console.log`. */
  [inspectSymbol](_depth: number, options: object, inspect: Inspect): string {
    const { row, partial, exists } = this
    const values: Record<string, string> = {}
    for (const { family, qualifier, value } of this.cells()) {
      values[`${family}:${shownBytes(qualifier)}`] ??= shownBytes(value)
    }
    const members = {
      ...(row === undefined ? {} : { row: shownBytes(row) }),
      ...values,
      ...(partial ? { partial } : {}),
      ...(exists === undefined ? {} : { exists }),
    }
    return `Result ${inspect(members, options)}`
  }

  /** Newest values by `'family:qualifier'`, qualifiers and values as UTF-8 strings, for display. */
  toObject(): Record<string, string> {
    const entries: Record<string, string> = {}
    for (const { family, qualifier, value } of this.cells()) {
      const name = `${family}:${qualifier.toString('utf8')}`
      entries[name] ??= value.toString('utf8')
    }
    return entries
  }

  /**
   * Values by family, qualifier and timestamp, newest first (HBase: getMap). Qualifiers become text
   * by `encoding`; use 'latin1' or 'hex' if they may not be UTF-8.
   */
  map(encoding: BufferEncoding = 'utf8'): maps.ValuesByFamily<Map<bigint, Buffer>> {
    return maps.versionsByFamily(this.cells(), checkEncoding(encoding))
  }

  /** Newest values by family and qualifier (HBase: getNoVersionMap). */
  noVersionMap(encoding: BufferEncoding = 'utf8'): maps.ValuesByFamily<Buffer> {
    return maps.newestByFamily(this.cells(), checkEncoding(encoding))
  }

  /** Newest values of a family by qualifier (HBase: getFamilyMap). */
  familyMap(family: string, encoding: BufferEncoding = 'utf8'): Map<string, Buffer> {
    this.checkFamily(family)
    return this.noVersionMap(encoding).get(family) ?? new Map<string, Buffer>()
  }

  /** Throws `ERR_NO_SUCH_COLUMN_FAMILY` for a name that no family of the table has. */
  protected checkFamily(family: string, mayBeColumn = false): void {
    const { families } = this
    if (families === undefined || families.includes(family)) return
    const hint =
      mayBeColumn && typeof family === 'string'
        ? `; a column is named with its family: '${families[0]}:${family}'`
        : ''
    const known = families.join(', ')
    throw new CellarError(
      ErrorCode.noSuchColumnFamily,
      `the result is of a table without column family ${shown(family)}; it has: ${known}${hint}`,
    )
  }
}

function checkEncoding(encoding: BufferEncoding): BufferEncoding {
  if (typeof encoding === 'string' && Buffer.isEncoding(encoding)) return encoding
  throw invalidArgument(`encoding must be one of Buffer's, such as 'utf8', got ${shown(encoding)}`)
}

/** Results of more cells find a column by a map, which the first call for a column makes. */
const searchedCellsMax = 32

/** A result that holds its cells as objects. */
class CellResult extends Result {
  readonly #cells: readonly Cell[]
  /** The cells of each column by {@link columnKey}, once they are made. */
  #byColumn: ReadonlyMap<string, readonly Cell[]> | undefined = undefined

  constructor(cells: readonly Cell[], { partial = false, exists, cursor, families }: ResultMarks) {
    super(partial, exists, cursor, families)
    const first = cells[0]?.row
    for (let i = 0; i < cells.length; i++) {
      const { row } = cells[i]
      // Backends give the cells of a row one Buffer for it.
      if (i > 0 && row === first) continue
      if (!isBytes(row)) throw invalidArgument('each cell of a result has its row as a Buffer')
      if (Buffer.compare(row, first) === 0) continue
      throw invalidArgument('the cells of a result are of one row')
    }
    this.#cells = cells
  }

  get size(): number {
    return this.#cells.length
  }

  get row(): Buffer | undefined {
    return this.#cells[0]?.row
  }

  cell(column: ColumnName): Cell | undefined {
    const parsed = this.#parse(column)
    if (parsed.escapedQualifier === undefined) throw noQualifier(parsed.family)
    return this.#candidates(parsed).find(isIn(parsed))
  }

  has(column: ColumnName): boolean {
    const parsed = this.#parse(column)
    return this.#candidates(parsed).some(isIn(parsed))
  }

  cells(): Cell[] {
    return [...this.#cells]
  }

  columnCells(column: ColumnName): Cell[] {
    const parsed = this.#parse(column)
    return this.#candidates(parsed).filter(isIn(parsed))
  }

  #parse(column: ColumnName): ParsedColumn {
    const parsed = parseColumn(column)
    this.checkFamily(parsed.family)
    return parsed
  }

  /** The cells among which those of a column are; of few cells, and for a family, all. */
  #candidates({ family, escapedQualifier }: ParsedColumn): readonly Cell[] {
    if (escapedQualifier === undefined || this.#cells.length <= searchedCellsMax) return this.#cells
    this.#byColumn ??= groupByColumn(this.#cells)
    const qualifier = unescape(escapedQualifier, 0, escapedQualifier.length)
    return this.#byColumn.get(columnKey(family, qualifier)) ?? []
  }
}

function groupByColumn(cells: readonly Cell[]): Map<string, Cell[]> {
  const byColumn = new Map<string, Cell[]>()
  for (const cell of cells) {
    const key = columnKey(cell.family, cell.qualifier)
    const known = byColumn.get(key)
    if (known === undefined) byColumn.set(key, [cell])
    else known.push(cell)
  }
  return byColumn
}

/** The name of a column as a key of a map: no family has a colon in its name. */
function columnKey(family: string, qualifier: Uint8Array): string {
  return `${family}:${toBytes(qualifier).toString('latin1')}`
}

/** Whether a cell is in a column or, for a name without qualifier, in a family. */
function isIn({ family, escapedQualifier: wanted }: ParsedColumn): (cell: Cell) => boolean {
  if (wanted === undefined) return (cell) => cell.family === family
  const qualifier = unescape(wanted, 0, wanted.length)
  return (cell) => cell.family === family && Buffer.compare(cell.qualifier, qualifier) === 0
}
