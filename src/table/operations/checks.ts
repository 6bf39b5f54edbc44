/** Evaluates the conditions of checkAndMutate. */
import { compareBytes } from '../../base/bytes.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import type { ValueCondition } from '../../checks/conditions.js'

/** Whether the condition holds for the newest stored cell; undefined = no cell. */
export function conditionHolds(condition: ValueCondition, stored: CellView | undefined): boolean {
  const { operator, expected } = condition
  if (expected.length === 0) {
    const absentOrEmpty = stored === undefined || stored.contentStart === stored.valueEnd
    if (operator !== 'NOT_EQUAL') return absentOrEmpty
    return stored !== undefined && !absentOrEmpty
  }
  if (stored === undefined) return false
  const order = compareBytes(
    expected,
    0,
    expected.length,
    stored.buffer,
    stored.contentStart,
    stored.valueEnd,
  )
  switch (operator) {
    case 'LESS':
      return order < 0
    case 'LESS_OR_EQUAL':
      return order <= 0
    case 'EQUAL':
      return order === 0
    case 'NOT_EQUAL':
      return order !== 0
    case 'GREATER_OR_EQUAL':
      return order >= 0
    case 'GREATER':
      return order > 0
  }
}
