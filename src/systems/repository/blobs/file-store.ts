/**
 * A blob store of files, `ab/cd/<key>` below a directory, over a given file system. A blob and the
 * directory entries that name it are on the disk before a record can refer to it.
 */
import { dirname } from 'node:path'
import { checkMethods, checkText } from '../../../api/index.js'
import {
  blobDamaged,
  blobPieces,
  checkStoreKey,
  checkStoreRange,
  type BlobStore,
} from './blob-store.js'

/** An open file of {@link BlobFiles}. */
export interface BlobFile {
  /** Reads into `target`; resolves with the number of bytes, 0 at the end of the file. */
  read(target: Uint8Array, targetStart: number, length: number, position: number): Promise<number>
  /** Writes the bytes `[start, end)` of `source` at a position of the file. */
  writeSync(source: Uint8Array, start: number, end: number, position: number): void
  /** Resolves when all written bytes are on the disk. */
  sync(): Promise<void>
  /** Closes the file. Called once. */
  closeSync(): void
}

/**
 * The operations that the store needs of a file system. The file systems of `cellardb` have them.
 */
export interface BlobFiles {
  /** The path of a name in a directory. */
  join(directory: string, name: string): string
  /** Opens a file; `create` fails if it exists. */
  openSync(path: string, mode: 'read' | 'create'): BlobFile
  /** Size in bytes; undefined if there is no such file. */
  statSync(path: string):
    | {
        /** Size in bytes. */
        readonly size: number
      }
    | undefined
  /** Makes a directory and its parents; one that exists is no error. */
  makeDirectorySync(path: string): void
  /** Removes a file. */
  unlink(path: string): Promise<void>
  /** Resolves when the entries of a directory are on the disk. */
  syncDirectory(directory: string): Promise<void>
}

const pieceBytes = 262_144

/** The store with the name FILE. */
export class FileBlobStore implements BlobStore {
  readonly id = 'FILE'
  readonly isInDatabase = false
  readonly #files: BlobFiles
  readonly #directory: string
  /** The directory, once its first blob is written; a failure is forgotten. */
  #made: Promise<void> | undefined
  /** Directories that got an entry on the way to this one, and are not synced yet. */
  readonly #entered = new Set<string>()

  /** Stores files below `directory`, which is created by the first blob. `ERR_INVALID_ARGUMENT`. */
  constructor(files: BlobFiles, directory: string) {
    this.#files = checkMethods(files, 'the file system of a blob store', [
      'join',
      'openSync',
      'statSync',
      'makeDirectorySync',
      'unlink',
      'syncDirectory',
    ])
    this.#directory = checkText(directory, 'the directory of a blob store')
  }

  /** As {@link BlobStore.put}. */
  async put(key: Buffer, source: AsyncIterable<Buffer>): Promise<void> {
    const { outer, inner, path } = this.#placeOf(key)
    const pieces = blobPieces(source)
    this.#made ??= this.#makeDirectory().catch((error: unknown) => {
      this.#made = undefined
      throw error
    })
    await this.#made
    this.#files.makeDirectorySync(inner)
    const file = this.#files.openSync(path, 'create')
    try {
      let position = 0
      for await (const piece of pieces) {
        file.writeSync(piece, 0, piece.length, position)
        position += piece.length
      }
      await file.sync()
    } finally {
      file.closeSync()
    }
    for (const directory of [inner, outer, this.#directory]) {
      await this.#files.syncDirectory(directory)
    }
  }

  async *read(key: Buffer, start: number, end: number): AsyncGenerator<Buffer, void> {
    const { path } = this.#placeOf(key)
    checkStoreRange(start, end)
    if (this.#files.statSync(path) === undefined) throw blobDamaged('its file is not there')
    const file = this.#files.openSync(path, 'read')
    try {
      for (let at = start; at < end;) {
        const target = Buffer.alloc(Math.min(pieceBytes, end - at))
        const count = await file.read(target, 0, target.length, at)
        if (count < target.length) throw blobDamaged('its bytes end early')
        yield target
        at += count
      }
    } finally {
      file.closeSync()
    }
  }

  async remove(key: Buffer): Promise<void> {
    const { inner, path } = this.#placeOf(key)
    const isThere = (place: string): boolean => this.#files.statSync(place) !== undefined
    if (isThere(path)) {
      await this.#files.unlink(path).catch((error: unknown) => {
        // Another call may have removed it meanwhile.
        if (isThere(path)) throw error
      })
    }
    // Without the sync the file could return after a power failure, with no row that leads to it.
    // The call that removed the file may have ended before its sync.
    if (isThere(inner)) await this.#files.syncDirectory(inner)
  }

  /** Makes the directory, and syncs every parent that got an entry. */
  async #makeDirectory(): Promise<void> {
    const isAbsent = (path: string): boolean => this.#files.statSync(path) === undefined
    for (let path = this.#directory; isAbsent(path); path = dirname(path)) {
      this.#entered.add(dirname(path))
    }
    this.#files.makeDirectorySync(this.#directory)
    for (const path of this.#entered) {
      await this.#files.syncDirectory(path)
      this.#entered.delete(path)
    }
  }

  #placeOf(key: Buffer): { outer: string; inner: string; path: string } {
    const name = checkStoreKey(key).toString('hex')
    const outer = this.#files.join(this.#directory, name.slice(0, 2))
    const inner = this.#files.join(outer, name.slice(2, 4))
    return { outer, inner, path: this.#files.join(inner, name) }
  }
}
