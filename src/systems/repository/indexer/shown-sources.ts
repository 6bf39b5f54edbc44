/**
 * The sources of the texts in an index, by field of its documents. Sources are stored before the
 * document is sent, and only grow until the index is cleared. So they cover every document,
 * including documents of an earlier configuration and of earlier field names.
 */
import {
  keyOf,
  NamedSources,
  SourceSet,
  type NameSpan,
  type ShownField,
} from './definition/field-sources.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { reservedFields } from '../../search/search-backend.js'
import type { IndexRows } from './index-rows.js'

/** Stands for the existence of a document, instead of the name of a field. */
export const presence: NameSpan = { start: '', end: undefined }

/** The field with the version tag of a document; its sources are the tags of all documents. */
export const tagOfDocument: NameSpan = { start: reservedFields.versionTagId, end: undefined }

/** The sources of all fields of the documents of one index. */
export class ShownSources {
  readonly #rows: IndexRows
  readonly #known = new NamedSources()
  /** Names whose sources are not stored yet, by their stored form. */
  readonly #unsaved = new Map<string, NameSpan>()
  readonly #saves = new CallOrder()

  constructor(rows: IndexRows) {
    this.#rows = rows
  }

  async load(): Promise<void> {
    for (const [key, stored] of await this.#rows.sources()) {
      this.#known.add(namesOf(key), new SourceSet(stored))
    }
  }

  /** The sources of a field; undefined if no document has had the field. */
  of(name: string): SourceSet | undefined {
    return this.#known.of(name)
  }

  /** Ids of the own fields among the sources of exactly these names. */
  ownOf(names: NameSpan): ReadonlySet<string> {
    return this.#known.at(names)?.own ?? new Set()
  }

  /** Adds sources of a document; resolves when these and all earlier additions are stored. */
  async note(fields: readonly ShownField[]): Promise<void> {
    for (const { names, sources } of fields) {
      if (this.#known.add(names, sources)) this.#unsaved.set(keyOf(names), names)
    }
    await this.#saves.run(() => this.#save())
  }

  /** Clears all sources. REQUIRES that the index has no documents. */
  clear(): void {
    this.#known.clear()
    this.#unsaved.clear()
  }

  async #save(): Promise<void> {
    for (const [key, names] of [...this.#unsaved]) {
      const sources = this.#known.at(names)?.toJSON()
      this.#unsaved.delete(key)
      try {
        if (sources !== undefined) await this.#rows.putSources(key, sources)
      } catch (error) {
        this.#unsaved.set(key, names)
        throw error
      }
    }
  }
}

function namesOf(key: string): NameSpan {
  const [start, end] = JSON.parse(key) as [string, string | undefined]
  return { start, end }
}
