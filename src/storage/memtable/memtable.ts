/**
 * The memtable: the newest entries of a store, in memory, sorted by key.
 *
 * Keys and values lie in one {@link EntryArena}, and an {@link EntryTree} orders them; both treat
 * them as opaque bytes. Only `mayHaveRow` and `OverwriteRule` know the keys of cells.
 *
 * Invariants
 * 1. One thread writes and reads; any number of cursors may be open during writes.
 * 2. Keys are unique; the value is that of the last insert. A newer version replaces an older one
 *    where an `OverwriteRule` allows it.
 * 3. After `freeze` the memtable is immutable, so other threads may read the arena.
 * 4. An insert either succeeds as a whole, or throws for lack of memory and changes nothing.
 *
 * Failure: `ERR_TOO_LARGE` with a RangeError as cause if an allocation fails or the arena would
 * exceed 4 GiB. Wrong use (insert after freeze, export before) is an assertion failure. Ownership:
 * `insert` copies. Entries shown by cursors are lent by the arena. They stay readable as long as
 * their buffer is referenced and no insert reuses the memory of replaced entries.
 */
import { assert } from '../../base/assert.js'
import type { Hash64 } from '../../base/hash.js'
import { EntryArena, memoryError } from './arena.js'
import type { FrozenEntries } from './frozen-entries.js'
import { MemtableCursor } from './memtable-cursor.js'
import { MemtableRows } from './memtable-rows.js'
import { slotsPerNode } from './nodes.js'
import type { OverwriteRule } from './overwrite-rule.js'
import { EntryTree } from './tree.js'

const arenaBytesInitialDefault = 4 * 1024
const entriesPerSliceDefault = 8192

/** Options of a {@link Memtable}. */
export interface MemtableOptions {
  /** Size of the first arena in bytes. Default 4 KiB. */
  readonly arenaBytesInitial?: number
  /** Size in bytes to which an arena grows when it exceeds 1 MiB. Default 40 MiB. */
  readonly arenaBytesLarge?: number
  /** Memory of an earlier memtable to use instead; see {@link Memtable.takeArena}. */
  readonly recycled?: SharedArrayBuffer | undefined
}

/** A sorted map from byte strings to byte strings, without removal. */
export class Memtable {
  private readonly arena: EntryArena
  private readonly tree: EntryTree
  private readonly rows: MemtableRows
  private frozen = false

  constructor(options: MemtableOptions = {}) {
    const bytes = options.arenaBytesInitial ?? arenaBytesInitialDefault
    this.arena = new EntryArena(bytes, options.recycled, options.arenaBytesLarge)
    this.tree = new EntryTree(this.arena)
    this.rows = new MemtableRows(this.arena)
  }

  /** Number of entries with different keys. */
  get entryCount(): number {
    return this.tree.entryCount
  }

  /** Bytes of the arena in use plus bytes of nodes: the charge on the memory budget. */
  get bytesUsed(): number {
    return this.arena.bytesUsed + this.tree.nodeBytes
  }

  /**
   * Copies the key `source[keyStart, keyEnd)` and the value `source[valueStart, valueEnd)` into the
   * arena; faster if the value follows the key. An equal key gets the new value, and `rule` may let
   * the entry replace the next older version. REQUIRES not frozen. Throws `ERR_TOO_LARGE` without a
   * change; never after a sufficient {@link reserve}.
   */
  insert(
    source: Buffer,
    keyStart: number,
    keyEnd: number,
    valueStart: number,
    valueEnd: number,
    rule?: OverwriteRule,
  ): void {
    assert(!this.frozen, 'a frozen memtable takes no inserts')
    this.tree.insert(source, keyStart, keyEnd, valueStart, valueEnd, rule)
  }

  /**
   * Reserves memory, so that the next `entries` inserts, with keys and values of at most `bytes`
   * bytes in total, cannot fail. Throws `ERR_TOO_LARGE` with a RangeError as cause, without
   * changing an entry.
   */
  reserve(entries: number, bytes: number): void {
    this.tree.reserve(entries, bytes)
  }

  /**
   * False only if no entry is of the row with this hash, which is that of the escaped row with its
   * terminator. REQUIRES that the keys are those of cells.
   */
  mayHaveRow(hash: Hash64): boolean {
    return this.rows.mayHave(hash)
  }

  /** A new cursor, invalid until its first seek. It need not be closed. */
  cursor(): MemtableCursor {
    return new MemtableCursor(this.tree)
  }

  /**
   * Removes and returns the arena's memory for another memtable. REQUIRES frozen, and that neither
   * this thread nor another one reads this memtable any more.
   */
  takeArena(): SharedArrayBuffer {
    assert(this.frozen, 'only a frozen memtable gives its arena away')
    return this.arena.take()
  }

  /** Makes the memtable immutable. Later inserts are assertion failures. */
  freeze(): void {
    this.frozen = true
  }

  /**
   * Builds the sorted offsets for a flush job. Yields after each `entriesPerSlice` entries (at
   * least one leaf), so that the caller can yield to the event loop. REQUIRES frozen. Throws
   * `ERR_TOO_LARGE` if the offsets cannot be allocated; may be restarted at any time.
   */
  exportSlices(entriesPerSlice = entriesPerSliceDefault): Generator<void, FrozenEntries> {
    assert(this.frozen, 'only a frozen memtable can be exported')
    return exportEntries(this.tree, entriesPerSlice)
  }
}

function* exportEntries(tree: EntryTree, entriesPerSlice: number): Generator<void, FrozenEntries> {
  const { arena, leaves, entryCount } = tree
  const shared = allocateOffsets(entryCount)
  const offsets = new Int32Array(shared)
  let index = 0
  let sliceEnd = entriesPerSlice
  for (let leaf = 0; leaf !== -1; leaf = leaves.links[leaf * 2]) {
    const base = leaf * slotsPerNode
    const count = leaves.counts[leaf]
    for (let i = 0; i < count; i++) offsets[index + i] = leaves.entries[base + i]
    index += count
    if (index >= sliceEnd) {
      sliceEnd = index + entriesPerSlice
      yield
    }
  }
  assert(index === entryCount, 'the leaves of a memtable must hold all of its entries')
  return { arena: arena.shared, offsets: shared, entryCount, arenaBytes: arena.bytesUsed }
}

function allocateOffsets(entryCount: number): SharedArrayBuffer {
  try {
    return new SharedArrayBuffer(entryCount * 4)
  } catch (error) {
    throw memoryError(entryCount * 4, error)
  }
}
