/** Finds phrases by the positions of their words. */
import { intersection, gallop } from './doc-sets.js'
import type { PhraseNode } from './plan.js'
import type { DecodedPostings } from './segments/postings.js'
import type { SegmentReader } from './segments/segment-reader.js'

/** Documents, and the number of matches in each. */
export interface CountedDocs {
  readonly docs: Int32Array
  /** Undefined: one match each. */
  readonly counts: Int32Array | undefined
}

interface PhraseWord {
  readonly postings: DecodedPostings
  readonly positions: Int32Array
  /** The index of each document's first position; undefined: the document's own index. */
  readonly starts: Int32Array | undefined
  /** Index of the current document. */
  at: number
}

/** Documents of a segment that contain a phrase. REQUIRES that each word occurs in the segment. */
export async function phraseCounts(
  reader: SegmentReader,
  { field, terms }: PhraseNode,
): Promise<CountedDocs> {
  const words: PhraseWord[] = []
  for (const term of terms) {
    const postings = (await reader.postings(field, term))!
    const positions = (await reader.positions(field, term))!
    words.push({ postings, positions, starts: startsOf(postings), at: 0 })
  }
  let candidates = words[0].postings.docs
  for (const { postings } of words) candidates = intersection(candidates, postings.docs)
  const docs = new Int32Array(candidates.length)
  const counts = new Int32Array(candidates.length)
  let size = 0
  for (const doc of candidates) {
    for (const word of words) word.at = gallop(word.postings.docs, word.at, doc)
    const count = countIn(words)
    if (count === 0) continue
    docs[size] = doc
    counts[size++] = count
  }
  return { docs: docs.subarray(0, size), counts: counts.subarray(0, size) }
}

function startsOf({ docs, counts }: DecodedPostings): Int32Array | undefined {
  if (counts === undefined) return undefined
  const starts = new Int32Array(docs.length)
  for (let i = 1; i < docs.length; i++) starts[i] = starts[i - 1] + counts[i - 1]
  return starts
}

/** The number of times that the words follow each other in the current document. */
function countIn(words: readonly PhraseWord[]): number {
  const [first] = words
  const from = startOf(first)
  const end = from + sizeOf(first)
  let count = 0
  for (let at = from; at < end; at++) if (isPhraseAt(words, first.positions[at])) count++
  return count
}

function isPhraseAt(words: readonly PhraseWord[], position: number): boolean {
  for (let i = 1; i < words.length; i++) {
    const { positions } = words[i]
    let at = startOf(words[i])
    const end = at + sizeOf(words[i])
    while (at < end && positions[at] < position + i) at++
    if (at >= end || positions[at] !== position + i) return false
  }
  return true
}

function startOf({ starts, at }: PhraseWord): number {
  return starts === undefined ? at : starts[at]
}

function sizeOf({ postings, at }: PhraseWord): number {
  return postings.counts === undefined ? 1 : postings.counts[at]
}
