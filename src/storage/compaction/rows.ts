/**
 * Row ranges of files. The keys of a file begin with an escaped row (`src/storage/cell/FORMAT.md`).
 * Escaped rows compare like rows, so policies never unescape. All ranges here include both ends.
 */
import { assert } from '../../base/assert.js'
import { compareBytes } from '../../base/bytes.js'
import { keySuffixBytes, rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import type { FileMetadata } from '../version/file-metadata.js'

/** A range of escaped rows, both ends inclusive. Borrowed from the metadata. */
export interface RowRange {
  readonly first: Buffer
  readonly last: Buffer
}

/** A half-open range of indexes in a level. */
export interface Span {
  readonly from: number
  readonly to: number
}

function rowOf(key: Buffer): Buffer {
  assert(key.length >= keySuffixBytes + 2 * terminatorBytes, 'a key must have all its parts')
  const end = rowEndOf(key, 0, key.length)
  assert(end <= key.length - keySuffixBytes - 2 * terminatorBytes, 'a row must lie in its key')
  return key.subarray(0, end)
}

/** The escaped row of a file's first key. */
export function firstRowOf(file: FileMetadata): Buffer {
  return rowOf(file.firstKey)
}

/** The escaped row of a file's last key. */
export function lastRowOf(file: FileMetadata): Buffer {
  return rowOf(file.lastKey)
}

/** Compares escaped rows: negative, zero or positive. */
export function compareRows(a: Buffer, b: Buffer): number {
  return compareBytes(a, 0, a.length, b, 0, b.length)
}

/** The range from the first to the last row of some files. REQUIRES at least one file. */
export function hullOf(files: readonly FileMetadata[]): RowRange {
  assert(files.length > 0, 'no files have no rows')
  let first = firstRowOf(files[0])
  let last = lastRowOf(files[0])
  for (let i = 1; i < files.length; i++) {
    const fileFirst = firstRowOf(files[i])
    const fileLast = lastRowOf(files[i])
    if (compareRows(fileFirst, first) < 0) first = fileFirst
    if (compareRows(fileLast, last) > 0) last = fileLast
  }
  return { first, last }
}

/** Whether a file may hold a row of the range. */
export function overlapsRows(file: FileMetadata, range: RowRange): boolean {
  return (
    compareRows(firstRowOf(file), range.last) <= 0 && compareRows(lastRowOf(file), range.first) >= 0
  )
}

/**
 * The files of a level deeper than 0 that may hold a row of the range, and the neighbours that
 * share a row with one of these.
 */
export function spanOf(level: readonly FileMetadata[], range: RowRange): Span {
  let from = firstIndex(level, (file) => compareRows(lastRowOf(file), range.first) >= 0)
  let to = firstIndex(level, (file) => compareRows(firstRowOf(file), range.last) > 0)
  if (from >= to) return { from, to: from }
  while (from > 0 && shareRow(level[from - 1], level[from])) from--
  while (to < level.length && shareRow(level[to - 1], level[to])) to++
  return { from, to }
}

/** Whether the last row of a file is the first row of the next file in its level. */
export function shareRow(before: FileMetadata, after: FileMetadata): boolean {
  return compareRows(lastRowOf(before), firstRowOf(after)) === 0
}

/** First index for which the condition holds. REQUIRES that it then holds for all later ones. */
function firstIndex(
  files: readonly FileMetadata[],
  condition: (file: FileMetadata) => boolean,
): number {
  let low = 0
  let high = files.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (condition(files[middle])) high = middle
    else low = middle + 1
  }
  return low
}

/** Sum of the lengths of the files in bytes. */
export function totalBytes(files: readonly FileMetadata[]): number {
  let bytes = 0
  for (const file of files) bytes += file.fileBytes
  return bytes
}
