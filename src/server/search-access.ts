/**
 * What a principal may search in an index: documents of the tables that it may read, by fields
 * whose sources it may read. All else is refused alike, whether it exists or not, so that neither
 * hits nor counts nor errors tell of what is hidden.
 */
import {
  queryFields,
  reservedFields,
  type FieldSources,
  type SearchIndex,
  type SearchQuery,
} from '../repository/index.js'
import { forbidden, TableAccess, type Principal } from './access.js'

/** Where an index is searched. */
export interface SearchPlace {
  readonly index: SearchIndex
  readonly repository: string
  /** All record tables of the repository. */
  readonly tables: readonly string[]
}

const plainFields: ReadonlySet<string> = new Set(Object.values(reservedFields))
/** A search server may take more syntax than ours, such as `{!…}` of Solr. */
const otherSyntax = '{!'

/** What a principal sees of an index. */
export class SearchAccess {
  readonly #place: SearchPlace
  readonly #all: readonly TableAccess[]
  readonly #readable: readonly (readonly [table: string, access: TableAccess])[]
  readonly #isAdministrator: boolean

  constructor(principal: Principal, place: SearchPlace) {
    this.#place = place
    this.#isAdministrator = principal.administrator === true
    const { repository, tables } = place
    const all = tables.map((table) => {
      return [table, new TableAccess(principal, repository, table)] as const
    })
    this.#all = all.map(([, access]) => access)
    this.#readable = all.filter(([, { readsRecords }]) => readsRecords)
  }

  /** Whether there are tables whose documents are left out. */
  get hidesTables(): boolean {
    return this.#readable.length < this.#all.length
  }

  /** The query with what limits it to readable tables. `ERR_FORBIDDEN`, `ERR_INVALID_ARGUMENT`. */
  limited(query: SearchQuery): SearchQuery {
    if (this.#isAdministrator) return query
    if (this.#readable.length === 0) throw forbidden('the index cannot be searched')
    const isHidden = this.#place.index.filterFields.some((field) => {
      return !this.#readable.every(([, access]) => access.canRead(field))
    })
    if (isHidden) throw forbidden('the index cannot be searched')
    const { defaultField, filters = [], sort = [] } = query
    for (const text of [query.query, ...filters]) {
      if (text.includes(otherSyntax)) throw forbidden(`${otherSyntax} cannot be in a query`)
      for (const field of queryFields(text, defaultField)) this.#check(field)
    }
    for (const { field } of sort) this.#check(field)
    if (!this.hidesTables) return query
    const names = this.#readable.map(([table]) => `"${table}"`).join(' OR ')
    return { ...query, filters: [...filters, `${reservedFields.table}:(${names})`] }
  }

  #check(field: string): void {
    if (plainFields.has(field)) return
    const sources = this.#place.index.fieldSources(field)
    if (sources !== undefined && /^[^\s(){},]+$/.test(field) && this.#mayRead(sources)) return
    throw forbidden(`the field ${field} cannot be searched`)
  }

  #mayRead({ own, linked, followsLinks, isFunction }: FieldSources): boolean {
    // A link may lead to any table.
    const behindLinks = followsLinks ? this.#all : []
    return (
      (!isFunction || this.#readable.every(([, access]) => access.readsAll)) &&
      [...own].every((name) => this.#readable.every(([, access]) => access.canRead(name))) &&
      behindLinks.every(({ readsRecords }) => readsRecords) &&
      [...linked].every((name) => behindLinks.every((access) => access.canRead(name)))
    )
  }
}
