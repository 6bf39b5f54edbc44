/** The arguments of transactional writes: checked, and copied at the call. */
import {
  invalidArgument,
  checkArray,
  checkBytesLike,
  ErrorCode,
  CellarError,
  readArguments,
  shown,
  type BytesLike,
  type ColumnName,
  type Delete,
  declareOptions,
  required,
  checked,
} from '../../../api/index.js'

/** Writes within a transaction, which sets the timestamps. */
export interface TransactionalPut {
  /** Row of the write, 1 to 32,767 bytes; text is UTF-8. */
  readonly row: BytesLike
  /**
   * Values by column, `'family:qualifier'`, or a list of columns and values. An empty value deletes
   * the column.
   */
  readonly cells: Readonly<Record<string, BytesLike>> | readonly TransactionalCell[]
}

/** One cell of a {@link TransactionalPut}. */
export interface TransactionalCell {
  /** `'family:qualifier'`, or its parts for qualifiers that are not text. */
  readonly column: ColumnName
  /** Value of the column; an empty one deletes it. */
  readonly value: BytesLike
}

/** Deletes columns or families; without both, the row. */
export type TransactionalDelete = Pick<Delete, 'row' | 'columns' | 'families'>
type DeletedColumn = NonNullable<Delete['columns']>[number]
type DeletedFamily = NonNullable<Delete['families']>[number]

const putOptions = declareOptions('a transactional put', {
  row: required(checked(copyRow)),
  cells: required(checked((given: TransactionalPut['cells']) => given)),
})
const cellOptions = declareOptions('a cell of a transactional put', {
  column: required(checked((given: ColumnName) => given)),
  value: required(checked((given: BytesLike) => given)),
})
const deleteOptions = declareOptions('a transactional delete', {
  row: required(checked(copyRow)),
  columns: checked(checkArray<DeletedColumn>, []),
  families: checked(checkArray<DeletedFamily>, []),
})
const partOptions = declareOptions('a column', {
  family: required(checked(copyBytes)),
  qualifier: checked(copyBytes),
})
const rowBytesMax = 32_767

/** A column with its own copy of the bytes. */
export interface Column {
  readonly family: string
  readonly qualifier: Buffer
}

/** A cell to write, with its own copy of the bytes. An empty value is a deletion. */
export interface WrittenCell extends Column {
  readonly value: Buffer
}

/** A put with copied arguments. */
export interface CopiedPut {
  readonly row: Buffer
  readonly cells: readonly WrittenCell[]
}

/** A deletion with copied arguments; without columns and families it deletes the row. */
export interface CopiedDelete {
  readonly row: Buffer
  readonly columns: readonly Column[]
  readonly families: readonly string[]
}

/** `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. */
export function copyPut(put: TransactionalPut, families: ReadonlySet<string>): CopiedPut {
  return readArguments(() => {
    const { row, cells } = putOptions.read(put)
    if (typeof cells !== 'object' || cells === null) {
      throw invalidArgument('a put needs cells: an object of columns or an array of cells')
    }
    const pairs = Array.isArray(cells)
      ? checkArray(cells as readonly TransactionalCell[], 'cells').map((cell) => {
          const { column, value } = cellOptions.read(cell)
          return [column, value] as const
        })
      : Object.entries(cells as Readonly<Record<string, BytesLike>>)
    if (pairs.length === 0) throw invalidArgument('a put needs at least one cell')
    return {
      row,
      cells: pairs.map(([column, value]) => {
        return { ...writtenColumn(column, families), value: copyBytes(value, 'value') }
      }),
    }
  })
}

/** `ERR_INVALID_ARGUMENT`, `ERR_NO_SUCH_COLUMN_FAMILY`. */
export function copyDelete(
  deletion: TransactionalDelete,
  families: ReadonlySet<string>,
): CopiedDelete {
  return readArguments(() => {
    const { row, columns, families: deleted } = deleteOptions.read(deletion)
    return {
      row,
      columns: columns.map((target) => {
        if (isTimed(target)) throw noSingleVersions()
        return writtenColumn(target, families)
      }),
      families: deleted.map((target) => {
        if (isTimed(target)) throw noSingleVersions()
        const isNamed = typeof target === 'object' && target !== null && 'family' in target
        const name = isNamed ? target.family : target
        return knownFamily(copyBytes(name, 'family').toString('utf8'), families)
      }),
    }
  })
}

/** A copy of bytes, or the UTF-8 of text. `ERR_INVALID_ARGUMENT`. */
export function copyBytes(value: BytesLike, what: string): Buffer {
  checkBytesLike(value, what)
  return typeof value === 'string' ? Buffer.from(value, 'utf8') : Buffer.from(value)
}

/** A copy of a row: 1 to 32,767 bytes, else `ERR_INVALID_ARGUMENT`. */
export function copyRow(row: BytesLike): Buffer {
  const copy = copyBytes(row, 'row')
  if (copy.length > 0 && copy.length <= rowBytesMax) return copy
  throw invalidArgument(`row has ${copy.length} bytes; a row has 1 to ${rowBytesMax}`)
}

/** The copied parts of a column's name; without a qualifier the whole family. */
export function partsOf(column: ColumnName): { family: string; qualifier: Buffer | undefined } {
  if (typeof column === 'string' || column instanceof Uint8Array) {
    const bytes = copyBytes(column, 'column')
    const at = bytes.indexOf(':')
    if (at < 0) return { family: bytes.toString('utf8'), qualifier: undefined }
    return { family: bytes.toString('utf8', 0, at), qualifier: bytes.subarray(at + 1) }
  }
  const { family, qualifier } = partOptions.read(column)
  return { family: family.toString('utf8'), qualifier }
}

/** A writable column. The empty column is reserved for the deletions of its family. */
function writtenColumn(name: ColumnName, families: ReadonlySet<string>): Column {
  const { family, qualifier } = partsOf(name)
  knownFamily(family, families)
  if (qualifier !== undefined && qualifier.length > 0) return { family, qualifier }
  throw invalidArgument(
    `a transaction writes columns 'family:qualifier', got '${family}' without a qualifier: the ` +
      'empty column of a family holds its deletions',
  )
}

function knownFamily(family: string, families: ReadonlySet<string>): string {
  if (families.has(family)) return family
  throw new CellarError(
    ErrorCode.noSuchColumnFamily,
    `there is no column family ${shown(family)}; the table has: ${[...families].join(', ')}`,
  )
}

function isTimed(target: unknown): boolean {
  return (target as { timestamp?: unknown } | null | undefined)?.timestamp !== undefined
}

function noSingleVersions(): CellarError {
  return invalidArgument('a transaction gives the timestamps, and deletes no single versions')
}
