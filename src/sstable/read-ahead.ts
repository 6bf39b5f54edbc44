/** How much is read at once when blocks are wanted one after the other. */
import type { BlockIndex } from './block-index.js'

/** Most stored bytes that one read of adjacent blocks fetches. */
export const readAheadBytesMax = 256 * 1024

/** Most blocks that one read fetches: bounds what well compressed blocks grow to in memory. */
export const readAheadBlocksMax = 64

/**
 * How many bytes to read from block `from` on when `run` blocks before it followed each other: the
 * block alone (0) at first, from the third on doubling up to the maximum.
 */
export function readAheadBytes(index: BlockIndex, from: number, run: number): number {
  if (run < 3) return 0
  const blockBytes = index.offsets[from + 1] - index.offsets[from]
  return Math.min(readAheadBytesMax, blockBytes * 2 ** Math.min(run - 2, 16))
}
