/** Checks atomic batches. */
import { checkArray } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import {
  atomicBatchOptions,
  atomicMutationOptions,
  type AtomicBatchOption,
  type AtomicMutation,
} from '../api/atomic.js'
import type { DurabilityOption } from '../api/durability.js'
import type { Check } from '../api/mutations.js'
import type { Table } from '../api/table.js'
import { checkForm } from './forms.js'
import { readMutatedRow, type RowList } from './operations.js'

/** The parts of an atomic batch, each with its table apart. */
export interface ParsedAtomic {
  readonly checks: readonly { readonly table: string | Table; readonly check: Check }[]
  readonly mutations: readonly {
    readonly table: string | Table
    readonly row: RowList
  }[]
  readonly durability: DurabilityOption | undefined
}

/** Copies the parts of a batch. The tables check their contents. */
export function readAtomic(batch: AtomicBatchOption): ParsedAtomic {
  const given = isList(batch)
    ? { mutations: batch }
    : atomicBatchOptions.check(checkForm(batch, 'an atomic batch'))
  const mutations = checkArray(given.mutations, 'mutations of an atomic batch')
  if (mutations.length === 0) throw invalidArgument('an atomic batch needs at least one mutation')
  return {
    checks: checkArray(given.checks ?? [], 'checks of an atomic batch').map((each) => {
      const { table, ...check } = checkForm(each, 'check')
      return { table, check }
    }),
    mutations: mutations.map((each) => {
      const mutation = atomicMutationOptions.check(checkForm(each, 'a mutation of an atomic batch'))
      return { table: mutation.table, row: readMutatedRow(mutation) }
    }),
    durability: given.durability,
  }
}

/** Whether a batch is the list of its mutations alone. */
export function isList(batch: AtomicBatchOption): batch is readonly AtomicMutation[] {
  return Array.isArray(batch)
}

/** The error for a table of another database. */
export function foreignTable(): Error {
  return invalidArgument(
    "the table of an atomic batch is a name, or a table of the same database: { table: 't', row: " +
      "'r', put: { cells: { 'f:q': 'value' } } }; a typed table has putOf and deleteOf for batches",
  )
}
