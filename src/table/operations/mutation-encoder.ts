/**
 * Encodes the mutations of a row into the engine's mutation buffer. Reads the stored cells on which
 * version deletes, increments and appends depend.
 */
import { invalidArgument } from '../../base/errors.js'
import type * as api from '../../api/index.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { RowKey } from '../arguments/row-key.js'
import {
  checkAction,
  checkMutation,
  checkMutations,
  durabilityOf,
} from '../../checks/operations.js'
import { checkForm, type FormName } from '../../checks/forms.js'
import { checkSameRow } from '../../checks/rows.js'
import { asPlan, type FamilyPlan } from '../reads/read-plan.js'
import { StoredCells } from '../reads/stored-cells.js'
import { emptyRow } from '../../storage/scan/collected-row.js'
import type { TableReads } from '../reads/table-reads.js'
import { addAppend, addIncrement } from './counters.js'
import { addDelete, type ReadVersions } from './deletes.js'
import type { Intervention, RowAddition } from './intervention.js'
import { MutationWriter } from './mutation-writer.js'

/** The kinds of operations that a mutation of a row has. */
export type SingleKind = keyof api.MutationForms

function kindOf(mutation: api.Mutation): SingleKind {
  checkMutation(mutation)
  if (mutation.put !== undefined) return 'put'
  if (mutation.delete !== undefined) return 'delete'
  if (mutation.increment !== undefined) return 'increment'
  if (mutation.append !== undefined) return 'append'
  throw invalidArgument(`unknown mutation '${Object.keys(mutation)[0]}'`)
}

export class MutationEncoder {
  /** The row whose mutations are encoded. */
  readonly row = new RowKey()
  readonly writer: MutationWriter
  private readonly reads: TableReads
  private readonly stored = new StoredCells()

  constructor(reads: TableReads) {
    this.writer = new MutationWriter(reads.parts.writes)
    this.reads = reads
  }

  /** Starts a mutation of the row that an operation names. */
  begin(table: TableState, operation: { readonly row: api.BytesLike }, what: FormName): void {
    this.row.set(checkForm(operation, what).row)
    this.writer.begin(table, this.row)
  }

  /** Adds the action of a check. Returns the durability that it asks for. */
  addAction(
    table: TableState,
    row: api.BytesLike,
    action: api.CheckAction,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): api.DurabilityOption | undefined {
    checkAction(action)
    if ('mutations' in action) {
      this.addMutations(table, row, action.mutations, mode, intervention)
      return (action as api.RowMutations).durability
    }
    return this.addMutation(table, row, action, mode, intervention)
  }

  /** Adds mutations of the row. REQUIRES at least one, else throws `ERR_INVALID_ARGUMENT`. */
  addMutations(
    table: TableState,
    row: api.BytesLike,
    mutations: readonly api.Mutation[],
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): void {
    for (const mutation of checkMutations(mutations)) {
      this.addMutation(table, row, mutation, mode, intervention)
    }
  }

  /** Adds one operation of the row. */
  add<K extends SingleKind>(
    table: TableState,
    kind: K,
    given: api.MutationForms[K],
    mode: ReadMode,
    intervention?: Intervention,
  ): void {
    const operation = given as never
    switch (kind) {
      case 'put':
        this.writer.addPut(operation)
        break
      case 'increment':
        addIncrement(this.writer, operation, this.reader(mode))
        break
      case 'append':
        addAppend(this.writer, operation, this.reader(mode))
        break
      case 'delete': {
        const choose = intervention?.chooserOf?.(operation)
        addDelete(this.writer, operation, table.families, this.reader(mode), choose)
      }
    }
  }

  /** Adds puts and deletes of other rows, which observers have added. */
  addAdditions(table: TableState, additions: readonly RowAddition[], mode: ReadMode): void {
    for (const addition of additions) {
      const kind = 'put' in addition ? 'put' : 'delete'
      const operation = 'put' in addition ? addition.put : addition.delete
      this.row.set(operation.row)
      this.writer.nextRow()
      this.add(table, kind, operation, mode)
    }
  }

  /** Adds one mutation of the row. Returns the durability that it asks for. */
  private addMutation(
    table: TableState,
    row: api.BytesLike,
    mutation: api.Mutation,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): api.DurabilityOption | undefined {
    const kind = kindOf(mutation)
    const operation = mutation[kind]!
    checkSameRow(row, operation)
    this.add(table, kind, operation, mode, intervention)
    return durabilityOf(operation)
  }

  private reader(mode: ReadMode): ReadVersions {
    return (families, versions) => this.readStored(families, mode, versions)
  }

  /** Reads cells of the mutated row in the newest state. */
  private readStored(families: readonly FamilyPlan[], mode: ReadMode, versions = 1): StoredCells {
    const { reads, stored } = this
    if (this.writer.isTrial) {
      stored.set(emptyRow)
      return stored
    }
    const plans = families.map(({ family, query }) => ({ family, query: { ...query, versions } }))
    stored.set(reads.readRow(this.row, asPlan(plans), reads.parts.readPoints.lastSequence, mode))
    return stored
  }
}
