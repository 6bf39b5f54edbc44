/**
 * Builds the cell that replaces another one: the same key and TTL with another value.
 *
 * The built cell lies in memory of this object. It stays valid until the next but one is built, so
 * that a replaced cell can be replaced again.
 */
import { CellView } from '../cell/cell-view.js'
import { valueHeaderBytes, writeValueHeader } from '../cell/cell-value.js'
import type { CellReplacement } from './cell-hook.js'

export class HookReplacement implements CellReplacement {
  /** Whether a value was set since {@link begin}. */
  given = false
  private cell!: CellView
  private readonly views = [new CellView(), new CellView()]
  private readonly buffers = [Buffer.allocUnsafe(1024), Buffer.allocUnsafe(1024)]
  private turn = 0
  private readonly entry = {
    buffer: this.buffers[0],
    keyStart: 0,
    keyEnd: 0,
    valueStart: 0,
    valueEnd: 0,
  }

  /** Called before a hook is asked about `cell`. */
  begin(cell: CellView): void {
    this.given = false
    this.cell = cell
  }

  setValue(value: Uint8Array): void {
    if (!(value instanceof Uint8Array)) {
      throw new TypeError('the value of a replacement must be a Uint8Array')
    }
    const { cell, turn, entry } = this
    const { buffer, keyStart, keyEnd, ttlMilliseconds } = cell
    const keyBytes = keyEnd - keyStart
    const bytes = keyBytes + valueHeaderBytes(ttlMilliseconds) + value.length
    if (this.buffers[turn].length < bytes) this.buffers[turn] = Buffer.allocUnsafe(2 * bytes)
    const target = this.buffers[turn]
    buffer.copy(target, 0, keyStart, keyEnd)
    const contentStart = writeValueHeader(target, keyBytes, ttlMilliseconds)
    target.set(value, contentStart)
    entry.buffer = target
    entry.keyEnd = keyBytes
    entry.valueStart = keyBytes
    entry.valueEnd = contentStart + value.length
    this.given = true
  }

  /** The cell with its new value. REQUIRES `given`. */
  take(): CellView {
    const { turn, cell } = this
    const view = this.views[turn]
    view.set(this.entry)
    view.family = cell.family
    view.familyIndex = cell.familyIndex
    this.turn = 1 - turn
    return view
  }
}
