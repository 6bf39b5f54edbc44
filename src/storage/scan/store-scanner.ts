/**
 * Reads one store (one family of one table): moves a merge of memtables and SSTables row by row,
 * and passes the cells that the read includes to a collector. Plain puts are read by the fast path
 * (plain/plain-loop.ts), other cells one by one by the rules of the matcher.
 *
 * Resumability: every call may throw `BlockMissing`. All progress is in the {@link ReadPosition},
 * and only moves can throw. So the same call is repeated once the block is loaded.
 *
 * Ownership: the scanner is reusable. Between `open` and the last use its cursors refer to
 * memtables and SSTable readers, which the caller pins.
 */
import { assert } from '../../base/assert.js'
import { compareBytes, emptyBytes, equalBytes } from '../../base/bytes.js'
import { checksInvariants } from '../../base/invariants.js'
import { CellView } from '../cell/cell-view.js'
import { isVisiblePut } from '../cell/plain-put.js'
import { CheckedCursor } from '../cursor/checked-cursor.js'
import type { BackwardCursor, Cursor } from '../cursor/cursor.js'
import { readBackward } from './plain/backward-loop.js'
import type { RowTarget } from './cell-collector.js'
import { readPlain, ReadStep } from './plain/plain-loop.js'
import { PlainRows } from './plain/plain-rows.js'
import { endsRow, MatchCode } from './query.js'
import { Move, ReadPosition } from './read-position.js'
import type { RowBounds } from './row-scanner.js'
import { RowMergeCursor } from './plain/row-merge-cursor.js'
import { RuleMoves } from './rule-moves.js'
import { mayHint } from '../filter/filter-base.js'
import { SeekKey } from '../filter/seek-key.js'
import type { StoreRead, StoreRowRead, ValueSource } from './store-read.js'
import { UserMatcher } from './user-matcher.js'

export class StoreScanner {
  /** The cell under the cursor, decoded; valid while `atCell`. */
  readonly cell = new CellView()
  readonly position = new ReadPosition()
  /** Whether the filter has ended the whole scan. */
  ended = false
  private readonly matcher = new UserMatcher(this.position)
  /** Whether the matcher is configured since {@link open}. */
  private isConfigured = false
  private readonly rows: PlainRows
  private readonly moves = new RuleMoves(this.cell, this.position, this.matcher)
  private readonly merge = new RowMergeCursor()
  private cursor: Cursor = this.merge
  private read!: StoreRead
  /** Whether a single row is read, so that the cursor need not move past it. */
  private singleRow = false
  /** Whether the cursor is already at the target of the first {@link seek}. */
  private positioned = false
  /** Number of cells of the row that the rules have included. */
  private cellsInRow = 0
  /**
   * The decision on a cell that waits, because the collector was full or the value was missing; 0:
   * no cell waits.
   */
  private waitingCode: MatchCode | 0 = 0
  /** Whether the last seek was backwards. */
  private backward = false
  /** Whether the cursors were replaced: the next use seeks {@link entry}, where they were. */
  private displaced = false
  private readonly entry = new SeekKey()
  /** Resolves values that are stored in value files. */
  private readonly values: ValueSource | undefined

  /** Makes a scanner of one store. */
  constructor(familyIndex: number, family: string, values: ValueSource | undefined) {
    this.cell.familyIndex = familyIndex
    this.cell.family = family
    this.rows = new PlainRows(familyIndex, family)
    this.values = values
  }

  /** Takes over the cursors of a read until the read ends; {@link seek} has to follow. */
  open(read: StoreRead): void {
    this.begin(read)
    this.cursor = this.join(read)
  }

  private begin(read: StoreRead): void {
    this.read = read
    this.moves.read = read
    this.position.begin()
    this.isConfigured = false
    this.ended = false
    this.singleRow = false
    this.positioned = false
    this.backward = false
    this.waitingCode = 0
    this.displaced = false
  }

  /**
   * One cursor over the sources of a read. It is not positioned yet, but for a single row at the
   * first wanted entry, as the cursors are; sources without a wanted entry are left out.
   */
  private join({ chosen, deferring, isNewest }: StoreRead, row?: StoreRowRead): Cursor {
    if (chosen.length === 1 && deferring.length === 0) return chosen[0]
    const { merge } = this
    merge.setChildren(chosen, deferring)
    merge.laysOver = isNewest
    if (row !== undefined) merge.startWithin(row.row, row.wantedLength)
    return checksInvariants ? new CheckedCursor(merge, false) : merge
  }

  /**
   * As {@link open}, with the cursors at the row of the read: {@link readRow} may follow directly,
   * and cells after the row are not read. May throw `BlockMissing`; then the row has to be opened
   * again.
   */
  openRow(read: StoreRowRead): void {
    this.begin(read)
    this.cursor = this.join(read, read)
    this.positioned = true
  }

