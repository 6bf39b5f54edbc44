/** Checks of the kinds of operations on rows. */
import { checkArray } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { DurabilityOption } from '../api/durability.js'
import {
  type Check,
  multiRowOptions,
  mutatedRowOptions,
  type CheckAction,
  type MultiRowMutations,
  type MutatedRow,
  type Mutation,
} from '../api/mutations.js'
import type { BytesLike } from '../storage/cell/column-name.js'
import { checkForm } from './forms.js'

/** The durability of a mutation inside a row, which callers without types may give. */
export function durabilityOf(operation: object): DurabilityOption | undefined {
  return (operation as { durability?: DurabilityOption }).durability
}

/** As `Object.keys(value).length === 1`, without making the keys. */
function hasOneKey(value: object): boolean {
  let first: string | undefined
  for (const name in value) {
    if (first !== undefined) return false
    first = name
  }
  return first !== undefined
}

/**
 * Whether an action is a list of mutations, perhaps with the row and the durability of
 * `RowMutations`.
 */
function isMutations(action: object): boolean {
  const names = Object.keys(action)
  return (
    names.includes('mutations') &&
    names.every((name) => ['mutations', 'row', 'durability'].includes(name))
  )
}

/** Checks that the action of a check is one mutation or a list of mutations. */
export function checkAction(action: CheckAction): void {
  checkForm(action, 'the action of a check')
  if (hasOneKey(action) || isMutations(action)) return
  throw invalidArgument(
    'the action of a check is one of {put}, {delete}, {increment}, {append}, {mutations}',
  )
}

/** Checks the list of a row's mutations, which needs at least one. */
export function checkMutations(mutations: readonly Mutation[]): Mutation[] {
  const list = checkArray(mutations, 'mutations')
  if (list.length === 0) throw invalidArgument('mutations needs at least one mutation')
  return list
}

/** Checks that a mutation has exactly one member. */
export function checkMutation(mutation: Mutation): void {
  if (hasOneKey(checkForm(mutation, 'mutation'))) return
  throw invalidArgument('a mutation is one of {put}, {delete}, {increment}, {append}')
}

/** The mutations of one row of several, as a list. */
export interface RowList {
  readonly row: BytesLike
  readonly mutations: readonly Mutation[]
}

/** Reads the row of a mutateRows: its mutations are a list, or one put or delete. */
export function readRowOfMutateRows(each: MutatedRow): RowList {
  return readMutatedRow(mutatedRowOptions.check(checkForm(each, 'a row of mutateRows')))
}

/** Reads the mutations of one row of several. REQUIRES that the names are checked. */
export function readMutatedRow(each: MutatedRow): RowList {
  const { row, put, delete: deletion, mutations } = each
  const given = [put, deletion, mutations].filter((form) => form !== undefined)
  if (given.length !== 1) {
    throw invalidArgument(
      `a mutation of several rows is one of {row, put}, {row, delete}, {row, mutations}`,
    )
  }
  if (mutations !== undefined) {
    checkPutsAndDeletes(mutations)
    return { row, mutations }
  }
  return { row, mutations: [put === undefined ? { delete: deletion } : { put }] }
}

/** Checks the mutations of one row of several: only puts and deletes. */
function checkPutsAndDeletes(mutations: readonly Mutation[]): void {
  for (const mutation of checkArray(mutations, 'mutations')) {
    checkForm(mutation, 'mutation')
    if ('put' in mutation || 'delete' in mutation) continue
    throw invalidArgument('mutations of several rows are puts and deletes')
  }
}

/**
 * Rows, checks and durability of a mutateRows. REQUIRES that the caller catches errors of getters.
 */
export function readMultiRow(request: MultiRowMutations): {
  readonly rows: readonly RowList[]
  readonly checks: readonly Check[]
  readonly durability: DurabilityOption | undefined
} {
  multiRowOptions.check(request)
  const rows = checkArray(request.rows, 'rows of mutateRows')
  if (rows.length === 0) throw invalidArgument('mutateRows needs at least one row')
  const checks = checkArray(request.checks ?? [], 'checks of mutateRows')
  return { rows: rows.map(readRowOfMutateRows), checks, durability: request.durability }
}
