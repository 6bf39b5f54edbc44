/**
 * Combines filters by the rules of HBase 2 (HBase: FilterList; FilterListWithAND,
 * FilterListWithOR).
 *
 * MUST_PASS_ALL shows a cell to its members in order until one rejects it. Later members do not see
 * the cell, so a member that counts does not count it (HBASE-20565). Only those that give hints see
 * it too (HBASE-28622). A cell is included if all members include it. The scan then jumps as far as
 * the member with the longest jump asked. Hints take precedence over all jumps, and the farthest of
 * them counts.
 *
 * MUST_PASS_ONE includes a cell that any member includes. The scan then jumps only as far as the
 * member with the shortest jump asked. list-member.ts describes what the list remembers meanwhile.
 *
 * At the end of a row MUST_PASS_ALL asks its members in order until one drops the row, so a
 * PageFilter belongs last. MUST_PASS_ONE asks until one keeps the row. Members that replace values
 * work in order, each on the value left by the one before.
 */
import { shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { valueHeaderBytes, writeValueHeader } from '../cell/cell-value.js'
import { CellView } from '../cell/cell-view.js'
import { checkedValue, checkInnerFilter, checkList } from './arguments.js'
import { mayHint } from './filter-base.js'
import { FilterCode, type CellHint, type Filter, type RowCells } from './filter.js'
import { isHint, ListMember, Reach } from './list-member.js'

/** How a list combines its members (HBase: FilterList.Operator). */
export type FilterListOperator = 'MUST_PASS_ALL' | 'MUST_PASS_ONE'

/**
 * Several filters, combined by "and" or "or". Lists can contain lists. An empty list accepts
 * everything.
 */
export class FilterList implements Filter {
  readonly hasFilterRow: boolean
  /** Whether all filters or one must pass. */
  readonly operator: FilterListOperator
  private readonly members: readonly ListMember[]
  /** The member whose hint is taken. */
  private hinting: ListMember | undefined = undefined
  private reversed = false

  /** Throws `ERR_INVALID_ARGUMENT`. A filter object must not be used twice within one scan. */
  constructor(operator: FilterListOperator, filters: readonly Filter[]) {
    if (operator !== 'MUST_PASS_ALL' && operator !== 'MUST_PASS_ONE') {
      throw invalidArgument(
        `operator must be MUST_PASS_ALL or MUST_PASS_ONE, got ${shown(operator)}`,
      )
    }
    this.operator = operator
    this.members = checkList(filters, 'filters').map((each) => {
      return new ListMember(checkInnerFilter(each))
    })
    this.hasFilterRow = this.members.some(({ filter }) => filter.hasFilterRow)
  }

  /** The members, in order. */
  get filters(): readonly Filter[] {
    return this.members.map(({ filter }) => filter)
  }

  isFamilyEssential(family: string): boolean {
    if (this.members.length === 0) return true
    return this.members.some(({ filter }) => filter.isFamilyEssential?.(family) ?? true)
  }

  readsValue(cell: CellView): boolean {
    return this.members.some(({ filter }) => filter.readsValue?.(cell) ?? true)
  }

  /**
   * With MUST_PASS_ALL one member that replaces the value suffices; with MUST_PASS_ONE all must
   * replace it.
   */
  get replacesValues(): boolean {
    const replaces = ({ filter }: ListMember): boolean => filter.replacesValues ?? false
    if (this.operator === 'MUST_PASS_ALL') return this.members.some(replaces)
    return this.members.length > 0 && this.members.every(replaces)
  }

  setReversed(reversed: boolean): void {
    this.reversed = reversed
    for (const { filter } of this.members) filter.setReversed?.(reversed)
  }

  reset(): void {
    for (const member of this.members) member.reset()
  }

  filterAllRemaining(): boolean {
    const { members } = this
    const isAll = this.operator === 'MUST_PASS_ALL'
    for (const { filter } of members) if (filter.filterAllRemaining() === isAll) return isAll
    return !isAll && members.length > 0
  }

  filterRowKey(row: Buffer): boolean {
    // Every member must see the row, whatever the others answer.
    let refusing = 0
    for (const member of this.members) if (member.filterRowKey(row)) refusing++
    if (this.operator === 'MUST_PASS_ALL') return refusing > 0
    return refusing > 0 && refusing === this.members.length
  }

  filterCell(cell: CellView): FilterCode {
    this.hinting = undefined
    if (this.members.length === 0) return FilterCode.include
    return this.operator === 'MUST_PASS_ALL' ? this.askAll(cell) : this.askOne(cell)
  }

  /** Whether all members must pass, and each includes the row. */
  includesRow(): boolean {
    const judgesAsList = this.filterCell === FilterList.prototype.filterCell
    if (this.operator !== 'MUST_PASS_ALL' || !judgesAsList) return false
    return this.members.every(({ filter }) => {
      return filter.includesRow?.() === true && !filter.filterAllRemaining()
    })
  }

  /** Whether any member may. */
  mayHint(): boolean {
    return this.members.some(({ filter }) => mayHint(filter))
  }

  transformCell(cell: CellView): Buffer | undefined {
    let replaced: Buffer | undefined = undefined
    for (const { filter, included } of this.members) {
      if (!included || filter.transformCell === undefined) continue
      const shown: CellView = replaced === undefined ? cell : withValue(cell, replaced)
      replaced = checkedValue(filter.transformCell(shown)) ?? replaced
    }
    return replaced
  }

  filterRowCells(cells: RowCells): void {
    for (const { filter } of this.members) {
      if (cells.count > 0) filter.filterRowCells?.(cells)
    }
  }

  filterRow(): boolean {
    const members = this.members
    if (members.length === 0) return false
    if (this.operator === 'MUST_PASS_ALL') {
      for (const { filter } of members) if (filter.filterRow()) return true
      return false
    }
    for (const { filter, rowRejected } of members) {
      if (!rowRejected && !filter.filterRow()) return false
    }
    return true
  }

  nextCellHint(): CellHint | undefined {
    return this.hinting?.hint
  }

  private askAll(cell: CellView): FilterCode {
    let included = true
    let reach: Reach = Reach.next
    let isHinted = false
    for (const member of this.members) {
      const { filter } = member
      if (!included && filter.givesHints !== true) continue
      if (included && filter.filterAllRemaining()) {
        included = false
        reach = Reach.nextRow
        continue
      }
      member.ask(cell)
      if (included && member.reach > reach) reach = member.reach
      included &&= member.included
      if (!member.asksForHint) continue
      isHinted = true
      this.takeFartherHint(member)
    }
    if (!isHinted) return codeOf(included, reach)
    // A hint that leads nowhere counts as one step. So does one in a reversed scan, as in HBase:
    // there hints lead to later columns, against the direction of the scan.
    return this.hinting === undefined || this.reversed ? FilterCode.skip : FilterCode.seekUsingHint
  }

  private takeFartherHint(member: ListMember): void {
    const { hinting } = this
    if (!isHint(member.reach) || member.filter.filterAllRemaining()) return
    if (hinting === undefined || member.compareHint(hinting) > 0) this.hinting = member
  }

  private askOne(cell: CellView): FilterCode {
    let included = false
    let reach: Reach = Reach.hintBehindRow
    let asked = false
    for (const member of this.members) {
      if (member.filter.filterAllRemaining()) {
        // A member that has finished wants no more cells, so it does not shorten the jump of the
        // others.
        member.pass()
        continue
      }
      if (member.rowRejected) member.pass()
      else member.askUnlessPassed(cell)
      included ||= member.included
      if (!asked || member.reach < reach) {
        asked = true
        reach = member.reach
        this.hinting = isHint(reach) ? member : undefined
      } else if (member.reach === reach && this.hinting !== undefined) {
        if (member.compareHint(this.hinting) < 0) this.hinting = member
      }
    }
    return asked ? codeOf(included, reach) : FilterCode.skip
  }
}

/**
 * A view of the cell with another value. Allocates, since several filters that replace values are
 * rare.
 */
function withValue(cell: CellView, content: Buffer): CellView {
  const { buffer, keyStart, keyEnd } = cell
  const keyBytes = keyEnd - keyStart
  const copy = Buffer.alloc(keyBytes + valueHeaderBytes(0) + content.length)
  buffer.copy(copy, 0, keyStart, keyEnd)
  content.copy(copy, writeValueHeader(copy, keyBytes, 0))
  const view = new CellView()
  view.setCell(copy, 0, keyBytes, copy.length)
  view.family = cell.family
  view.familyIndex = cell.familyIndex
  return view
}

/**
 * The code for a cell. An included cell cannot follow a hint, so it takes the next shorter jump.
 */
function codeOf(included: boolean, reach: Reach): FilterCode {
  if (isHint(reach) && !included) return FilterCode.seekUsingHint
  if (reach < Reach.nextColumn) return included ? FilterCode.include : FilterCode.skip
  if (reach < Reach.nextRow) {
    return included ? FilterCode.includeAndNextColumn : FilterCode.nextColumn
  }
  return included ? FilterCode.includeAndNextRow : FilterCode.nextRow
}
