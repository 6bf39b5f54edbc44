/**
 * The listing of all ledgers, in order. A garbage collector deletes the ledgers that are not
 * listed, so a listing is complete or fails:
 *
 * - a listing is one cursor, so it shows one snapshot;
 * - keys must ascend, and each must be the key of a ledger;
 * - the last row must be the end mark of `ledger-key.ts`, after all ledgers. A cursor that ends
 *   before the end mark is an error.
 */
import type { CellarError } from '../../../../api/index.js'
import { CallOrder } from '../../../../comfort/call-order.js'
import { endKey, ledgerIdOf } from './ledger-key.js'
import { LedgerErrorCode, metaStoreError, isOneOf } from '../../errors.js'
import type { MetastoreCursor, MetastoreItem, MetastoreScannableTable } from '../types.js'
import { NON_FIELDS } from '../value.js'

/** A range of ledgers, ascending: all ledgers of the store from `start` to `end`. Never empty. */
export interface LedgerIdRange {
  /** The ids of the ledgers, ascending. */
  readonly ids: readonly bigint[]
  /** The first of them. */
  readonly start: bigint
  /** The last of them, inclusive. */
  readonly end: bigint
}

/**
 * Ascending, disjoint ranges of ledgers. Use `for await`, or {@link hasNext} and {@link next}.
 * Calls that are made at once take turns. An error is permanent. Leaving a `for await` early
 * releases the cursor.
 */
export class LedgerRangeIterator implements AsyncIterable<LedgerIdRange> {
  readonly #pageSize: number
  readonly #opening: Promise<MetastoreCursor>
  #cursor: MetastoreCursor | undefined
  #page: readonly bigint[] = []
  #highest = -1n
  #isComplete = false
  #failure: CellarError | undefined = undefined
  /** A call that began during another would replace its page. */
  readonly #order = new CallOrder()

  /** Lists the current snapshot, in ranges of up to `pageSize`. */
  constructor(table: MetastoreScannableTable, pageSize: number) {
    this.#pageSize = pageSize
    this.#opening = table.openRange(
      { firstKey: null, firstInclusive: true, lastKey: null, lastInclusive: true, order: 'ASC' },
      NON_FIELDS,
    )
    // Prevents an unhandled rejection: the first hasNext reports the failure.
    this.#opening.catch(() => undefined)
  }

  /** Whether there is another range. `ERR_LEDGER_META_STORE` if the listing failed. */
  hasNext(): Promise<boolean> {
    return this.#order.run(() => this.#hasNext())
  }

  async #hasNext(): Promise<boolean> {
    if (this.#failure !== undefined) throw this.#failure
    if (this.#page.length > 0) return true
    if (this.#isComplete) return false
    try {
      this.#page = await this.#readPage()
    } catch (error) {
      this.#failure = isOneOf(error, LedgerErrorCode)
        ? error
        : metaStoreError('ledgers could not be listed', error)
      this.close()
      throw this.#failure
    }
    return this.#page.length > 0
  }

  /** The next range; undefined after the last. Fails as {@link hasNext} does. */
  next(): Promise<LedgerIdRange | undefined> {
    return this.#order.run(async () => {
      if (!(await this.#hasNext())) return undefined
      const ids = this.#page
      this.#page = []
      return { ids, start: ids[0], end: ids[ids.length - 1] }
    })
  }

  /**
   * Releases the cursor. After an early close, {@link hasNext} fails instead of reporting the end.
   */
  close(): void {
    if (!this.#isComplete) {
      this.#failure ??= metaStoreError('the listing of ledgers was closed before its end')
    }
    if (this.#cursor !== undefined) this.#cursor.close()
    else this.#opening.then((cursor) => cursor.close()).catch(() => undefined)
  }

  /** The remaining ranges; leaving the loop early closes the iterator. */
  async *[Symbol.asyncIterator](): AsyncGenerator<LedgerIdRange, void, void> {
    try {
      for (;;) {
        const range = await this.next()
        if (range === undefined) return
        yield range
      }
    } finally {
      this.close()
    }
  }

  /** Empty only at the end mark. */
  async #readPage(): Promise<bigint[]> {
    this.#cursor ??= await this.#opening
    const cursor = this.#cursor
    if (!cursor.hasMoreEntries())
      throw metaStoreError('a listing of ledgers ended without its mark')
    const ids: bigint[] = []
    for (const item of await cursor.asyncReadEntries(this.#pageSize)) this.#take(item, ids)
    if (this.#isComplete) cursor.close()
    else if (ids.length === 0) throw metaStoreError('a cursor promised more ledgers and had none')
    return ids
  }

  #take({ key }: MetastoreItem, ids: bigint[]): void {
    if (this.#isComplete) throw metaStoreError('the ledger table goes on behind its end mark')
    if (key === endKey) {
      this.#isComplete = true
      return
    }
    const id = ledgerIdOf(key)
    if (id <= this.#highest) throw metaStoreError(`ledger ${id} came behind ${this.#highest}`)
    this.#highest = id
    ids.push(id)
  }
}
