/** Encodes the rows that callers give, into memory that is reused. */
import { checkBytesLike } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { writeEscaped } from '../../cell/cell-key.js'
import { checkRowLength, rowBytesMax } from '../../cell/limits.js'
import type { BytesLike } from '../../api/index.js'

/**
 * Strings up to this many characters are encoded in a loop, which beats a call into native code.
 */
const loopCharactersMax = 64

/** Room for what readers write behind the row: its terminator, and a column if it fits. */
const spareBytes = 1024

/**
 * An escaped row, `buffer[0, length)`, without terminator, for which there is room. Borrowed until
 * the next `set`.
 */
export class RowKey {
  readonly buffer: Buffer = Buffer.allocUnsafeSlow(2 * rowBytesMax + spareBytes)
  length = 0

  /** Sets the row of a get or a mutation: 1 to 32,767 bytes, else `ERR_INVALID_ARGUMENT`. */
  set(row: BytesLike): void {
    if (typeof row === 'string' && row.length <= loopCharactersMax && this.setText(row)) return
    checkBytesLike(row, 'row')
    const bytes = typeof row === 'string' ? Buffer.from(row, 'utf8') : row
    if (bytes.length === 0) {
      throw invalidArgument('row is empty; a row has 1 to 32767 bytes')
    }
    checkRowLength(bytes.length)
    this.length = writeEscaped(this.buffer, 0, bytes)
  }

  /** A copy of the escaped row. */
  copy(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.length))
  }

  /** Plain ASCII without zeros; false if the text is something else (or empty). */
  private setText(row: string): boolean {
    const buffer = this.buffer
    const length = row.length
    for (let i = 0; i < length; i++) {
      const code = row.charCodeAt(i)
      if (code === 0 || code > 0x7f) return false
      buffer[i] = code
    }
    this.length = length
    return length > 0
  }
}

/** Encodes a scan bound: undefined for an absent or empty one. */
export function encodeBound(row: BytesLike | undefined, what: string): Buffer | undefined {
  if (row === undefined) return undefined
  checkBytesLike(row, what)
  const bytes = typeof row === 'string' ? Buffer.from(row, 'utf8') : row
  if (bytes.length === 0) return undefined
  checkRowLength(bytes.length)
  const target = Buffer.allocUnsafe(2 * bytes.length)
  return target.subarray(0, writeEscaped(target, 0, bytes))
}
