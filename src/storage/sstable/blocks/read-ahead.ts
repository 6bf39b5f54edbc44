/** The size of reads of consecutive blocks. */
import type { BlockIndex } from './block-index.js'

/** Maximum stored bytes per read of adjacent blocks. */
export const readAheadBytesMax = 256 * 1024

/** Maximum number of blocks per read: bounds the memory of well compressed blocks. */
export const readAheadBlocksMax = 64

/** Number of consecutive reads before more than the wanted block is read. */
const runMin = 3

/** Minimum size of a cache that stores blocks read ahead: they need a sixteenth of it. */
export const aheadCacheBytesMin = 16 * readAheadBytesMax

/**
 * The number of bytes that an asynchronous read fetches from block `from` on, after `loads`
 * consecutive loads: the block alone (0) at first, from the third on doubling up to the maximum.
 */
export function loadAheadBytes(index: BlockIndex, from: number, loads: number): number {
  if (loads < runMin) return 0
  return blocksBytes(index, from, 2 ** Math.min(loads - runMin + 1, 16))
}

/**
 * The same for a synchronous read, by the number of consecutive blocks entered: a quarter of them.
 * Decoding an unwanted block costs twice as much as the call of a read, so a scan of ten blocks
 * must not fetch thirty.
 */
export function readAheadBytes(index: BlockIndex, from: number, blocks: number): number {
  return blocks < 8 ? 0 : blocksBytes(index, from, blocks >> 2)
}

function blocksBytes({ offsets }: BlockIndex, from: number, blocks: number): number {
  return Math.min(readAheadBytesMax, (offsets[from + 1] - offsets[from]) * blocks)
}
