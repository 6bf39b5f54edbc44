/**
 * Versions of rows: one increasing sequence for the whole database, without reuse.
 *
 * A counter row stores the reserved versions. A block is reserved by one durable increment and used
 * from memory; the next block is reserved in advance. A crash loses the rest of a block. A row that
 * is removed and created again always gets a new version, so no tombstones are needed. Blocks of
 * several processes on one remote backend do not overlap.
 */
import type { Table } from '../../../../api/index.js'
import { MetastoreError, MetastoreErrorCode } from '../errors.js'

/** Versions in a block: one sync for this number of puts. */
const blockVersions = 65_536n

const column = 'r:versions'

export class VersionSource {
  readonly #table: Table
  readonly #row: string
  /** The next version. */
  #next = 1n
  /** The exclusive end of the block. */
  #end = 1n
  /** From this version on, a spare block is reserved in advance. */
  #reserveFrom = 0n
  /** The exclusive end of the spare block; 0 if there is none. */
  #spareEnd = 0n
  /** The exclusive end of all versions reserved by this process. */
  #reservedEnd = 0n
  #reserving: Promise<void> | undefined = undefined

  /** `row` is the counter, in a table with a family `r`. */
  constructor(table: Table, row: string) {
    this.#table = table
    this.#row = row
  }

  /** The next version; greater than all versions taken so far. */
  get next(): bigint {
    return this.#next
  }

  /** Takes a version; undefined if a block has to be reserved first. */
  take(): bigint | undefined {
    if (this.#next >= this.#end && !this.#useSpare()) return undefined
    const version = this.#next++
    if (version >= this.#reserveFrom && this.#spareEnd === 0n) {
      // A failure is reported by the call that needs the block.
      this.reserve().catch(() => undefined)
    }
    return version
  }

  /** Takes a version, after reserving a block if necessary. */
  async takeReserved(): Promise<bigint> {
    for (;;) {
      const version = this.take()
      if (version !== undefined) return version
      await this.reserve()
    }
  }

  /** Skips versions so that all later ones are greater than `version` of another process. */
  async leave(version: bigint): Promise<void> {
    while (this.#next <= version) {
      if (version < this.#end) {
        this.#next = version + 1n
        return
      }
      this.#next = this.#end
      if (this.#useSpare()) continue
      await this.reserve()
      // A concurrent caller may have used the block, so compare with all reserved versions.
      if (version < this.#reservedEnd) continue
      const message = `a row has version ${version}, which was never given out`
      throw new MetastoreError(MetastoreErrorCode.operationFailure, message)
    }
  }

  /** Reserves a block; concurrent callers share one reservation. */
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
