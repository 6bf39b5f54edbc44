/**
 * Encodes the mutations of a row into the engine's mutation buffer. Reads the stored cells on which
 * version deletes, increments and appends depend.
 */
import { invalidArgument } from '../../base/errors.js'
import type {
  Append,
  BytesLike,
  CheckAction,
  Delete,
  DurabilityOption,
  Increment,
  Mutation,
  RowMutations,
  RowOperation,
} from '../../api/index.js'
import type { Engine } from '../../storage/engine/engine.js'
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
import { emptyRow, type TableReads } from '../reads/table-reads.js'
import { addAppend, addIncrement } from './counters.js'
import { addDelete } from './deletes.js'
import type { Intervention, RowAddition } from './intervention.js'
import { MutationWriter } from './mutation-writer.js'

/** Encodes mutations of one row at a time; see the file header. */
export class MutationEncoder {
  /** The row whose mutations are encoded. */
  readonly row = new RowKey()
  readonly writer: MutationWriter
  private readonly reads: TableReads
  private readonly stored = new StoredCells()

  constructor(engine: Engine, reads: TableReads) {
    this.writer = new MutationWriter(engine)
    this.reads = reads
  }

  /** Starts a mutation of the row that an operation names. */
  begin(table: TableState, operation: { readonly row: BytesLike }, what: FormName): void {
    this.row.set(checkForm(operation, what).row)
    this.writer.begin(table, this.row)
  }

  /** Adds the action of a check. Returns the durability that it asks for. */
  addAction(
    table: TableState,
    row: BytesLike,
    action: CheckAction,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): DurabilityOption | undefined {
    checkAction(action)
    if ('mutations' in action) {
      this.addMutations(table, row, action.mutations, mode, intervention)
      return (action as RowMutations).durability
    }
    return this.addMutation(table, row, action, mode, intervention)
  }

  /** Adds mutations of the row. REQUIRES at least one, else throws `ERR_INVALID_ARGUMENT`. */
  addMutations(
    table: TableState,
    row: BytesLike,
    mutations: readonly Mutation[],
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): void {
    for (const mutation of checkMutations(mutations)) {
      this.addMutation(table, row, mutation, mode, intervention)
    }
  }

  /** Adds a delete of the row. */
  addDelete(
    table: TableState,
    deletion: RowOperation<Delete>,
    mode: ReadMode,
    intervention?: Intervention,
  ): void {
    addDelete(
      this.writer,
      deletion,
      table.families,
      (families, versions) => this.readStored(families, mode, versions),
      intervention?.chooserOf?.(deletion),
    )
  }

  /** Adds an increment of the row. */
  addIncrement(increment: RowOperation<Increment>, mode: ReadMode): void {
    addIncrement(this.writer, increment, (families) => this.readStored(families, mode))
  }

  /** Adds an append of the row. */
  addAppend(append: RowOperation<Append>, mode: ReadMode): void {
    addAppend(this.writer, append, (families) => this.readStored(families, mode))
  }

  /** Adds puts and deletes of other rows, which observers have added. */
  addAdditions(table: TableState, additions: readonly RowAddition[], mode: ReadMode): void {
    for (const addition of additions) {
      const isPut = 'put' in addition
      this.row.set(isPut ? addition.put.row : addition.delete.row)
      this.writer.nextRow()
      if (isPut) this.writer.addPut(addition.put)
      else this.addDelete(table, addition.delete, mode)
    }
  }

  /** Adds one mutation of the row. Returns the durability that it asks for. */
  private addMutation(
    table: TableState,
    row: BytesLike,
    mutation: Mutation,
    mode: ReadMode,
    intervention: Intervention | undefined,
  ): DurabilityOption | undefined {
    checkMutation(mutation)
    if (mutation.put !== undefined) {
      checkSameRow(row, mutation.put)
      this.writer.addPut(mutation.put)
      return durabilityOf(mutation.put)
    }
    if (mutation.delete !== undefined) {
      checkSameRow(row, mutation.delete)
      this.addDelete(table, mutation.delete, mode, intervention)
      return durabilityOf(mutation.delete)
    }
    if (mutation.increment !== undefined) {
      checkSameRow(row, mutation.increment)
      this.addIncrement(mutation.increment, mode)
      return durabilityOf(mutation.increment)
    }
    if (mutation.append !== undefined) {
      checkSameRow(row, mutation.append)
      this.addAppend(mutation.append, mode)
      return durabilityOf(mutation.append)
    }
    throw invalidArgument(`unknown mutation '${Object.keys(mutation)[0]}'`)
  }

  /** Reads cells of the mutated row in the newest state. */
  private readStored(families: readonly FamilyPlan[], mode: ReadMode, versions = 1): StoredCells {
    const { reads, stored } = this
    if (this.writer.isTrial) {
      stored.set(emptyRow)
      return stored
    }
    const plans = families.map(({ family, query }) => ({ family, query: { ...query, versions } }))
    stored.set(reads.readRow(this.row, asPlan(plans), reads.engine.lastSequence, mode))
    return stored
  }
}
