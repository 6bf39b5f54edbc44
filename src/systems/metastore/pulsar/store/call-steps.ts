/** Calls of a store as steps of a commit, and what they return of what was written. */
import type { BytesLike } from '../../../../api/index.js'
import { checkBytes } from '../../metadata/arguments.js'
import { noPutOptions } from '../../metadata/options.js'
import type { BatchOperation, GetResult, Stat } from '../../metadata/types.js'
import type { Step, Written } from './planner.js'
import { cellOfValue, statOf } from './record-format.js'

/** The answer of a commit whose call returns nothing. */
export const noAnswer = (): undefined => undefined

/** The answer of a put. */
export function firstStat([written]: readonly (Written | undefined)[], session: number): Stat {
  return statOf(written!.path, written!.record, session)
}

/** The answer of a batch. */
export function allStats(
  written: readonly (Written | undefined)[],
  session: number,
): readonly (Stat | undefined)[] {
  return written.map((each) =>
    each === undefined ? undefined : statOf(each.path, each.record, session),
  )
}

/** Copies a value into a cell. */
export function cellOf(value: BytesLike): Buffer {
  checkBytes(value)
  return cellOfValue(value)
}

/** The step of an operation of a batch, which is checked. */
export function stepOf(operation: BatchOperation): Step {
  if ('check' in operation) {
    return { kind: 'check', path: operation.check, expected: operation.expected }
  }
  if ('delete' in operation) {
    return { kind: 'delete', path: operation.delete, expected: operation.expected }
  }
  const { put, value, expected, ephemeral, secondaryIndexes } = operation
  const options = { ephemeral, secondaryIndexes }
  return { kind: 'put', path: put, cell: cellOfValue(value), expected, options }
}

/** The step that writes a record of another store with its version and times. */
export function importOf({ value, stat }: GetResult): Step {
  const { path } = stat
  const cell = cellOf(value)
  return { kind: 'put', path, cell, expected: undefined, options: noPutOptions, imported: stat }
}
