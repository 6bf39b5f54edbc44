/**
 * Restricts searches of a principal in an index to documents of readable tables and version tags,
 * and to fields with readable sources. All other names are refused alike, whether they exist or
 * not. So hits, counts and errors reveal no hidden data.
 */
import {
  queryFields,
  reservedFields,
  type FieldSources,
  type SearchIndex,
  type SearchQuery,
} from '../index.js'
import { forbidden } from '../../../http/errors.js'
import { type Principal } from '../../../http/access.js'
import type { FieldNames } from './field-names.js'
import { TableAccess } from './table-access.js'

/** The index and the repository of a search. */
export interface SearchPlace {
  readonly index: SearchIndex
  readonly repository: string
  /** All record tables of the repository, as they are at the search. */
  readonly tables: readonly string[]
  readonly names: FieldNames | undefined
}

const plainFields: ReadonlySet<string> = new Set(Object.values(reservedFields))
/** A search server may support syntax beyond ours, such as `{!…}` of Solr. */
const otherSyntax = '{!'

/** The view of a principal on an index. */
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

  /** Whether documents of some tables or version tags are hidden. */
  get hidesDocuments(): boolean {
    if (this.#isAdministrator) return false
    const { versionTags } = this.#place.index
    return this.#all.some((access) => {
      return !access.readsRecords || !versionTags.every(({ name }) => access.canReadTag(name))
    })
  }

  /** The first searchable field of the index, for words without a field name. */
  get defaultField(): string | undefined {
    return this.#place.index.plainFields.find((name) => {
      const sources = this.#place.index.fieldSources(name)
      return this.#isAdministrator || (sources !== undefined && this.#mayRead(sources))
    })
  }

  /**
   * Adds the filter for visible documents to the query. `ERR_FORBIDDEN`, `ERR_INVALID_ARGUMENT`.
   * The filter names tables and tags, so it also hides documents of a table that is made or dropped
   * meanwhile. The permissions must be the same after the search as before it, because a document
   * that became visible meanwhile may show more.
   */
  limited(query: SearchQuery): SearchQuery {
    if (this.#isAdministrator) return query
    if (this.#readable.length === 0) throw forbidden('the index cannot be searched')
    const { filterFields } = this.#place.index
    if (!this.#allRead(filterFields)) throw forbidden('the index cannot be searched')
    const { defaultField, filters = [], sort = [] } = query
    const names = new Set(sort.map(({ field }) => field).filter((field) => field !== 'score'))
    for (const text of [query.query, ...filters]) {
      if (text.includes(otherSyntax)) throw forbidden(`${otherSyntax} cannot be in a query`)
      for (const field of queryFields(text, defaultField)) names.add(field)
    }
    let followsLinks = false
    for (const name of names) followsLinks = this.#followsLinks(name) || followsLinks
    if (this.hidesDocuments && sort.some(({ field }) => field === 'score')) {
      throw forbidden('the order of scores would tell of other documents')
    }
    const limited = { ...query, filters: [...filters, this.#visible(followsLinks)] }
    if (sort.length > 0 || !this.hidesDocuments) return limited
    // Relevance depends on the words of all documents, so its order would tell of hidden ones.
    return { ...limited, sort: [{ field: reservedFields.key }] }
  }

  /** A filter that matches visible documents only, by table and version tag. */
  #visible(followsLinks: boolean): string {
    const { versionTags } = this.#place.index
    const byTags = new Map<string, string[]>()
    for (const [table, access] of this.#readable) {
      // Linked content is shown at the version tag of its own record.
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

  /** Whether a field of a query shows linked records. `ERR_FORBIDDEN` if it cannot be in one. */
  #followsLinks(field: string): boolean {
    if (plainFields.has(field)) return false
    const sources = this.#place.index.fieldSources(field)
    if (sources !== undefined && /^[^\s(){},]+$/.test(field) && this.#mayRead(sources)) {
      return sources.followsLinks
    }
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

  #allRead(ids: ReadonlySet<string>): boolean {
    return [...ids].every((id) => this.#readable.every(([, access]) => access.canReadId(id)))
  }
}
