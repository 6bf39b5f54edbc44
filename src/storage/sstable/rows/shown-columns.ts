/**
 * Shows column entries of a cursor with their whole keys, side by side with their values and in the
 * form of row entries, as other entries lie in their block.
 *
 * Ownership: what is shown stays unchanged until {@link ShownColumns.beginRead}. In a job the
 * memory is that of the pool, and is retired when it is full; otherwise it is left to the garbage
 * collector.
 */
import { writeVarint } from '../../../base/varint.js'
import { entryOffset, rowSlotOf, type Block } from '../blocks/block.js'
import { BlockMemory, wordSlackBytes, type BlockMemoryPool } from '../blocks/block-memory.js'
import { RowWalk } from './row-walk.js'

/** Bytes of the first memory, and of the next ones; a longer entry has memory of its own. */
const firstBytes = 4 * 1024 - wordSlackBytes
const nextBytes = 16 * 1024 - wordSlackBytes

/** Longer memory is not kept from one read to the next. */
const keptBytesMax = 16 * 1024

/** Most bytes of the two lengths before a key. */
const lengthBytesMax = 10

export class ShownColumns {
  /** Memory of the entry shown last. */
  memory: BlockMemory | undefined = undefined
  /** The key of the entry, which its value follows. */
  keyStart = 0
  keyEnd = 0
  valueEnd = 0
  /** End of the entry in its block. */
  entryEnd = 0
  private readonly pool: BlockMemoryPool | undefined
  private readonly walk = new RowWalk()
  private used = 0

  /** `pool`: that of a job, if the cursor serves one. */
  constructor(pool: BlockMemoryPool | undefined) {
    this.pool = pool
  }

  /** Nothing shown so far is in use any more. Memory of a long entry is not kept for the next. */
  beginRead(): void {
    this.used = 0
    const { memory } = this
    if (memory !== undefined && memory.buffer.length > keptBytesMax) this.memory = undefined
  }

  /** What was shown so far stays in use for ever. */
  abandon(): void {
    this.memory = undefined
  }

  /**
   * Shows the column entry in `slot` of a block, at offset `at`. `isNear`: the entry shown last is
   * of the same row. False: the block is damaged.
   */
  show(block: Block, slot: number, at: number, isNear: boolean): boolean {
    const { walk } = this
    if (!isNear) {
      const start = entryOffset(block, rowSlotOf(block, slot))
      if (start >= at || !walk.begin(block.buffer, start, block.entriesEnd)) return false
    }
    // Entries before the wanted one need not be read: its slot leads there.
    walk.valueEnd = at
    if (!walk.next()) return false
    const { keyBytes } = walk
    const valueBytes = walk.valueEnd - walk.valueStart
    const memory = this.reserve(lengthBytesMax + keyBytes + valueBytes)
    const { buffer } = memory
    const keyStart = writeVarint(buffer, writeVarint(buffer, this.used, keyBytes), valueBytes)
    if (!walk.writeWords(wordsOf(block), memory.words, keyStart)) walk.write(buffer, keyStart)
    this.keyStart = keyStart
    this.keyEnd = keyStart + keyBytes
    this.valueEnd = keyStart + keyBytes + valueBytes
    this.used = this.valueEnd
    this.entryEnd = walk.valueEnd
    return true
  }

  /** Memory with room for an entry; what earlier ones use stays unchanged. */
  private reserve(bytes: number): BlockMemory {
    const { memory, pool } = this
    if (memory !== undefined && this.used + bytes + wordSlackBytes <= memory.buffer.length) {
      return memory
    }
    const size = Math.max(memory === undefined ? firstBytes : nextBytes, bytes)
    this.used = 0
    if (memory !== undefined) pool?.retire(memory)
    this.memory = pool === undefined ? new BlockMemory(size) : pool.take(size)
    return this.memory
  }
}

/** A view of the bytes of a block, kept with it. */
function wordsOf(block: Block): DataView {
  const { buffer } = block
  return (block.words ??= new DataView(buffer.buffer, buffer.byteOffset, buffer.length))
}
