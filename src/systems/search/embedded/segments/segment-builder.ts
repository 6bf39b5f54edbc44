/** Builds a segment from documents: words, terms, positions. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { wordsOf } from '../../analysis.js'
import { textTerm, termOf, type FieldKind, type FieldKinds } from '../../field-kinds.js'
import { reservedFields, type SearchDocument } from '../../search-backend.js'
import { encodeDocument, termKey, type SegmentField, type SegmentHeader } from './segment-format.js'
import type { SegmentRows } from './segment-rows.js'
import { SegmentWriter } from './segment-writer.js'

/** Gap of positions between two values of a field, so that no phrase matches across values. */
const valueGap = 100

interface TermDocuments {
  readonly docs: number[]
  readonly counts: number[]
  readonly positions: number[]
}

interface FieldTerms {
  readonly kind: FieldKind
  readonly terms: Map<string, TermDocuments>
  readonly lengths: Int32Array
  docs: number
  words: number
}

/**
 * Writes a segment of documents sorted by the bytes of their keys; all have passed the checks.
 * `now` is the time of NOW in date math.
 */
export async function buildSegment(
  rows: SegmentRows,
  number: number,
  documents: readonly SearchDocument[],
  { kinds, now }: { readonly kinds: FieldKinds; readonly now: number },
): Promise<SegmentHeader> {
  const writer = new SegmentWriter(rows, number, documents.length)
  const found = new Map<string, FieldTerms>()
  const addValues = (name: string, values: readonly string[], doc: number): void => {
    if (values.length === 0) return
    let field = found.get(name)
    if (field === undefined) {
      const lengths = new Int32Array(documents.length)
      field = { kind: kinds.of(name)!, terms: new Map(), lengths, docs: 0, words: 0 }
      found.set(name, field)
    }
    if (field.kind === 'text') addText(field, values, doc)
    else {
      field.docs++
      for (const value of values) addTerm(field, termOf(field.kind, value, now), doc, -1)
    }
  }
  for (const [doc, { key, fields }] of documents.entries()) {
    writer.addStored(encodeDocument(documents[doc]))
    addValues(reservedFields.key, [key], doc)
    for (const [name, values] of Object.entries(fields)) {
      if (name !== reservedFields.key) addValues(name, values, doc)
    }
    if (doc % 256 === 255) {
      await writer.send()
      await nextTurn()
    }
  }
  const fields: SegmentField[] = []
  for (const [index, name] of [...found.keys()].sort().entries()) {
    const { kind, terms, lengths, docs, words } = found.get(name)!
    fields.push({ name, kind, docs, words })
    let count = 0
    for (const term of [...terms.keys()].sort()) {
      const { positions, ...postings } = terms.get(term)!
      writer.addTerm(termKey(index, term), postings, kind === 'text' ? positions : undefined)
      if (++count % 1024 === 0) {
        await writer.send()
        await nextTurn()
      }
    }
    if (kind === 'text') writer.addLengths(index, lengths)
  }
  return writer.finish(fields)
}

function addText(field: FieldTerms, values: readonly string[], doc: number): void {
  let base = 0
  let count = 0
  for (const value of values) {
    const words = wordsOf(value)
    for (let i = 0; i < words.length; i++) addTerm(field, textTerm(words[i]), doc, base + i)
    count += words.length
    base += words.length + valueGap
  }
  field.lengths[doc] = count
  field.words += count
  if (count > 0) field.docs++
}

function addTerm({ terms }: FieldTerms, term: string, doc: number, position: number): void {
  let found = terms.get(term)
  if (found === undefined) {
    found = { docs: [], counts: [], positions: [] }
    terms.set(term, found)
  }
  const last = found.docs.length - 1
  if (found.docs[last] === doc) found.counts[last]++
  else {
    found.docs.push(doc)
    found.counts.push(1)
  }
  if (position >= 0) found.positions.push(position)
}
