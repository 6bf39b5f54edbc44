/** Finds the documents that have a term of a range. */
import { marked } from './doc-sets.js'
import type { RangeNode } from './plan.js'
import { lowerBound, type SegmentReader } from './segments/segment-reader.js'

/** A range over at most this number of term blocks is read term by term. */
const blocksMax = 4

/** Documents of a segment that have a term of the range. */
export async function docsInRange(reader: SegmentReader, range: RangeNode): Promise<Int32Array> {
  const { field, low, high } = range
  if (reader.field(field) === undefined) return new Int32Array(0)
  const name = JSON.stringify([field, low ?? null, high ?? null])
  return reader.kept(name, () => findInRange(reader, range))
}

async function findInRange(reader: SegmentReader, range: RangeNode): Promise<Int32Array> {
  const { field, kind, low, high } = range
  const isOpen = low === undefined && high === undefined
  const marks = new Uint8Array(reader.docs)
  let count = 0
  if (kind === 'text' && isOpen) {
    const lengths = await reader.lengths(field)
    for (let doc = 0; doc < lengths.length; doc++) {
      if (lengths[doc] === 0) continue
      marks[doc] = 1
      count++
    }
    return marked(marks, count)
  }
  if (kind !== 'text' && reader.blocksBetween(field, low, high) > blocksMax) {
    const { ordinals, terms, hasSeveral } = await reader.column(field)
    if (isOpen || !hasSeveral) {
      const first = low === undefined ? 0 : lowerBound(terms, low)
      const end = high === undefined ? terms.length : lowerBound(terms, high)
      for (let doc = 0; doc < ordinals.length; doc++) {
        const ordinal = ordinals[doc]
        if (ordinal < first || ordinal >= end) continue
        marks[doc] = 1
        count++
      }
      return marked(marks, count)
    }
  }
  await reader.eachTerm(field, { low, high }, (_, docs) => {
    for (const doc of docs) {
      count += 1 - marks[doc]
      marks[doc] = 1
    }
  })
  return marked(marks, count)
}
