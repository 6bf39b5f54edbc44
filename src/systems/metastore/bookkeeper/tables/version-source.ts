/**
 * Versions of rows: one growing sequence for the whole database, never used twice.
 *
 * A counter row holds how far versions were given out. A block of them is reserved by one durable
 * increment and used from memory, the next block in advance; a crash loses the rest of a block. So
 * a row that is removed and made again gets a version that nobody has seen, and no tombstones are
 * needed. Blocks of several processes on one remote backend do not overlap either.
 */
import type { Table } from '../../../../api/index.js'
import { MetastoreError, MetastoreErrorCode } from '../errors.js'

/** Versions reserved at once: one sync for so many puts. */
const blockVersions = 65_536n

const column = 'r:versions'

export class VersionSource {
  readonly #table: Table
  readonly #row: string
  /** The next one to give out. */
  #next = 1n
  /** Behind the last one of the block. */
  #end = 1n
  /** From here on there should be a block in reserve. */
  #reserveFrom = 0n
  /** Behind the last one of a block in reserve; 0 if there is none. */
  #spareEnd = 0n
  /** Behind the last one that was ever reserved. */
  #reservedEnd = 0n
  #reserving: Promise<void> | undefined = undefined

  /** Counts in the given row of a table with a family `r`. */
  constructor(table: Table, row: string) {
    this.#table = table
    this.#row = row
  }

  /** No version of this source is as high yet. */
  get next(): bigint {
    return this.#next
  }

  /** A version; undefined if one has to be reserved first. */
  take(): bigint | undefined {
    if (this.#next >= this.#end && !this.#useSpare()) return undefined
    const version = this.#next++
    if (version >= this.#reserveFrom && this.#spareEnd === 0n) {
      // If it fails, the call that needs the block reports it.
      this.reserve().catch(() => undefined)
    }
    return version
  }

  /** A version, reserved if need be. */
  async takeReserved(): Promise<bigint> {
    for (;;) {
      const version = this.take()
      if (version !== undefined) return version
      await this.reserve()
    }
  }

  /** Makes all versions to come higher than one that another process gave out. */
  async leave(version: bigint): Promise<void> {
    while (this.#next <= version) {
      if (version < this.#end) {
        this.#next = version + 1n
        return
      }
      this.#next = this.#end
      if (this.#useSpare()) continue
      await this.reserve()
      // Somebody else may have taken the block already, but not all that was reserved.
      if (version < this.#reservedEnd) continue
      const message = `a row has version ${version}, which was never given out`
      throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
    }
  }

  /** Reserves a block; several callers at once get the same one. */
  reserve(): Promise<void> {
    this.#reserving ??= this.#reserve().finally(() => (this.#reserving = undefined))
    return this.#reserving
  }

  async #reserve(): Promise<void> {
    const last = await this.#table.incrementColumnValue(this.#row, column, blockVersions)
    this.#spareEnd = last + 1n
    this.#reservedEnd = this.#spareEnd
  }

  #useSpare(): boolean {
    if (this.#spareEnd === 0n) return false
    this.#next = this.#spareEnd - blockVersions
    this.#end = this.#spareEnd
    this.#reserveFrom = this.#end - blockVersions / 2n
    this.#spareEnd = 0n
    return true
  }
}
