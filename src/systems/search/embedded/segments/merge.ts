/** Merges segments into one and drops the removed documents. */
import { Bits } from './bits.js'
import type { Postings } from './postings.js'
import { termKey, type SegmentField, type SegmentHeader } from './segment-header.js'
import type { SegmentReader } from './segment-reader.js'
import type { SegmentRows } from './segment-rows.js'
import { SegmentWriter } from './segment-writer.js'
import { decodeDocumentKey } from './stored-document.js'
import { nextTurn } from '../turns.js'

/** A segment with its removed documents. */
export interface MergeSource {
  readonly reader: SegmentReader
  readonly removed: Bits | undefined
}

/** A merged segment, and the new number of each document by source; -1: dropped. */
export interface MergeResult {
  readonly header: SegmentHeader
  readonly places: readonly Int32Array[]
}

/** Fields of the merged segment, and their numbers by source and old number. */
interface MergedFields {
  readonly fields: { name: string; kind: SegmentField['kind']; docs: Bits; words: number }[]
  readonly numbers: readonly Int32Array[]
}

/** Writes the merged segment. If `isStopped` ends the merge early, the result is undefined. */
export async function mergeSegments(
  sources: readonly MergeSource[],
  rows: SegmentRows,
  number: number,
  isStopped: () => boolean,
): Promise<MergeResult | undefined> {
  const total = sources.reduce((sum, { reader, removed }) => {
    return sum + reader.docs - (removed?.count ?? 0)
  }, 0)
  const writer = new SegmentWriter(rows, number, total)
  const places = await mergeStored(sources, writer, isStopped)
  if (places === undefined) return undefined
  const merged = mergeFields(sources, total)
  const done = await mergeTerms({ sources, writer, places, merged }, isStopped)
  if (!done) return undefined
  await mergeLengths(sources, writer, places, merged, total)
  const fields = merged.fields.map(({ name, kind, docs, words }) => ({
    name,
    kind,
    docs: docs.count,
    words,
  }))
  return { header: await writer.finish(fields), places }
}

/** The next stored document of a source. */
interface StoredHead {
  doc: number
  key: string
  bytes: Buffer
}

/** Copies the stored documents in key order. */
async function mergeStored(
  sources: readonly MergeSource[],
  writer: SegmentWriter,
  isStopped: () => boolean,
): Promise<Int32Array[] | undefined> {
  const places = sources.map(({ reader }) => new Int32Array(reader.docs).fill(-1))
  const heads = sources.map((): StoredHead => ({ doc: -1, key: '', bytes: Buffer.alloc(0) }))
  const move = async (index: number): Promise<void> => {
    const { reader, removed } = sources[index]
    const head = heads[index]
    do head.doc++
    while (head.doc < reader.docs && removed?.has(head.doc) === true)
    if (head.doc >= reader.docs) return
    head.bytes = await reader.storedBytes(head.doc)
    head.key = Buffer.from(decodeDocumentKey(head.bytes)).toString('latin1')
  }
  for (const index of sources.keys()) await move(index)
  for (let next = 0; ; next++) {
    let best = -1
    for (const [index, { reader }] of sources.entries()) {
      if (heads[index].doc >= reader.docs) continue
      if (best < 0 || heads[index].key < heads[best].key) best = index
    }
    if (best < 0) return places
    places[best][heads[best].doc] = next
    writer.addStored(heads[best].bytes)
    await move(best)
    if (next % 256 === 255) {
      await writer.send()
      await nextTurn()
      if (isStopped()) return undefined
    }
  }
}

function mergeFields(sources: readonly MergeSource[], docs: number): MergedFields {
  const names = new Map<string, SegmentField['kind']>()
  for (const { reader } of sources) {
    for (const { name, kind } of reader.header.fields) names.set(name, kind)
  }
  const sorted = [...names.keys()].sort()
  const fields = sorted.map((name) => {
    return { name, kind: names.get(name)!, docs: new Bits(docs), words: 0 }
  })
  const index = new Map(sorted.map((name, number) => [name, number]))
  const numbers = sources.map(({ reader }) => {
    return Int32Array.from(reader.header.fields, ({ name }) => index.get(name)!)
  })
  return { fields, numbers }
}

/** The next term of a source. */
class TermHead {
  readonly index: number
  readonly #reader: SegmentReader
  readonly #numbers: Int32Array
  #terms: { key: string; postings: Postings }[] = []
  #at = -1
  #nextBlock = 0
  key = ''
  postings: Postings = { docs: [], counts: undefined, positions: undefined }

  constructor(index: number, reader: SegmentReader, numbers: Int32Array) {
    this.index = index
    this.#reader = reader
    this.#numbers = numbers
  }

  /** Advances to the next term of the block; false at its end. */
  next(): boolean {
    this.#at++
    if (this.#at >= this.#terms.length) return false
    const { key, postings } = this.#terms[this.#at]
    const field = (key.charCodeAt(0) << 8) | key.charCodeAt(1)
    this.key = termKey(this.#numbers[field], key.slice(2))
    this.postings = postings
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

interface MergeWork {
  readonly sources: readonly MergeSource[]
  readonly writer: SegmentWriter
  readonly places: readonly Int32Array[]
  readonly merged: MergedFields
}

/** Merges the terms of all sources; false if the merge was stopped. */
async function mergeTerms(work: MergeWork, isStopped: () => boolean): Promise<boolean> {
  const { sources, writer, places, merged } = work
  let heads: TermHead[] = []
  for (const [index, { reader }] of sources.entries()) {
    const head = new TermHead(index, reader, merged.numbers[index])
    if (await head.nextBlock()) heads.push(head)
  }
  for (let count = 1; heads.length > 0; count++) {
    let key = heads[0].key
    for (const head of heads) if (head.key < key) key = head.key
    const equal = heads.filter((head) => head.key === key)
    const postings = joined(equal, places)
    if (postings.docs.length > 0) {
      const field = merged.fields[(key.charCodeAt(0) << 8) | key.charCodeAt(1)]
      for (let i = 0; i < postings.docs.length; i++) field.docs.add(postings.docs[i])
      writer.addTerm(key, postings)
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

/** Joins the postings of one term over several segments, with the new document numbers. */
function joined(heads: readonly TermHead[], places: readonly Int32Array[]): Postings {
  const entries: { doc: number; head: TermHead; at: number; position: number }[] = []
  for (const head of heads) {
    const { docs, counts } = head.postings
    let position = 0
    for (let at = 0; at < docs.length; at++) {
      const doc = places[head.index][docs[at]]
      if (doc >= 0) entries.push({ doc, head, at, position })
      if (counts !== undefined) position += counts[at]
    }
  }
  if (heads.length > 1) entries.sort((a, b) => a.doc - b.doc)
  const docs = entries.map(({ doc }) => doc)
  if (heads[0].postings.counts === undefined) {
    return { docs, counts: undefined, positions: undefined }
  }
  const counts: number[] = []
  const positions: number[] = []
  for (const { head, at, position } of entries) {
    const count = head.postings.counts![at]
    counts.push(count)
    for (let i = 0; i < count; i++) positions.push(head.postings.positions![position + i])
  }
  return { docs, counts, positions }
}

async function mergeLengths(
  sources: readonly MergeSource[],
  writer: SegmentWriter,
  places: readonly Int32Array[],
  merged: MergedFields,
  docs: number,
): Promise<void> {
  for (const [number, field] of merged.fields.entries()) {
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
