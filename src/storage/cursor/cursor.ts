/**
 * The contract of internal cursors over sorted entries (memtable, SSTable, merge).
 *
 * An entry is a key and a value, both opaque bytes, lying in one buffer. Keys ascend in unsigned
 * lexicographic order and are unique within a cursor.
 *
 * Invariants
 * - While `valid`, `buffer[keyStart, keyEnd)` and `buffer[valueStart, valueEnd)` are the current
 *   entry. They are *borrowed*: good until the next call that moves the cursor.
 * - A moving call that throws {@link BlockMissing} leaves the cursor such that the same call can be
 *   made again after the block was loaded, and then does what it would have done.
 * - Any other error (corruption, input/output) leaves the cursor invalid.
 */
export interface Cursor {
  readonly valid: boolean
  readonly buffer: Buffer
  readonly keyStart: number
  readonly keyEnd: number
  readonly valueStart: number
  readonly valueEnd: number
  /** Moves to the first entry whose key is >= `key[0, length)`, or becomes invalid. */
  seek(key: Uint8Array, length: number): void
  /** Moves to the last entry whose key is < `key[0, length)`, or becomes invalid. */
  seekBefore(key: Uint8Array, length: number): void
  /** Moves to the following entry, or becomes invalid. REQUIRES valid. */
  next(): void
}

/** A cursor that can also go backwards; those of reversed scans can. */
export interface BackwardCursor extends Cursor {
  /**
   * Moves to the entry before, or becomes invalid. REQUIRES valid, and that the last move was
   * `seekBefore` or `previous`.
   */
  previous(): void
}

/** Something that can bring one of its blocks into memory without blocking the event loop. */
export interface BlockLoader {
  /** Loads block `index`, keeps it at least until `release` is called with the same index. */
  loadBlock(index: number): Promise<void>
  /** Allows the block to be evicted again. */
  releaseBlock(index: number): void
}

/**
 * Thrown by cursors that may not touch the disk: the block that is needed is not in
 * memory. The asynchronous shell catches it, awaits `loader.loadBlock(index)` and repeats the call;
 * synchronous callers let cursors read the disk and never see it. Not an error and not exported:
 * one object serves the whole thread, because it is always caught before anything else can throw
 * it.
 */
export class BlockMissing extends Error {
  override readonly name = 'BlockMissing'
  loader: BlockLoader | undefined = undefined
  index = -1
}

/** The one instance; making an Error for each miss would cost a stack trace. */
export const blockMissing = new BlockMissing('block is not in memory')

/** Throws {@link blockMissing} for a block. */
export function throwBlockMissing(loader: BlockLoader, index: number): never {
  blockMissing.loader = loader
  blockMissing.index = index
  throw blockMissing
}
