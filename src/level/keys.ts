/**
 * Mapping between keys of a Level and rows of a table.
 *
 * A key is its row, byte for byte, so a table is readable through both interfaces. Rows cannot be
 * empty, but keys can: a key that is empty or begins with a zero byte is prefixed with one zero
 * byte. The order of the rows is the order of the keys.
 */

/** A key in one of the formats that the database takes from abstract-level. */
export type LevelKey = string | Buffer | Uint8Array

/** The row of the empty key. */
const rowOfEmptyKey = Buffer.of(0)

/** The row that holds a key. */
export function rowOfKey(key: LevelKey): LevelKey {
  if (key.length > 0) {
    const first = typeof key === 'string' ? key.charCodeAt(0) : key[0]
    if (first !== 0) return key
    return typeof key === 'string' ? `\0${key}` : Buffer.concat([rowOfEmptyKey, key])
  }
  return rowOfEmptyKey
}

/** The key that a row holds. REQUIRES a row made by {@link rowOfKey}. */
export function keyOfRow(row: Buffer): Buffer {
  return row[0] === 0 ? row.subarray(1) : row
}

/** Stored bytes in the format of the read. */
export function inFormat(bytes: Buffer, isText: boolean): string | Buffer {
  return isText ? bytes.toString('utf8') : bytes
}
