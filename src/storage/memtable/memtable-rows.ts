/**
 * The rows of a memtable, as a Bloom filter: most gets need no search of a memtable, because it has
 * nothing of their row.
 *
 * Writers pay nothing. The filter reads the arena, where entries lie in the order of their inserts:
 * each question first adds the rows of some entries written since the last one. While entries are
 * left, every row passes. So a get does a bounded amount of that work, and a memtable that is not
 * read has no filter.
 *
 * Invariants
 * 1. The row of each entry before `arena.bytesNoted` is in the filter. An entry that takes the
 *    memory of one of another row lowers that bound (`EntryArena.replace`).
 * 2. A larger arena gets a larger filter, which begins anew.
 *
 * Keys are those of cells (`rowEndOf`); a row is hashed with its terminator. The memory, at most
 * 0.8 % of the arena, is not charged to the budget. One thread uses the filter.
 */
import { equalBytes } from '../../base/bytes.js'
import { Hash64, hashRange } from '../../base/hash.js'
import { rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import { entryBytes, type EntryArena, entryHeaderBytes } from './arena.js'

/** Number of entries that one question adds at most; a put of a row has fewer. */
const entriesPerQuestion = 24

/** Bytes of the arena for each word of the filter, at least: 8 bits for an entry of 128 bytes. */
const arenaBytesPerWord = 512

export class MemtableRows {
  private readonly arena: EntryArena
  /** One word a row, with up to two bits; a power of two of words. */
  private words = new Int32Array(0)
  /** Size of the arena that the words were made for. */
  private arenaBytes = 0
  private readonly hash = new Hash64()

  constructor(arena: EntryArena) {
    this.arena = arena
  }

  /** False only if no entry has the row with this hash, that of the row with its terminator. */
  mayHave(hash: Hash64): boolean {
    const { arena } = this
    if (arena.bytesNoted < arena.bytesUsed && !this.addEntries()) return true
    const { words } = this
    const bits = bitsOf(hash.low)
    return (words[hash.high & (words.length - 1)] & bits) === bits
  }

  /** Adds the rows of the next entries; false if some are left. */
  private addEntries(): boolean {
    const { arena, hash } = this
    const { buffer, lengths, bytesUsed } = arena
    if (this.arenaBytes !== buffer.length) this.begin(buffer.length)
    const { words } = this
    let at = arena.bytesNoted
    /** The row of the entry before: the cells of a row are inserted one after the other. */
    let rowStart = 0
    let rowEnd = 0
    for (let i = 0; i < entriesPerQuestion && at < bytesUsed; i++) {
      const keyStart = at + entryHeaderBytes
      const keyLength = lengths[at / 4]
      const end = rowEndOf(buffer, keyStart, keyStart + keyLength) + terminatorBytes
      if (!equalBytes(buffer, keyStart, end, buffer, rowStart, rowEnd)) {
        hashRange(buffer, keyStart, end, hash)
        words[hash.high & (words.length - 1)] |= bitsOf(hash.low)
        rowStart = keyStart
        rowEnd = end
      }
      at += entryBytes(keyLength, lengths[at / 4 + 1])
    }
    arena.bytesNoted = at
    return at === bytesUsed
  }

  private begin(arenaBytes: number): void {
    this.arenaBytes = arenaBytes
    this.words = new Int32Array(
      2 ** Math.floor(Math.log2(Math.max(1, arenaBytes / arenaBytesPerWord))),
    )
    this.arena.bytesNoted = 0
  }
}

function bitsOf(hashLow: number): number {
  return (1 << (hashLow & 31)) | (1 << ((hashLow >>> 5) & 31))
}
