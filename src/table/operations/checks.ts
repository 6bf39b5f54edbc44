/** Evaluates the conditions of checkAndMutate (spec 2.8). */
import { checkBytesLike, OptionNames, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { compareBytes, emptyBytes, toBytes } from '../../base/bytes.js'
import type { CellView } from '../../cell/cell-view.js'
import type { BytesLike, Check, CompareOperator } from '../../api/index.js'

const operators: ReadonlySet<string> = new Set([
  'LESS',
  'LESS_OR_EQUAL',
  'EQUAL',
  'NOT_EQUAL',
  'GREATER_OR_EQUAL',
  'GREATER',
])

/** A condition on one column's newest cell. */
export interface ValueCondition {
  readonly operator: CompareOperator
  /** Empty stands for "absent or empty". */
  readonly expected: Buffer
}

const checkNames = new OptionNames<Check>('a check', {
  row: true,
  column: true,
  equals: true,
  notExists: true,
  operator: true,
  value: true,
  filter: true,
  timeRange: true,
})

/** Checks the shape of a check; undefined means that it is a filter condition. */
export function parseCondition(check: Check): ValueCondition | undefined {
  const { equals, notExists, operator, filter, column } = checkNames.check(check)
  const count =
    Number(equals !== undefined) +
    Number(notExists !== undefined) +
    Number(operator !== undefined) +
    Number(filter !== undefined)
  if (count === 0) {
    throw invalidArgument('the check has no condition: give equals, notExists, operator or filter')
  }
  if (count > 1) throw invalidArgument('the check has more than one condition')
  if (filter !== undefined) {
    if (column !== undefined) throw invalidArgument('a check with a filter takes no column')
    return undefined
  }
  if (column === undefined) throw invalidArgument('the check needs a column')
  if (notExists !== undefined) {
    if (notExists !== true) throw invalidArgument('notExists can only be true')
    return { operator: 'EQUAL', expected: emptyBytes }
  }
  if (operator === undefined) return { operator: 'EQUAL', expected: expectedBytes(equals) }
  if (!operators.has(operator)) {
    throw invalidArgument(`unknown compare operator ${shown(operator)}`)
  }
  return { operator, expected: expectedBytes(check.value) }
}

function expectedBytes(value: BytesLike | null | undefined): Buffer {
  if (value === null || value === undefined) return emptyBytes
  checkBytesLike(value, 'the expected value')
  return toBytes(value)
}

/** Whether the condition holds for the newest stored cell (undefined = none). */
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