  /**
   * Reads a row from its start; false if the collector is full. May throw `BlockMissing`; then the
   * row has to be read again.
   */
  readFromStart(read: StoreRowRead, collector: RowTarget): boolean {
    const cursor = this.join(read, read)
    if (read.isColumn && read.isNewest) {
      if (!cursor.valid) return true
      const { buffer, keyStart, keyEnd, valueStart } = cursor
      if (isVisiblePut(buffer, keyEnd, valueStart, read.readPoint, read.oldest)) {
        collector.addRange(this.cell.familyIndex, buffer, keyStart, keyEnd, cursor.valueEnd)
        return true
      }
    }
    this.begin(read)
    this.cursor = cursor
    this.singleRow = true
    return this.readRow(read.row, read.rowLength, collector)
  }

  /**
   * Continues with new cursors at the current entry. The new cursors hold every entry visible at
   * the scanner's read point, and the memory of the old ones may be released. REQUIRES that no call
   * is in progress; a call that threw `BlockMissing` may be repeated afterwards.
   */
  replaceCursors(cursors: readonly Cursor[]): void {
    const { cursor, position } = this
    assert(!this.singleRow, 'only a scan changes its cursors')
    // A step that threw has left the cursor in place, and a planned seek does not need the entry.
    if (!this.displaced && cursor.valid) {
      this.entry.setEntry(cursor)
      this.displaced = true
    }
    if (position.move !== Move.none && position.move !== Move.next) this.displaced = true
    position.detach()
    this.matcher.detach()
    this.cell.buffer = emptyBytes
    this.merge.setChildren([])
    this.cursor = this.join({ ...this.read, chosen: cursors, deferring: [] })
  }

  /** Seeks the entry at which the replaced cursors were positioned; may throw `BlockMissing`. */
  private findEntry(): void {
    const { cursor, position, entry } = this
    if (position.move !== Move.none && position.move !== Move.next) {
      position.seekNow(cursor)
    } else if (this.backward) {
      cursor.seekBefore(entry.buffer, entry.length + 1)
    } else {
      cursor.seek(entry.buffer, entry.length)
      // An entry invisible to this read may be missing; then the cursor is already past it.
      const isThere = cursor.valid && entry.compare(cursor) === 0
      if (position.move === Move.next && !isThere) position.move = Move.none
    }
    this.displaced = false
    if (cursor.valid) this.cell.set(cursor)
  }

  /** Drops cursors and query, so that a pooled scanner pins no memory. */
  release(): void {
    this.merge.release()
    this.cursor = this.merge
    this.displaced = false
    this.position.reset()
    this.position.detach()
    this.rows.release()
  }

  /** Whether a cell is under the cursor. */
  get atCell(): boolean {
    if (this.displaced) this.findEntry()
    return this.cursor.valid
  }

