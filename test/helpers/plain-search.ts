/**
 * A search server in memory for the cases: it takes documents as they are, shows them after a
 * commit, and finds words and whole values. It keeps what it has when an index is closed.
 */
import type {
  RejectedDocument,
  SearchBackend,
  SearchChanges,
  SearchDocument,
  SearchQuery,
  SearchResult,
} from '../../src/systems/repository/index.js'

/** A search server that a case can look into, and let fail. */
export class PlainSearch implements SearchBackend {
  readonly #pending = new Map<string, SearchDocument>()
  #committed = new Map<string, SearchDocument>()
  /** How many of the next calls fail. */
  failures = 0
  /** Keys that it refuses. */
  refused: (key: string) => boolean = () => false
  /** Calls of `update`. */
  updates = 0

  /** What searches see, by key. */
  get documents(): readonly SearchDocument[] {
    return [...this.#committed.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  }

  async update(changes: SearchChanges): Promise<RejectedDocument[]> {
    this.#failIfTold()
    this.updates++
    for (const { table, id } of changes.removedRecords ?? []) {
      const prefix = `${table}-${id}-`
      for (const key of this.#pending.keys()) {
        if (key.startsWith(prefix) && key.length === prefix.length + 36) this.#pending.delete(key)
      }
    }
    for (const key of changes.removedKeys ?? []) this.#pending.delete(key)
    const rejected: RejectedDocument[] = []
    for (const document of changes.documents ?? []) {
      if (this.refused(document.key)) rejected.push({ key: document.key, reason: 'refused' })
      else this.#pending.set(document.key, document)
    }
    return rejected
  }

  async commit(): Promise<void> {
    this.#failIfTold()
    this.#committed = new Map(this.#pending)
  }

  /** `field:value` and `field:"some words"`, several with ` AND ` between them. */
  async search({ query, limit = 1000 }: SearchQuery): Promise<SearchResult> {
    const clauses = query === '*:*' ? [] : query.split(' AND ')
    const found = this.documents.filter((document) => {
      return clauses.every((clause) => {
        const colon = clause.indexOf(':')
        const values = document.fields[clause.slice(0, colon)] ?? []
        const wanted = clause
          .slice(colon + 1)
          .replaceAll('"', '')
          .toLowerCase()
        return values.some((value) => {
          const text = value.toLowerCase()
          return text === wanted || ` ${text} `.includes(` ${wanted} `)
        })
      })
    })
    const hits = found.slice(0, limit).map((document) => ({ ...document, score: 1 }))
    return { total: found.length, hits }
  }

  async clear(): Promise<void> {
    this.#failIfTold()
    this.#pending.clear()
    this.#committed = new Map()
  }

  async close(): Promise<void> {
    // What was not committed is lost, as with a server that ends.
    this.#pending.clear()
    for (const [key, document] of this.#committed) this.#pending.set(key, document)
  }

  #failIfTold(): void {
    if (this.failures <= 0) return
    this.failures--
    throw new Error('the search server is away')
  }
}
