/** Errors about the columns that callers name; how they name them is in cell/column-name.ts. */
import { CellarError, ErrorCode } from '../../base/errors.js'

/** `ERR_NO_SUCH_COLUMN_FAMILY` with the names that exist. */
export function noSuchFamily(family: string, table: string, known: Iterable<string>): CellarError {
  return new CellarError(
    ErrorCode.noSuchColumnFamily,
    `table '${table}' has no column family '${family}'; it has: ${[...known].join(', ')}`,
  )
}
