/**
 * The contract of internal cursors over sorted entries (memtable, SSTable, merge).
 *
 * An entry is a key and a value, both opaque bytes in one buffer. Keys ascend in unsigned
 * lexicographic order and are unique within a cursor.
 *
 * Invariants
 * - While `valid`, `buffer[keyStart, keyEnd)` and `buffer[valueStart, valueEnd)` are the current
 *   entry. They are *borrowed*: usable until the next call that moves the cursor.
 * - A move that throws {@link BlockMissing} can be repeated after the block is loaded, and then has
 *   the effect that it would have had.
 * - Any other error (corruption, input/output) leaves the cursor invalid.
 */
import { InvariantError } from '../../base/assert.js'
import { emptyBytes } from '../../base/bytes.js'

/** A cursor over sorted entries; see the file header. */
export interface Cursor {
  readonly valid: boolean
  readonly buffer: Buffer
  readonly keyStart: number
  readonly keyEnd: number
  readonly valueStart: number
  readonly valueEnd: number
  /** Whether no move throws, so that the cursor may be moved ahead, and sought back. */
  readonly isInMemory: boolean
  /** Moves to the first entry with a key >= `key[0, length)`, or becomes invalid. */
  seek(key: Uint8Array, length: number): void
  /** Moves to the last entry with a key < `key[0, length)`, or becomes invalid. */
  seekBefore(key: Uint8Array, length: number): void
  /** Moves to the next entry, or becomes invalid. REQUIRES valid. */
  next(): void
  /**
   * If a plain row begins with the current entry, all of it is visible at `readPoint` and not older
   * than `oldest` in milliseconds (0: of any age): the end of its last entry in `buffer`, where the
   * entries lie side by side as in a data block, the lengths of the first one included. Else 0. A
   * merge answers for the row of all its sources. The row with its terminator takes the first
   * `rowBytes` bytes of the key. May show the first entry in another buffer, whose bytes stay
   * unchanged until the next such call. REQUIRES valid.
   */
  plainRowEnd(readPoint: number, oldest: number, rowBytes: number): number
  /**
   * Passes the row that the call of {@link plainRowEnd} before has found: the next move is {@link
   * next}, to the entry after the row, or a seek. Any entry of the row may be shown.
   */
  passRow(): void
}

/** A cursor that can also move backwards, for reversed scans. */
export interface BackwardCursor extends Cursor {
  /**
   * Moves to the previous entry, or becomes invalid. REQUIRES valid, and that the last move was
   * `seekBefore` or `previous`.
   */
  previous(): void
  /**
   * As {@link plainRowEnd}, if a plain row ends with the current entry: then moves to its first
   * entry, and the next {@link previous} throws no `BlockMissing`. Negative: no plain row ends
   * there, and the next move is a seek. REQUIRES as `previous`.
   */
  plainRowBack(readPoint: number, oldest: number, rowBytes: number): number
}

/**
 * A cursor with lazy seek: it is positioned at a lower bound, and seeks when its entry is needed.
 *
 * The bound is at or below every entry that the seek could find. A merge orders the cursor by the
 * bound and calls `settle` only when the cursor comes first. A read that ends before that saves the
 * seek, and the load of a block.
 */
export interface DeferredCursor extends Cursor {
  /** Whether the key is a bound; the value is then undefined. */
  readonly deferred: boolean
  /**
   * Carries out the seek; the cursor may become invalid. If it throws as `Cursor.seek` does, the
   * call may be repeated. REQUIRES deferred.
   */
  settle(): void
}

/** The entry that a cursor shows; the base of cursors that show the entries of others. */
export abstract class ShownEntry {
  valid = false
  buffer: Buffer = emptyBytes
  keyStart = 0
  keyEnd = 0
  valueStart = 0
  valueEnd = 0

  get isInMemory(): boolean {
    return false
  }

  /** No row is plain, as far as the cursor knows. */
  plainRowEnd(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  passRow(): void {
    throw noPlainRow()
  }

  /** As {@link plainRowEnd}. */
  plainRowBack(_readPoint: number, _oldest: number, _rowBytes: number): number {
    return 0
  }

  /** Shows the entry of another cursor; if that is invalid, becomes invalid. */
  protected showEntryOf(cursor: Cursor): void {
    this.valid = cursor.valid
    if (!cursor.valid) return
    this.buffer = cursor.buffer
    this.keyStart = cursor.keyStart
    this.keyEnd = cursor.keyEnd
    this.valueStart = cursor.valueStart
    this.valueEnd = cursor.valueEnd
  }
}

/** The error of `passRow` of a cursor that finds no plain rows. */
export function noPlainRow(): InvariantError {
  return new InvariantError('a row that is passed was found to be plain')
}

/** Loads blocks into memory without blocking the event loop. */
export interface BlockLoader {
  /** Loads block `index` and pins it at least until `releaseBlock` with the same index. */
  loadBlock(index: number): Promise<void>
  /** Releases the pin of a block. */
  releaseBlock(index: number): void
}

/**
 * Thrown by cursors that must not block on the disk if a needed block is not in memory. The
 * asynchronous shell catches it, awaits `loader.loadBlock(index)` and repeats the call; for
 * synchronous callers cursors read the disk instead. Not an error and not exported. One object
 * serves the whole thread, because it is always caught before another one can be thrown: an Error
 * for each miss would cost a stack trace.
 */
export const blockMissing = Object.assign(new Error('block is not in memory'), {
  name: 'BlockMissing',
  loader: undefined as BlockLoader | undefined,
  index: -1,
})

/** Throws {@link blockMissing} for a block. */
export function throwBlockMissing(loader: BlockLoader, index: number): never {
  blockMissing.loader = loader
  blockMissing.index = index
  throw blockMissing
}
