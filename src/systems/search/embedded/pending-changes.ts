/** The changes that are not in a segment yet. */
import { CellarError, isText } from '../../../api/index.js'
import { termBytesMax, termOf, textTerm, type FieldKinds } from '../field-kinds.js'
import {
  reservedFields,
  type RecordName,
  type RejectedDocument,
  type SearchDocument,
} from '../search-backend.js'
import { intersection } from './doc-sets.js'
import type { SegmentReader } from './segments/segment-reader.js'

/** Documents to write, and the keys and records whose older documents are removed. */
export class PendingChanges {
  readonly documents = new Map<string, SearchDocument>()
  /** Keys whose documents in segments are removed; includes the keys of `documents`. */
  readonly removedKeys = new Set<string>()
  readonly removedRecords = new Map<string, RecordName>()
  /** Names of the fields of all documents that were added. */
  readonly fields = new Set<string>([reservedFields.key])
  /** Keys of `documents` by record. */
  readonly #keys = new Map<string, Set<string>>()
  #bytes = 0

  /** Estimated bytes of the changes. */
  get bytes(): number {
    return this.#bytes
  }

  get isEmpty(): boolean {
    return this.removedKeys.size === 0 && this.removedRecords.size === 0
  }

  removeKey(key: string): void {
    this.#forget(key)
    this.removedKeys.add(key)
    this.#bytes += 100 + key.length
  }

  removeRecord(record: RecordName): void {
    const name = recordText(record)
    for (const key of [...(this.#keys.get(name) ?? [])]) this.#forget(key)
    this.removedRecords.set(name, record)
    this.#bytes += 100 + name.length
  }

  add(document: SearchDocument): void {
    const { key } = document
    this.removeKey(key)
    this.documents.set(key, document)
    const record = recordOf(document)
    this.#keys.set(record, (this.#keys.get(record) ?? new Set()).add(key))
    for (const [name, values] of Object.entries(document.fields)) {
      this.fields.add(name)
      this.#bytes += 50 + name.length
      for (const value of values) this.#bytes += 20 + value.length
    }
  }

  #forget(key: string): void {
    const document = this.documents.get(key)
    if (document === undefined) return
    this.documents.delete(key)
    this.#keys.get(recordOf(document))?.delete(key)
  }

  /** Documents of a segment whose keys or records are removed, including earlier removals. */
  async removedFrom(reader: SegmentReader): Promise<number[]> {
    const found: number[] = []
    await reader.eachOf(reservedFields.key, [...this.removedKeys].map(textTerm), (_, docs) => {
      found.push(docs[0])
    })
    const ofIds = new Map<string, Int32Array>()
    const ids = new Set([...this.removedRecords.values()].map(({ id }) => textTerm(id)))
    await reader.eachOf(reservedFields.id, [...ids], (id, docs) => void ofIds.set(id, docs))
    for (const { table, id } of this.removedRecords.values()) {
      const docs = ofIds.get(textTerm(id))
      const ofTable = docs && (await reader.postings(reservedFields.table, textTerm(table)))
      if (ofTable === undefined) continue
      for (const doc of intersection(docs!, ofTable.docs)) found.push(doc)
    }
    return found
  }
}

/** The text of the record of a document; '' for a document of no record. */
function recordOf({ fields }: SearchDocument): string {
  const table = fields[reservedFields.table]?.[0]
  const id = fields[reservedFields.id]?.[0]
  return table === undefined || id === undefined ? '' : recordText({ table, id })
}

function recordText({ table, id }: RecordName): string {
  return `${table}/${id}`
}

/** The reason why the index cannot accept a document; undefined if it can. */
export function rejection(
  { key, fields }: SearchDocument,
  kinds: FieldKinds,
  now: number,
): RejectedDocument | undefined {
  const reject = (reason: string): RejectedDocument => ({ key, reason })
  if (!isText(key) || Buffer.byteLength(key) > termBytesMax) {
    return reject(`the key is longer than ${termBytesMax} bytes, or no text`)
  }
  for (const [name, values] of Object.entries(fields)) {
    const kind = kinds.of(name)
    if (kind === undefined) return reject(`the index has no field ${name}`)
    for (const value of values) {
      if (!isText(value)) return reject(`${name}: a value has a surrogate without its other half`)
      if (kind === 'text') continue
      try {
        termOf(kind, value, now)
      } catch (error) {
        if (error instanceof CellarError) return reject(`${name}: ${error.message}`)
        throw error
      }
    }
  }
  return undefined
}
