/** What cursors and checks need of the open table they read. */
import type { BlockLoader } from '../../cursor/cursor.js'
import type { Block, BlockOwner } from './block.js'
import type { BlockCache } from './block-cache.js'
import type { BlockIndex } from './block-index.js'
import type { KeyPatch } from './key-patch.js'
import type { SsTableProperties } from '../properties.js'
import type { ReadCounters } from '../read-counters.js'
import type { SectionFile } from './section.js'

/** An open table that hands out blocks. */
export interface BlockSource extends BlockOwner, BlockLoader, SectionFile {
  readonly fileBytes: number
  readonly properties: SsTableProperties
  /** See `SsTableReaderOptions`. */
  readonly keyPatch: KeyPatch | undefined
  readonly index: BlockIndex
  readonly cache: BlockCache
  readonly counters: ReadCounters
  readonly closed: boolean
  /** Its blocks stay in the cache before those of other tables. */
  readonly inMemory: boolean
  /** Throws `ERR_CLOSED` if the table is closed. */
  throwIfClosed(): void
  /** Reads block `index` from the file, past the cache. */
  readBlockSync(index: number): Block
  /**
   * Reads blocks [from, to), which lie side by side, with one call and appends them to `target`.
   */
  readBlocksSync(from: number, to: number, target: Block[]): void
  /**
   * Where a read ends that starts with block `from`, takes up to `bytesMax` bytes and meets no
   * block that is in the cache. At least `from + 1`.
   */
  adjacentEnd(from: number, bytesMax: number): number
  /** Reads blocks [from, to) as they are stored to the start of `target`, with one call. */
  readStoredSync(from: number, to: number, target: Buffer): void
  /** Checks block `index`, stored as `stored[start, end)`; returns its uncompressed length. */
  checkBlock(stored: Buffer, start: number, end: number, index: number): number
  /** Decodes a block that {@link checkBlock} accepted into `target[0, length)`. */
  decodeBlock(
    stored: Buffer,
    start: number,
    end: number,
    index: number,
    target: Buffer,
    length: number,
  ): void
}
