/**
 * A member of a filter list, with the state that the list keeps for it while other members slow the
 * scan down. A member that asked for a jump is not shown the cells that its jump would have
 * skipped, because many filters rely on not seeing them (HBASE-17678, HBASE-18368).
 */
import { assert } from '../../base/assert.js'
import { checkedHint, wrongAnswer } from './arguments.js'
import type { CellView } from '../cell/cell-view.js'
import { FilterCode, type CellHint, type Filter } from './filter.js'
import { isIncluded } from './filter-base.js'
import { SeekKey } from './seek-key.js'

/** How far a member's answer leads, in ascending order; `next` is the next cell. */
export const Reach = {
  next: 0,
  hintInColumn: 1,
  nextColumn: 2,
  hintInRow: 3,
  nextRow: 4,
  hintBehindRow: 5,
} as const
export type Reach = (typeof Reach)[keyof typeof Reach]

/** Whether a reach is that of a hint. */
export function isHint(reach: Reach): boolean {
  return reach === Reach.hintInColumn || reach === Reach.hintInRow || reach === Reach.hintBehindRow
}

const reachOfCode: Readonly<Partial<Record<FilterCode, Reach>>> = {
  [FilterCode.include]: Reach.next,
  [FilterCode.skip]: Reach.next,
  [FilterCode.includeAndNextColumn]: Reach.nextColumn,
  [FilterCode.nextColumn]: Reach.nextColumn,
  [FilterCode.includeAndNextRow]: Reach.nextRow,
  [FilterCode.nextRow]: Reach.nextRow,
}

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
  /** The hint, if it leads forward. */
  hint: CellHint | undefined = undefined
  /** Family of the cell, and the place in its row to which the answer leads. */
  private familyIndex = -1
  private readonly target = new SeekKey()

  constructor(filter: Filter) {
    this.filter = filter
  }

  reset(): void {
    this.filter.reset()
    this.rowRejected = false
    this.included = false
    this.reach = Reach.next
    this.familyIndex = -1
  }

  /** Asks about the row. Returns true if the member rejects it. */
  filterRowKey(row: Buffer): boolean {
    this.rowRejected = this.filter.filterAllRemaining() || this.filter.filterRowKey(row)
    return this.rowRejected
  }

  /** Asks about a cell and stores the answer in `included` and `reach`. */
  ask(cell: CellView): void {
    const code = this.filter.filterCell(cell)
    // A filter of a user may return anything; other types than numbers cannot be looked up.
    if (typeof code !== 'number') throw wrongAnswer('filterCell', 'a FilterCode', code)
    this.included = isIncluded(code)
    this.asksForHint = code === FilterCode.seekUsingHint
    const reach = this.asksForHint ? this.reachOfHint(cell) : reachOfCode[code]
    if (reach === undefined) throw wrongAnswer('filterCell', 'a FilterCode', code)
    this.reach = reach
  }

  /** Sets the hint for a cell. A hint that does not lead forward counts as `next`. */
  private reachOfHint(cell: CellView): Reach {
    const { target } = this
    this.hint = checkedHint(this.filter.nextCellHint?.(cell))
    if (this.hint === undefined) return Reach.next
    target.setHint(this.hint, true)
    this.familyIndex = cell.familyIndex
    if (target.compare(cell) >= 0) {
      this.hint = undefined
      return Reach.next
    }
    if (!target.isInRowOf(cell)) return Reach.hintBehindRow
    return target.isInColumnOf(cell) ? Reach.hintInColumn : Reach.hintInRow
  }

  /** As {@link ask}, unless an earlier jump has skipped the cell. */
  askUnlessPassed(cell: CellView): void {
    if (this.hasPassed(cell)) {
      this.included = false
      return
    }
    this.ask(cell)
    if (this.reach !== Reach.nextColumn && this.reach !== Reach.nextRow) return
    this.familyIndex = cell.familyIndex
    this.target.setBehind(cell.buffer, cell.keyStart, cell.qualifierEnd)
  }

  /** Records that the member wants no more cells of this family's row. */
  pass(): void {
    this.included = false
    this.reach = Reach.nextRow
  }

  /** Orders the hints of two members by their place. REQUIRES that both have one. */
  compareHint({ hint, target: { buffer, length } }: ListMember): number {
    assert(this.hint !== undefined && hint !== undefined, 'hints of two members are compared')
    return -this.target.compare({ buffer, keyStart: 0, keyEnd: length })
  }

  private hasPassed(cell: CellView): boolean {
    const { reach } = this
    if (reach === Reach.next) return false
    if (reach === Reach.hintBehindRow) return true
    if (cell.familyIndex !== this.familyIndex) return false
    return reach === Reach.nextRow || this.target.compare(cell) < 0
  }
}
