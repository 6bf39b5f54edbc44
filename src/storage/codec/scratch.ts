/** What the codecs share: their error and the output buffer that is used again and again. */
import { CellarError, ErrorCode } from '../../base/errors.js'

/** Makes the `ERR_CORRUPTION` for bytes of another writer. The caller adds file and offset. */
export function codecError(message: string, cause?: unknown): CellarError {
  return new CellarError(ErrorCode.corruption, message, { cause })
}

/** What the compressed form of a cell of the default `cellBytesMax` of 10 MiB may take. */
const KEPT_BYTES_MAX = 16 * 1024 * 1024

/** A buffer that grows in powers of two and is kept between calls unless it is large. */
export class Scratch {
  private kept = Buffer.alloc(0)

  /** At least `length` bytes of undefined content, borrowed until the next call. */
  take(length: number): Buffer {
    if (length <= this.kept.length) return this.kept
    if (length > KEPT_BYTES_MAX) return Buffer.allocUnsafeSlow(length)
    let size = 4096
    while (size < length) size *= 2
    this.kept = Buffer.allocUnsafeSlow(size)
    return this.kept
  }
}
