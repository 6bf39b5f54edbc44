/**
 * Decides whether a new entry of a memtable replaces an older one.
 *
 * Keys are opaque to the memtable, except for two facts. Keys that differ only in their last bytes
 * are versions of one column, and the newer version sorts first.
 */
import { commonPrefixLength, readPrefix48 } from '../../base/bytes.js'
import { type EntryArena, entryHeaderBytes } from './arena.js'
import { type NodeArrays, numberBytes, slotsPerNode } from './nodes.js'

/** Decides which older versions an insert replaces. */
export interface OverwriteRule {
  /** Number of last bytes in which the keys of versions of one column differ. */
  readonly versionBytes: number
  /**
   * True if no cursor of the memtable is open, so that a replaced entry may be overwritten.
   * Otherwise its bytes stay unchanged for the life of the memtable.
   */
  readonly reusesMemory: boolean
  /**
   * Whether the new entry replaces the entry whose key is `buffer[keyStart, keyEnd)` and whose
   * value ends at `valueEnd`: the next older version of the same column.
   */
  replaces(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): boolean
}

/** The result of a search for a key in a tree. */
interface FoundPlace {
  readonly arena: EntryArena
  readonly leaves: NodeArrays
  readonly foundLeaf: number
  readonly foundPosition: number
}

/**
 * The slot that the rule lets a new key replace: the slot after the position found for the key, in
 * the same leaf or the first of a later one. Else -1. `side` is 0 if the key is between the
 * smallest and the greatest key of the tree.
 */
export function findReplaced(
  { arena, leaves, foundLeaf, foundPosition }: FoundPlace,
  side: number,
  source: Buffer,
  keyStart: number,
  keyEnd: number,
  rule: OverwriteRule,
): number {
  let leaf = foundLeaf
  let slot = leaf * slotsPerNode + foundPosition
  const sameEnd = keyEnd - rule.versionBytes
  if (foundPosition === leaves.counts[leaf]) {
    do {
      leaf = leaves.links[leaf * 2]
      if (leaf === -1) return -1
    } while (leaves.counts[leaf] === 0)
    slot = leaf * slotsPerNode
  } else if (side === 0) {
    const start = keyStart + leaves.prefixLengths[leaf]
    // Most neighbours are not versions of the same column. Then the numbers decide, and the
    // neighbour's entry need not be loaded into the processor's cache.
    const differs = leaves.numbers[slot] !== readPrefix48(source, start, keyEnd)
    if (differs && start + numberBytes <= sameEnd) return -1
  }
  const { buffer, lengths } = arena
  const entry = leaves.entries[slot]
  const start = entry * 4 + entryHeaderBytes
  const end = start + lengths[entry]
  if (end - start !== keyEnd - keyStart) return -1
  const same = commonPrefixLength(source, keyStart, sameEnd, buffer, start, end)
  if (keyStart + same < sameEnd) return -1
  return rule.replaces(buffer, start, end, end + lengths[entry + 1]) ? slot : -1
}
