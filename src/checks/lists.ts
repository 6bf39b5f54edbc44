/** Checks lists of operations and mixed batches. */
import { checkArray, checkObject, readArguments } from '../base/arguments.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import {
  checkedActionOptions,
  type BatchOperation,
  type BatchResult,
  type CheckAndMutateResult,
  type CheckedAction,
  type Put,
} from '../api/mutations.js'
import { ListFailures } from './list-failures.js'
import { Result } from '../api/results/result.js'
import { checkForm } from './forms.js'

/** Copies a caller's list and checks each element. */
export function readList<T>(
  list: readonly T[],
  what: string,
  check?: (element: T) => void,
): readonly T[] {
  return readArguments(() => {
    const copy = checkArray(list, what)
    if (check !== undefined) for (const element of copy) check(element)
    return copy
  })
}

/** As {@link readList}. One put without cells fails the whole list before anything is written. */
export function readPuts(puts: readonly Put[]): readonly Put[] {
  return readList(puts, 'puts', checkHasCells)
}

function checkHasCells(put: Put): void {
  const cells: unknown = checkForm(put, 'put').cells
  if (typeof cells !== 'object' || cells === null || isEmpty(cells)) {
    throw invalidArgument('a put of the list has no cells')
  }
}

function isEmpty(cells: object): boolean {
  if (Array.isArray(cells)) return cells.length === 0
  for (const name in cells) if (name !== undefined) return false
  return true
}

const kinds: ReadonlySet<string> = new Set([
  'get',
  'put',
  'delete',
  'increment',
  'append',
  'mutateRow',
  'checkAndMutate',
])

/** Checks that an operation of a batch has exactly one known kind. */
export function checkOperation(operation: BatchOperation): BatchOperation {
  return readArguments(() => ({ ...checkKind(operation) }))
}

function checkKind(operation: BatchOperation): BatchOperation {
  let names = 0
  let known = false
  if (typeof operation === 'object' && operation !== null) {
    for (const name in operation) {
      names++
      known = kinds.has(name)
    }
  }
  if (names === 1 && known) return operation
  throw invalidArgument(`an operation of a batch is one of ${[...kinds].join(', ')}`)
}

/** Checks one element of a list of checkAndMutates. */
export function readCheck(given: CheckedAction): CheckedAction {
  return readArguments(() => {
    const { check, action } = checkedActionOptions.check(given)
    checkObject(check, 'the check of a checkAndMutate')
    return { check, action }
  })
}

/** Turns a list of checks into the operations of a batch. Throws `ERR_INVALID_ARGUMENT`. */
export function operationsOfChecks(list: readonly CheckedAction[]): BatchOperation[] {
  return readArguments(() => checkArray(list, 'checks')).map((each) => {
    const { check, action } = readCheck(each)
    return { checkAndMutate: { check, action } }
  })
}

/** The result in a batch of an operation that returns none, such as a put. */
export const noResult = Result.of([])

/** The results of a list of checks. Throws `ERR_BATCH_FAILED` if any failed. */
export function outcomesOfChecks(results: readonly BatchResult[]): CheckAndMutateResult[] {
  const failures = new ListFailures()
  const outcomes: CheckAndMutateResult[] = []
  for (const [position, each] of results.entries()) {
    if (!each.ok) failures.failed(position, each.error)
    else {
      const result = each.result === noResult ? undefined : each.result
      outcomes.push({ success: each.success === true, result })
    }
  }
  failures.throwFailures(results.length)
  return outcomes
}

/** Wraps an error that is no CellarError, which is a bug, with the error as cause. */
export function asCellarError(error: unknown): CellarError {
  if (error instanceof CellarError) return error
  const message = error instanceof Error ? error.message : String(error)
  return new CellarError(ErrorCode.jobFailed, message, { cause: error })
}
