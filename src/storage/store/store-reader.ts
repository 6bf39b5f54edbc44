/**
 * Opens a store scanner over the sources that a read has to consult (`SourceSelection`).
 *
 * A reader is reusable and serves one read at a time. It keeps its cursors while the store's
 * sources stay the same (`SourceCursors`), so that a hot get allocates no cursor.
 */
import { assert } from '../../base/assert.js'
import { equalBytes } from '../../base/bytes.js'
import type { Moment } from '../../base/clock.js'
import { checksInvariants } from '../../base/invariants.js'
import { rowEndOf } from '../cell/cell-key.js'
import { CursorLease, uncheckedCursor, type CheckedCursor } from '../cursor/checked-cursor.js'
import { isVisiblePut } from '../cell/plain-put.js'
import { RowCollector } from '../scan/row-collector.js'
import type { StoreQuery } from '../scan/query.js'
import type { RowBounds } from '../scan/row-scanner.js'
import { StoreScanner } from '../scan/store-scanner.js'
import { ColumnPick, RowOverlay } from '../sstable/rows/row-overlay.js'
import { RowWriter } from '../sstable/rows/row-writer.js'
import type { SsTableReader } from '../sstable/reader.js'
import type { MemtableSlot } from './memtable-slot.js'
import { SourceCursors, type ReadMode } from './source-cursors.js'
import { SourceSelection } from './source-selection.js'
import type { Store } from './store.js'

export type { ReadMode } from './source-cursors.js'

/** Number of cells of one source that are laid over a whole row; the rules pass more by seeks. */
const cellsOverMax = 32

export class StoreReader {
  readonly scanner: StoreScanner
  private readonly cursors: SourceCursors
  private readonly selection: SourceSelection
  private readonly overlay = new RowOverlay()
  private readonly pick = new ColumnPick()
  private readonly writer = new RowWriter()
  /** Wraps the chosen cursors in invariants mode. */
  private lease: CursorLease | undefined = undefined

  constructor(store: Store, familyIndex: number) {
    this.scanner = new StoreScanner(familyIndex, store.family, store.values)
    this.cursors = new SourceCursors(store)
    this.selection = new SourceSelection(store, this.cursors)
  }

  /**
   * Opens the scanner at the row `row[0, rowLength)` (escaped), which is followed by a terminator,
   * for a `RowScanner`. The row is borrowed during the read, and the memory after it is
   * overwritten. May throw `BlockMissing`, and is then called again.
   */
  openRow(
    row: Buffer,
    rowLength: number,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): void {
    const { selection } = this
    selection.chooseForRow(row, rowLength, query, readPoint, moment, mode, false)
    if (checksInvariants) this.checkCursors()
    this.scanner.openRow(selection)
  }

  /**
   * Reads a row, given as to {@link openRow}; false if the collector is full. May throw
   * `BlockMissing`; then the read of the row starts again.
   */
  readRow(
    row: Buffer,
    rowLength: number,
    query: StoreQuery,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
    collector: RowCollector,
  ): boolean {
    const { selection, scanner } = this
    const { columns } = query
    const from = collector.cellsEnd
    const takesWhole = columns === undefined || !collector.cutsRows
    selection.chooseForRow(row, rowLength, query, readPoint, moment, mode, takesWhole)
    const { whole, chosen } = selection
    if (whole !== undefined) {
      if (this.addWhole(columns, collector)) {
        if (checksInvariants && (selection.isCopy || columns !== undefined) && !collector.full) {
          this.closeLease()
          selection.chooseForRow(row, rowLength, query, readPoint, moment, mode, false)
          this.checkWhole(from, collector)
        }
        return true
      }
      this.closeLease()
      selection.chooseForRow(row, rowLength, query, readPoint, moment, mode, false)
    }
    if (chosen.length === 0) return true
    if (checksInvariants) this.checkCursors()
    const isRead = scanner.readFromStart(selection, collector)
    if (isRead && whole === undefined && !collector.full && !scanner.position.hasRules) {
      const { writer } = this
      if (selection.wantsCopy()) {
        collector.writeRow(from, writer)
        selection.keepCopy(writer.buffer, 0, writer.length)
      }
    }
    return isRead
  }

