/** A blob store in a table of the same database, with one row for every 64 KiB of a blob. */
import { checkMethods, type DurabilityOption, type Table } from '../../../api/index.js'
import {
  blobDamaged,
  blobPieces,
  checkStoreKey,
  checkStoreRange,
  chunksOf,
  type BlobStore,
} from './blob-store.js'

const column = 'b:d'
/** Bytes of a blob in one row. */
export const chunkBytes = 65_536

function chunkRow(key: Buffer, chunk: number): Buffer {
  const row = Buffer.alloc(key.length + 4)
  key.copy(row)
  row.writeUInt32BE(chunk, key.length)
  return row
}

/** The store with the name TABLE. */
export class TableBlobStore implements BlobStore {
  readonly id = 'TABLE'
  readonly isInDatabase = true
  readonly #table: Table
  readonly #durability: DurabilityOption

  /**
   * Keeps the bytes in the family `b` of `table`. Each chunk is written with this durability.
   * `ERR_INVALID_ARGUMENT`.
   */
  constructor(table: Table, durability: DurabilityOption) {
    this.#table = checkMethods(table, 'the table of a blob store', ['put', 'get', 'scan', 'delete'])
    this.#durability = durability
  }

  /** As {@link BlobStore.put}. */
  async put(given: Buffer, source: AsyncIterable<Buffer>): Promise<void> {
    const key = checkStoreKey(given)
    const durability = this.#durability
    let chunk = 0
    for await (const bytes of chunksOf(blobPieces(source), chunkBytes)) {
      const put = { row: chunkRow(key, chunk++), cells: { [column]: bytes }, timestamp: 1 }
      await this.#table.put({ ...put, durability })
    }
  }

  async *read(given: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    const key = checkStoreKey(given)
    checkStoreRange(start, end)
    for (let at = start; at < end;) {
      const chunk = Math.floor(at / chunkBytes)
      const row = await this.#table.get({ row: chunkRow(key, chunk), columns: [column] })
      const bytes = row.value(column)
      const from = at - chunk * chunkBytes
      const to = Math.min(chunkBytes, end - chunk * chunkBytes)
      if (bytes === undefined || bytes.length < to) throw blobDamaged('its bytes end early')
      yield bytes.subarray(from, to)
      at += to - from
    }
  }

  async remove(key: Buffer): Promise<void> {
    for await (const { row } of this.#table.scan({
      prefix: checkStoreKey(key),
      columns: [column],
    })) {
      await this.#table.delete({ row: row! })
    }
  }
}
