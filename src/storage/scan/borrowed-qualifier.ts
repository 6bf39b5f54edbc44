/** The qualifier of a cell of the current row, borrowed from the memory of the cell. */
import { emptyBytes, equalBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'

export class BorrowedQualifier {
  private buffer: Buffer = emptyBytes
  private start = 0
  /** -1: no qualifier. */
  private end = -1

  /** Forgets the qualifier. */
  clear(): void {
    this.end = -1
  }

  set({ buffer, qualifierStart, qualifierEnd }: CellView): void {
    this.buffer = buffer
    this.start = qualifierStart
    this.end = qualifierEnd
  }

  isOf({ buffer, qualifierStart, qualifierEnd }: CellView): boolean {
    return equalBytes(this.buffer, this.start, this.end, buffer, qualifierStart, qualifierEnd)
  }

  /** Copies the qualifier, because its memory is about to be released. */
  detach(): void {
    if (this.end >= 0) this.buffer = Buffer.from(this.buffer.subarray(this.start, this.end))
    else this.buffer = emptyBytes
    this.end -= this.end < 0 ? 0 : this.start
    this.start = 0
  }
}
