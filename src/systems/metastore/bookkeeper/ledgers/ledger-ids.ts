/**
 * Unique ledger ids, from counters in the store itself.
 *
 * The table `IDGEN` holds one counter per bucket. A generator reserves a block of ids by advancing
 * the counter with a conditional put. When the put is durable, the generator returns ids of the
 * block from memory. A crash loses the rest of a block and repeats no id. The rows are never
 * removed, not even by a format.
 *
 * An id has the number of the bucket in the top seven of 63 bits, and the count below. Generators
 * with different numbers of buckets can share a table.
 */
import { checkStore } from '../arguments.js'
import {
  CellarError,
  declareOptions,
  ErrorCode,
  integer,
  type OptionsOf,
} from '../../../../api/index.js'
import { LedgerErrorCode, failed, metaStoreError } from '../../errors.js'
import type { MetaStore, MetastoreTable } from '../types.js'
import { ALL_FIELDS, Value } from '../value.js'
import { RecordTable } from '../tables/record-table.js'

const tableName = 'IDGEN'
const field = 'next'
const countBits = 56n
const countMax = 2n ** countBits - 1n
const bucketsMax = 128

const idOptions = declareOptions('a generator of ledger ids', {
  /**
   * Counters to use in turn, 1 to 128; more counters reduce conflicts between generators. Default
   * 1: ids are small, and ascending while a single generator is in use.
   */
  buckets: integer({ min: 1, max: bucketsMax, default: 1 }),
  /** Ids reserved by one write, at least 1. Default 1000. */
  blockSize: integer({ min: 1, max: Number.MAX_SAFE_INTEGER, default: 1000 }),
  /** The first bucket; generators of different processes should use different ones. */
  firstBucket: integer({ min: 0, default: 0 }),
})

/** Settings of a generator. */
export interface LedgerIdOptions extends OptionsOf<typeof idOptions> {}

/** A generator of ledger ids; see the file header. */
export class LedgerIdGenerator {
  readonly #records: RecordTable
  readonly #buckets: number
  readonly #blockSize: bigint
  #bucket: number
  /** The remaining ids of the block: `[#next, #end)`. */
  #next = 0n
  #end = 0n
  #refill: Promise<void> | undefined

  private constructor(table: MetastoreTable, options: LedgerIdOptions) {
    const { buckets, blockSize, firstBucket } = idOptions.read(options)
    if (firstBucket >= buckets) {
      const message = `option firstBucket must be below ${buckets}, got ${firstBucket}`
      throw new CellarError(ErrorCode.invalidArgument, message)
    }
    this.#records = new RecordTable(table, (error) =>
      metaStoreError('the counter of ledger ids cannot be read or written', error),
    )
    this.#buckets = buckets
    this.#blockSize = BigInt(blockSize)
    this.#bucket = firstBucket
  }

  /** Opens the table of counters. `ERR_INVALID_ARGUMENT` for options out of range. */
  static async open(store: MetaStore, options: LedgerIdOptions = {}): Promise<LedgerIdGenerator> {
    return new LedgerIdGenerator(await checkStore(store).createTable(tableName), options)
  }

  /**
   * An id from 1 to 2^63-1, unique among all generators of this store. `ERR_LEDGER_META_STORE`;
   * `ERR_LEDGER_ID_OVERFLOW` when all buckets are exhausted.
   */
  async generateLedgerId(): Promise<bigint> {
    while (this.#next === this.#end) {
      this.#refill ??= this.#takeBlock().finally(() => (this.#refill = undefined))
      await this.#refill
    }
    return this.#next++
  }

  async #takeBlock(): Promise<void> {
    for (let tries = 0; tries < this.#buckets; tries++) {
      const bucket = this.#bucket
      const block = await this.#advance(bucket)
      this.#bucket = (bucket + 1) % this.#buckets
      if (block === undefined) continue
      const base = BigInt(bucket) << countBits
      this.#next = base + block.first
      this.#end = base + block.end
      return
    }
    throw failed(LedgerErrorCode.idOverflow, 'all ledger ids are used up')
  }

  /** Advances a counter; undefined if the bucket is exhausted. */
  async #advance(bucket: number): Promise<{ first: bigint; end: bigint } | undefined> {
    let block: { first: bigint; end: bigint } | undefined
    await this.#records.change(`bucket-${bucket}`, ALL_FIELDS, (row) => {
      const first = row === undefined ? 1n : countOf(row.value)
      if (first > countMax) return (block = undefined)
      const free = countMax + 1n - first
      const end = first + (free < this.#blockSize ? free : this.#blockSize)
      block = { first, end }
      return new Value({ [field]: end.toString() })
    })
    return block
  }
}

/** The next count in the row of a bucket. */
function countOf(value: Value): bigint {
  const text = value.getField(field)?.toString('latin1') ?? ''
  if (/^[0-9]{1,18}$/.test(text)) return BigInt(text)
  throw metaStoreError(`a counter of ledger ids holds ${JSON.stringify(text)}`)
}
