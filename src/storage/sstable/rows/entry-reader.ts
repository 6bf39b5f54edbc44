/**
 * Reads single entries of a block, each with its whole key: for checks and for searches. A cursor
 * shows entries on its way (`ShownColumns`).
 *
 * Ownership: the key and the value lie in the block, or in memory of the reader, which the next
 * read overwrites.
 *
 * Failure behaviour: lengths are compared with the block before use (`ERR_CORRUPTION`).
 */
import { emptyBytes } from '../../../base/bytes.js'
import { damagedEntry, entryOffset, isRowEntry, rowSlotOf, type Block } from '../blocks/block.js'
import type { KeyPatch } from '../blocks/key-patch.js'
import { RowWalk } from './row-walk.js'

export class EntryReader {
  /** Memory of the key and the value, which follows it. */
  buffer: Buffer = emptyBytes
  keyStart = 0
  keyEnd = 0
  valueEnd = 0
  /** The entry takes `[start, end)` of the block. */
  start = 0
  end = 0
  /** The walk over the row, at the entry read last. */
  readonly walk = new RowWalk()
  private block: Block | undefined = undefined
  private slot = -1
  private memory: Buffer = Buffer.allocUnsafe(256)
  private readonly hasValues: boolean

  /** Without `hasValues` the values of column entries are left out: they end with their keys. */
  constructor(hasValues = true) {
    this.hasValues = hasValues
  }

  /** Reads the entry in a slot. REQUIRES a slot. Quickest in the order of slots. */
  read(block: Block, slot: number): void {
    const { walk } = this
    if (isRowEntry(block, slot)) this.begin(block, slot)
    else if (this.block === block && this.slot + 1 === slot) this.step()
    else {
      const first = rowSlotOf(block, slot)
      this.begin(block, first)
      // Column entries before the wanted one need not be read: the slot leads to it.
      walk.valueEnd = entryOffset(block, slot)
      this.step()
    }
    this.slot = slot
    this.start = walk.start
    this.end = walk.valueEnd
  }

  private begin(block: Block, slot: number): void {
    const { walk } = this
    const { buffer, entriesEnd } = block
    const at = entryOffset(block, slot)
    this.block = block
    if (at >= entriesEnd || !walk.begin(buffer, at, entriesEnd)) {
      this.block = undefined
      throw damagedEntry(block, at)
    }
    this.buffer = buffer
    this.keyStart = walk.keyStart
    this.keyEnd = walk.keyEnd
    this.valueEnd = walk.valueEnd
  }

  private step(): void {
    const { walk } = this
    const block = this.block!
    if (!walk.next()) {
      this.block = undefined
      throw damagedEntry(block, walk.start)
    }
    const bytes = walk.keyBytes + (this.hasValues ? walk.valueEnd - walk.valueStart : 0)
    if (bytes > this.memory.length) this.memory = Buffer.allocUnsafe(2 * bytes)
    this.buffer = this.memory
    this.keyStart = 0
    this.keyEnd = walk.keyBytes
    this.valueEnd = this.hasValues ? walk.write(this.memory, 0) : walk.writeKey(this.memory, 0)
  }
}

/** Writes the same sequence into the key of every entry. REQUIRES a block without cursors. */
export function patchKeys(block: Block, patch: KeyPatch): void {
  const reader = new EntryReader()
  const { walk } = reader
  for (let slot = 0; slot < block.count; slot++) {
    reader.read(block, slot)
    if (walk.keyBytes < patch.bytesMax) throw damagedEntry(block, reader.start)
    // A column entry without a suffix of its own has that of the row entry.
    const hasSuffix = walk.isAtRow || walk.suffixEnd !== walk.keyEnd
    if (hasSuffix) patch.patch(block.buffer, walk.suffixEnd)
  }
}
