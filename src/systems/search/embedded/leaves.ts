/** The documents of the leaves of a plan in one segment: terms, phrases and ranges. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { allDocs, gallop, intersection, marked } from './doc-sets.js'
import type { PhraseNode, RangeNode } from './plan.js'
import type { Postings } from './segments/segment-format.js'
import { positionIn, type SegmentReader } from './segments/segment-reader.js'

interface PhraseTerm {
  readonly postings: Postings<Int32Array>
  readonly positions: Int32Array
  /** The index of each document's first position, and at the end the number of positions. */
  readonly starts: Int32Array
}

interface PhraseWord extends PhraseTerm {
  /** Index of the current document. */
  at: number
  /** Index of the first position that the current document may still need. */
  next: number
}

/** Words compared in one turn of the event loop: about ten milliseconds. */
const wordsPerTurn = 500_000

/** Documents of a segment that contain a phrase. REQUIRES that each word occurs in the segment. */
export async function phraseCounts(
  reader: SegmentReader,
  { field, terms }: PhraseNode,
): Promise<Postings<Int32Array>> {
  const known = new Map<string, PhraseTerm>()
  for (const term of new Set(terms)) {
    const postings = (await reader.postings(field, term))!
    const positions = (await reader.positions(field, term))!
    known.set(term, { postings, positions, starts: startsOf(postings) })
  }
  const words = terms.map((term): PhraseWord => {
    const { postings, positions, starts } = known.get(term)!
    return { postings, positions, starts, at: 0, next: 0 }
  })
  let candidates = words[0].postings.docs
  for (const { postings } of known.values()) candidates = intersection(candidates, postings.docs)
  const docs = new Int32Array(candidates.length)
  const counts = new Int32Array(candidates.length)
  const [{ starts, positions }] = words
  let size = 0
  let compared = 0
  for (const doc of candidates) {
    for (const word of words) {
      word.at = gallop(word.postings.docs, word.at, doc)
      word.next = word.starts[word.at]
    }
    const [{ at }] = words
    let count = 0
    for (let i = starts[at]; i < starts[at + 1]; i++) {
      if (isPhraseAt(words, positions[i])) count++
      compared += words.length
      if (compared < wordsPerTurn) continue
      compared = 0
      await nextTurn()
    }
    if (count === 0) continue
    docs[size] = doc
    counts[size++] = count
  }
  return { docs: docs.subarray(0, size), counts: counts.subarray(0, size) }
}

function startsOf({ docs, counts }: Postings<Int32Array>): Int32Array {
  if (counts === undefined) return allDocs(docs.length + 1)
  const starts = new Int32Array(docs.length + 1)
  for (let i = 0; i < docs.length; i++) starts[i + 1] = starts[i] + counts[i]
  return starts
}

/** REQUIRES that the positions of one document are asked for in ascending order. */
function isPhraseAt(words: readonly PhraseWord[], position: number): boolean {
  for (let i = 1; i < words.length; i++) {
    const word = words[i]
    const { positions, starts, at } = word
    const end = starts[at + 1]
    while (word.next < end && positions[word.next] < position + i) word.next++
    if (word.next >= end || positions[word.next] !== position + i) return false
  }
  return true
}

const k1 = 1.2
const b = 0.75

/** Cached shares, valid while the average length stays the same. */
const known = new WeakMap<Int32Array, { averageLength: number; shares: Float64Array }>()

/** The part of each document's BM25 score that depends on this document alone, in order. */
export async function sharesOf(
  { docs, counts }: Postings<Int32Array>,
  reader: SegmentReader,
  field: string,
  averageLength: number,
): Promise<Float64Array> {
  const before = known.get(docs)
  if (before?.averageLength === averageLength) return before.shares
  const shares = new Float64Array(docs.length)
  const isText = reader.field(field)?.kind === 'text'
  const lengths = isText ? await reader.lengths(field) : undefined
  const base = k1 * (1 - b)
  const scale = (k1 * b) / averageLength
  for (let i = 0; i < docs.length; i++) {
    const count = counts === undefined ? 1 : counts[i]
    const norm = lengths === undefined ? k1 : base + scale * lengths[docs[i]]
    shares[i] = count / (count + norm)
  }
  known.set(docs, { averageLength, shares })
  return shares
}

/** A range over at most this number of term blocks is read term by term. */
const blocksMax = 4

/** Documents of a segment that have a term of the range. */
export async function docsInRange(reader: SegmentReader, range: RangeNode): Promise<Int32Array> {
  const { field, low, high } = range
  if (reader.field(field) === undefined) return new Int32Array(0)
  const name = JSON.stringify([field, low ?? null, high ?? null])
  return reader.kept(name, async () => marked(await marksOfRange(reader, range)))
}

/** By document: 1 for a document of the range. */
async function marksOfRange(
  reader: SegmentReader,
  { field, kind, low, high }: RangeNode,
): Promise<Uint8Array> {
  const marks = new Uint8Array(reader.docs)
  const isOpen = low === undefined && high === undefined
  if (kind === 'text' && isOpen) {
    const lengths = await reader.lengths(field)
    for (let doc = 0; doc < marks.length; doc++) if (lengths[doc] > 0) marks[doc] = 1
    return marks
  }
  if (kind !== 'text' && reader.blocksBetween(field, low, high) > blocksMax) {
    const { ordinals, terms, hasSeveral } = await reader.column(field)
    if (isOpen || !hasSeveral) {
      const first = low === undefined ? 0 : positionIn(terms, low)
      const end = high === undefined ? terms.length : positionIn(terms, high)
      for (let doc = 0; doc < marks.length; doc++) {
        if (ordinals[doc] >= first && ordinals[doc] < end) marks[doc] = 1
      }
      return marks
    }
  }
  await reader.eachTerm(field, { low, high }, (_, docs) => {
    for (const doc of docs) marks[doc] = 1
  })
  return marks
}
