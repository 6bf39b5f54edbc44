/** Reads the argument of `Database.atomic`: tables, checks, and mutations by table. */
import { readArguments } from '../../base/arguments.js'
import { assert } from '../../base/assert.js'
import { noteApplied } from '../../base/errors.js'
import type { AtomicBatch, AtomicBatchOption, AtomicResult } from '../../api/atomic.js'
import type { DurabilityOption } from '../../api/durability.js'
import type { Table } from '../../api/table.js'
import { foreignTable, isList, readAtomic } from '../../checks/atomic.js'
import type { RowList } from '../../checks/operations.js'
import type { ReadMode } from '../../storage/store/store-reader.js'
import { applyAtomic, type AtomicPart, type CheckOfTable } from '../operations/atomic.js'
import { copyArguments } from '../../base/copy-arguments.js'
import { RowsDecision } from '../observers/observed-batch.js'
import type { ObserverChain } from '../observers/observer-chain.js'
import { RowNames } from '../arguments/row-names.js'
import { plainTableName } from '../../api/names.js'
import type { PlainOperations } from '../operations/plain-operations.js'
import type { Applied } from '../operations/table-operations.js'

/** The parts of a table that atomic batches need. */
export interface AtomicTarget {
  readonly operations: PlainOperations
  readonly chain: ObserverChain
}

/**
 * Finds the table that a caller has named or passed; undefined if it belongs to another database.
 * Throws `ERR_TABLE_NOT_FOUND`.
 */
type FindTable = (table: string | Table) => AtomicTarget | undefined

/** The rows that a batch mutates in one table; none if the batch only checks the table. */
class TablePart implements AtomicPart {
  readonly operations: PlainOperations
  readonly chain: ObserverChain
  rows: RowList[] = []
  intervention: RowsDecision | undefined = undefined

  constructor({ operations, chain }: AtomicTarget) {
    this.operations = operations
    this.chain = chain
  }
}

/** An atomic batch. Applying it can be repeated when blocks are missing. */
export class AtomicRequest {
  private readonly find: FindTable
  /** The tables of the batch, each once. Batches name few tables, so the list is searched. */
  private readonly parts: TablePart[] = []
  private readonly checks: CheckOfTable[] = []
  private readonly decisions: RowsDecision[] = []
  private readonly durability: DurabilityOption | undefined
  /** Whether the mutations are applied, so that an error comes from an observer after them. */
  private isApplied = false

  /** Throws `ERR_INVALID_ARGUMENT` or `ERR_TABLE_NOT_FOUND`. Nothing is read or changed. */
  constructor(find: FindTable, batch: AtomicBatchOption) {
    this.find = find
    const { checks, mutations, durability } = readArguments(() => readAtomic(batch))
    this.durability = durability
    readArguments(() => {
      for (const { table, check } of checks) {
        this.checks.push({ operations: this.part(table).operations, check })
      }
      for (const { table, row } of mutations) this.part(table).rows.push(row)
    })
    if (this.parts.some(({ chain, rows }) => chain.active && rows.length > 0)) this.observe()
  }

  /**
   * The batch with copied arguments if observers are called for it; else undefined. Observers may
   * keep the arguments, so the caller's objects are not read again.
   */
  ownBatch(): AtomicBatch | undefined {
    if (this.decisions.length === 0) return undefined
    const checks = this.checks.map(({ operations, check }) => ({
      table: operations.name,
      ...check,
    }))
    const mutations = this.parts.flatMap(({ operations, rows }) =>
      rows.map((row) => ({ table: operations.name, ...row })),
    )
    return { checks, mutations }
  }

  /** Applies the batch and notifies the observers. May throw `BlockMissing` before any change. */
  apply(mode: ReadMode): Applied<AtomicResult> {
    assert(this.parts.length > 0, 'an atomic batch names a table')
    this.isApplied = false
    try {
      const applied = this.around(0, mode)
      if (applied.value.success) for (const { batch } of this.decisions) batch.tellMembers()
      return applied
    } catch (error) {
      if (this.isApplied) noteApplied(error)
      throw error
    }
  }

  private around(place: number, mode: ReadMode): Applied<AtomicResult> {
    if (place === this.decisions.length) {
      const applied = applyAtomic(this.parts, this.checks, this.durability, mode)
      this.isApplied = applied.value.success
      return applied
    }
    return this.decisions[place].batch.around(() => this.around(place + 1, mode))
  }

  private observe(): void {
    for (let i = 0; i < this.checks.length; i++) {
      const { operations, check } = this.checks[i]
      this.checks[i] = { operations, check: copyArguments(check).value }
    }
    for (const part of this.parts) {
      if (part.rows.length === 0) continue
      part.rows = copyArguments(part.rows).value
      if (!part.chain.active) continue
      // Whether there are checks matters here, but not their content.
      const request = { rows: part.rows, checks: [] }
      part.intervention = new RowsDecision(part.chain, part.operations.parts.readPoints, request)
      this.decisions.push(part.intervention)
    }
  }

  private part(table: string | Table): TablePart {
    const target = this.find(table)
    if (target === undefined) {
      throw foreignTable()
    }
    const { operations } = target
    for (const part of this.parts) if (part.operations.name === operations.name) return part
    const part = new TablePart(target)
    this.parts.push(part)
    return part
  }
}

/** The names of the rows of an atomic batch, for the order of waiting calls. */
export function rowsOfAtomic(batch: unknown): ReadonlySet<string> {
  const rows = new RowNames()
  try {
    const given = batch as AtomicBatchOption
    const parts = isList(given) ? given : [given.checks, given.mutations].flat()
    for (const each of parts as readonly unknown[]) {
      if (typeof each !== 'object' || each === null) continue
      const { table } = each as { readonly table: string | Table }
      rows.add(plainTableName(typeof table === 'string' ? table : table.name), each)
    }
  } catch {
    // An argument that cannot be read is refused when the batch is read.
  }
  return rows.names
}
