/** Merges segments into one and drops the removed documents. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert } from '../../../../api/index.js'
import { allDocs, difference } from '../doc-sets.js'
import {
  decodeDocumentKey,
  fieldOfKey,
  termKey,
  type SegmentField,
  type SegmentHeader,
} from './segment-format.js'
import type { SegmentReader, SegmentTerm, SegmentView } from './segment-reader.js'
import type { SegmentRows } from './segment-rows.js'
import { SegmentWriter } from './segment-writer.js'

/** Number of segments of about the same size that are merged. */
const segmentsPerMerge = 8
/** Segments below this number of documents count as the same size. */
const smallDocs = 256

/** Number of documents that are not removed. */
export function liveDocs({ reader, removed }: SegmentView): number {
  return reader.docs - removed.length
}

/**
 * Eight segments of about the same size, or one segment whose documents are mostly removed; empty
 * if no merge is due. Sizes are powers of eight, so a document is rewritten once per size.
 */
export function chooseMerge(views: readonly SegmentView[]): readonly SegmentView[] {
  const sizes = new Map<number, SegmentView[]>()
  for (const view of views) {
    const docs = liveDocs(view)
    if (view.reader.docs >= smallDocs && docs * 2 < view.reader.docs) return [view]
    const power = Math.log(docs / smallDocs) / Math.log(segmentsPerMerge)
    const size = Math.max(0, Math.floor(power) + 1)
    sizes.set(size, [...(sizes.get(size) ?? []), view])
  }
  return [...sizes.values()].find((same) => same.length >= segmentsPerMerge) ?? []
}

/** A merged segment, and the new number of each document by source; -1: dropped. */
export interface MergeResult {
  readonly header: SegmentHeader
  readonly places: readonly Int32Array[]
}

interface MergedField {
  readonly name: string
  readonly kind: SegmentField['kind']
  docs: number
  words: number
}

interface Merge {
  readonly sources: readonly SegmentView[]
  readonly writer: SegmentWriter
  readonly docs: number
  readonly places: readonly Int32Array[]
  /** Sorted by name. */
  readonly fields: readonly MergedField[]
  readonly isStopped: () => boolean
}

/** Writes the merged segment. If `isStopped` ends the merge early, the result is undefined. */
export async function mergeSegments(
  sources: readonly SegmentView[],
  rows: SegmentRows,
  number: number,
  isStopped: () => boolean,
): Promise<MergeResult | undefined> {
  const docs = sources.reduce((sum, view) => sum + liveDocs(view), 0)
  const writer = new SegmentWriter(rows, number, docs)
  const places = sources.map(({ reader }) => new Int32Array(reader.docs).fill(-1))
  const kinds = new Map(
    sources.flatMap(({ reader }) => reader.header.fields.map(({ name, kind }) => [name, kind])),
  )
  const fields = [...kinds.keys()].sort().map((name): MergedField => {
    return { name, kind: kinds.get(name)!, docs: 0, words: 0 }
  })
  const merge: Merge = { sources, writer, docs, places, fields, isStopped }
  if (!(await mergeStored(merge)) || !(await mergeTerms(merge))) return undefined
  await mergeLengths(merge)
  return { header: await writer.finish(fields), places }
}

/** Copies the stored documents in key order; false if the merge was stopped. */
async function mergeStored({ sources, writer, docs, places, isStopped }: Merge): Promise<boolean> {
  const heads = sources.map(({ reader, removed }) => {
    const live = difference(allDocs(reader.docs), removed)
    const bytes: Buffer = Buffer.alloc(0)
    return { live, at: -1, key: '', bytes }
  })
  const move = async (index: number): Promise<void> => {
    const head = heads[index]
    if (++head.at >= head.live.length) return
    head.bytes = await sources[index].reader.storedBytes(head.live[head.at])
    head.key = Buffer.from(decodeDocumentKey(head.bytes)).toString('latin1')
  }
  for (const index of sources.keys()) await move(index)
  for (let next = 0; next < docs; next++) {
    let best = -1
    for (const [index, { at, live, key }] of heads.entries()) {
      if (at < live.length && (best < 0 || key < heads[best].key)) best = index
    }
    assert(best >= 0, 'the sources of a merge have as many documents as they are said to have')
    const { live, at, bytes } = heads[best]
    places[best][live[at]] = next
    writer.addStored(bytes)
    await move(best)
    if (next % 256 === 255) {
      await writer.send()
      await nextTurn()
      if (isStopped()) return false
    }
  }
  return true
}

