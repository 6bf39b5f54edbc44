/** Encodes the rows of callers into reused memory. */
import { copyBytes, viewBytes } from '../../base/bytes.js'
import { writeEscaped } from '../../storage/cell/cell-key.js'
import { rowBytes } from '../../checks/rows.js'
import type { BytesLike } from '../../api/index.js'

/** Strings up to this length are encoded in a loop, which is faster than a native call. */
const loopCharactersMax = 64

/** Space for the data that readers append to the row: its terminator, and a column if it fits. */
const spareBytes = 1024

/**
 * An escaped row, `buffer[0, length)`, without terminator, for which there is space. Borrowed until
 * the next `set`.
 */
export class RowKey {
  /** Memory of the row. Long rows replace it: with room for all of them, tables would be large. */
  buffer: Buffer = memoryFor(loopCharactersMax)
  length = 0

  /** Sets the row of a get or a mutation: 1 to 32,767 bytes, else `ERR_INVALID_ARGUMENT`. */
  set(row: BytesLike): void {
    if (typeof row === 'string' && row.length <= loopCharactersMax && this.setText(row)) return
    const bytes = rowBytes(row)
    this.reserve(bytes.length)
    this.length = writeEscaped(this.buffer, 0, bytes)
  }

  /** Sets the row whose escaped bytes are `source[start, end)`. */
  copyFrom(source: Buffer, start: number, end: number): void {
    this.reserve(end - start)
    copyBytes(source, start, end, this.buffer, 0)
    this.length = end - start
  }

  /** A copy of the escaped row. */
  copy(): Buffer {
    return Buffer.from(this.buffer.subarray(0, this.length))
  }

  private reserve(bytes: number): void {
    if (2 * bytes + spareBytes > this.buffer.length) this.buffer = memoryFor(bytes)
  }

  /** Encodes plain ASCII without zeros; false for any other text (or an empty one). */
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

/** Memory for a row, of which each byte may need two, and for what readers append. */
function memoryFor(bytes: number): Buffer {
  return Buffer.allocUnsafeSlow(2 * bytes + spareBytes)
}

/** Escapes a row of a checked length. */
export function escapeRow(row: Uint8Array): Buffer {
  const target = Buffer.allocUnsafe(2 * row.length)
  return viewBytes(target, 0, writeEscaped(target, 0, row))
}
