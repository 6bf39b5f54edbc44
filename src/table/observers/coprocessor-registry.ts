/**
 * The coprocessors of an open database: to which tables they belong and in which order. Answers the
 * questions of the engine's jobs.
 *
 * A coprocessor is attached to a table when both exist: when the database opens, when a table is
 * created or altered, or when the coprocessor is registered. Attaching calls `preOpen` and
 * `postOpen`, detaching `preClose` and `postClose`.
 *
 * Modules are loaded before anything is changed. So a table whose coprocessor is missing is not
 * created, and a database with such a table does not open. Errors of methods that can fail nothing
 * any more (post methods of jobs, the close) are warnings.
 */
import { isDeepStrictEqual } from 'node:util'
import { assert } from '../../base/assert.js'
import { checkArray } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import type { JobCoprocessors } from '../../storage/coprocessor/job-coprocessors.js'
import {
  decodeTableSettings,
  type CoprocessorSetting,
  type TableState,
} from '../../storage/engine/catalog/catalog.js'
import type { CatalogWatcher } from '../../storage/engine/catalog/ddl.js'
import type { TableDefinition } from '../../storage/version/catalog.js'
import type { Coprocessor, CoprocessorRegistration } from '../../api/coprocessor.js'
import {
  loadCoprocessor,
  loadTableCoprocessor,
  type LoadedCoprocessor,
} from './coprocessor-options.js'
import { TableCoprocessors, type Attached } from './table-coprocessors.js'
import { indexModule } from '../../comfort/indexes/catalog.js'
import type { FindOperations } from './observer-chain.js'
import type { SyncTable, Table } from '../../api/index.js'

/** A live coprocessor, which also belongs to tables that are created later. */
interface Live {
  readonly loaded: LoadedCoprocessor
  readonly tables: readonly string[] | undefined
  readonly order: number
}

export class CoprocessorRegistry implements JobCoprocessors, CatalogWatcher {
  /** Receives errors that can fail nothing any more. */
  private readonly warn: (error: unknown) => void
  private readonly openHandle: (table: string) => Table & SyncTable
  private readonly operationsOf: FindOperations
  /** Whether coprocessors of schemas are loaded (HBase: hbase.coprocessor.user.enabled). */
  private readonly schemaEnabled: boolean
  private readonly tables = new Map<string, TableCoprocessors>()
  /** Existing tables, with the coprocessors of their schemas. */
  private readonly open = new Map<string, readonly CoprocessorSetting[]>()
  private readonly live = new Set<Live>()
  private readonly prepared = new WeakMap<TableDefinition, readonly Attached[]>()
  private nextOrder = 0
  private state: 'open' | 'closing' | 'closed' = 'open'

  constructor(
    openHandle: (table: string) => Table & SyncTable,
    operationsOf: FindOperations,
    warn: (error: unknown) => void,
    schemaEnabled: boolean,
  ) {
    this.openHandle = openHandle
    this.operationsOf = operationsOf
    this.warn = warn
    this.schemaEnabled = schemaEnabled
  }

  /** The coprocessors of a table; the table need not exist. */
  of(table: string): TableCoprocessors {
    let found = this.tables.get(table)
    if (found === undefined) {
      const { operationsOf, warn } = this
      found = new TableCoprocessors(table, () => this.openHandle(table), operationsOf, warn)
      this.tables.set(table, found)
    }
    return found
  }

  /** Registers a live coprocessor with all open and later tables that it names. */
  async register(coprocessor: Coprocessor): Promise<CoprocessorRegistration> {
    const loaded = await loadCoprocessor(coprocessor)
    const { tables } = loaded
    const live: Live = { loaded, tables, order: this.nextOrder++ }
    const concerned = [...this.open.keys()]
      .filter((name) => concerns(live, name))
      .map((name) => this.of(name))
    for (const table of concerned) table.checkName(loaded.name)
    for (const other of this.live) checkNames(live, other)
    for (const table of concerned) table.preOpen([attached(live)])
    this.live.add(live)
    for (const table of concerned) table.attach([attached(live)])
    return { remove: () => this.remove(live) }
  }

  /** Opens the tables of a database. */
  async openTables(tables: Iterable<TableState>): Promise<void> {
    for (const table of [...tables]) {
      await this.prepare(table.definition)
      this.installed(table)
    }
  }

  async prepare(definition: TableDefinition): Promise<void> {
    const { name } = definition
    const { coprocessors } = decodeTableSettings(definition)
    const known = this.open.get(name)
    if (known !== undefined && isDeepStrictEqual(known, coprocessors)) return
    const declared = coprocessors.filter(({ module }) => {
      return this.schemaEnabled || module === indexModule
    })
    const loaded = await Promise.all(declared.map((one) => loadTableCoprocessor(name, one)))
    const added = loaded.map((one) => ({ loaded: one, order: this.nextOrder++, declared: true }))
    const live = known === undefined ? this.liveFor(name) : []
    const table = this.of(name)
    table.preOpen([...added, ...live])
    this.prepared.set(definition, added)
  }

  installed({ name, definition, settings }: TableState): void {
    const table = this.of(name)
    const added = this.prepared.get(definition)
    if (added !== undefined) table.detach(({ declared }) => declared)
    const live = this.open.has(name) ? [] : this.liveFor(name)
    this.open.set(name, settings.coprocessors)
    table.attach([...(added ?? []), ...live])
  }

  dropped(name: string): void {
    this.open.delete(name)
    this.of(name).detach(() => true)
    this.tables.delete(name)
  }

  /** Called before the database closes. */
  closing(): void {
    if (this.state !== 'open') return
    this.state = 'closing'
    for (const table of this.tables.values()) table.chain.tellSafely('preClose', [])
  }

  /** Called after the database has closed. */
  hasClosed(): void {
    if (this.state === 'closed') return
    assert(this.state === 'closing', 'observers hear of a close before and after it')
    this.state = 'closed'
    for (const table of this.tables.values()) table.chain.tellSafely('postClose')
  }

  jobsOf(table: string): TableCoprocessors | undefined {
    return this.tables.get(table)
  }

  private remove(live: Live): void {
    if (!this.live.delete(live)) return
    for (const table of this.tables.values()) {
      table.detach(({ order }) => order === live.order)
    }
  }

  private liveFor(name: string): Attached[] {
    return [...this.live].filter((entry) => concerns(entry, name)).map(attached)
  }
}

function concerns({ tables }: Live, name: string): boolean {
  return tables === undefined || tables.includes(name)
}

/** Throws `ERR_INVALID_ARGUMENT` if a table could get two coprocessors of one name. */
function checkNames(live: Live, other: Live): void {
  if (live.loaded.name !== other.loaded.name) return
  const shared = (live.tables ?? other.tables)?.filter((name) => concerns(other, name))
  if (shared?.length === 0) return
  throw invalidArgument(`a coprocessor '${live.loaded.name}' is registered already`)
}

function attached({ loaded, order }: Live): Attached {
  return { loaded, order, declared: false }
}

/** Checks the option `coprocessors` of `Database.open`. */
export function checkCoprocessorList(list: readonly Coprocessor[]): readonly Coprocessor[] {
  return checkArray(list, 'option coprocessors')
}
