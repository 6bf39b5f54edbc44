/** Reads what callers give to `Database.atomic`: tables, checks and mutations by table. */
import { OptionNames, checkArray, checkObject, readArguments } from '../../base/arguments.js'
import type { AtomicBatch, AtomicResult } from '../../api/atomic.js'
import type { Check, DurabilityOption, MultiRowMutations } from '../../api/mutations.js'
import type { Table } from '../../api/table.js'
import { invalidArgument } from '../../base/errors.js'
import type { Engine } from '../../engine/engine.js'
import type { ReadMode } from '../../store/store-reader.js'
import { applyAtomic, type AtomicPart, type CheckOfTable } from '../operations/atomic.js'
import { EmbeddedTable } from '../embedded-table.js'
import { RowsJudgement } from '../observers/observed-batch.js'
import type { ObserverChain } from '../observers/observer-chain.js'
import { RowNames } from '../arguments/row-names.js'
import { plainTableName } from '../arguments/table-name.js'
import type { Applied, TableCore } from '../table-core.js'

/** A table as atomic batches see it. */
export interface AtomicTarget {
  readonly core: TableCore
  readonly chain: ObserverChain
}

/** Finds the table of a name; `ERR_TABLE_NOT_FOUND`. */
type FindTable = (name: string) => EmbeddedTable

/** The rows that a batch mutates in one table; none if the batch only checks the table. */
class TablePart implements AtomicPart {
  readonly core: TableCore
  readonly chain: ObserverChain
  readonly rows: MultiRowMutations['rows'][number][] = []
  intervention: RowsJudgement | undefined = undefined

  constructor({ core, chain }: AtomicTarget) {
    this.core = core
    this.chain = chain
  }
}

/** An atomic batch that can be applied, again and again if blocks are missing. */
export class AtomicRequest {
  private readonly engine: Engine
  private readonly find: FindTable
  /** The tables of the batch, each once. A batch names few tables, so the list is searched. */
  private readonly parts: TablePart[] = []
  private readonly checks: CheckOfTable[] = []
  private readonly judgements: RowsJudgement[] = []
  private readonly durability: DurabilityOption | undefined

  /** `ERR_INVALID_ARGUMENT`, `ERR_TABLE_NOT_FOUND`; nothing is read or changed yet. */
  constructor(engine: Engine, find: FindTable, batch: AtomicBatch) {
    this.engine = engine
    this.find = find
    const { checks, mutations, durability } = readArguments(() => readBatch(batch))
    this.durability = durability
    readArguments(() => {
      for (const { table, check } of checks) {
        this.checks.push({ core: this.part(table).core, check })
      }
      for (const { table, row } of mutations) this.part(table).rows.push(row)
    })
    for (const part of this.parts) if (part.chain.active) this.observe(part)
  }

  /** Whether observers are asked about it, who keep what they were asked about. */
  get isObserved(): boolean {
    return this.judgements.length > 0
  }

  /** Applies the batch and tells the observers; may throw `BlockMissing` before any change. */
  apply(mode: ReadMode): Applied<AtomicResult> {
    const applied = this.around(0, mode)
    if (applied.value.success) for (const { batch } of this.judgements) batch.tellMembers()
    return applied
  }

  private around(place: number, mode: ReadMode): Applied<AtomicResult> {
    if (place === this.judgements.length) {
      return applyAtomic(this.parts, this.checks, this.durability, mode)
    }
    return this.judgements[place].batch.around(() => this.around(place + 1, mode))
  }

  private observe(part: TablePart): void {
    if (part.rows.length === 0) return
    // That there may be checks, of whatever table, is all that the judgement needs of them.
    part.intervention = new RowsJudgement(part.chain, part.core, { rows: part.rows, checks: [] })
    this.judgements.push(part.intervention)
  }

  private part(table: string | Table): TablePart {
    const found = typeof table === 'string' ? this.find(table) : table
    const target = found instanceof EmbeddedTable ? found.atomicTarget(this.engine) : undefined
    if (target === undefined) {
      throw invalidArgument('the table of an atomic batch must be of the same database')
    }
    for (const part of this.parts) if (part.core.name === target.core.name) return part
    const part = new TablePart(target)
    this.parts.push(part)
    return part
  }
}

/** The rows that an atomic batch names, for the order of the calls that wait. */
export function rowsOfAtomic(batch: unknown): ReadonlySet<string> {
  const rows = new RowNames()
  try {
    const { checks, mutations } = batch as Partial<AtomicBatch>
    for (const each of [checks, mutations].flat() as readonly unknown[]) {
      if (typeof each !== 'object' || each === null) continue
      const { table } = each as { readonly table?: string | Table }
      if (typeof table === 'string') rows.add(plainTableName(table), each)
      else if (table instanceof EmbeddedTable) rows.add(table.name, each)
    }
  } catch {
    // What cannot be read is refused by the batch itself.
  }
  return rows.names
}

const batchNames = new OptionNames<AtomicBatch>('an atomic batch', {
  checks: true,
  mutations: true,
  durability: true,
})

/** A batch whose members are copied; what is in them is checked by the tables. */
function readBatch(batch: AtomicBatch): {
  readonly checks: readonly { readonly table: string | Table; readonly check: Check }[]
  readonly mutations: readonly {
    readonly table: string | Table
    readonly row: MultiRowMutations['rows'][number]
  }[]
  readonly durability: DurabilityOption | undefined
} {
  const given = batchNames.copy(batch)
  const mutations = checkArray(given.mutations, 'mutations of an atomic batch')
  if (mutations.length === 0) throw invalidArgument('an atomic batch needs at least one mutation')
  return {
    checks: checkArray(given.checks ?? [], 'checks of an atomic batch').map((each) => {
      const { table, ...check } = checkObject(each, 'check')
      return { table, check }
    }),
    mutations: mutations.map((each) => {
      const { table, ...row } = checkObject(each, 'each mutation of an atomic batch')
      return { table, row }
    }),
    durability: given.durability,
  }
}
