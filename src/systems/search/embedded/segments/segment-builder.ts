/** Builds a segment from documents: words, terms, positions. */
import { textTerm, termOf, type FieldKind, type FieldKinds } from '../../field-kinds.js'
import { reservedFields, type SearchDocument } from '../../search-backend.js'
import { wordsOf } from '../../analysis.js'
import { nextTurn } from '../turns.js'
import type { Postings } from './postings.js'
import { termKey, type SegmentField, type SegmentHeader } from './segment-header.js'
import type { SegmentRows } from './segment-rows.js'
import { SegmentWriter } from './segment-writer.js'
import { encodeDocument } from './stored-document.js'

/** Gap of positions between two values of a field, so that no phrase matches across values. */
export const valueGap = 100

interface TermDocuments {
  readonly docs: number[]
  readonly counts: number[]
  readonly positions: number[]
}

interface FieldTerms {
  readonly kind: FieldKind
  readonly terms: Map<string, TermDocuments>
  readonly lengths: number[]
  docs: number
  words: number
}

/** The documents of a segment under construction; all have passed the checks. */
export class SegmentBuilder {
  readonly #kinds: FieldKinds
  readonly #now: number
  readonly #fields = new Map<string, FieldTerms>()

  /** `now` is the time of NOW in date math. */
  constructor(kinds: FieldKinds, now: number) {
    this.#kinds = kinds
    this.#now = now
  }

  /** Writes the documents sorted by the bytes of their keys. */
  async write(
    rows: SegmentRows,
    number: number,
    documents: readonly SearchDocument[],
  ): Promise<SegmentHeader> {
    const writer = new SegmentWriter(rows, number, documents.length)
    for (let doc = 0; doc < documents.length; doc++) {
      const document = documents[doc]
      writer.addStored(encodeDocument(document))
      this.#addValues(reservedFields.key, [document.key], doc)
      for (const [name, values] of Object.entries(document.fields)) {
        if (name !== reservedFields.key) this.#addValues(name, values, doc)
      }
      if (doc % 256 === 255) {
        await writer.send()
        await nextTurn()
      }
    }
    const names = [...this.#fields.keys()].sort()
    const fields: SegmentField[] = []
    for (const [index, name] of names.entries()) {
      const { kind, terms, lengths, docs, words } = this.#fields.get(name)!
      fields.push({ name, kind, docs, words })
      let count = 0
      for (const term of [...terms.keys()].sort()) {
        const { docs, counts, positions } = terms.get(term)!
        const postings: Postings =
          kind === 'text'
            ? { docs, counts, positions }
            : { docs, counts: undefined, positions: undefined }
        writer.addTerm(termKey(index, term), postings)
        if (++count % 1024 === 0) {
          await writer.send()
          await nextTurn()
        }
      }
      if (kind === 'text') {
        while (lengths.length < documents.length) lengths.push(0)
        writer.addLengths(index, lengths)
      }
    }
    return writer.finish(fields)
  }

  #addValues(name: string, values: readonly string[], doc: number): void {
    if (values.length === 0) return
    let field = this.#fields.get(name)
    if (field === undefined) {
      const kind = this.#kinds.of(name)!
      field = { kind, terms: new Map(), lengths: [], docs: 0, words: 0 }
      this.#fields.set(name, field)
    }
    if (field.kind === 'text') this.#addText(field, values, doc)
    else {
      field.docs++
      for (const value of values)
        this.#addTerm(field, termOf(field.kind, value, this.#now), doc, -1)
    }
  }

  #addText(field: FieldTerms, values: readonly string[], doc: number): void {
    let base = 0
    let count = 0
    for (const value of values) {
      const words = wordsOf(value)
      for (let i = 0; i < words.length; i++) this.#addTerm(field, textTerm(words[i]), doc, base + i)
      count += words.length
      base += words.length + valueGap
    }
    while (field.lengths.length < doc) field.lengths.push(0)
    field.lengths.push(count)
    field.words += count
    if (count > 0) field.docs++
  }

  #addTerm(field: FieldTerms, term: string, doc: number, position: number): void {
    let found = field.terms.get(term)
    if (found === undefined) {
      found = { docs: [], counts: [], positions: [] }
      field.terms.set(term, found)
    }
    const last = found.docs.length - 1
    if (found.docs[last] === doc) found.counts[last]++
    else {
      found.docs.push(doc)
      found.counts.push(1)
    }
    if (position >= 0) found.positions.push(position)
  }
}
