/** What operations on rows look like: the names that they may have, and which kind they are. */
import { OptionNames, argumentError, checkObject, countNames } from '../../base/arguments.js'
import { isBlockMissing } from './block-loading.js'
import type { DurabilityOption, Get, MultiRowMutations, RowMutations } from '../../api/index.js'

const getNames = new OptionNames<Get>('a get', {
  row: true,
  columns: true,
  versions: true,
  timeRange: true,
  timestamp: true,
  familyTimeRanges: true,
  filter: true,
  cellsPerFamilyMax: true,
  cellsPerFamilyOffset: true,
  cacheBlocks: true,
  snapshot: true,
  isolation: true,
  loadFamiliesOnDemand: true,
  checkExistenceOnly: true,
})

/** The names of a mutateRow. */
export const rowMutationsNames = new OptionNames<RowMutations>('a mutateRow', {
  row: true,
  mutations: true,
  durability: true,
})

/** The names of a mutateRows. */
export const multiRowNames = new OptionNames<MultiRowMutations>('a mutateRows', {
  rows: true,
  checks: true,
  durability: true,
})

/** The names of one of its rows. */
export const rowNames = new OptionNames<MultiRowMutations['rows'][number]>('a row of mutateRows', {
  row: true,
  mutations: true,
})

/**
 * Checks that a get is an object without unknown names. Gets of the usual names are only counted,
 * which costs a tenth of looking each name up.
 */
export function checkGet(get: Get): void {
  checkObject(get, 'get')
  let usual = 1
  if (get.columns !== undefined) usual++
  if (get.versions !== undefined) usual++
  if (get.snapshot !== undefined) usual++
  if (countNames(get) !== usual || get.row === undefined) getNames.check(get)
}

/** Untyped callers may give one to a mutation of a row. */
export function durabilityOf(operation: object): DurabilityOption | undefined {
  return (operation as { durability?: DurabilityOption }).durability
}

/** As `Object.keys(value).length === 1`, without making the keys. */
export function hasOneKey(value: object): boolean {
  let first: string | undefined
  for (const name in value) {
    if (first !== undefined) return false
    first = name
  }
  return first !== undefined
}

/** Mutations of a row, with the row and the durability that `RowMutations` may carry. */
export function isMutations(action: object): boolean {
  const names = Object.keys(action)
  return (
    names.includes('mutations') &&
    names.every((name) => ['mutations', 'row', 'durability'].includes(name))
  )
}

/**
 * Runs what reads the arguments of an operation and encodes them. It may also read stored cells, so
 * the request for a block passes.
 */
export function encode<T>(step: () => T): T {
  try {
    return step()
  } catch (error) {
    throw isBlockMissing(error) ? error : argumentError(error)
  }
}
