/**
 * The cells of several HFiles in the order of an export: by row, family, and key. Of equal cells
 * (same column, timestamp and type) the newest comes first, as HBase reads them: by sequence, then
 * by the age of the file.
 */
import { compareBytes } from '../../base/bytes.js'
import { rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import type { HFileReader } from './hfile-reader.js'

/** One file of the merge. */
export interface MergedFile {
  readonly reader: HFileReader
  readonly family: number
}

interface RankedFile extends MergedFile {
  /** Place among all files by age, 0 for the newest one. */
  readonly rank: number
}

export class HFileMerge {
  /** The files that have cells left, that of the next cell first. */
  readonly #order: RankedFile[]

  /** Moves each reader to its first cell. */
  constructor(files: readonly MergedFile[]) {
    const newest = [...files].sort((a, b) => compareAge(a.reader, b.reader))
    const ranked = newest.map((file, rank) => ({ ...file, rank }))
    this.#order = ranked.filter(({ reader }) => reader.next()).sort(compare)
  }

  /** The file whose present cell is the next one; undefined at the end. */
  get first(): MergedFile | undefined {
    return this.#order[0]
  }

  /** Moves on from the first file's cell. REQUIRES one. */
  advance(): void {
    const order = this.#order
    const [moved] = order
    if (!moved.reader.next()) {
      order.shift()
      return
    }
    let place = 1
    for (; place < order.length && compare(order[place], moved) < 0; place++) {
      order[place - 1] = order[place]
    }
    order[place - 1] = moved
  }
}

/**
 * Orders files, the newest first, as HBase does. The files of one bulk load have one sequence: the
 * smaller file counts as newer, then the one that was written later.
 */
function compareAge(a: HFileReader, b: HFileReader): number {
  const order = b.sequence - a.sequence || a.bytes - b.bytes || b.loadTime - a.loadTime
  return order !== 0 ? order : a.path < b.path ? 1 : -1
}

function compare(a: RankedFile, b: RankedFile): number {
  const { buffer, keyStart, keyEnd } = a.reader
  const { buffer: other, keyStart: otherStart, keyEnd: otherEnd } = b.reader
  if (a.family !== b.family) {
    const rowEnd = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
    const otherRowEnd = rowEndOf(other, otherStart, otherEnd) + terminatorBytes
    const order = compareBytes(buffer, keyStart, rowEnd, other, otherStart, otherRowEnd)
    return order === 0 ? a.family - b.family : order
  }
  const order = compareBytes(buffer, keyStart, keyEnd, other, otherStart, otherEnd)
  return order === 0 ? a.rank - b.rank : order
}
