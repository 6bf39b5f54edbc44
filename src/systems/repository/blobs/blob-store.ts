/**
 * The interface of blob stores, the keys of blobs, which name the store, and the store in a table
 * of the database.
 */
import {
  checkMethods,
  declareOptions,
  integer,
  shown,
  type DurabilityOption,
  type OptionsOf,
  type Table,
  type CellarError,
} from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import { checkBuffer, checkPieces } from '../pieces.js'
import { inlineStore } from '../values/blob-value.js'

/** The declaration of {@link ByteRange}. */
export const rangeOptions = declareOptions('a range of a blob', {
  /** Default 0. */
  start: integer({ min: 0, default: 0 }),
  /** Default: the end. */
  end: integer({ min: 0, default: undefined }),
})

/** Bytes `[start, end)` of a blob. */
export interface ByteRange extends OptionsOf<typeof rangeOptions> {}

/** A store of blobs. Its keys have 16 bytes, and each is used for one blob only. */
export interface BlobStore {
  /** Names the store in keys: letters and digits. */
  readonly id: string
  /**
   * Whether the bytes are in the database, and so are never newer or older than the blob states.
   * For all other stores, states are synced before bytes are written or removed.
   */
  readonly isInDatabase: boolean
  /**
   * Stores a blob from its pieces, which are taken one after the other; a piece may change once the
   * next one is taken. Resolves when the bytes are as durable as the store promises; they are not
   * read before. An error of the pieces or of the store rejects, after the store has released what
   * the blob holds. Afterwards `remove` removes the bytes.
   */
  put(key: Buffer, pieces: AsyncIterable<Buffer>): Promise<void>
  /** Reads a range in pieces. `ERR_BLOB_DAMAGED` if the bytes end early. */
  read(key: Buffer, start: number, end: number): AsyncIterable<Buffer>
  /**
   * Removes a blob, also one that was partly written. The removal is durable when the promise
   * resolves. A missing blob is no error.
   */
  remove(key: Buffer): Promise<void>
}

/** Length in bytes of the keys of all other stores. */
export const storeKeyBytes = 16

/** Checks the key that a store receives. `ERR_INVALID_ARGUMENT`. */
export function checkStoreKey(key: Buffer): Buffer {
  const own = checkBuffer(key, 'the key of a blob')
  if (own.length === storeKeyBytes) return own
  throw invalidArgument(`the key of a blob has ${storeKeyBytes} bytes, not ${own.length}`)
}

/** Checks that `[start, end)` is a range. `ERR_INVALID_ARGUMENT`. */
export function checkStoreRange(start: number, end: number): void {
  const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(end)
  if (isRange && start >= 0 && end >= start) return
  throw invalidArgument(`a blob has no bytes ${shown(start)} to ${shown(end)}`)
}

/** The pieces of a blob, checked one by one. `ERR_INVALID_ARGUMENT`. */
export function blobPieces(source: unknown): AsyncIterable<Buffer> {
  return checkPieces(source, 'a blob is made of bytes', (piece) => {
    return checkBuffer(piece, 'a piece of a blob')
  })
}

/** Copies pieces into chunks of `size` bytes; the last one may be shorter, and none is empty. */
export async function* chunksOf(
  pieces: AsyncIterable<Buffer>,
  size: number,
): AsyncGenerator<Buffer, void> {
  let waiting: Buffer[] = []
  let left = size
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length;) {
      const part = piece.subarray(at, at + left)
      waiting.push(Buffer.from(part))
      at += part.length
      left -= part.length
      if (left > 0) continue
      yield Buffer.concat(waiting)
      waiting = []
      left = size
    }
  }
  if (left < size) yield Buffer.concat(waiting)
}

/** Splits a {@link blobKey}. `ERR_BLOB` for other bytes. */
export function parseBlobKey(given: Buffer): { readonly store: string; readonly key: Buffer } {
  const key = checkBuffer(given, 'the key of a blob')
  const end = key.length - 4
  const nameLength = end > 0 ? key.readUInt32BE(end) : 0
  const start = end - nameLength
  const store = start >= 0 ? key.toString('latin1', start, end) : ''
  const isInline = store === inlineStore
  if (/^[A-Z][A-Z0-9]{0,30}$/.test(store) && (isInline || start === storeKeyBytes)) {
    return { store, key: key.subarray(0, start) }
  }
  throw repositoryError('blob', 'the key of the blob cannot be read')
}

/** Makes an `ERR_BLOB_DAMAGED`. */
export function blobDamaged(problem: string): CellarError {
  return repositoryError('blobDamaged', `the blob is damaged: ${problem}`)
}

/** Makes an `ERR_BLOB_NOT_FOUND`. */
export function blobNotFound(problem: string): CellarError {
  return repositoryError('blobNotFound', problem)
}

const column = 'b:d'
/** Bytes of a blob in one row. */
const chunkBytes = 65_536

function chunkRow(key: Buffer, chunk: number): Buffer {
  const row = Buffer.alloc(key.length + 4)
  key.copy(row)
  row.writeUInt32BE(chunk, key.length)
  return row
}

/** The store TABLE: a table of the same database, with one row for every 64 KiB of a blob. */
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
