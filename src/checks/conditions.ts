/** Checks the conditions of checkAndMutate. */
import { checkBytesLike, shown } from '../base/arguments.js'
import { emptyBytes, toBytes } from '../base/bytes.js'
import { comparisons, type CompareOperator } from '../base/compare-operator.js'
import { invalidArgument } from '../base/errors.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import { checkOptions, type Check } from '../api/mutations.js'

/** A condition on the newest cell of one column. */
export interface ValueCondition {
  readonly operator: CompareOperator
  /** Empty bytes stand for "absent or empty". */
  readonly expected: Buffer
}

/** Checks the members of a check. Returns undefined for a condition by filter. */
export function parseCondition(check: Check): ValueCondition | undefined {
  const { equals, notExists, operator, filter, column } = checkOptions.check(check)
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
  if (!Object.hasOwn(comparisons, operator)) {
    throw invalidArgument(`unknown compare operator ${shown(operator)}`)
  }
  return { operator, expected: expectedBytes(check.value) }
}

function expectedBytes(value: BytesLike | null | undefined): Buffer {
  if (value === null || value === undefined) return emptyBytes
  checkBytesLike(value, 'the expected value')
  return toBytes(value)
}
