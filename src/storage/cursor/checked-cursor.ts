/**
 * Wraps a cursor and checks the contract of `cursor.ts` on both sides. Only used in invariants mode
 * (`checksInvariants` in base/invariants.ts).
 *
 * - The inner cursor: keys ascend with `next` and descend with `previous`, a seek ends where the
 *   contract says, and keys are within their buffer.
 * - The caller: `next` and `previous` need a valid cursor and a preceding move in their direction.
 *   No call follows {@link CheckedCursor.close}, which is called once.
 * - Memory: entries are shown as copies, which the close overwrites. A caller that still refers to
 *   an entry then reads garbage, as it would read another block's bytes in production.
 */
import { assert } from '../../base/assert.js'
import { compareBytes, copyBytes } from '../../base/bytes.js'
import { varintLength } from '../../base/varint.js'
import { ShownEntry, type BackwardCursor, type Cursor, type DeferredCursor } from './cursor.js'

/** Fills released memory; no row, type or sequence has such bytes. */
const garbage = 0xdb

/**
 * Sizes of the first and of the largest page in which copies are placed side by side, as entries in
 * a block are: most cursors show few entries, so a page is four times as large as the one before.
 */
const pageBytes = { first: 512, max: 16 * 1024 }

const Direction = { none: 0, forward: 1, backward: 2 } as const
type Direction = (typeof Direction)[keyof typeof Direction]

/** Checks one cursor; see the file header. */
export class CheckedCursor extends ShownEntry implements BackwardCursor, DeferredCursor {
  /** The wrapped cursor. */
  readonly inner: Cursor
  private readonly copies: boolean
  private readonly pages: Buffer[] = []
  private used = 0
  private direction: Direction = Direction.none
  private closed = false
  private rowIsFound = false
  /** A key that the move in progress is compared with; the memory serves each move. */
  private kept = Buffer.allocUnsafe(64)
  private keptBytes = 0

  /**
   * Wraps a cursor at its current position. With `copies`, entries are shown in memory that the
   * close overwrites. Without, they are shown in place, for cursors over checked cursors.
   */
  constructor(inner: Cursor, copies = true) {
    super()
    this.inner = inner
    this.copies = copies
    this.direction = Direction.forward
    this.show()
  }

  override get isInMemory(): boolean {
    return this.inner.isInMemory
  }

  get deferred(): boolean {
    return (this.inner as Partial<DeferredCursor>).deferred === true
  }

  settle(): void {
    this.use()
    assert(this.deferred, 'only a deferred cursor is settled')
    this.keepKeyAtHand()
    this.move(() => (this.inner as DeferredCursor).settle())
    if (this.valid) this.expectBehind(true)
  }

  seek(key: Uint8Array, length: number): void {
    this.use()
    this.keep(key, 0, length)
    this.move(() => this.inner.seek(key, length))
    this.direction = Direction.forward
    if (this.valid) this.expectBehind(true)
  }

  seekBefore(key: Uint8Array, length: number): void {
    this.use()
    this.keep(key, 0, length)
    this.move(() => this.inner.seekBefore(key, length))
    this.direction = Direction.backward
    if (this.valid) this.expectBefore()
  }

  next(): void {
    this.use()
    assert(this.valid, 'next needs a valid cursor')
    assert(this.direction === Direction.forward, 'next does not follow a move backwards')
    this.keepKeyAtHand()
    this.move(() => this.inner.next())
    if (this.valid) this.expectBehind(false)
  }

  override plainRowEnd(readPoint: number, oldest: number, rowBytes: number): number {
    this.use()
    const end = this.inner.plainRowEnd(readPoint, oldest, rowBytes)
    this.rowIsFound = end > 0
    return end === 0 ? 0 : this.showRow(end)
  }

  /** Shows the first entry of a row, in memory that holds the whole row. Returns the row's end. */
  private showRow(end: number): number {
    const { keyStart, keyEnd, valueEnd } = this.inner
    assert(end >= valueEnd, 'a row ends with its last entry')
    this.show(end, varintLength(keyEnd - keyStart) + varintLength(valueEnd - keyEnd))
    return end + this.keyStart - keyStart
  }

  override plainRowBack(readPoint: number, oldest: number, rowBytes: number): number {
    this.use()
    assert(this.direction === Direction.backward, 'a row is passed back by a cursor that goes back')
    this.keepKeyAtHand()
    const end = (this.inner as BackwardCursor).plainRowBack(readPoint, oldest, rowBytes)
    if (end <= 0) {
      if (end < 0) this.direction = Direction.none
      return end
    }
    const hasOneEntry = end === this.inner.valueEnd
    const shown = this.showRow(end)
    if (hasOneEntry) assert(this.compareToKept() === 0, 'the only entry of a row is its last one')
    else this.expectBefore()
    return shown
  }

