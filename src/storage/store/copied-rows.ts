/**
 * Ends the validity of copies of rows (`RowCopies`): each cell that is written forgets the copy of
 * its row. A new set of SSTables has no copies, because locations belong to one set.
 *
 * While no read has kept a copy, writers pay nothing. Where most rows are written before they are
 * read again, as by programs that read a row to change it, few copies are kept.
 */
import { copyBytes, equalBytes } from '../../base/bytes.js'
import { Hash64, hashRange } from '../../base/hash.js'
import { rowEndOf, terminatorBytes } from '../cell/cell-key.js'
import type { StoreSources } from './store-sources.js'

/** Copies that may be kept without a read that takes one; such a read pays for some more. */
const creditMax = 1024
const creditPerHit = 4

/** Without credit one row in so many is copied, to see whether reads take copies again. */
const trialEvery = 8

/** Longer rows are forgotten with each of their cells. */
const rowBytesMax = 256

export class CopiedRows {
  /** Whether a row may have a copy. */
  private isAny = false
  /** The row forgotten last, which has no copy: `row[0, length)`. */
  private readonly row = Buffer.allocUnsafe(rowBytesMax)
  private length = 0
  private readonly hash = new Hash64()
  private credit = creditMax
  private declined = 0

  /** Whether a row is worth a copy. */
  wantsCopy(): boolean {
    return this.credit > 0 || ++this.declined % trialEvery === 0
  }

  /** Called when a read takes a copy. */
  noteHit(): void {
    if (this.credit < creditMax) this.credit += creditPerHit
  }

  /** Called when a copy of a row is kept. */
  noteCopy(): void {
    if (this.credit > 0) this.credit--
    this.isAny = true
    this.length = 0
  }

  /** Called when the store gets another set of SSTables. */
  forgetAll(): void {
    this.isAny = false
  }

  /** Called when a cell with the key `source[keyStart, keyEnd)` is written. */
  forget(source: Buffer, keyStart: number, keyEnd: number, sources: StoreSources): void {
    if (!this.isAny) return
    const { row, length, hash } = this
    const end = rowEndOf(source, keyStart, keyEnd) + terminatorBytes
    // The cells of a row are written one after the other.
    if (length > 0 && equalBytes(source, keyStart, end, row, 0, length)) return
    hashRange(source, keyStart, end, hash)
    sources.tables[0].cache.rows.forgetCopy(hash, sources.tablesId)
    this.length = end - keyStart
    if (this.length > rowBytesMax) this.length = 0
    else copyBytes(source, keyStart, end, row, 0)
  }
}
