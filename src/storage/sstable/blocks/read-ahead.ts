/** How much is read at once when blocks are wanted one after the other. */
import type { BlockIndex } from './block-index.js'

/** Most stored bytes that one read of adjacent blocks fetches. */
export const readAheadBytesMax = 256 * 1024

/** Most blocks that one read fetches: bounds what well compressed blocks grow to in memory. */
export const readAheadBlocksMax = 64

/** Reads that followed each other before more is read than the one block that is wanted. */
const runMin = 3

/** The least cache that takes blocks before they are wanted: they need a sixteenth of it. */
export const aheadCacheBytesMin = 16 * readAheadBytesMax

/**
 * How many bytes an asynchronous read fetches from block `from` on when `loads` before it followed
 * each other: the block alone (0) at first, from the third on doubling up to the maximum.
 */
export function loadAheadBytes(index: BlockIndex, from: number, loads: number): number {
  if (loads < runMin) return 0
  return blocksBytes(index, from, 2 ** Math.min(loads - runMin + 1, 16))
}

/**
 * The same for a synchronous read, by the number of blocks that were entered one after the other: a
 * quarter of them. To decode an unwanted block costs twice as much as the call of a read,
 * so a scan of ten blocks must not fetch thirty.
 */
export function readAheadBytes(index: BlockIndex, from: number, blocks: number): number {
  return blocks < 8 ? 0 : blocksBytes(index, from, blocks >> 2)
}

function blocksBytes({ offsets }: BlockIndex, from: number, blocks: number): number {
  return Math.min(readAheadBytesMax, (offsets[from + 1] - offsets[from]) * blocks)
}