  /** Seeks the first cell at or after an encoded key prefix. */
  seek(key: Buffer, length: number): void {
    this.leaveRow(false)
    if (!this.positioned) this.cursor.seek(key, length)
    this.positioned = false
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  /** Seeks the last cell before an encoded key prefix; a `seek` must follow before reading. */
  seekBefore(key: Buffer, length: number): void {
    this.leaveRow(true)
    this.cursor.seekBefore(key, length)
    if (this.cursor.valid) this.cell.set(this.cursor)
  }

  private leaveRow(backward: boolean): void {
    this.position.reset()
    this.displaced = false
    this.backward = backward
  }

  /** Compares the row under the cursor with that of another scanner. REQUIRES `atCell` of both. */
  compareRow(other: StoreScanner): number {
    assert(this.cursor.valid && other.cursor.valid, 'scanners at cells are compared')
    const a = this.cell
    const b = other.cell
    return compareBytes(a.buffer, a.keyStart, a.rowEnd, b.buffer, b.keyStart, b.rowEnd)
  }

  /**
   * Whether {@link readRows} may be used: the fast path applies, if only to whole rows, and all
   * columns are requested.
   */
  mayReadRows(reversed: boolean): boolean {
    const { isNewest, wantsPlainRows, query } = this.read
    if (query.filter !== undefined || query.columns !== undefined) return false
    return isNewest || (wantsPlainRows && !reversed)
  }

  /**
   * Reads rows ahead from the cell under the cursor, in the direction of the bounds, until the
   * collector wants no more rows, a row is out of bounds, or a cell is no plain put. If the last
   * row is not complete ({@link ReadPosition.inRow}, also if the call throws), it has to be
   * continued by {@link readRow}, or backwards to be read from its start. REQUIRES `mayReadRows`,
   * and no row in progress.
   */
  readRows(bounds: RowBounds, collector: RowTarget): ReadStep {
    const { cursor, position, cell, rows } = this
    const mayRead = this.mayReadRows(bounds.reversed) && !position.inRow
    assert(mayRead, 'rows are read ahead between rows of a plain read')
    assert(this.backward === bounds.reversed, 'rows are read in the direction of the scan')
    const step = bounds.reversed
      ? readBackward(cursor as BackwardCursor, position, this.read, rows, bounds, collector)
      : readPlain(cursor, position, this.read, rows, bounds, collector)
    if (cursor.valid && !position.inRow) cell.set(cursor)
    return step
  }

  /**
   * Continues in the row `row[0, rowLength)`. Returns true at the end of the row, with the cursor
   * past it; false if the collector is full, and the call has to be repeated.
   */
  readRow(row: Buffer, rowLength: number, collector: RowTarget): boolean {
    if (this.displaced) this.findEntry()
    const { cell, cursor, position, read } = this
    if (!position.inRow) position.startRow(row, 0, rowLength)
    for (;;) {
      if (position.move !== Move.none) position.finishMove(cursor, read.mayStep)
      if (this.isPlain) {
        const step = readPlain(cursor, position, read, this.rows, undefined, collector)
        if (step === ReadStep.full) return false
        if (step === ReadStep.rowEnded) break
        if (step === ReadStep.scanEnded) {
          this.ended = true
          break
        }
        if (step === ReadStep.columnsEnded) {
          if (this.singleRow) break
          this.moves.planRow(row, rowLength)
          position.finishMove(cursor, read.mayStep)
          break
        }
        if (position.hasRules) this.matcher.resume()
      }
      if (!cursor.valid) break
      cell.set(cursor)
      if (!position.isRow(cell.buffer, cell.keyStart, cell.rowEnd)) break
      if (!position.hasRules) this.startRules()
      if (this.moves.takeHint()) continue
      const code = this.matchCell(collector)
      if (code === 0) return false
      const isComplete = isIncluded(code) && this.hasAllCells
      if (this.singleRow && (isComplete || endsRow(code))) break
      if (isComplete) this.moves.planRow(row, rowLength)
      else if (code !== MatchCode.endScan) this.moves.plan(code, row, rowLength)
      else {
        this.ended = true
        break
      }
    }
    position.inRow = false
    if (!this.singleRow && cursor.valid) cell.set(cursor)
    return true
  }

  /** Whether the fast path may read on from the position. */
  private get isPlain(): boolean {
    if (!this.read.isNewest) return this.mayTakeRow
    return !this.position.hasRules || (this.waitingCode === 0 && this.matcher.unmasked)
  }

  /** Whether the row may be taken as a whole though cells of it need the rules. */
  private get mayTakeRow(): boolean {
    const { query, wantsPlainRows } = this.read
    const { position } = this
    if (!wantsPlainRows || position.hasRules || position.qualifierEnd > 0) return false
    const { columns, filter } = query
    if (columns !== undefined || filter === undefined) return false
    return filter.includesRow?.() === true || !mayHint(filter)
  }

  /** Lets the matcher follow the row from the position on. */
  private startRules(): void {
    const { query, settings, readPoint, moment } = this.read
    if (!this.isConfigured) this.matcher.configure(query, settings, readPoint, moment)
    this.isConfigured = true
    this.position.hasRules = true
    this.cellsInRow = 0
    this.matcher.startRow()
    this.moves.startRow()
  }

  /** Decides on the cell, and collects an included one; 0: it waits, for the collector is full. */
  private matchCell(collector: RowTarget): MatchCode | 0 {
    const { cell } = this
    const { filter, cellsPerRowOffset, cellsPerRowMax } = this.read.query
    if (filter !== undefined && cell.isReference && (filter.readsValue?.(cell) ?? true)) {
      this.resolve()
    }
    // A match changes the matcher's state, so the decision on a cell that waits is kept.
    const code = this.waitingCode === 0 ? this.matcher.match(cell) : this.waitingCode
    if (!isIncluded(code)) return code
    if (this.cellsInRow >= cellsPerRowOffset && cellsPerRowMax !== 0) {
      this.waitingCode = code
      if (collector.full) return 0
      if (cell.isReference && filter?.replacesValues !== true) this.resolve()
      collector.add(cell, filter)
      this.waitingCode = 0
    }
    this.cellsInRow++
    return code
  }

  /** Loads the cell's value from its value file; may throw `BlockMissing`. */
  private resolve(): void {
    assert(this.values !== undefined, 'a scanner of tables can follow references')
    this.values.resolve(this.cell, this.read.mayBlock)
  }

  /** Whether the limit is reached, so that the rest of the row needs neither matcher nor filter. */
  private get hasAllCells(): boolean {
    const { cellsPerRowOffset, cellsPerRowMax } = this.read.query
    return cellsPerRowMax >= 0 && this.cellsInRow >= cellsPerRowOffset + cellsPerRowMax
  }

  /** Moves past the row without reading it. */
  skipRow(row: Buffer, rowLength: number): void {
    if (this.displaced) this.findEntry()
    const { cell, cursor, position, read } = this
    const isAtRow =
      cursor.valid && equalBytes(cell.buffer, cell.keyStart, cell.rowEnd, row, 0, rowLength)
    if (position.move === Move.none && isAtRow) this.moves.planRow(row, rowLength)
    position.finishMove(cursor, read.mayStep)
    if (cursor.valid) cell.set(cursor)
    position.inRow = false
  }
}

function isIncluded(code: MatchCode): boolean {
  return code <= MatchCode.includeAndSeekNextRow
}
