/** The interface of blob stores, and the keys of blobs, which name the store. */
import { declareOptions, integer, shown, type OptionsOf } from '../../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import { checkBuffer } from '../pieces.js'
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

/** Takes the bytes of one blob, in pieces. */
export interface BlobWriter {
  /** Adds a piece. Must not be called again before the promise resolves. */
  write(piece: Buffer): Promise<void>
  /** Resolves when the bytes are as durable as the store promises. */
  finish(): Promise<void>
  /**
   * Gives the blob up: called once instead of `finish`, or after a `write` or `finish` that failed.
   * Releases what the writer holds. Afterwards `remove` of the store removes the bytes.
   */
  abort(): Promise<void>
}

/** A store of blobs. Its keys have 16 bytes, and each is used for one blob only. */
export interface BlobStore {
  /** Names the store in keys: letters and digits. */
  readonly id: string
  /**
   * Whether the bytes are in the database, and so are never newer or older than the blob states.
   * For all other stores, states are synced before bytes are written or removed.
   */
  readonly isInDatabase: boolean
  /** Starts a blob. Its bytes are not read before `finish` of the writer. */
  create(key: Buffer): Promise<BlobWriter>
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
  throw new RepositoryError(RepositoryErrorCode.blob, 'the key of the blob cannot be read')
}

/** Makes an `ERR_BLOB_DAMAGED`. */
export function blobDamaged(problem: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.blobDamaged, `the blob is damaged: ${problem}`)
}

/** Makes an `ERR_BLOB_NOT_FOUND`. */
export function blobNotFound(problem: string): RepositoryError {
  return new RepositoryError(RepositoryErrorCode.blobNotFound, problem)
}
