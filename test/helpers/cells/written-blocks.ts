/** Written blocks in a cache, as a job leaves them. */
import { BlockBuilder } from '../../../src/storage/sstable/blocks/block-builder.js'
import type { Block, BlockOwner } from '../../../src/storage/sstable/blocks/block.js'
import type { BlockCache } from '../../../src/storage/sstable/blocks/block-cache.js'
import {
  LentSegments,
  WrittenBlocksBuilder,
  type LentBlocks,
} from '../../../src/storage/sstable/blocks/written-blocks.js'

/** The payload of a block with one entry: key `key`, and a value that fills `bytes` bytes. */
export function payloadOf(key: string, bytes: number): Buffer {
  const builder = new BlockBuilder()
  const keyBytes = Buffer.from(key)
  // Entry header of at most 10 bytes, a slot of 2 or 4 and a count of 4.
  const value = Buffer.alloc(bytes - keyBytes.length - 18, key.charCodeAt(0))
  const entry = Buffer.concat([keyBytes, value])
  builder.add(entry, 0, keyBytes.length, keyBytes.length, entry.length)
  const length = builder.finish()
  return Buffer.from(builder.buffer.subarray(0, length))
}

/** An owner of blocks without a file. */
export function ownerOf(blockCount: number): BlockOwner {
  return {
    inMemory: false,
    blocks: new Array<Block | undefined>(blockCount).fill(undefined),
    ghosts: new Uint32Array(blockCount),
    hits: new Uint8Array(blockCount),
    damagedBlock: () => {
      throw new Error('damaged')
    },
  }
}

/** Lends `count` blocks of about `bytes` bytes, as many as there is room for. */
export function writeBlocks(cache: BlockCache, count: number, bytes: number): LentBlocks {
  const memory = cache.borrowSegments(count * (bytes + 16))
  const builder = new WrittenBlocksBuilder(new LentSegments(memory))
  for (let i = 0; i < count; i++) {
    const payload = payloadOf(`k${i}`, bytes)
    builder.add(payload, payload.length)
  }
  const lent = cache.segments.lend(ownerOf(count), builder.finish()!, memory)
  cache.segments.end(memory, false)
  return lent
}