const noTerm: SegmentTerm = {
  key: '',
  postings: { docs: new Int32Array(0), counts: undefined },
  positions: undefined,
}

class TermHead {
  readonly places: Int32Array
  readonly #reader: SegmentReader
  /** Field numbers of the merged segment by those of the source. */
  readonly #numbers: readonly number[]
  #terms: readonly SegmentTerm[] = []
  #at = -1
  #nextBlock = 0
  key = ''
  term = noTerm

  constructor(reader: SegmentReader, places: Int32Array, numbers: ReadonlyMap<string, number>) {
    this.#reader = reader
    this.places = places
    this.#numbers = reader.header.fields.map(({ name }) => numbers.get(name)!)
  }

  /** Advances to the next term of the block; false at its end. */
  next(): boolean {
    if (++this.#at >= this.#terms.length) return false
    this.term = this.#terms[this.#at]
    const { key } = this.term
    this.key = termKey(this.#numbers[fieldOfKey(key)], key.slice(2))
    return true
  }

  /** Advances to the first term of the next block; false at the end of the segment. */
  async nextBlock(): Promise<boolean> {
    if (this.#nextBlock >= this.#reader.header.termBlocks.length) return false
    this.#terms = await this.#reader.blockTerms(this.#nextBlock++)
    this.#at = -1
    await nextTurn()
    return this.next()
  }
}

/** Merges the terms of all sources; false if the merge was stopped. */
async function mergeTerms(merge: Merge): Promise<boolean> {
  const { sources, writer, docs, places, fields, isStopped } = merge
  /** By document: the last field with a term of the document. Terms are sorted by field. */
  const lastFields = new Int32Array(docs).fill(-1)
  let heads: TermHead[] = []
  const numbers = new Map(fields.map(({ name }, number) => [name, number]))
  for (const [index, { reader }] of sources.entries()) {
    const head = new TermHead(reader, places[index], numbers)
    if (await head.nextBlock()) heads.push(head)
  }
  for (let count = 1; heads.length > 0; count++) {
    let key = heads[0].key
    for (const head of heads) if (head.key < key) key = head.key
    const equal = heads.filter((head) => head.key === key)
    const number = fieldOfKey(key)
    for (const doc of addJoined(writer, key, equal)) {
      if (lastFields[doc] !== number) fields[number].docs++
      lastFields[doc] = number
    }
    for (const head of equal) {
      if (!head.next() && !(await head.nextBlock())) heads = heads.filter((other) => other !== head)
    }
    if (count % 256 === 0) {
      await writer.send()
      if (isStopped()) return false
    }
  }
  return true
}

/**
 * Adds the postings of one term over several segments; returns its documents by their new numbers.
 */
function addJoined(
  writer: SegmentWriter,
  key: string,
  heads: readonly TermHead[],
): readonly number[] {
  const entries: { doc: number; count: number; term: SegmentTerm; position: number }[] = []
  for (const { places, term } of heads) {
    const { docs, counts } = term.postings
    let position = 0
    for (let at = 0; at < docs.length; at++) {
      const doc = places[docs[at]]
      const count = counts === undefined ? 1 : counts[at]
      if (doc >= 0) entries.push({ doc, count, term, position })
      position += count
    }
  }
  if (entries.length === 0) return []
  if (heads.length > 1) entries.sort((a, b) => a.doc - b.doc)
  const docs: number[] = []
  const counts: number[] = []
  const positions: number[] = []
  for (const { doc, count, term, position } of entries) {
    docs.push(doc)
    counts.push(count)
    for (let i = 0; term.positions !== undefined && i < count; i++) {
      positions.push(term.positions[position + i])
    }
  }
  writer.addTerm(key, { docs, counts }, heads[0].term.positions && positions)
  return docs
}

async function mergeLengths({ sources, writer, docs, places, fields }: Merge): Promise<void> {
  for (const [number, field] of fields.entries()) {
    if (field.kind !== 'text') continue
    const lengths = new Int32Array(docs)
    for (const [index, { reader }] of sources.entries()) {
      if (reader.field(field.name) === undefined) continue
      const old = await reader.lengths(field.name)
      for (let doc = 0; doc < old.length; doc++) {
        const place = places[index][doc]
        if (place < 0) continue
        lengths[place] = old[doc]
        field.words += old[doc]
      }
    }
    writer.addLengths(number, lengths)
    await writer.send()
  }
}
