/**
 * The cells of an import: taken out of the chunks, checked, and handed to the files.
 *
 * Each key is compared with the one before it in its family once, by words where both have them;
 * the length of what they share tells the order and whether the row is the same.
 *
 * Failure behaviour: whatever is not as EXPORT.md says is `ERR_CORRUPTION` with the offset of the
 * chunk. Memory: one key for each family.
 */
import { commonPrefixLength, compareBytes } from '../../base/bytes.js'
import { readVarint, varintLength } from '../../base/varint.js'
import { isWellFormedKey, rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import { CellView } from '../../storage/cell/cell-view.js'
import { findCellFault } from '../../storage/job/cell-check.js'
import type { SortedFiles } from '../../storage/job/sorted-files.js'
import { emptyCursor, type EntryCursor } from '../../storage/scan/entry-cursor.js'
import { BlockMemory } from '../../storage/sstable/blocks/block-memory.js'
import type { Chunk, ChunkDecoder } from './export-format.js'

/** The key that came last in a family: in a chunk's memory, or copied out of it. */
class LastKey {
  memory: BlockMemory | undefined = undefined
  start = 0
  end = 0
}

/** See the file header. */
export class ImportCells {
  rows = 0
  cells = 0
  /** Keys and values. */
  bytes = 0
  private readonly decoder: ChunkDecoder
  private readonly files: SortedFiles
  private readonly lastKeys: readonly LastKey[]
  /** Family of the cell that came last. */
  private lastFamily = -1
  private readonly entry: EntryCursor = emptyCursor()
  private readonly view = new CellView()

  constructor(decoder: ChunkDecoder, files: SortedFiles, familyCount: number) {
    this.decoder = decoder
    this.files = files
    this.lastKeys = Array.from({ length: familyCount }, () => new LastKey())
  }

  /** Takes a chunk of cells. */
  take(chunk: Chunk): void {
    const { payload, memory } = chunk
    const end = payload.length
    let at = 0
    while (at < end) {
      const family = readVarint(memory.buffer, at, end)
      const start = at + varintLength(Math.max(0, family)) + 4
      if (family < 0 || family >= this.lastKeys.length || start > end)
        throw this.unfilled(chunk, at)
      at = start + memory.buffer.readUInt32LE(start - 4)
      if (at > end) throw this.unfilled(chunk, start)
      this.takeSection(chunk, family, start, at)
    }
    for (const lastKey of this.lastKeys) if (lastKey.memory === memory) keep(lastKey)
  }

  private takeSection(chunk: Chunk, family: number, start: number, end: number): void {
    const { buffer } = chunk.memory
    let at = start
    while (at < end) {
      const keyBytes = readVarint(buffer, at, end)
      const valueLengthAt = at + varintLength(Math.max(0, keyBytes))
      const valueBytes = keyBytes < 0 ? -1 : readVarint(buffer, valueLengthAt, end)
      const keyStart = valueLengthAt + varintLength(Math.max(0, valueBytes))
      const keyEnd = keyStart + keyBytes
      const valueEnd = keyEnd + valueBytes
      if (valueBytes < 0 || valueEnd > end) throw this.unfilled(chunk, at)
      this.takeCell(chunk, family, keyStart, keyEnd, valueEnd)
      at = valueEnd
    }
  }

  private takeCell(
    { memory, offset }: Chunk,
    family: number,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void {
    const { entry, view, decoder } = this
    const { buffer } = memory
    if (!isWellFormedKey(buffer, keyStart, keyEnd)) {
      throw decoder.damaged('a cell key', 'something else', offset)
    }
    entry.buffer = buffer
    entry.keyStart = keyStart
    entry.keyEnd = keyEnd
    entry.valueStart = keyEnd
    entry.valueEnd = valueEnd
    view.set(entry)
    const lastKey = this.lastKeys[family]
    const shared = sharedWith(lastKey, memory, keyStart, keyEnd)
    const inLastRow = this.isInLastRow(family, shared)
    if (shared < 0 || inLastRow === undefined) {
      throw decoder.damaged('cells in order', 'one out of order', offset)
    }
    const fault = findCellFault(view, inLastRow)
    if (fault !== undefined) throw decoder.damaged(fault.expected, fault.found, offset)
    this.files.add(family, view, memory.words)
    if (!inLastRow) this.rows++
    this.cells++
    this.bytes += valueEnd - keyStart
    this.lastFamily = family
    lastKey.memory = memory
    lastKey.start = keyStart
    lastKey.end = keyEnd
  }

  /**
   * Whether the cell of the view, whose key shares so much with the last of its family, is in the
   * row of the cell before; undefined if it cannot come after that.
   */
  private isInLastRow(family: number, shared: number): boolean | undefined {
    const { buffer, keyStart, rowEnd } = this.view
    const { lastFamily } = this
    if (family === lastFamily) return shared >= rowEnd + terminatorBytes - keyStart
    if (lastFamily < 0) return false
    const { memory, start, end } = this.lastKeys[lastFamily]
    const last = memory!.buffer
    const order = compareBytes(last, start, rowEndOf(last, start, end), buffer, keyStart, rowEnd)
    if (order !== 0) return order < 0 ? false : undefined
    return family > lastFamily ? true : undefined
  }

  private unfilled(chunk: Chunk, at: number): Error {
    const found = `something else at ${at}`
    return this.decoder.damaged('cells that fill the chunk', found, chunk.offset)
  }
}

/** Bytes that a key shares with the last one of its family; -1 if it is not above that. */
function sharedWith(lastKey: LastKey, memory: BlockMemory, start: number, end: number): number {
  if (lastKey.memory === undefined) return 0
  const { start: lastStart, end: lastEnd } = lastKey
  const { buffer: last, words: lastWords } = lastKey.memory
  const { buffer, words } = memory
  const limit = Math.min(end - start, lastEnd - lastStart) - 4
  let whole = 0
  while (
    whole <= limit &&
    lastWords.getInt32(lastStart + whole, true) === words.getInt32(start + whole, true)
  ) {
    whole += 4
  }
  const shared =
    whole + commonPrefixLength(last, lastStart + whole, lastEnd, buffer, start + whole, end)
  if (start + shared === end) return -1
  const above = lastStart + shared === lastEnd || last[lastStart + shared] < buffer[start + shared]
  return above ? shared : -1
}

/** Copies a key out of memory that is used again. */
function keep(lastKey: LastKey): void {
  const { memory, start, end } = lastKey
  const own = new BlockMemory(end - start)
  memory!.buffer.copy(own.buffer, 0, start, end)
  lastKey.memory = own
  lastKey.start = 0
  lastKey.end = end - start
}
