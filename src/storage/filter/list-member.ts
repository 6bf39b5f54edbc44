/**
 * A member of a filter list, with the state that the list keeps for it while other members slow the
 * scan down. A member that asked for a jump is not shown the cells that its jump would have
 * skipped, because many filters rely on not seeing them (HBASE-17678, HBASE-18368).
 */
import { checkedHint, wrongAnswer } from './answers.js'
import { equalBytes, emptyBytes } from '../../base/bytes.js'
import type { CellView } from '../cell/cell-view.js'
import { FilterCode, type Filter } from './filter.js'
import { HintMemory, Reach } from './hint-memory.js'

export class ListMember {
  readonly filter: Filter
  /** Whether the member has rejected the row by its key. */
  rowRejected = false
  /** Whether the member included the last cell it was shown. */
  included = false
  /** How far the member wants to jump after that cell. */
  reach: Reach = Reach.next
  /** Whether the member answered with a hint, wherever it leads. */
  asksForHint = false
  readonly hint = new HintMemory()
  private familyIndex = -1
  private qualifier: Buffer = emptyBytes
  private qualifierLength = 0

  constructor(filter: Filter) {
    this.filter = filter
  }

  reset(): void {
    this.filter.reset()
    this.rowRejected = false
    this.forget()
  }

  /** Asks about the row. Returns true if the member rejects it. */
  filterRowKey(row: Buffer): boolean {
    this.rowRejected = this.filter.filterAllRemaining() || this.filter.filterRowKey(row)
    return this.rowRejected
  }

  /** Asks about a cell and stores the answer in `included` and `reach`. */
  ask(cell: CellView): void {
    const code = this.filter.filterCell(cell)
    this.included =
      code === FilterCode.include ||
      code === FilterCode.includeAndNextColumn ||
      code === FilterCode.includeAndNextRow
    this.asksForHint = code === FilterCode.seekUsingHint
    switch (code) {
      case FilterCode.include:
      case FilterCode.skip:
        this.reach = Reach.next
        return
      case FilterCode.includeAndNextColumn:
      case FilterCode.nextColumn:
        this.reach = Reach.nextColumn
        return
      case FilterCode.includeAndNextRow:
      case FilterCode.nextRow:
        this.reach = Reach.nextRow
        return
      case FilterCode.seekUsingHint:
        this.hint.remember(cell, checkedHint(this.filter.nextCellHint?.(cell)))
        this.reach = this.hint.reach
        return
      default:
        throw wrongAnswer('filterCell', 'a FilterCode', code)
    }
  }

  /** As {@link ask}, unless an earlier jump has skipped the cell. */
  askUnlessPassed(cell: CellView): void {
    if (this.hasPassed(cell)) {
      this.included = false
      return
    }
    this.ask(cell)
    if (this.reach === Reach.nextColumn) this.rememberColumn(cell)
    else if (this.reach === Reach.nextRow) this.familyIndex = cell.familyIndex
  }

  /** Records that the member wants no more cells of this family's row. */
  pass(): void {
    this.included = false
    this.reach = Reach.nextRow
  }

  private hasPassed(cell: CellView): boolean {
    switch (this.reach) {
      case Reach.next:
        return false
      case Reach.nextColumn:
        return this.familyIndex === cell.familyIndex && this.isInColumn(cell)
      case Reach.nextRow:
        return this.familyIndex === cell.familyIndex
      case Reach.hintInColumn:
      case Reach.hintInRow:
      case Reach.hintBehindRow:
        return this.hint.isBefore(cell)
    }
  }

  private isInColumn(cell: CellView): boolean {
    const { buffer, qualifierStart, qualifierEnd } = cell
    return equalBytes(this.qualifier, 0, this.qualifierLength, buffer, qualifierStart, qualifierEnd)
  }

  private rememberColumn(cell: CellView): void {
    const length = cell.qualifierEnd - cell.qualifierStart
    if (this.qualifier.length < length) this.qualifier = Buffer.alloc(2 * length)
    cell.buffer.copy(this.qualifier, 0, cell.qualifierStart, cell.qualifierEnd)
    this.qualifierLength = length
    this.familyIndex = cell.familyIndex
  }

  private forget(): void {
    this.included = false
    this.reach = Reach.next
    this.familyIndex = -1
  }
}
