/**
 * What a principal may search in an index: documents of the tables and version tags that it may
 * read, by fields whose sources it may read. All else is refused alike, whether it exists or not,
 * so that neither hits nor counts nor errors tell of what is hidden.
 */
import {
  queryFields,
  reservedFields,
  type FieldSources,
  type SearchIndex,
  type SearchQuery,
} from '../../systems/repository/index.js'
import { forbidden, type Principal } from '../http/access.js'
import type { FieldNames } from './field-names.js'
import { TableAccess } from './table-access.js'

/** Where an index is searched. */
export interface SearchPlace {
  readonly index: SearchIndex
  readonly repository: string
  /** All record tables of the repository. */
  readonly tables: readonly string[]
  /** What the names in the rules mean. */
  readonly names: FieldNames | undefined
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
    const { names, repository, tables } = place
    const all = tables.map((table) => {
      return [table, new TableAccess(principal, { names, repository, table })] as const
    })
    this.#all = all.map(([, access]) => access)
    this.#readable = all.filter(([, { readsRecords }]) => readsRecords)
  }

  /** Whether there are tables or version tags whose documents are left out. */
  get hidesDocuments(): boolean {
    if (this.#isAdministrator) return false
    const { versionTags } = this.#place.index
    return this.#all.some((access) => {
      return !access.readsRecords || !versionTags.every(({ name }) => access.canReadTag(name))
    })
  }

  /** The first field of the index that may be searched: for words that name none. */
  get defaultField(): string | undefined {
    return this.#place.index.plainFields.find((name) => {
      const sources = this.#sourcesOf(name)
      return this.#isAdministrator || (sources !== undefined && this.#mayRead(sources))
    })
  }

  /**
   * The query with what limits it to documents that may be seen. `ERR_FORBIDDEN`,
   * `ERR_INVALID_ARGUMENT`. What holds before a search must hold behind it too: a document that
   * became visible meanwhile may show more.
   */
  limited(query: SearchQuery): SearchQuery {
    if (this.#isAdministrator) return query
    if (this.#readable.length === 0) throw forbidden('the index cannot be searched')
    const { filterFields } = this.#place.index
    if (!this.#allRead(filterFields)) throw forbidden('the index cannot be searched')
    const { defaultField, filters = [], sort = [] } = query
    const names = new Set(sort.map(({ field }) => field))
    for (const text of [query.query, ...filters]) {
      if (text.includes(otherSyntax)) throw forbidden(`${otherSyntax} cannot be in a query`)
      for (const field of queryFields(text, defaultField)) names.add(field)
    }
    let followsLinks = false
    for (const name of names) followsLinks ||= this.#sourcesOf(name)?.followsLinks === true
    for (const name of names) this.#check(name)
    if (!this.hidesDocuments) return query
    return { ...query, filters: [...filters, this.#visible(followsLinks)] }
  }

  /** What only documents match that may be seen, by table and version tag. */
  #visible(followsLinks: boolean): string {
    const { versionTags } = this.#place.index
    const byTags = new Map<string, string[]>()
    for (const [table, access] of this.#readable) {
      // What a link leads to is shown at the version tag that it has there.
      const needed = followsLinks ? this.#all : [access]
      const tags = versionTags.filter(({ name }) => needed.every((each) => each.canReadTag(name)))
      if (tags.length === 0) continue
      const text = tags.map(({ id }) => `"${id}"`).join(' OR ')
      byTags.set(text, [...(byTags.get(text) ?? []), `"${table}"`])
    }
    if (byTags.size === 0) throw forbidden('the index cannot be searched')
    const { table, versionTagId } = reservedFields
    const clauses = [...byTags].map(([tags, tables]) => {
      return `(+${table}:(${tables.join(' OR ')}) +${versionTagId}:(${tags}))`
    })
    return clauses.join(' OR ')
  }

  #sourcesOf(field: string): FieldSources | undefined {
    return plainFields.has(field) ? undefined : this.#place.index.fieldSources(field)
  }

  #check(field: string): void {
    if (plainFields.has(field)) return
    const sources = this.#sourcesOf(field)
    if (sources !== undefined && /^[^\s(){},]+$/.test(field) && this.#mayRead(sources)) return
    throw forbidden(`the field ${field} cannot be searched`)
  }

  #mayRead({ own, linked, followsLinks, isFunction }: FieldSources): boolean {
    // A link may lead to any table.
    const behindLinks = followsLinks ? this.#all : []
    return (
      (!isFunction || this.#readable.every(([, access]) => access.readsAll)) &&
      this.#allRead(own) &&
      behindLinks.every(({ readsRecords }) => readsRecords) &&
      [...linked].every((id) => behindLinks.every((access) => access.canReadId(id)))
    )
  }

  /** Whether all these fields may be read in every table that may be. */
  #allRead(ids: ReadonlySet<string>): boolean {
    return [...ids].every((id) => this.#readable.every(([, access]) => access.canReadId(id)))
  }
}
