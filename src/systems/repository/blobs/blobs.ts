/** Blobs: uploads, downloads, and the removal of unused blobs. */
import { createHash } from 'node:crypto'
import {
  checkArray,
  checked,
  checkObject,
  checkSignal,
  checkText,
  declareOptions,
  integer,
  isBytes,
  readArguments,
  required,
  shown,
  text,
  type CellarError,
  type Clock,
  type Database,
  type DurabilityOption,
  type OptionsOf,
  type Table,
} from '../../../api/index.js'
import { invalidArgument, repositoryError } from '../errors.js'
import { blobKey, inlineStore, isMediaType, readBlob, type Blob } from '../values/blob-value.js'
import {
  blobDamaged,
  blobNotFound,
  blobPieces,
  parseBlobKey,
  rangeOptions,
  storeKeyBytes,
  type BlobStore,
  type ByteRange,
} from './blob-store.js'
import { decodeState, encodeState, stateColumn, type BlobState } from './blob-state.js'

function checkMediaType(mediaType: string): string {
  if (isMediaType(mediaType)) return mediaType
  throw invalidArgument(`a media type is text such as image/png, got ${shown(mediaType)}`)
}

const uploadOptions = declareOptions('an upload', {
  /** Media type such as `text/plain; charset=utf-8`; it selects the text extraction. */
  mediaType: required(checked(checkMediaType)),
  /** Name of the file, if any. */
  name: text(undefined),
  /** Expected size in bytes. It selects the store, and an upload of another size fails. */
  size: integer({ min: 0, default: undefined }),
})

/** Description of a blob to be uploaded. */
export interface BlobUpload extends OptionsOf<typeof uploadOptions> {}

/** The bytes of an upload: all at once, or in pieces. */
export type BlobSource = Uint8Array | Iterable<Uint8Array> | AsyncIterable<Uint8Array>

/** A blob store with the largest blob that it takes. */
export interface BlobRoute {
  /** Takes the blobs of this route. */
  readonly store: BlobStore
  /** The largest blob of this route, inclusive; larger ones go to a later route. */
  readonly bytesMax: number
}

/** Counts of a sweep. */
export interface SweepCounts {
  /** Blob states that were examined. */
  readonly looked: number
  /** Blobs whose bytes were removed. */
  readonly removed: number
  /** Unused blobs in stores that were not given to `open`; they stay. */
  readonly unreachable: number
}

