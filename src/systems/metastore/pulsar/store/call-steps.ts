/** Calls of a store as steps of a commit. */
import type { BytesLike } from '../../../../api/index.js'
import { checkBytes } from '../../metadata/arguments.js'
import { noPutOptions } from '../../metadata/options.js'
import type { BatchOperation, GetResult } from '../../metadata/types.js'
import type { Step } from './planner.js'
import { cellOfValue } from './record-format.js'

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
