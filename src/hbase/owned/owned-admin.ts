/** Administration of an owned database: that of the store, between two batches. */
import type * as api from '../../api/index.js'
import { plainTableName } from '../../api/names.js'
import { ensureTable } from '../../checks/ensure-table.js'
import type { OwnedDatabase } from './owned-database.js'
import type { OwnedTable } from './owned-table.js'

/** The administration of an owned database. Changes of tables wait for the batches before them. */
export class OwnedAdmin implements api.Admin {
  readonly #database: OwnedDatabase
  readonly #store: api.Admin
  readonly #logTable: string
  readonly #replacements = new Map<string, number>()

  /** @internal Made by `ownDatabase`. */
  constructor(database: OwnedDatabase, store: api.Admin, logTable: string) {
    this.#database = database
    this.#store = store
    this.#logTable = logTable
  }

  async createTable(name: string, options: api.TableOptions): Promise<OwnedTable> {
    this.#database.checkOpen()
    await this.#store.createTable(name, options)
    return this.#database.table(name)
  }

  async ensureTable(name: string, options: api.TableOptions): Promise<OwnedTable> {
    await ensureTable(this, name, options)
    return this.#database.table(name)
  }

  deleteTable(name: string): Promise<void> {
    return this.#replace(name, () => this.#store.deleteTable(name))
  }

  truncateTable(name: string): Promise<void> {
    return this.#replace(name, () => this.#store.truncateTable(name))
  }

  /** How often the table was truncated or deleted, which no change feed shows, since the open. */
  unloggedState(name: string): api.UnloggedState {
    return { stores: '', mutations: this.#replacements.get(plainTableName(name)) ?? 0 }
  }

  #replace(name: string, change: () => api.Awaitable<void>): Promise<void> {
    const table = plainTableName(name)
    return this.#database.between(table, async () => {
      try {
        await change()
      } finally {
        // Also a change that fails may have been made.
        this.#replacements.set(table, (this.#replacements.get(table) ?? 0) + 1)
      }
    })
  }

  tableExists(name: string): api.Awaitable<boolean> {
    return this.#store.tableExists(name)
  }

  async listTableNames(): Promise<string[]> {
    const names = await this.#store.listTableNames()
    return names.filter((name) => name !== this.#logTable)
  }

  getDescriptor(name: string): api.Awaitable<api.TableDescription> {
    return this.#store.getDescriptor(name)
  }

  modifyTable(name: string, alteration: api.TableAlteration): Promise<api.TableDescription> {
    return this.#database.between(plainTableName(name), () =>
      this.#store.modifyTable(name, alteration),
    )
  }

  flush(name?: string, family?: string): Promise<void> {
    return this.#store.flush(name, family)
  }

  compact(name?: string, family?: string): Promise<void> {
    return this.#store.compact(name, family)
  }

  majorCompact(name?: string, family?: string): Promise<void> {
    return this.#store.majorCompact(name, family)
  }
}
