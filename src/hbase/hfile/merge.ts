/**
 * The cells of several HFiles in the order of an export: by row, family, and key. Of equal cells
 * (same column, timestamp and type) the newest comes first, as HBase reads them: by sequence, then
 * by file.
 */
import { compareBytes } from '../../base/bytes.js'
import { rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import type { HFileReader } from './hfile-reader.js'

/** One file of the merge. */
export interface MergedFile {
  readonly reader: HFileReader
  /** Position of the family. */
  readonly family: number
}

/** Merges files; see the file header. */
export class HFileMerge {
  /** The files that have cells left, that of the next cell first. */
  readonly #order: MergedFile[] = []

  /** Moves each reader to its first cell. */
  constructor(files: readonly MergedFile[]) {
    // Among equal cells the first file goes first, so the newest one has to be the first.
    const newest = [...files].sort((a, b) => b.reader.sequence - a.reader.sequence)
    for (const file of newest) {
      if (file.reader.next()) this.#order.push(file)
    }
    this.#order.sort(compare)
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
    for (; place < order.length && isBefore(order[place], moved); place++) {
      order[place - 1] = order[place]
    }
    order[place - 1] = moved
  }
}

/** Whether a file is before one that was moved. */
function isBefore(a: MergedFile, moved: MergedFile): boolean {
  const order = compare(a, moved)
  return order < 0 || (order === 0 && a.reader.sequence > moved.reader.sequence)
}

function compare(a: MergedFile, b: MergedFile): number {
  const { buffer, keyStart, keyEnd } = a.reader
  const { buffer: other, keyStart: otherStart, keyEnd: otherEnd } = b.reader
  if (a.family !== b.family) {
    const rowEnd = rowEndOf(buffer, keyStart, keyEnd) + terminatorBytes
    const otherRowEnd = rowEndOf(other, otherStart, otherEnd) + terminatorBytes
    const order = compareBytes(buffer, keyStart, rowEnd, other, otherStart, otherRowEnd)
    return order === 0 ? a.family - b.family : order
  }
  return compareBytes(buffer, keyStart, keyEnd, other, otherStart, otherEnd)
}
