/**
 * Limits and name rules of HBase 2.x, checked before anything is changed.
 */
import { checkText } from '../../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'

/** Largest length of a row in bytes (inclusive). */
export const rowBytesMax = 32_767
/** Largest length of a family's name in bytes (inclusive). */
export const familyBytesMax = 127
/** Bytes that HBase adds to row, family, qualifier and value for the size of a cell. */
export const cellOverheadBytes = 20
/** Default limit for the size of a cell in bytes: row + family + qualifier + value + 20. */
export const cellBytesMaxDefault = 10 * 1024 * 1024

/** Checks the length of a row or of a bound of a scan: 0 to 32,767 bytes, both inclusive. */
export function checkRowLength(length: number): void {
  if (length > rowBytesMax) {
    throw invalidArgument(`row has ${length} bytes; at most ${rowBytesMax} are allowed`)
  }
}

/**
 * Checks the name of a new family: 1 to 127 bytes of UTF-8 without control characters, `:`, `/` and
 * `\`. The name must not begin with a dot and must not be `recovered.edits`.
 */
export function checkFamilyName(name: string): void {
  checkText(name, 'column family name')
  const bytes = Buffer.byteLength(name)
  if (bytes === 0) throw invalidArgument('column family name is empty')
  if (bytes > familyBytesMax) {
    throw invalidArgument(`column family name has ${bytes} bytes; at most ${familyBytesMax}`)
  }
  if (name.startsWith('.')) {
    throw invalidArgument(`column family name '${name}' must not begin with a dot`)
  }

  if (/[\u0000-\u001f\u007f-\u009f:/\\]/.test(name)) {
    const shown = JSON.stringify(name)
    throw invalidArgument(`column family name ${shown} holds a control character, ':', '/' or '\\'`)
  }
  if (name === 'recovered.edits') throw invalidArgument(`column family name '${name}' is reserved`)
}

/** The namespace of tables whose name has none. */
export const defaultNamespace = 'default'

/** The namespace in a table's name. */
export function namespaceOf(table: string): string {
  const colon = table.indexOf(':')
  return colon < 0 ? defaultNamespace : table.slice(0, colon)
}

/**
 * Checks a table name: 1 to 240 characters of `[A-Za-z0-9_.-]`, not starting with `.` or `-`. A
 * namespace of `[A-Za-z0-9_]` and a colon may stand in front.
 */
export function checkTableName(name: string): void {
  checkText(name, 'table name')
  const parts = name.split(':')
  const table = parts[parts.length - 1]
  if (parts.length > 2 || (parts.length === 2 && !/^[A-Za-z0-9_]+$/.test(parts[0]))) {
    throw invalidArgument(`table name '${name}' has an invalid namespace`)
  }
  if (!/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(table) || table.length > 240) {
    throw invalidArgument(
      `table name '${name}' must consist of 1 to 240 of A-Z a-z 0-9 _ . - and not begin with . or -`,
    )
  }
}

/**
 * Checks the size of a cell as HBase counts it. `bytesMax` of 0 or less switches the check off.
 * Throws `ERR_TOO_LARGE`.
 */
export function checkCellBytes(bytes: number, bytesMax: number): void {
  if (bytesMax > 0 && bytes > bytesMax) {
    throw new CellarError(
      ErrorCode.tooLarge,
      `cell of ${bytes} bytes is larger than the maximum of ${bytesMax}; ` +
        'raise cellBytesMax or split the value',
    )
  }
}
