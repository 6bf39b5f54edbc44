/**
 * Keys of the metastore as rows of a table, and their order.
 *
 * A key is a string; its row is its UTF-8 form, so keys are ordered by their bytes, that is, by
 * code points. (BookKeeper's in-memory store orders by UTF-16 code units. The orders differ only
 * for characters beyond U+FFFF compared with U+E000 to U+FFFF.) A row cannot be empty, but a key
 * can: the empty key becomes the row 00, and a key that begins with 00 gets an additional 00
 * prefix. This keeps the order and adds nothing to other keys.
 */
import { isText } from '../../../api/index.js'
import { illegalOp } from '../errors.js'

/** Bytes of the longest row of a table. */
export const rowBytesMax = 32_767

const escapeByte = 0

/**
 * Checks a key.
 *
 * @throws `IllegalOp` if it is not a string, has no UTF-8 form (lone surrogates) or
 * is longer than 32,767 bytes.
 */
export function checkKey(key: unknown, what = 'the key'): asserts key is string {
  if (typeof key !== 'string') {
    throw illegalOp(`${what} must be a string, got ${key === null ? 'null' : typeof key}`)
  }
  checkWellFormed(key, what)
  // UTF-8 needs at most three bytes per code unit, so short keys need no counting.
  if (3 * key.length < rowBytesMax) return
  const bytes = Buffer.byteLength(key) + (startsEscaped(key) ? 1 : 0)
  if (bytes <= rowBytesMax) return
  throw illegalOp(`${what} has ${bytes} bytes; at most ${rowBytesMax} are allowed`)
}

/** Checks that a string has a UTF-8 form; `IllegalOp`. */
export function checkWellFormed(text: string, what: string): void {
  if (isText(text)) return
  throw illegalOp(`${what} holds a lone surrogate, so it has no UTF-8 form`)
}

function startsEscaped(key: string): boolean {
  return key === '' || key.charCodeAt(0) === 0
}

/** The row of a key, as text. REQUIRES: the key was checked. */
export function rowOfKey(key: string): string {
  return startsEscaped(key) ? `\0${key}` : key
}

/** The key of a row. */
export function keyOfRow(row: Buffer): string {
  return row[0] === escapeByte ? row.toString('utf8', 1) : row.toString('utf8')
}

/** Compares two keys as their UTF-8 bytes: negative, zero or positive. */
export function compareKeys(a: string, b: string): number {
  return Buffer.compare(Buffer.from(a), Buffer.from(b))
}
