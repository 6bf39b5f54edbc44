/**
 * HBase: FilterList, with the rules of HBase 2 (FilterListWithAND, FilterListWithOR).
 *
 * MUST_PASS_ALL includes a cell that all members include and goes as far as the member that wants
 * to go furthest. Every member is shown every cell that the scan reaches, also cells that an
 * earlier member rejected, so a member that counts cells counts those too.
 * MUST_PASS_ONE includes a cell that any member includes and goes only as far as the member that
 * wants to go least far; see list-member.ts for what it remembers meanwhile.
 * At the end of a row MUST_PASS_ALL asks members in order until one drops the row (so a PageFilter
 * belongs last), and MUST_PASS_ONE until one keeps it.
 */
import { invalidArgument } from '../base/errors.js'
import type { CellView } from '../cell/cell-view.js'
import { checkInnerFilter, checkList, describe } from './arguments.js'
import { FilterCode, type CellHint, type Filter, type RowCells } from './filter.js'
import { HintMemory, Reach } from './hint-memory.js'
import { ListMember } from './list-member.js'

/** HBase: FilterList.Operator. */
export type FilterListOperator = 'MUST_PASS_ALL' | 'MUST_PASS_ONE'

/**
 * Several filters, combined by "and" or "or"; lists nest. An empty list lets everything through.
 */
export class FilterList implements Filter {
  readonly hasFilterRow: boolean
  readonly operator: FilterListOperator
  private readonly members: readonly ListMember[]
  private hint: HintMemory | undefined = undefined

  /** Throws `ERR_INVALID_ARGUMENT`. A filter object must not be in two places of a scan. */
  constructor(operator: FilterListOperator, filters: readonly Filter[]) {
    if (operator !== 'MUST_PASS_ALL' && operator !== 'MUST_PASS_ONE') {
      throw invalidArgument(
        `operator must be MUST_PASS_ALL or MUST_PASS_ONE, got ${describe(operator)}`,
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

  /** A cell that any member may let through is sure of another value only if all give one. */
  get replacesValues(): boolean {
    const replaces = ({ filter }: ListMember): boolean => filter.replacesValues ?? false
    if (this.operator === 'MUST_PASS_ALL') return this.members.some(replaces)
    return this.members.length > 0 && this.members.every(replaces)
  }

  setReversed(reversed: boolean): void {
    for (const { filter } of this.members) filter.setReversed?.(reversed)
  }

  reset(): void {
    for (const member of this.members) member.reset()
  }

  filterAllRemaining(): boolean {
    const members = this.members
    if (members.length === 0) return false
    if (this.operator === 'MUST_PASS_ALL') {
      for (const { filter } of members) if (filter.filterAllRemaining()) return true
      return false
    }
    for (const { filter } of members) if (!filter.filterAllRemaining()) return false
    return true
  }

  filterRowKey(row: Buffer): boolean {
    // Every member must learn of the row, whatever the others say.
    let refusing = 0
    for (const member of this.members) if (member.filterRowKey(row)) refusing++
    if (this.operator === 'MUST_PASS_ALL') return refusing > 0
    return refusing > 0 && refusing === this.members.length
  }

  filterCell(cell: CellView): FilterCode {
    this.hint = undefined
    if (this.members.length === 0) return FilterCode.include
    return this.operator === 'MUST_PASS_ALL' ? this.askAll(cell) : this.askOne(cell)
  }

  transformCell(cell: CellView): Buffer | undefined {
    let replaced: Buffer | undefined = undefined
    for (const { filter, included } of this.members) {
      if (included) replaced = filter.transformCell?.(cell) ?? replaced
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
    return this.hint?.hint
  }

  private askAll(cell: CellView): FilterCode {
    let included = true
    let reach: Reach = Reach.next
    for (const member of this.members) {
      if (member.filter.filterAllRemaining()) return FilterCode.nextRow
      member.ask(cell)
      included &&= member.included
      if (member.reach > reach) {
        reach = member.reach
        this.hint = isHint(reach) ? member.hint : undefined
      } else if (member.reach === reach && this.hint !== undefined) {
        if (member.hint.compare(this.hint) > 0) this.hint = member.hint
      }
    }
    return codeOf(included, reach)
  }

  private askOne(cell: CellView): FilterCode {
    let included = false
    let reach: Reach = Reach.hintBehindRow
    let asked = false
    for (const member of this.members) {
      if (member.filter.filterAllRemaining()) {
        // What is over wants nothing any more, so it does not hold the others back either.
        member.pass()
        continue
      }
      if (member.rowRejected) member.pass()
      else member.askUnlessPassed(cell)
      included ||= member.included
      if (!asked || member.reach < reach) {
        asked = true
        reach = member.reach
        this.hint = isHint(reach) ? member.hint : undefined
      } else if (member.reach === reach && this.hint !== undefined) {
        if (member.hint.compare(this.hint) < 0) this.hint = member.hint
      }
    }
    return asked ? codeOf(included, reach) : FilterCode.nextRow
  }
}

function isHint(reach: Reach): boolean {
  return reach === Reach.hintInColumn || reach === Reach.hintInRow || reach === Reach.hintBehindRow
}

/** A cell that is included cannot ask for a hint's jump as well; the next shorter one will do. */
function codeOf(included: boolean, reach: Reach): FilterCode {
  if (isHint(reach) && !included) return FilterCode.seekUsingHint
  if (reach < Reach.nextColumn) return included ? FilterCode.include : FilterCode.skip
  if (reach < Reach.nextRow) {
    return included ? FilterCode.includeAndNextColumn : FilterCode.nextColumn
  }
  return included ? FilterCode.includeAndNextRow : FilterCode.nextRow
}
