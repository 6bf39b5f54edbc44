/**
 * Repositories and record tables: one row each, with its state. A requested deletion is in its row,
 * so the next open after a crash completes it.
 */
import { shown, type Database } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'

/** State of a repository or a record table. */
export type LifeState = 'ACTIVE' | 'DELETE_REQUESTED'

const family = 's'
const column = 's:s'

/** The default repository, and the table that every repository has. */
export const defaultRepository = 'default'
/** See {@link defaultRepository}. */
export const defaultTable = 'record'

/** Checks the name of a repository. `ERR_INVALID_ARGUMENT`. */
export function checkRepositoryName(name: unknown): asserts name is string {
  const fits = typeof name === 'string' && /^[A-Za-z0-9_.-]{1,100}$/.test(name)
  if (fits && !name.includes('__')) return
  const rule = 'letters, digits, _, - and ., never __'
  throw invalidArgument(`the name of a repository has ${rule}; got ${shown(name)}`)
}

/** Beginnings of server addresses, which no repository may have as its name. */
export const reservedRepositoryNames: readonly string[] = [
  'blob',
  'index',
  'record',
  'repositories',
  'scan',
  'schema',
  'table',
  'ui',
  'ui.css',
  'ui.js',
]

/** Checks the name of a new repository. `ERR_INVALID_ARGUMENT`. */
export function checkNewRepositoryName(name: unknown): asserts name is string {
  checkRepositoryName(name)
  if (!reservedRepositoryNames.includes(name)) return
  throw invalidArgument(`no repository can have the name ${name}, with which addresses begin`)
}

/** Checks the name of a record table. `ERR_INVALID_ARGUMENT`. */
export function checkTableName(name: unknown): asserts name is string {
  const fits = typeof name === 'string' && /^[A-Za-z0-9_-]{1,100}$/.test(name)
  if (fits && !name.includes('__')) return
  const rule = 'letters, digits, _ and -, never __'
  throw invalidArgument(`the name of a record table has ${rule}; got ${shown(name)}`)
}

/** The rows of repositories and record tables. */
export class RepositoryRows {
  readonly #database: Database
  readonly #table: string

  constructor(database: Database, table: string) {
    this.#database = database
    this.#table = table
  }

  async create(): Promise<void> {
    await this.#database.admin.ensureTable(this.#table, {
      families: { [family]: { newVersionBehavior: true } },
    })
  }

  /** All repositories and record tables; `table` is undefined for a repository. */
  async list(): Promise<{ repository: string; table: string | undefined; state: LifeState }[]> {
    const rows = await this.#database.table(this.#table).scan().all()
    return rows.map((row) => {
      const [repository, table] = row.row!.toString('utf8').split('/') as [string, string?]
      return { repository, table, state: row.value(column, 'utf8') as LifeState }
    })
  }

  /** Adds a repository with its default table, or a table; false if it exists already. */
  async add(repository: string, table: string | undefined): Promise<boolean> {
    const rows = table === undefined ? [repository, `${repository}/${defaultTable}`] : []
    if (table !== undefined) rows.push(`${repository}/${table}`)
    const check = { table: this.#table, row: rows[0], column, notExists: true } as const
    const { success } = await this.#database.atomic({
      checks: [check],
      mutations: rows.map((row) => this.#put(row, 'ACTIVE')),
    })
    return success
  }

  async requestDelete(repository: string, table: string | undefined): Promise<void> {
    const row = table === undefined ? repository : `${repository}/${table}`
    await this.#database.atomic({ mutations: [this.#put(row, 'DELETE_REQUESTED')] })
  }

  async remove(repository: string, table: string | undefined): Promise<void> {
    const row = table === undefined ? repository : `${repository}/${table}`
    const columns = [{ family, qualifier: 's', timestamp: 1 }]
    await this.#database.atomic({
      mutations: [{ table: this.#table, row, mutations: [{ delete: { columns } }] }],
    })
  }

  #put(row: string, state: LifeState): Parameters<Database['atomic']>[0]['mutations'][number] {
    const put = { cells: { [column]: state }, timestamp: 1 }
    return { table: this.#table, row, mutations: [{ put }] }
  }
}
