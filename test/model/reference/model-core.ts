/** The objects that one in-memory database shares: the model, the schema and the change log. */
import type { Clock } from '../../../src/base/clock.js'
import { CellarError, closedError, ErrorCode, invalidArgument } from '../../../src/base/errors.js'
import type { Durability } from '../../../src/api/durability.js'
import { noSuchTable, plainTableName } from '../../../src/api/names.js'
import type { Snapshot } from '../../../src/api/reads.js'
import type { TableDescription } from '../../../src/api/schema.js'
import { ArgumentChecks, type ModelLimits } from './argument-checks.js'
import { ChangeLog } from './change-log.js'
import { filteredRow } from './filtered-rows.js'
import { binary } from './plain-cells.js'
import { ReferenceModel, type ModelSnapshot, type ModelWrite } from './reference-model.js'
import type { ReferenceTable } from './reference-table.js'

/** Options of an in-memory database, with defaults filled in. */
export interface ModelSettings extends ModelLimits {
  readonly clock: Clock
  /** Number of mutations that the change log keeps at least. */
  readonly changesMax: number
}

/** The present state of a table. */
export interface ModelTableState {
  /** Unique: a table that is created again with the same name gets another one. */
  readonly id: number
  readonly name: string
  readonly description: TableDescription
  readonly reference: ReferenceTable
  readonly checks: ArgumentChecks
}

/** The shared objects of one database. */
export class ModelCore {
  readonly model: ReferenceModel
  readonly settings: ModelSettings
  readonly tables = new Map<string, ModelTableState>()
  readonly changes: ChangeLog
  #isOpen = true
  #lastId = 0
  /** Durability of the running mutation. */
  #durability: Durability = 'SYNC_WAL'

  constructor(settings: ModelSettings) {
    this.settings = settings
    this.model = new ReferenceModel(settings.clock, (table, check, view) => {
      const { row, filter, timeRange } = check
      return filteredRow(table, binary(row), { timeRange }, view, filter!)[0]
    })
    this.changes = new ChangeLog(this, settings.changesMax)
    this.model.onWrite = (write) => this.#written(write)
    this.model.checkCell = (table, cell) => this.tables.get(table.name)!.checks.cellBytes(cell)
  }

  /** Throws `ERR_CLOSED` if the database is closed. */
  checkOpen(): void {
    if (!this.#isOpen) throw closedError('the database')
  }

  get sequence(): number {
    return this.model.sequence
  }

  tableOf(name: string): ReferenceTable | undefined {
    return this.tables.get(name)?.reference
  }

  /** The table with that name. Throws `ERR_TABLE_NOT_FOUND`. */
  find(name: string): ModelTableState {
    this.checkOpen()
    const plain = plainTableName(name)
    const state = this.tables.get(plain)
    if (state === undefined) throw noSuchTable(plain)
    return state
  }

  /** Adds a table to the database, or replaces the one with the same name. */
  install(description: TableDescription, reference: ReferenceTable, id = ++this.#lastId): void {
    const { name, durability, families } = description
    const familyNames = Object.keys(families).sort()
    const familyByName = new Map(Object.entries(families))
    const checked = { name, durability, familyNames, familyByName }
    const checks = new ArgumentChecks(this.settings, checked)
    this.tables.set(name, { id, name, description, reference, checks })
  }

  /** Runs a mutation of that durability. A SKIP_WAL mutation does not appear in the change feed. */
  mutate<T>(durability: Durability, step: () => T): T {
    this.#durability = durability
    return step()
  }

  #written(write: ModelWrite): void {
    if (this.#durability !== 'SKIP_WAL') this.changes.add(write)
    for (const { table, cell } of write.cells) table.tidyRow(cell.row, this.model.times.now())
  }

  /** Closes the database and wakes waiting feeds. */
  close(): void {
    this.#isOpen = false
    this.changes.wake()
  }
}

/** A snapshot of an in-memory database. */
export class ReadView implements Snapshot {
  readonly #core: ModelCore
  readonly #snapshot: ModelSnapshot
  #open = true

  constructor(core: ModelCore) {
    this.#core = core
    this.#snapshot = core.model.openSnapshot()
  }

  get sequence(): number {
    return this.#snapshot.sequence
  }

  close(): void {
    this.#open = false
    this.#core.model.closeSnapshot(this.#snapshot)
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /** The view of a read with a snapshot; undefined without one. */
  static of(core: ModelCore, snapshot: Snapshot | undefined): ModelSnapshot | undefined {
    if (snapshot === undefined) return undefined
    if (!(snapshot instanceof ReadView)) {
      throw invalidArgument('snapshot must come from Database.snapshot')
    }
    if (snapshot.#core !== core) {
      throw invalidArgument('the snapshot belongs to another database')
    }
    if (!snapshot.#open) throw closedError('the snapshot')
    return snapshot.#snapshot
  }
}

/** The error for a table that was dropped. */
export function droppedTable(name: string): CellarError {
  return new CellarError(ErrorCode.tableNotFound, `table '${name}' was dropped`)
}
