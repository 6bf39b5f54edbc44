/**
 * Repositories and record tables: one row each, with its state. A requested deletion is in its row,
 * so the next open after a crash completes it.
 */
import { shown, type AtomicMutation, type Database } from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import { damaged, placeOf } from '../stored-cells.js'

/** State of a repository or a record table. */
export type LifeState = 'ACTIVE' | 'DELETE_REQUESTED'

const family = 's'
const column = 's:s'

/** The default repository, and the table that every repository has. */
export const defaultRepository = 'default'
/** See {@link defaultRepository}. */
export const defaultTable = 'record'

function checkForm(name: unknown, what: string, characters: string, form: RegExp): string {
  if (typeof name === 'string' && form.test(name) && !name.includes('__')) return name
  throw invalidArgument(`the name of ${what} has ${characters}, never __; got ${shown(name)}`)
}

/** Checks the name of a repository. `ERR_INVALID_ARGUMENT`. */
export function checkRepositoryName(name: unknown): string {
  return checkForm(name, 'a repository', 'letters, digits, _, - and .', /^[A-Za-z0-9_.-]{1,100}$/)
}

/** Checks the name of a record table. `ERR_INVALID_ARGUMENT`. */
export function checkTableName(name: unknown): string {
  return checkForm(name, 'a record table', 'letters, digits, _ and -', /^[A-Za-z0-9_-]{1,100}$/)
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

/** The rows of repositories and record tables. */
export class RepositoryRows {
  readonly #database: Database
  readonly #table: string

  constructor(database: Database, table: string) {
    this.#database = database
    this.#table = table
  }

  /**
   * All repositories and record tables; `table` is undefined for a repository. `ERR_CORRUPTION`
   * for a state that no writer has written.
   */
  async list(): Promise<{ repository: string; table: string | undefined; state: LifeState }[]> {
    const rows = await this.#database.table(this.#table).scan().all()
    return rows.map((row) => {
      const [repository, table] = row.row!.toString('utf8').split('/') as [string, string?]
      const state = row.value(column)?.toString('latin1')
      if (state === 'ACTIVE' || state === 'DELETE_REQUESTED') return { repository, table, state }
      throw damaged(placeOf(row, column, 'the state of a repository or record table'))
    })
  }

  /** Adds a repository with its default table, or a table; false if it exists already. */
  async add(repository: string, table: string | undefined): Promise<boolean> {
    const row = rowOf(repository, table)
    const rows = table === undefined ? [row, rowOf(repository, defaultTable)] : [row]
    const { success } = await this.#database.atomic({
      checks: [{ table: this.#table, row, column, notExists: true }],
      mutations: rows.map((each) => this.#put(each, 'ACTIVE')),
    })
    return success
  }

  async requestDelete(repository: string, table: string | undefined): Promise<void> {
    const mutations = [this.#put(rowOf(repository, table), 'DELETE_REQUESTED')]
    await this.#database.atomic({ mutations })
  }

  async remove(repository: string, table: string | undefined): Promise<void> {
    const columns = [{ family, qualifier: 's', timestamp: 1 }]
    const row = rowOf(repository, table)
    await this.#database.table(this.#table).delete({ row, columns })
  }

  #put(row: string, state: LifeState): AtomicMutation {
    const put = { cells: { [column]: state }, timestamp: 1 }
    return { table: this.#table, row, mutations: [{ put }] }
  }
}

function rowOf(repository: string, table: string | undefined): string {
  return table === undefined ? repository : `${repository}/${table}`
}
