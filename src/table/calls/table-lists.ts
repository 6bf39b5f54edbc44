/** The lists that callers give to operations on many rows, checked before anything is done. */
import { checkArray, checkObject, readArguments } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import type { Put } from '../../api/index.js'

/** A copy of a caller's list, each element checked. */
export function readList<T>(
  list: readonly T[],
  what: string,
  check?: (element: T) => void,
): readonly T[] {
  return readArguments(() => {
    const copy = checkArray(list, what)
    if (check !== undefined) for (let i = 0; i < copy.length; i++) check(copy[i])
    return copy
  })
}

/** As {@link readList}: one put without cells fails the whole list before anything is written. */
export function readPuts(puts: readonly Put[]): readonly Put[] {
  return readList(puts, 'puts', checkHasCells)
}

function checkHasCells(put: Put): void {
  const cells: unknown = checkObject(put, 'put').cells
  if (typeof cells !== 'object' || cells === null || isEmpty(cells)) {
    throw invalidArgument('a put of the list has no cells')
  }
}

function isEmpty(cells: object): boolean {
  if (Array.isArray(cells)) return cells.length === 0
  for (const name in cells) if (name !== undefined) return false
  return true
}
