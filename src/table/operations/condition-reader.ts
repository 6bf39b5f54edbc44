/** Evaluates the checks of checkAndMutate, mutateRows and atomic batches against stored cells. */
import { noSuchFamily } from '../../api/names.js'
import { compareBytes } from '../../base/bytes.js'
import { comparisons } from '../../base/compare-operator.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import { allTime, type TimeRange, type Timestamp } from '../../storage/cell/timestamp.js'
import { parseSingleColumn } from '../../storage/cell/column-name.js'
import type { Check, ColumnName } from '../../api/index.js'
import type { FamilyState, TableState } from '../../storage/engine/catalog/catalog.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { RowKey } from '../arguments/row-key.js'
import { encode } from '../reads/block-loading.js'
import { asPlan, type ReadPlan } from '../reads/read-plan.js'
import { parseTimeRange } from '../../checks/reads.js'
import { StoredCells } from '../reads/stored-cells.js'
import type { TableReads } from '../reads/table-reads.js'
import { parseCondition, type ValueCondition } from '../../checks/conditions.js'
import { planFamily } from './deletes.js'
import { checkForm } from '../../checks/forms.js'

/** The column of a check, and the plan to read it. */
interface CheckedColumn {
  readonly table: TableState
  readonly name: ColumnName
  readonly family: FamilyState
  readonly escapedQualifier: Buffer
  readonly plan: ReadPlan
}

/** Reads the cells that checks of one table need. */
export class ConditionReader {
  private readonly reads: TableReads
  private readonly row = new RowKey()
  private readonly stored = new StoredCells()
  private lastChecked: CheckedColumn | undefined = undefined

  constructor(reads: TableReads) {
    this.reads = reads
  }

  /**
   * Timestamp of the checked cell if the condition holds, 0 without a cell; undefined if it does
   * not hold.
   */
  evaluate(table: TableState, check: Check, mode: ReadMode): Timestamp | undefined {
    const { reads, stored, row } = this
    const { condition, column, plan } = encode(() => {
      const condition = parseCondition(checkForm(check, 'check'))
      row.set(check.row)
      const timeRange = parseTimeRange(check.timeRange)
      if (condition !== undefined) {
        const column = this.checkedColumn(table, check.column!, timeRange)
        return { condition, column, plan: column.plan }
      }
      const range = check.timeRange === undefined ? {} : { timeRange: check.timeRange }
      return { condition, plan: reads.planOf({ filter: check.filter, ...range }) }
    })
    stored.set(reads.readRow(row, plan, reads.parts.readPoints.lastSequence, mode))
    if (condition === undefined) {
      return stored.isEmpty ? undefined : stored.first().timestampValue
    }
    const cell = stored.find(column.family.index, column.escapedQualifier)
    if (!conditionHolds(condition, cell)) return undefined
    return cell === undefined ? 0 : cell.timestampValue
  }

  /** The column of a check. Most often it is the same as in the check before. */
  private checkedColumn(table: TableState, column: ColumnName, range: TimeRange): CheckedColumn {
    const last = this.lastChecked
    const isPlain = range === allTime && typeof column === 'string'
    if (isPlain && last?.table === table && last.name === column) return last
    const { family: name, escapedQualifier } = parseSingleColumn(column)
    const family = table.familyByName.get(name)
    if (family === undefined) throw noSuchFamily(name, table.name, table.familyNames)
    const plan = asPlan([planFamily(family, [escapedQualifier], range)])
    const checked = { table, name: column, family, escapedQualifier, plan }
    if (isPlain) this.lastChecked = checked
    return checked
  }
}

/** Whether the condition holds for the newest stored cell; undefined = no cell. */
function conditionHolds(condition: ValueCondition, stored: CellView | undefined): boolean {
  const { operator, expected } = condition
  if (expected.length === 0) {
    const absentOrEmpty = stored === undefined || stored.contentStart === stored.valueEnd
    if (operator !== 'NOT_EQUAL') return absentOrEmpty
    return stored !== undefined && !absentOrEmpty
  }
  if (stored === undefined) return false
  const { buffer, contentStart, valueEnd } = stored
  const order = compareBytes(expected, 0, expected.length, buffer, contentStart, valueEnd)
  return comparisons[operator](order)
}
