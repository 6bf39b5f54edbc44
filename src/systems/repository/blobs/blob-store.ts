/** Where the bytes of blobs are: the interface of blob stores, and keys that name their store. */
import { shown } from '../../../api/index.js'
import { invalidArgument, RepositoryError, RepositoryErrorCode } from '../errors.js'
import { checkBuffer } from '../pieces.js'

/** Bytes `[start, end)` of a blob. */
export interface ByteRange {
  /** Default 0. */
  readonly start?: number | undefined
  /** Default: the end. */
  readonly end?: number | undefined
}

/** Takes the bytes of one blob, in pieces. */
export interface BlobWriter {
  /** Adds a piece. The next one is handed over when the promise has resolved. */
  write(piece: Buffer): Promise<void>
  /** The bytes are as durable as the store promises when it resolves. */
  finish(): Promise<void>
}

/** A store of blobs. Keys of 16 bytes are given to it; it never sees one twice. */
export interface BlobStore {
  /** Names the store in keys: letters and digits. */
  readonly id: string
  /**
   * Whether its bytes are in the database: then they cannot be newer or older than the states of
   * blobs. For all other stores those are synced before bytes are written or removed.
   */
  readonly isInDatabase: boolean
  /** Begins a blob; its bytes are not read before `finish` of the writer. */
  create(key: Buffer): Promise<BlobWriter>
  /** The bytes of a range, in pieces. `ERR_BLOB_DAMAGED` if they end early. */
  read(key: Buffer, start: number, end: number): AsyncIterable<Buffer>
  /**
   * Removes a blob, or what there is of it, for good when it resolves; one that is not there is no
   * error.
   */
  remove(key: Buffer): Promise<void>
}

/** Name of the store whose keys are the content itself. */
export const inlineStore = 'INLINE'
/** Bytes of the keys of all other stores. */
export const storeKeyBytes = 16

/** The key of a blob: the key in the store, the name of the store, and the length of that name. */
export function blobKey(store: string, key: Buffer): Buffer {
  const name = Buffer.from(store)
  const length = Buffer.alloc(4)
  length.writeUInt32BE(name.length)
  return Buffer.concat([key, name, length])
}

/** The key of a blob in its store, as stores get it. `ERR_INVALID_ARGUMENT`. */
export function checkStoreKey(key: Buffer): Buffer {
  const own = checkBuffer(key, 'the key of a blob')
  if (own.length === storeKeyBytes) return own
  throw invalidArgument(`the key of a blob has ${storeKeyBytes} bytes, not ${own.length}`)
}

/** Bytes `[start, end)` of a blob of a store. `ERR_INVALID_ARGUMENT`. */
export function checkStoreRange(start: number, end: number): void {
  const isRange = Number.isSafeInteger(start) && Number.isSafeInteger(end)
  if (isRange && start >= 0 && end >= start) return
  throw invalidArgument(`a blob has no bytes ${shown(start)} to ${shown(end)}`)
}

/** The parts of a {@link blobKey}. `ERR_BLOB` if it is none. */
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
