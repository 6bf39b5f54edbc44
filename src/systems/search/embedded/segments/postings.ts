/** Posting lists: encoded in a segment, and as typed arrays in memory. */
import type { ByteReader } from '../../../bytes/byte-reader.js'
import type { ByteWriter } from '../../../bytes/byte-writer.js'

/** The posting list of a term. */
export interface Postings {
  /** Numbers of documents, ascending. */
  readonly docs: ArrayLike<number>
  /** Frequency of the term in each document; undefined for kinds without positions. */
  readonly counts: ArrayLike<number> | undefined
  /** Positions in all documents, document by document. */
  readonly positions: ArrayLike<number> | undefined
}

/** A posting list in memory. */
export interface DecodedPostings {
  readonly docs: Int32Array
  /** Undefined: 1 in each document. */
  readonly counts: Int32Array | undefined
}

/**
 * Writes the document numbers as distances, with their counts, then the positions. With positions,
 * the length of the first part precedes it.
 */
export function encodePostings(writer: ByteWriter, postings: Postings): void {
  const { docs, counts, positions } = postings
  if (counts === undefined || positions === undefined) {
    let last = -1
    for (let i = 0; i < docs.length; i++) {
      writer.varint(docs[i] - last - 1)
      last = docs[i]
    }
    return
  }
  writer.nested(() => {
    let last = -1
    for (let i = 0; i < docs.length; i++) {
      const distance = docs[i] - last - 1
      last = docs[i]
      if (counts[i] === 1) writer.varint(distance * 2 + 1)
      else {
        writer.varint(distance * 2)
        writer.varint(counts[i])
      }
    }
  })
  let at = 0
  for (let i = 0; i < docs.length; i++) {
    let last = 0
    for (let left = counts[i]; left > 0; left--) {
      writer.varint(positions[at] - last)
      last = positions[at++]
    }
  }
}

/** Reads documents and counts. `documents` is the number of documents in the segment. */
export function decodePostings(
  reader: ByteReader,
  docCount: number,
  hasPositions: boolean,
  documents: number,
): DecodedPostings {
  const docs = new Int32Array(docCount)
  if (hasPositions) reader.varint()
  let counts: Int32Array | undefined
  let last = -1
  for (let i = 0; i < docCount; i++) {
    let distance = reader.varint()
    if (hasPositions) {
      const isOne = (distance & 1) === 1
      distance = Math.floor(distance / 2)
      if (!isOne) {
        counts ??= new Int32Array(docCount).fill(1)
        counts[i] = reader.varint()
      }
    }
    last += distance + 1
    if (last >= documents) throw reader.failure(`there is no document ${last}`)
    docs[i] = last
  }
  return { docs, counts }
}

/** Reads the positions that follow the documents read by {@link decodePostings}, to the end. */
export function decodePositions(reader: ByteReader, postings: DecodedPostings): Int32Array {
  const { docs, counts } = postings
  let total = docs.length
  if (counts !== undefined) {
    total = 0
    for (const count of counts) total += count
  }
  if (total > reader.left) throw reader.failure('there are too few positions')
  const positions = new Int32Array(total)
  let at = 0
  for (let i = 0; i < docs.length; i++) {
    let last = 0
    for (let left = counts === undefined ? 1 : counts[i]; left > 0; left--) {
      last += reader.varint()
      positions[at++] = last
    }
  }
  reader.finish()
  return positions
}