  /**
   * Adds the whole row that was found, with the cells of the cursors laid over it. False, and
   * nothing is added: the row is to be read by its cells.
   */
  private addWhole(columns: readonly Buffer[] | undefined, collector: RowCollector): boolean {
    const { selection, overlay, pick } = this
    const { whole, wholeStart, wholeEnd, chosen } = selection
    const { familyIndex } = this.scanner.cell
    overlay.begin(whole!, wholeStart, wholeEnd)
    if (!collector.wantsOneCell) {
      if (chosen.length > 0 && !this.layOver()) return false
      if (selection.wantsCopy()) selection.keepCopy(overlay.buffer, overlay.start, overlay.end)
      if (columns !== undefined) {
        const { writer } = pick
        if (!pick.pick(overlay.buffer, overlay.start, overlay.end, columns)) return true
        overlay.begin(writer.buffer, 0, writer.length)
      }
    }
    collector.addFoundRow(familyIndex, overlay.buffer, overlay.start, overlay.end)
    return true
  }

  /** Compares the cells of a whole row with those of the row's sources, which are chosen. */
  private checkWhole(from: number, collector: RowCollector): void {
    const row = new RowCollector()
    row.configure([], -1)
    if (this.selection.chosen.length > 0) {
      this.checkCursors()
      this.scanner.readFromStart(this.selection, row)
    }
    assert(collector.hasCells(from, row.take(false)), 'a whole row has the newest cells of the row')
  }

  /**
   * Lays the cells of the cursors over the whole row. False if the rules are needed for one of
   * them, or many versions are to be passed.
   */
  private layOver(): boolean {
    const { overlay } = this
    const { chosen, row, rowLength, readPoint, oldest } = this.selection
    if (checksInvariants) this.checkCursors()
    for (let i = 0; i < chosen.length; i++) {
      const cursor = chosen[i]
      overlay.beginSource()
      for (let cells = 0; cursor.valid; cells++) {
        const { buffer, keyStart, keyEnd, valueStart } = cursor
        const end = rowEndOf(buffer, keyStart, keyEnd)
        if (!equalBytes(buffer, keyStart, end, row, 0, rowLength)) break
        const isPlain = isVisiblePut(buffer, keyEnd, valueStart, readPoint, oldest)
        if (cells === cellsOverMax || !isPlain) return false
        overlay.add(buffer, keyStart, keyEnd, cursor.valueEnd)
        cursor.next()
      }
      if (!overlay.endSource()) return false
    }
    return true
  }

  /** Opens the scanner for a range of rows; the caller positions it. */
  openRange(
    query: StoreQuery,
    bounds: RowBounds,
    readPoint: number,
    moment: Moment,
    mode: ReadMode,
  ): void {
    const { selection } = this
    selection.chooseForRange(query, bounds, readPoint, moment, mode)
    if (checksInvariants) this.checkCursors()
    this.scanner.open(selection)
  }

  /**
   * Called when a memtable of an opened range was flushed. The scanner continues in `tables`, which
   * hold all entries visible to it, and releases the memtable's memory.
   */
  leaveMemtable(slot: MemtableSlot, tables: readonly SsTableReader[], mode: ReadMode): void {
    const left = this.cursors.leaveMemtable(slot)
    if (left === undefined) return
    const { chosen } = this.selection
    const place = chosen.findIndex((cursor) => uncheckedCursor(cursor) === left)
    assert(place >= 0, 'a scan reads the memtables that it uses')
    const cursors = tables.map((table) => this.cursors.newTable(table, mode))
    const [given] = chosen.splice(place, 1, ...cursors)
    this.lease?.checkAll(chosen)
    this.scanner.replaceCursors(chosen)
    this.lease?.close(given)
  }

  private checkCursors(): void {
    const { chosen, deferring } = this.selection
    assert(this.lease === undefined, 'a reader serves one read at a time')
    this.lease = new CursorLease()
    this.lease.checkAll(chosen)
    for (let i = 0; i < deferring.length; i++) {
      if (deferring[i] !== undefined) deferring[i] = chosen[i] as CheckedCursor
    }
  }

  private closeLease(): void {
    this.lease?.closeAll()
    this.lease = undefined
  }

  /** As {@link release}, after {@link openRange}. */
  releaseRange(): void {
    this.release()
    this.cursors.releaseRange()
  }

  /** Drops references to memtables and SSTables if the store's sources have changed. */
  release(): void {
    this.closeLease()
    const hasMoved = this.cursors.release()
    if (!hasMoved) return
    this.selection.release()
    this.scanner.release()
    this.overlay.release()
  }
}
