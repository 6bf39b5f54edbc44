/**
 * The smallest and the greatest key of the tree of a memtable. Keys beyond them need no search of
 * the tree, and the bytes that both share are a prefix of every key between them.
 */
import { commonPrefixLength, readPrefix48 } from '../../base/bytes.js'
import { type EntryArena, entryHeaderBytes } from './arena.js'

/** The edges of one tree. REQUIRES {@link begin} before the other calls. */
export class TreeEdges {
  firstEntry = 0
  lastEntry = 0
  /** Length of the common prefix of the two keys. */
  sharedLength = 0
  /**
   * Length of the common prefix of the key of the last {@link compare} and the edge that it is
   * beyond.
   */
  beyondLength = 0
  /** The six bytes of each key after the shared ones. */
  private firstNumber = 0
  private lastNumber = 0
  private readonly arena: EntryArena

  constructor(arena: EntryArena) {
    this.arena = arena
  }

  /** Notes the only entry of a tree. */
  begin(entry: number, keyLength: number): void {
    this.firstEntry = entry
    this.lastEntry = entry
    this.sharedLength = keyLength
    this.number()
  }

  /** Makes an entry the smallest (side -1) or greatest (side 1): that of the last compare. */
  move(side: number, entry: number): void {
    if (side > 0) this.lastEntry = entry
    else this.firstEntry = entry
    if (this.beyondLength < this.sharedLength) this.sharedLength = this.beyondLength
    this.number()
  }

  /** Replaces the greatest entry by its next version. */
  setLast(entry: number): void {
    this.lastEntry = entry
    this.number()
  }

  /** Whether a key is before the smallest key (-1), after the greatest (1), or within (0). */
  compare(source: Uint8Array, start: number, end: number): number {
    if (this.isSurelyWithin(source, start, end)) return 0
    const { buffer, lengths } = this.arena
    const lastStart = this.lastEntry * 4 + entryHeaderBytes
    const lastEnd = lastStart + lengths[this.lastEntry]
    const shared = commonPrefixLength(source, start, end, buffer, lastStart, lastEnd)
    let byte = start + shared < end ? source[start + shared] : -1
    let edgeByte = lastStart + shared < lastEnd ? buffer[lastStart + shared] : -1
    if (byte > edgeByte) {
      this.beyondLength = shared
      return 1
    }
    const firstStart = this.firstEntry * 4 + entryHeaderBytes
    const firstEnd = firstStart + lengths[this.firstEntry]
    let length = shared < this.sharedLength ? shared : this.sharedLength
    length += commonPrefixLength(source, start + length, end, buffer, firstStart + length, firstEnd)
    byte = start + length < end ? source[start + length] : -1
    edgeByte = firstStart + length < firstEnd ? buffer[firstStart + length] : -1
    if (byte >= edgeByte) return 0
    this.beyondLength = length
    return -1
  }

  /** Fast check: the discriminating bytes of the two edges decide most comparisons. */
  private isSurelyWithin(source: Uint8Array, start: number, end: number): boolean {
    const { sharedLength } = this
    if (end - start < sharedLength) return false
    const { buffer } = this.arena
    const shift = this.lastEntry * 4 + entryHeaderBytes - start
    const sharedEnd = start + sharedLength
    for (let i = start; i < sharedEnd; i++) if (source[i] !== buffer[shift + i]) return false
    const number = readPrefix48(source, sharedEnd, end)
    return number > this.firstNumber && number < this.lastNumber
  }

  private number(): void {
    this.firstNumber = this.arena.numberOf(this.firstEntry, this.sharedLength)
    this.lastNumber = this.arena.numberOf(this.lastEntry, this.sharedLength)
  }
}