const sweepOptions = declareOptions('a sweep', {
  /** Age in milliseconds at which an unused blob is removed. Default an hour. */
  ageMillisecondsMin: integer({ min: 0, default: 3_600_000 }),
  /** Aborts the sweep with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of {@link Blobs.sweep}. */
export interface SweepOptions extends OptionsOf<typeof sweepOptions> {}

/** Dependencies of {@link Blobs}. */
export interface BlobsParts {
  readonly database: Database
  readonly table: Table
  readonly clock: Clock
  readonly durability: DurabilityOption
  readonly randomBytes: (length: number) => Uint8Array
  /** Smallest first; the last takes all larger blobs. */
  readonly routes: readonly BlobRoute[]
  readonly inlineBytesMax: number
}

/** The blobs of a repository manager. */
export class Blobs {
  readonly #parts: BlobsParts
  /** Keys of the uploads in progress; each ends with the removal of its own row if it fails. */
  readonly #uploading = new Set<string>()

  /** @internal */
  constructor(parts: BlobsParts) {
    this.#parts = parts
  }

  /**
   * Stores the bytes of a blob. The result must be put into a field before {@link sweep} removes
   * the blob as unused. `ERR_INVALID_ARGUMENT`, `ERR_BLOB_DAMAGED` if the number of bytes differs
   * from `size`, `ERR_BLOB_NOT_FOUND` if the upload took so long that a sweep removed the blob
   * meanwhile; then nothing is kept.
   */
  async upload(source: BlobSource, upload: BlobUpload): Promise<Blob> {
    const { mediaType, name, size } = uploadOptions.read(upload)
    const described = { mediaType, ...(name === undefined ? {} : { name }) }
    // Copied; detached bytes stay as they are, for the check of the pieces.
    const copy = isBytes(source) && source.length > 0 ? Buffer.from(source) : source
    const pieces = blobPieces(isBytes(copy) ? [copy] : copy)
    const { inlineBytesMax } = this.#parts
    const expected = size ?? (isBytes(source) ? source.length : undefined)
    if (expected !== undefined && expected <= inlineBytesMax) {
      const parts: Buffer[] = []
      const { measured } = measure(pieces, expected)
      for await (const piece of measured) parts.push(Buffer.from(piece))
      const bytes = Buffer.concat(parts)
      return { key: blobKey(inlineStore, bytes), size: bytes.length, ...described }
    }
    const { routes } = this.#parts
    const fitting = routes.find(({ bytesMax }) => expected !== undefined && expected <= bytesMax)
    const { store } = fitting ?? routes[routes.length - 1]
    const key = blobKey(store.id, Buffer.from(this.#parts.randomBytes(storeKeyBytes)))
    const written = await this.#write(store, key, pieces, expected)
    return { key, size: written, ...described }
  }

  /**
   * Reads a blob or a range of it, in pieces. A whole blob is compared with its checksum:
   * `ERR_BLOB_DAMAGED` follows the last piece. `ERR_BLOB_NOT_FOUND` if it was removed,
   * `ERR_INVALID_ARGUMENT` for a range beyond its size.
   */
  async *read(blob: Blob, range: ByteRange = {}): AsyncGenerator<Buffer, void> {
    const { key: whole, size } = checkBlob(blob)
    const { start, end = size } = rangeOptions.read(range)
    if (start > end || end > size) throw invalidArgument(`the blob has no bytes ${start} to ${end}`)
    const { store: id, key } = parseBlobKey(whole)
    if (id === inlineStore) {
      yield Buffer.from(key.subarray(start, end))
      return
    }
    const state = await this.#readable(whole)
    if (state.size < end) throw blobDamaged('it has fewer bytes than its record says')
    const isWhole = start === 0 && end === state.size
    const hash = createHash('sha256')
    try {
      for await (const piece of this.#storeOf(id).read(key, start, end)) {
        if (isWhole) hash.update(piece)
        yield piece
      }
    } catch (error) {
      // What was removed during the read is not damaged.
      await this.#readable(whole)
      throw error
    }
    if (isWhole && !hash.digest().equals(state.checksum)) throw blobDamaged('its checksum differs')
  }

  /** SHA-256 of the bytes of a blob. `ERR_BLOB_NOT_FOUND` if it was removed. */
  async checksum(blob: Blob): Promise<Buffer> {
    const { key: whole } = checkBlob(blob)
    const { store, key } = parseBlobKey(whole)
    if (store === inlineStore) return createHash('sha256').update(key).digest()
    return (await this.#readable(whole)).checksum
  }

  /**
   * Removes dead blobs, and blobs without a record that are older than the given age: uploads that
   * no record took, or that did not finish. `ERR_INVALID_ARGUMENT`, `ERR_ABORTED`. After all others
   * it rejects with `ERR_CORRUPTION` for a damaged state, or the first error of a removal.
   */
  async sweep(options: SweepOptions = {}): Promise<SweepCounts> {
    const { ageMillisecondsMin, signal } = sweepOptions.read(options)
    const { table, clock } = this.#parts
    let looked = 0
    let removed = 0
    let unreachable = 0
    let refusal: { readonly error: unknown } | undefined
    for await (const [key, state] of this.#all(signal)) {
      looked++
      if (state.kind === 'used') continue
      const isOld = clock.now() - state.time >= ageMillisecondsMin
      if (state.kind !== 'dead' && !isOld) continue
      if (!this.#hasStoreOf(key)) {
        unreachable++
        continue
      }
      if (state.kind !== 'dead') {
        // No record can take a blob that is dead.
        const dead = encodeState({ ...state, kind: 'dead', time: clock.now() })
        const check = { row: key, column: stateColumn, equals: encodeState(state) }
        const put = { cells: { [stateColumn]: dead }, timestamp: 1 }
        const { success } = await table.checkAndMutate(check, { put })
        if (!success) continue
      }
      try {
        await this.remove(key)
        removed++
      } catch (error) {
        refusal ??= { error }
      }
    }
    if (refusal !== undefined) throw refusal.error
    return { looked, removed, unreachable }
  }

  /** Removes a dead blob: first its bytes, then its row. @internal */
  async remove(key: Buffer): Promise<void> {
    const { store: id, key: own } = parseBlobKey(key)
    const store = this.#storeOf(id)
    if (!store.isInDatabase) {
      // The write that dropped the last reference must be on the disk before the bytes are removed.
      // Another sweep may have removed the row meanwhile.
      const state = await this.#state(key)
      if (state !== undefined) {
        await this.#putState(key, { ...state, kind: 'dead', references: 0, owner: undefined }, true)
      }
    }
    await store.remove(own)
    // An upload in progress may still write bytes; its end removes them and the row.
    if (this.#uploading.has(key.toString('latin1'))) return
    const columns = [{ family: 'b', qualifier: 's', timestamp: 1 }]
    await this.#parts.table.delete({ row: key, columns })
  }

  /**
   * Throws `ERR_BLOB_STORE_MISSING` if a blob of these record tables is in a store that was not
   * given. @internal
   */
  async checkStoresOf(tables: readonly string[]): Promise<void> {
    checkArray(tables, 'the names of record tables')
    for await (const [key, { owner }] of this.#all()) {
      if (owner === undefined || !tables.includes(owner.table)) continue
      if (!this.#hasStoreOf(key)) throw storeMissing(parseBlobKey(key).store, owner.table)
    }
  }

  /** Removes the blobs of a record table that is dropped. @internal */
  async removeOf(table: string): Promise<void> {
    checkText(table, 'the name of a record table')
    for await (const [key, { owner }] of this.#all()) {
      if (owner?.table === table) await this.remove(key)
    }
  }

  /** The state of every blob outside records, by key in hexadecimal. For checks and tools. */
  async states(): Promise<Map<string, BlobState>> {
    const states = new Map<string, BlobState>()
    for await (const [key, state] of this.#all()) states.set(key.toString('hex'), state)
    return states
  }

  /**
   * The state of every blob outside records, by key. `ERR_CORRUPTION` for a damaged state follows
   * the others, so that it does not keep their bytes for ever.
   */
  async *#all(signal?: AbortSignal): AsyncGenerator<readonly [key: Buffer, state: BlobState]> {
    const damaged: unknown[] = []
    for await (const row of this.#parts.table.scan({ columns: [stateColumn], signal })) {
      let state: BlobState
      try {
        state = decodeState(row.value(stateColumn)!, row.row!)
      } catch (error) {
        damaged.push(error)
        continue
      }
      yield [row.row!, state]
    }
    if (damaged.length > 0) throw damaged[0]
  }

  async #state(key: Buffer): Promise<BlobState | undefined> {
    const row = await this.#parts.table.get({ row: key, columns: [stateColumn] })
    const stored = row.value(stateColumn)
    return stored === undefined ? undefined : decodeState(stored, key)
  }

  /** The state of a blob that has all its bytes. `ERR_BLOB_NOT_FOUND` if it was removed. */
  async #readable(key: Buffer): Promise<BlobState> {
    const state = await this.#state(key)
    if (state?.kind === 'free' || state?.kind === 'used') return state
    throw blobNotFound('the blob was removed')
  }

  async #write(
    store: BlobStore,
    key: Buffer,
    pieces: AsyncIterable<Buffer>,
    expected: number | undefined,
  ): Promise<number> {
    const { database, table, durability, clock } = this.#parts
    const name = key.toString('latin1')
    const time = clock.now()
    const none = { references: 0, owner: undefined }
    const open: BlobState = { kind: 'open', time, size: 0, checksum: Buffer.alloc(0), ...none }
    const { measured, result } = measure(pieces, expected)
    this.#uploading.add(name)
    try {
      await this.#putState(key, open, !store.isInDatabase)
      await store.put(parseBlobKey(key).key, measured)
      const { size, checksum } = result()
      const free: BlobState = { kind: 'free', time: clock.now(), size, checksum, ...none }
      // Not if a sweep has taken the blob for an abandoned one.
      const cells = { [stateColumn]: encodeState(free) }
      const { success } = await database.atomic({
        checks: [{ table, row: key, column: stateColumn, equals: encodeState(open) }],
        mutations: [{ table, row: key, mutations: [{ put: { cells, timestamp: 1 } }] }],
        durability,
      })
      if (!success) throw blobNotFound('a sweep removed the blob before its upload ended')
      this.#uploading.delete(name)
      return size
    } catch (error) {
      this.#uploading.delete(name)
      // If this removal fails, the sweep repeats it.
      await this.remove(key).catch(() => undefined)
      throw error
    }
  }

  async #putState(key: Buffer, state: BlobState, isSynced: boolean): Promise<void> {
    const { table, durability } = this.#parts
    const cells = { [stateColumn]: encodeState(state) }
    const put = { row: key, cells, timestamp: 1 }
    await table.put({ ...put, durability: isSynced ? 'FSYNC_WAL' : durability })
  }

  #hasStoreOf(blob: Buffer): boolean {
    const { store: id } = parseBlobKey(blob)
    return this.#parts.routes.some(({ store }) => store.id === id)
  }

  #storeOf(id: string): BlobStore {
    const route = this.#parts.routes.find(({ store }) => store.id === id)
    if (route === undefined) throw storeMissing(id)
    return route.store
  }
}

function storeMissing(id: string, table?: string): CellarError {
  const where = table === undefined ? '' : ` of ${table}`
  const message = `blobs${where} are in the store ${id}, which was not given to open`
  return repositoryError('blobStoreMissing', message)
}

function checkBlob(blob: unknown): Blob {
  const read = readArguments(() => readBlob(checkObject(blob, 'a blob')))
  if (read !== undefined) return read
  throw invalidArgument('a blob is what upload or the field of a record gives')
}

/** Passes the pieces of a blob on, and measures them; a wrong size fails before their end. */
function measure(
  pieces: AsyncIterable<Buffer>,
  expected: number | undefined,
): {
  readonly measured: AsyncGenerator<Buffer, void>
  /** Size and checksum, once all pieces were taken. */
  readonly result: () => Pick<BlobState, 'size' | 'checksum'>
} {
  const hash = createHash('sha256')
  let size = 0
  const measured = async function* (): AsyncGenerator<Buffer, void> {
    for await (const piece of pieces) {
      size += piece.length
      if (expected !== undefined && size > expected) break
      hash.update(piece)
      yield piece
    }
    if (expected === undefined || size === expected) return
    const found = size > expected ? 'more' : size
    throw blobDamaged(`${expected} bytes were announced, and there are ${found}`)
  }
  return { measured: measured(), result: () => ({ size, checksum: hash.digest() }) }
}
