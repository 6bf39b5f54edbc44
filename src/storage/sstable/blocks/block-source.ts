/** The interface of an open SSTable for cursors and checks. */
import type { BlockLoader } from '../../cursor/cursor.js'
import type { Block, BlockOwner } from './block.js'
import type { BlockCache } from './block-cache.js'
import type { BlockIndex } from './block-index.js'
import type { KeyPatch } from './key-patch.js'
import type { SsTableProperties } from '../properties.js'
import type { ReadCounters } from '../read-counters.js'
import type { ReadGate } from '../read-gate.js'
import type { SectionFile } from './section.js'

/** An open SSTable as a source of blocks. */
export interface BlockSource extends BlockOwner, BlockLoader, SectionFile {
  readonly fileBytes: number
  readonly properties: SsTableProperties
  /** The smallest timestamp of a put in milliseconds, rounded; above all others without a put. */
  readonly earliestPut: number
  /** See `SsTableReaderOptions`. */
  readonly keyPatch: KeyPatch | undefined
  readonly index: BlockIndex
  readonly cache: BlockCache
  readonly counters: ReadCounters
  /** Lets awaited reads take missing blocks at once; undefined: always closed. */
  readonly gate: ReadGate | undefined
  readonly closed: boolean
  /** Whether the cache evicts its blocks after those of other SSTables. */
  readonly inMemory: boolean
  /** Throws `ERR_CLOSED` if the SSTable is closed. */
  throwIfClosed(): void
  /** Makes a cached block of what the writer of the file has left; undefined: nothing is left. */
  findWritten(index: number): Block | undefined
  /** Reads block `index` from the file, bypassing the cache. */
  readBlockSync(index: number): Block
  /** Reads the adjacent blocks [from, to) with one call and appends them to `target`. */
  readBlocksSync(from: number, to: number, target: Block[]): void
  /**
   * The end of a read that starts at block `from`, takes up to `bytesMax` bytes and stops before
   * any block in memory. At least `from + 1`.
   */
  adjacentEnd(from: number, bytesMax: number): number
  /** Reads blocks [from, to) in stored form to the start of `target`, with one call. */
  readStoredSync(from: number, to: number, target: Buffer): void
  /** Checks block `index`, stored as `stored[start, end)`; returns its uncompressed length. */
  checkBlock(stored: Buffer, start: number, end: number, index: number): number
  /** Decodes a block accepted by {@link checkBlock} into `target[0, length)`. */
  decodeBlock(
    stored: Buffer,
    start: number,
    end: number,
    index: number,
    target: Buffer,
    length: number,
  ): void
}
