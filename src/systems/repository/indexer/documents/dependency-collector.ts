/** Collects the dependencies of a document while the document is built. */
import type { RecordId } from '../../record-id.js'
import type { Dependency, VariantPattern } from '../index-rows.js'

interface Collected {
  readonly table: string
  readonly master: RecordId
  readonly pattern: VariantPattern
  readonly fields: Set<string>
}

/** Pseudo field of a dependency: the version of the record. */
export const versionOfRecord = 'version'

/** Dependencies of a document, or of all documents of a record. They are noted before the reads. */
export class DependencyCollector {
  readonly #collected = new Map<string, Collected>()
  readonly #masters: Set<string>

  /** Noted masters are also added to `masters`. */
  constructor(masters = new Set<string>()) {
    this.#masters = masters
  }

  /** A collector for one document; its masters are also known here. */
  child(): DependencyCollector {
    return new DependencyCollector(this.#masters)
  }

  /** Notes a dependency on records; the caller adds the fields to the returned set. */
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

  /** Whether a record of this master is noted. */
  has(table: string, master: RecordId): boolean {
    return this.#masters.has(`${table}/${master.text}`)
  }

  /** The dependencies in a fixed order. */
  list(): Dependency[] {
    return [...this.#collected.entries()]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { table, master, pattern, fields }]) => {
        return { table, master: master.text, pattern, fields: [...fields].sort() }
      })
  }
}
