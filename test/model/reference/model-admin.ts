/** Administration of an in-memory database. */
import { checkText } from '../../../src/base/arguments.js'
import { CellarError, ErrorCode } from '../../../src/base/errors.js'
import { requireCapability, type Capabilities } from '../../../src/api/capabilities.js'
import { newTableName, plainTableName, tableExists, noSuchFamily } from '../../../src/api/names.js'
import {
  describeAlteration,
  describeNewTable,
  type DescribedTable,
} from '../../../src/checks/schema.js'
import type { Admin } from '../../../src/api/database.js'
import { ensureTable } from '../../../src/checks/ensure-table.js'
import type { TableAlteration, TableDescription, TableOptions } from '../../../src/api/schema.js'
import { defaultNamespace, namespaceOf } from '../../../src/storage/cell/limits.js'
import type { ModelCore, ModelTableState } from './model-core.js'
import { ModelTable } from './model-table.js'

/**
 * Administration of an in-memory database; made by `ModelDatabase`. Only the default namespace
 * exists.
 */
export class ModelAdmin implements Admin {
  readonly #core: ModelCore
  readonly #capabilities: Capabilities

  /** @internal */
  constructor(core: ModelCore, capabilities: Capabilities) {
    this.#core = core
    this.#capabilities = capabilities
  }

  async createTable(name: string, options: TableOptions): Promise<ModelTable> {
    const core = this.#core
    core.checkOpen()
    const plain = newTableName(name)
    const described = describeNewTable(plain, options, () => this.#refuseCoprocessors())
    if (core.tables.has(plain)) throw tableExists(plain)
    if (namespaceOf(plain) !== defaultNamespace) {
      const message = `namespace '${namespaceOf(plain)}' does not exist`
      throw new CellarError(ErrorCode.namespaceNotFound, message)
    }
    const description = descriptionOf(plain, described)
    core.install(description, core.model.createTable(plain, description.families))
    return new ModelTable(core, core.find(plain))
  }

  async ensureTable(name: string, options: TableOptions): Promise<ModelTable> {
    await ensureTable(this, name, options)
    return new ModelTable(this.#core, this.#core.find(name))
  }

  async deleteTable(name: string): Promise<void> {
    const { name: plain, reference } = this.#core.find(name)
    this.#core.model.dropTable(reference)
    this.#core.tables.delete(plain)
  }

  /**
   * Removes all rows. Running scans continue with the old rows; snapshots do not see them any more.
   */
  async truncateTable(name: string): Promise<void> {
    const { id, description, reference } = this.#core.find(name)
    const { model } = this.#core
    model.dropTable(reference)
    const empty = model.createTable(description.name, description.families)
    this.#core.install(description, empty, id)
  }

  /** Whether the table exists. */
  tableExists(name: string): boolean {
    this.#core.checkOpen()
    return this.#core.tables.has(plainTableName(name))
  }

  listTableNames(): string[] {
    this.#core.checkOpen()
    return [...this.#core.tables.keys()].sort()
  }

  getDescriptor(name: string): TableDescription {
    return this.#core.find(name).description
  }

  async modifyTable(name: string, alteration: TableAlteration): Promise<TableDescription> {
    const { id, description, reference } = this.#core.find(name)
    const altered = describeAlteration(description, alteration, () => this.#refuseCoprocessors())
    const after = descriptionOf(description.name, altered)
    reference.alter(after.families, this.#core.sequence)
    this.#core.install(after, reference, id)
    return after
  }

  /**
   * Drops the cells that HBase's flush drops, in a table, in one of its families, or in all tables.
   */
  async flush(name?: string, family?: string): Promise<void> {
    for (const { reference } of this.#tablesOf(name, family)) {
      this.#core.model.flush(reference, family)
    }
  }

  /** Flushes and merges all cells: the same as a major compaction. */
  async compact(name?: string, family?: string): Promise<void> {
    await this.majorCompact(name, family)
  }

  /** Flushes, then drops the cells that a major compaction drops, including delete markers. */
  async majorCompact(name?: string, family?: string): Promise<void> {
    await this.flush(name, family)
    for (const { reference } of this.#tablesOf(name, family)) {
      const families = family === undefined ? [...reference.families.keys()] : [family]
      for (const each of families) {
        this.#core.model.merge(reference, each, reference.runsOf(each), true)
      }
    }
  }

  #tablesOf(name: string | undefined, family: string | undefined): ModelTableState[] {
    this.#core.checkOpen()
    if (family !== undefined) checkText(family, 'family')
    if (name === undefined) return [...this.#core.tables.values()]
    const state = this.#core.find(name)
    if (family !== undefined && !state.reference.families.has(family)) {
      throw noSuchFamily(family, state.name, state.reference.families.keys())
    }
    return [state]
  }

  #refuseCoprocessors(): void {
    requireCapability(this.#capabilities, 'coprocessors', 'a coprocessor of a table')
  }
}

function descriptionOf(
  name: string,
  { families, settings }: DescribedTable<unknown>,
): TableDescription {
  const entries = families.map((family) => [family.name, family.options] as const)
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return { name, families: Object.fromEntries(sorted), ...settings }
}
