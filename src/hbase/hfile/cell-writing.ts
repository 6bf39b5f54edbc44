/** Cells in HBase's form (FORMAT.md), written from Cellar's (`src/storage/cell/FORMAT.md`). */
import { contentStart, ttlOf } from '../../storage/cell/cell-value.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import { TagType } from './format.js'
import { copyWords, Words } from './bytes/words.js'

/** Bytes of a cell beside row, family, qualifier, value and tags. */
const frameBytes = 4 + 4 + 2 + 1 + 8 + 1 + 2
/** Bytes of the tag of a TTL, with its length in front. */
export const ttlTagBytes = 2 + 1 + 8
const wordRange = 0x1_0000_0000

/** Most bytes that {@link writeCell} writes. */
export function cellBytesBound(cell: CellView, family: Buffer): number {
  return cell.valueEnd - cell.keyStart + family.length + frameBytes + ttlTagBytes
}

/** Where {@link writeCell} has put the parts of a cell, and its views of the two buffers. */
export class WrittenCell {
  keyStart = 0
  keyEnd = 0
  valueBytes = 0
  tagBytes = 0
  end = 0
  readonly source = new Words()
  readonly target = new Words()
}

/** Writes a cell at `target[at, …)`, with its TTL as a tag. REQUIRES {@link cellBytesBound}. */
export function writeCell(
  target: Buffer,
  at: number,
  cell: CellView,
  family: Buffer,
  written: WrittenCell,
): void {
  const { buffer, keyStart, rowEnd, qualifierStart, qualifierEnd, valueStart, valueEnd } = cell
  const keyAt = at + 8
  let next = writeUnescaped(buffer, keyStart, rowEnd, target, keyAt + 2)
  const rowBytes = next - keyAt - 2
  target[keyAt] = rowBytes >>> 8
  target[keyAt + 1] = rowBytes & 0xff
  target[next++] = family.length
  for (let i = 0; i < family.length; i++) target[next++] = family[i]
  next = writeUnescaped(buffer, qualifierStart, qualifierEnd, target, next)
  next = writeUint64(target, next, cell.timestampHigh, cell.timestampLow)
  target[next++] = cell.type
  const content = contentStart(buffer, valueStart)
  written.keyStart = keyAt
  written.keyEnd = next
  written.valueBytes = valueEnd - content
  writeUint64(target, at, next - keyAt, valueEnd - content)
  copyWords(written.source.of(buffer), content, valueEnd, written.target.of(target), next)
  next += valueEnd - content
  const ttl = ttlOf(buffer, valueStart)
  written.tagBytes = ttl > 0 ? ttlTagBytes : 0
  target[next++] = 0
  target[next++] = written.tagBytes
  if (ttl > 0) {
    target[next++] = 0
    target[next++] = ttlTagBytes - 2
    target[next++] = TagType.ttl
    next = writeUint64(target, next, Math.floor(ttl / wordRange), ttl % wordRange)
  }
  written.end = next
}

function writeUnescaped(
  source: Buffer,
  start: number,
  end: number,
  target: Buffer,
  at: number,
): number {
  let next = at
  for (let i = start; i < end; i++) {
    const byte = source[i]
    target[next++] = byte
    if (byte === 0) i++
  }
  return next
}

function writeUint64(target: Buffer, at: number, high: number, low: number): number {
  target[at] = high >>> 24
  target[at + 1] = (high >>> 16) & 0xff
  target[at + 2] = (high >>> 8) & 0xff
  target[at + 3] = high & 0xff
  target[at + 4] = low >>> 24
  target[at + 5] = (low >>> 16) & 0xff
  target[at + 6] = (low >>> 8) & 0xff
  target[at + 7] = low & 0xff
  return at + 8
}
