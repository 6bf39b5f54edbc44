/**
 * Cuts the rows of SSTables into slices of about equal bytes, for parallel jobs. A cut lies between
 * rows, so all versions and delete markers of a row are in one slice.
 */
import { compareBytes } from '../../../base/bytes.js'
import type { RowSlice } from '../../job/job.js'
import type { SsTableReader } from '../../sstable/reader.js'

/** Largest number of block separators that are sampled per SSTable. */
const samplesMax = 64

/**
 * Returns two slices, or one that is undefined (all rows) if there is no place to cut. Reads no
 * blocks: the indexes suffice.
 */
export function sliceRows(readers: readonly SsTableReader[]): readonly (RowSlice | undefined)[] {
  const total = readers.reduce((sum, reader) => sum + reader.fileBytes, 0)
  const samples: { readonly row: Buffer; readonly bytes: number }[] = []
  for (const reader of readers) {
    const { blockCount } = reader.index
    const count = Math.min(samplesMax, blockCount - 1)
    for (let i = 1; i <= count; i++) {
      const key = reader.index.separatorAt(Math.floor((i * blockCount) / (count + 1)))
      samples.push({ row: rowOf(key), bytes: reader.fileBytes / (count + 1) })
    }
  }
  samples.sort((a, b) => compareRow(a.row, b.row))
  let before = 0
  for (const { row, bytes } of samples) {
    before += bytes
    if (before < total / 2) continue
    const first = readers.every((reader) => compareRow(reader.properties.firstKey, row) >= 0)
    if (row.length === 0 || first) return [undefined]
    const part = Math.min(0.99, before / total)
    return [
      { first: undefined, end: row, part },
      { first: row, end: undefined, part: 1 - part },
    ]
  }
  return [undefined]
}

/** The escaped row at the beginning of a key or of a shortened key. */
function rowOf(key: Buffer): Buffer {
  let at = 0
  while (at < key.length) {
    if (key[at] !== 0) at++
    else if (key[at + 1] === 0xff) at += 2
    else break
  }
  return Buffer.from(key.subarray(0, at))
}

function compareRow(a: Buffer, b: Buffer): number {
  return compareBytes(a, 0, a.length, b, 0, b.length)
}