  override passRow(): void {
    this.use()
    assert(this.rowIsFound, 'a row that is passed was found to be plain')
    this.rowIsFound = false
    this.keepKeyAtHand()
    this.move(() => this.inner.passRow())
    this.expectBehind(true)
  }

  previous(): void {
    this.use()
    assert(this.valid, 'previous needs a valid cursor')
    assert(this.direction === Direction.backward, 'previous follows seekBefore or previous')
    this.keepKeyAtHand()
    this.move(() => (this.inner as BackwardCursor).previous())
    if (this.valid) this.expectBefore()
  }

  /** Releases the entries by overwriting the memory that showed them. */
  close(): void {
    assert(!this.closed, 'a cursor is closed once')
    this.closed = true
    this.valid = false
    for (const page of this.pages) page.fill(garbage)
  }

  private use(): void {
    assert(!this.closed, 'a cursor is not used after its close')
  }

  /** A move that throws keeps the current entry if the inner cursor keeps it. */
  private move(action: () => void): void {
    try {
      action()
    } catch (error) {
      this.valid = this.inner.valid
      throw error
    }
    this.show()
  }

  /** Shows the entry, in memory of the bytes up to `end`, and of so many before the key. */
  private show(end = this.inner.valueEnd, bytesBefore = 0): void {
    const { inner } = this
    this.valid = inner.valid
    if (!inner.valid) return
    const { buffer, keyStart, keyEnd, valueStart, valueEnd } = inner
    const inOrder = keyStart >= 0 && keyStart <= keyEnd && keyEnd <= valueStart
    assert(inOrder && valueStart <= valueEnd, 'the parts of an entry follow each other')
    assert(valueEnd <= buffer.length, 'an entry lies in its buffer')
    this.buffer = buffer
    this.keyStart = keyStart
    if (this.copies) {
      this.copy(buffer, keyStart - bytesBefore, end)
      this.keyStart += bytesBefore
    }
    const shift = this.keyStart - keyStart
    this.keyEnd = keyEnd + shift
    this.valueStart = valueStart + shift
    this.valueEnd = valueEnd + shift
  }

  private copy(source: Buffer, start: number, end: number): void {
    const bytes = end - start
    let page = this.pages.at(-1)
    if (page === undefined || this.used + bytes > page.length) {
      const usual = page === undefined ? pageBytes.first : Math.min(4 * page.length, pageBytes.max)
      page = Buffer.allocUnsafe(Math.max(bytes, usual))
      this.pages.push(page)
      this.used = 0
    }
    this.buffer = page
    this.keyStart = this.used
    copyBytes(source, start, end, page, this.used)
    // Adds a gap, since entries in blocks also have a few bytes between them.
    this.used += bytes + 2
  }

  private keepKeyAtHand(): void {
    this.keep(this.buffer, this.keyStart, this.keyEnd)
  }

  private keep(source: Uint8Array, start: number, end: number): void {
    this.keptBytes = end - start
    if (this.kept.length < this.keptBytes) this.kept = Buffer.allocUnsafe(2 * this.keptBytes)
    for (let i = 0; i < this.keptBytes; i++) this.kept[i] = source[start + i]
  }

  private compareToKept(): number {
    return compareBytes(this.buffer, this.keyStart, this.keyEnd, this.kept, 0, this.keptBytes)
  }

  private expectBehind(orAt: boolean): void {
    const order = this.compareToKept()
    assert(order > 0 || (orAt && order === 0), 'a cursor that goes forward shows greater keys')
  }

  private expectBefore(): void {
    assert(this.compareToKept() < 0, 'a cursor that goes backward shows smaller keys')
  }
}

/** The checked cursors of one read or scan. */
export class CursorLease {
  private readonly cursors = new Set<CheckedCursor>()

  /** Replaces cursors by checked ones in place; checked ones are kept. */
  checkAll(cursors: Cursor[]): void {
    for (let i = 0; i < cursors.length; i++) {
      if (cursors[i] instanceof CheckedCursor) continue
      const checked = new CheckedCursor(cursors[i])
      this.cursors.add(checked)
      cursors[i] = checked
    }
  }

  /** Closes one cursor, because its memory is about to be released. */
  close(cursor: Cursor): void {
    if (!(cursor instanceof CheckedCursor)) return
    assert(this.cursors.delete(cursor), 'a cursor is given back to where it came from')
    cursor.close()
  }

  /** Closes all cursors. */
  closeAll(): void {
    for (const cursor of this.cursors) cursor.close()
    this.cursors.clear()
  }
}

/** The wrapped cursor of a checked one, or the cursor itself. */
export function uncheckedCursor(cursor: Cursor): Cursor {
  return cursor instanceof CheckedCursor ? cursor.inner : cursor
}
