/** The share of a document in a score: the part of BM25 that depends on this document alone. */
import type { CountedDocs } from './phrases.js'
import type { SegmentReader } from './segments/segment-reader.js'

const k1 = 1.2
const b = 0.75

/** Cached shares, valid while the average length stays the same. */
const known = new WeakMap<Int32Array, { averageLength: number; shares: Float64Array }>()

/** The share of each document, in order. */
export async function sharesOf(
  { docs, counts }: CountedDocs,
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
