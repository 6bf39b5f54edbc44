/** Collects what a document depends on, while it is built. */
import type { RecordId } from '../../record-id.js'
import type { Dependency, VariantPattern } from '../index-rows.js'

interface Collected {
  readonly table: string
  readonly master: RecordId
  readonly pattern: VariantPattern
  readonly fields: Set<string>
}

/** The version of a record, among the fields that something depends on. */
export const versionOfRecord = 'version'

/** Dependencies of a document, or of all documents of a record. Notes come before reads. */
export class DependencyCollector {
  readonly #collected = new Map<string, Collected>()
  readonly #masters: Set<string>

  /** `masters` takes the masters that are noted. */
  constructor(masters = new Set<string>()) {
    this.#masters = masters
  }

  /** A collector of one document, whose masters this one knows too. */
  child(): DependencyCollector {
    return new DependencyCollector(this.#masters)
  }

  /** Notes records; the set takes their fields. */
  note(table: string, master: RecordId, pattern: VariantPattern): Set<string> {
    const key = `${table}/${master.text}/${JSON.stringify(Object.entries(pattern).sort())}`
    let found = this.#collected.get(key)
    if (found === undefined) {
      found = { table, master, pattern, fields: new Set() }
      this.#collected.set(key, found)
      this.#masters.add(`${table}/${master.text}`)
    }
    return found.fields
  }

  /** Whether a record of this master was noted. */
  has(table: string, master: RecordId): boolean {
    return this.#masters.has(`${table}/${master.text}`)
  }

  /** In an order of their own. */
  list(): Dependency[] {
    return [...this.#collected.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { table, master, pattern, fields }]) => {
        return { table, master: master.text, pattern, fields: [...fields].sort() }
      })
  }
}
