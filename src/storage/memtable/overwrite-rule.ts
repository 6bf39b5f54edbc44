/**
 * What a memtable asks before a new entry takes the place of an older one.
 *
 * Keys are opaque to the memtable. It knows only that keys that differ in their last bytes alone
 * name versions of one thing, and that the newer version sorts first.
 */
import { commonPrefixLength, readPrefix48 } from '../../base/bytes.js'
import { type EntryArena, entryHeaderBytes } from './arena.js'
import { type NodeArrays, numberBytes, slotsPerNode } from './nodes.js'

/** Says which older versions go when a newer one is inserted. */
export interface OverwriteRule {
  /** Versions of one column have keys that differ in this number of last bytes alone. */
  readonly versionBytes: number
  /**
   * No cursor of the memtable is open, so a replaced entry may be written over. Otherwise its bytes
   * stay as they are until the memtable goes.
   */
  readonly reusesMemory: boolean
  /**
   * Whether the new entry takes the place of the entry whose key is `buffer[keyStart, keyEnd)` and
   * whose value ends at `valueEnd`: the next older version of the same thing.
   */
  replaces(buffer: Buffer, keyStart: number, keyEnd: number, valueEnd: number): boolean
}

/** Where the search for a key has ended in a tree. */
interface FoundPlace {
  readonly arena: EntryArena
  readonly leaves: NodeArrays
  readonly foundLeaf: number
  readonly foundPosition: number
}

/**
 * The slot after the place where the search for a new key ended, if the rule gives the slot to the
 * key: in the same leaf, or the first of a later one. Else -1. `side` is 0 if the key lies between
 * the smallest and the greatest of the tree.
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
    // Most neighbours are no versions of the same thing. Then the numbers tell, and the neighbour's
    // entry need not come into the processor's cache.
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
