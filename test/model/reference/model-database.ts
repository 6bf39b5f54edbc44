/**
 * A database in memory, for tests and for data that need not outlive the process. It has HBase's
 * semantics by the reference model, without files, threads or tuning. An operation takes time
 * proportional to the cells of its rows, a scan to the rows of its table.
 */
import { checkInteger, readArguments, shown } from '../../../src/base/arguments.js'
import { declareOptions, unchecked } from '../../../src/base/options.js'
import { systemClock, type Clock } from '../../../src/base/clock.js'
import { invalidArgument } from '../../../src/base/errors.js'
import type { AtomicBatchOption, AtomicResult } from '../../../src/api/atomic.js'
import type { Capabilities } from '../../../src/api/capabilities.js'
import type { Change, ChangeOptions } from '../../../src/api/changes.js'
import { foreignTable, readAtomic } from '../../../src/checks/atomic.js'
import { parseDurability, stronger, type Durability } from '../../../src/api/durability.js'
import type { Database } from '../../../src/api/database.js'
import type { Snapshot } from '../../../src/api/reads.js'
import type { TableOptions } from '../../../src/api/schema.js'
import type { Table } from '../../../src/api/table.js'
import { copyArguments } from '../../../src/base/copy-arguments.js'
import { cellBytesMaxDefault } from '../../../src/storage/cell/limits.js'
import { ModelAdmin } from './model-admin.js'
import { ModelCore, ReadView, type ModelSettings, type ModelTableState } from './model-core.js'
import { checkWritable, ModelTable } from './model-table.js'

const capabilities: Capabilities = Object.freeze({
  sync: true,
  snapshots: true,
  changes: true,
  atomicAcrossRows: true,
  atomicAcrossTables: true,
  coprocessors: false,
  filters: true,
  rawScans: true,
  upkeep: true,
})

/** Options of {@link ModelDatabase.open}. */
export interface ModelDatabaseOptions {
  /** Clock for mutations without timestamp and for expiry. Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /** Largest cell in bytes (row, family, qualifier, value and 20). 0 = no limit. Default 10 MiB. */
  readonly cellBytesMax?: number | undefined
  /**
   * Timestamps further ahead of the clock than this are refused with `ERR_FAILED_SANITY_CHECK`. At
   * least 0. Default Infinity: no check.
   */
  readonly timestampSlopMilliseconds?: number | undefined
  /** Number of mutations that the change log keeps at least, from 1. Default 65,536. */
  readonly changesMax?: number | undefined
}

const modelOptions = declareOptions('a database in memory', {
  clock: unchecked<Clock>(),
  cellBytesMax: unchecked<number>(),
  timestampSlopMilliseconds: unchecked<number>(),
  changesMax: unchecked<number>(),
})

/** An open database in memory. Made by {@link ModelDatabase.open}. */
export class ModelDatabase implements Database<ModelTable> {
  /** The capabilities of this backend: all but coprocessors. */
  readonly capabilities = capabilities
  readonly cellBytesMax: number
  /** Schema and upkeep. */
  readonly admin: ModelAdmin
  readonly #core: ModelCore

  private constructor(settings: ModelSettings) {
    this.#core = new ModelCore(settings)
    this.cellBytesMax = settings.cellBytesMax || Infinity
    this.admin = new ModelAdmin(this.#core, capabilities)
  }

  /** Opens an empty database. Throws `ERR_INVALID_ARGUMENT`. */
  static async open(options: ModelDatabaseOptions = {}): Promise<ModelDatabase> {
    return new ModelDatabase(readArguments(() => parseOptions({ ...modelOptions.check(options) })))
  }

  /** Creates a table. Throws `ERR_UNSUPPORTED` if its options name coprocessors. */
  createTable(name: string, options: TableOptions): Promise<ModelTable> {
    return this.admin.createTable(name, options)
  }

  /** The table with that name. Throws `ERR_TABLE_NOT_FOUND`. */
  table(name: string): ModelTable {
    return new ModelTable(this.#core, this.#core.find(name))
  }

  snapshot(): Snapshot {
    this.#core.checkOpen()
    return new ReadView(this.#core)
  }

  changes(options: ChangeOptions = {}): AsyncGenerator<Change, void> {
    return this.#core.changes.read(options)
  }

  async atomic(batch: AtomicBatchOption): Promise<AtomicResult> {
    const core = this.#core
    core.checkOpen()
    const { checks, parts, durability } = readArguments(() => this.#parse(batch))
    const { failedCheck, sequence } = core.mutate(durability, () =>
      core.model.atomic(checks, parts),
    )
    return { success: failedCheck === undefined, failedCheck, sequence }
  }

  #parse(batch: AtomicBatchOption) {
    const { checks, mutations, durability: asked } = readAtomic(copyArguments(batch).value)
    let durability: Durability = 'SKIP_WAL'
    const checked = checks.map(({ table, check }) => {
      return { state: this.#stateOf(table), check }
    })
    const parts = mutations.map(({ table, row }) => ({ state: this.#stateOf(table), row }))
    for (const { state } of parts) {
      checkWritable(state)
      durability = stronger(durability, parseDurability(asked, state.description.durability))
    }
    for (const { state, check } of checked) {
      checkWritable(state)
      state.checks.check(check)
    }
    for (const { state, row } of parts) state.checks.rowOfSeveral(row)
    return {
      checks: checked.map(({ state, check }) => ({ ...check, table: state.reference })),
      parts: parts.map(({ state, row }) => ({ ...row, table: state.reference })),
      durability,
    }
  }

  #stateOf(table: string | Table): ModelTableState {
    if (typeof table === 'string') return this.#core.find(table)
    const state = table instanceof ModelTable ? table.stateIn(this.#core) : undefined
    if (state === undefined) throw foreignTable()
    return state
  }

  /** Ends all work. The contents of the database are lost. */
  async close(): Promise<void> {
    this.#core.close()
  }
}

function parseOptions(options: ModelDatabaseOptions): ModelSettings {
  const { clock = systemClock, timestampSlopMilliseconds = Infinity } = options
  if (typeof clock !== 'object' || clock === null || typeof clock.now !== 'function') {
    throw invalidArgument(`option clock must have a function now, got ${shown(clock)}`)
  }
  if (typeof timestampSlopMilliseconds !== 'number' || !(timestampSlopMilliseconds >= 0)) {
    throw invalidArgument(
      'option timestampSlopMilliseconds must be a number >= 0, ' +
        `got ${shown(timestampSlopMilliseconds)}`,
    )
  }
  return {
    clock,
    timestampSlopMilliseconds,
    cellBytesMax:
      checkInteger(options.cellBytesMax, 'option cellBytesMax', 0) ?? cellBytesMaxDefault,
    changesMax: checkInteger(options.changesMax, 'option changesMax', 1) ?? 65_536,
  }
}
