/** Checks atomic batches. */
import { checkArray, OptionNames } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import type { AtomicBatch } from '../api/atomic.js'
import type { DurabilityOption } from '../api/durability.js'
import type { Check, MultiRowMutations } from '../api/mutations.js'
import type { Table } from '../api/table.js'
import { checkForm } from './forms.js'

const batchNames = new OptionNames<AtomicBatch>('an atomic batch', {
  checks: true,
  mutations: true,
  durability: true,
})

const mutationNames = new OptionNames<AtomicBatch['mutations'][number]>(
  'a mutation of an atomic batch',
  { table: true, row: true, mutations: true },
)

/** The parts of an atomic batch, each with its table apart. */
export interface ParsedAtomic {
  readonly checks: readonly { readonly table: string | Table; readonly check: Check }[]
  readonly mutations: readonly {
    readonly table: string | Table
    readonly row: MultiRowMutations['rows'][number]
  }[]
  readonly durability: DurabilityOption | undefined
}

/** Copies the parts of a batch. The tables check their contents. */
export function readAtomic(batch: AtomicBatch): ParsedAtomic {
  const given = batchNames.copy(checkForm(batch, 'an atomic batch'))
  const mutations = checkArray(given.mutations, 'mutations of an atomic batch')
  if (mutations.length === 0) throw invalidArgument('an atomic batch needs at least one mutation')
  return {
    checks: checkArray(given.checks ?? [], 'checks of an atomic batch').map((each) => {
      const { table, ...check } = checkForm(each, 'check')
      return { table, check }
    }),
    mutations: mutations.map((each) => {
      const { table, row, mutations: ofRow } = mutationNames.check(each)
      return { table, row: { row, mutations: ofRow } }
    }),
    durability: given.durability,
  }
}

/** The error for a table of another database. */
export function foreignTable(): Error {
  return invalidArgument('the table of an atomic batch must be of the same database')
}
