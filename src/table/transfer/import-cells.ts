/**
 * The cells of an import: decoded from the chunks, checked, and written to the files.
 *
 * Each key is compared once with the previous key of its family, by words if both are in block
 * memory. The length of the common prefix determines the order and whether the row is the same.
 *
 * Failure behaviour: any deviation from EXPORT.md is `ERR_CORRUPTION` with the offset of the chunk.
 * The memory is one key per family.
 */
import { commonPrefixLength, compareBytes } from '../../base/bytes.js'
import { isWellFormedKey, rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import { CellView } from '../../storage/cell/cell-view.js'
import { findCellFault } from '../../storage/job/cell-check.js'
import type { SortedFiles } from '../../storage/job/sorted-files.js'
import { BlockMemory } from '../../storage/sstable/blocks/block-memory.js'
import type { Chunk, ChunkDecoder } from './export-format.js'

/** The previous key of a family: in a chunk's memory, or copied out of it. */
class LastKey {
  memory: BlockMemory | undefined = undefined
  start = 0
  end = 0
}

export class ImportCells {
  rows = 0
  cells = 0
  /** Size of the keys and values so far. */
  bytes = 0
  private readonly decoder: ChunkDecoder
  private readonly files: SortedFiles
  private readonly lastKeys: readonly LastKey[]
  /** Family of the previous cell. */
  private lastFamily = -1
  private readonly view = new CellView()

  constructor(decoder: ChunkDecoder, files: SortedFiles, familyCount: number) {
    this.decoder = decoder
    this.files = files
    this.lastKeys = Array.from({ length: familyCount }, () => new LastKey())
  }

  /** Decodes a chunk of cells. */
  take(chunk: Chunk): void {
    this.decoder.forEachCell(chunk, this.lastKeys.length, (family, keyStart, keyEnd, valueEnd) => {
      this.takeCell(chunk, family, keyStart, keyEnd, valueEnd)
    })
    for (const lastKey of this.lastKeys) if (lastKey.memory === chunk.memory) keep(lastKey)
  }

  private takeCell(
    { memory, offset }: Chunk,
    family: number,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void {
    const { view, decoder } = this
    const { buffer } = memory
    if (!isWellFormedKey(buffer, keyStart, keyEnd)) {
      throw decoder.damaged('a cell key', 'something else', offset)
    }
    view.setCell(buffer, keyStart, keyEnd, valueEnd)
    const lastKey = this.lastKeys[family]
    const shared = sharedWith(lastKey, memory, keyStart, keyEnd)
    const inLastRow = this.isInLastRow(family, shared)
    if (shared < 0 || inLastRow === undefined) {
      throw decoder.damaged('cells in ascending order', 'a cell out of order', offset)
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
   * Whether the cell of the view is in the row of the previous cell; undefined if it must not
   * follow that cell. `shared` is the length of the prefix that its key shares with the previous
   * key of its family.
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
}

/**
 * Length of the common prefix of a key and the previous key of its family; -1 if it is not greater.
 */
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

/** Copies a key out of memory that is about to be reused. */
function keep(lastKey: LastKey): void {
  const { memory, start, end } = lastKey
  const own = new BlockMemory(end - start)
  memory!.buffer.copy(own.buffer, 0, start, end)
  lastKey.memory = own
  lastKey.start = 0
  lastKey.end = end - start
}
