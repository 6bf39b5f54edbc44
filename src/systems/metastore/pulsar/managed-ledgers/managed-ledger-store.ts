/**
 * ManagedLedger's own metadata interface (`MetaStore`) over a metadata store: one record for each
 * managed ledger and one for each of its cursors, with versions, at Pulsar's paths.
 */
import { checked, declareOptions, type OptionsOf } from '../../../../api/index.js'
import { fromBinary, toBinary } from '../../records/binary-form.js'
import type { MessageType } from '../../records/message-type.js'
import { checkStore, readOptions } from '../../metadata/arguments.js'
import { hasCode, metadataError } from '../../metadata/errors.js'
import {
  checkCompression,
  compressed,
  decompressed,
  type ManagedLedgerCompression,
} from './managed-ledger-compression.js'
import {
  managedCursorInfo,
  managedLedgerInfo,
  type ManagedCursorInfo,
  type ManagedLedgerInfo,
} from './managed-ledger-records.js'
import { checkPath, childOf } from '../../metadata/paths.js'
import type { GetResult, MetadataStore, Stat } from '../../metadata/types.js'

/** A record with its version. */
export interface Versioned<T> {
  /** The content of the record. */
  readonly info: T
  /** Version and times of the record; `stat.version` goes into the next update. */
  readonly stat: Stat
}

const storeOptions = declareOptions('a store of managed ledgers', {
  /** Compression of written records; brokers from version 2.9 read all forms. Default 'NONE'. */
  compression: checked((type: ManagedLedgerCompression) => type, 'NONE' as const),
})

/** Settings of a {@link ManagedLedgerStore}. */
export interface ManagedLedgerStoreOptions extends OptionsOf<typeof storeOptions> {}

const base = '/managed-ledgers'

/** The metadata of managed ledgers; names are `tenant/namespace/persistent/topic`. */
export class ManagedLedgerStore {
  readonly #store: MetadataStore
  readonly #compression: ManagedLedgerCompression

  /**
   * Keeps the records in `store`, below `/managed-ledgers`. The caller closes the store. Records
   * are read in every supported form, and written with the compression of `options`.
   *
   * `ERR_METADATA_INVALID_ARGUMENT`, `ERR_METADATA_UNSUPPORTED` for the compression.
   */
  constructor(store: MetadataStore, options: ManagedLedgerStoreOptions = {}) {
    this.#compression = readOptions(storeOptions, options).compression
    checkCompression(this.#compression)
    this.#store = checkStore(store)
  }

  #bytesOf<T extends object>(type: MessageType<T>, info: T): Buffer {
    let bytes: Buffer
    try {
      bytes = toBinary(type, info)
    } catch (error) {
      throw metadataError('invalidArgument', (error as Error).message, error)
    }
    return compressed(Buffer.from(bytes), this.#compression)
  }

  /** Names directly below a prefix of names, such as `tenant/namespace/persistent`. */
  async getManagedLedgers(below: string): Promise<string[]> {
    return this.#store.getChildren(pathOf(below))
  }

  /** `ERR_METADATA_NOT_FOUND` unless `createIfMissing`. */
  async getManagedLedgerInfo(
    name: string,
    createIfMissing = false,
  ): Promise<Versioned<ManagedLedgerInfo>> {
    const path = pathOf(name)
    for (;;) {
      const found = await this.#store.get(path)
      if (found !== undefined) return read(managedLedgerInfo, path, found)
      if (!createIfMissing) throw metadataError('notFound', path)
      try {
        // As Pulsar does: an empty record is an empty protobuf message.
        return { info: {}, stat: await this.#store.put(path, '', -1) }
      } catch (error) {
        if (!hasCode(error, 'badVersion')) throw error
      }
    }
  }

  /** Writes the record of a managed ledger. `ERR_METADATA_BAD_VERSION`. */
  async updateLedgerIds(name: string, info: ManagedLedgerInfo, version: number): Promise<Stat> {
    return this.#store.put(pathOf(name), this.#bytesOf(managedLedgerInfo, info), version)
  }

  /** `ERR_METADATA_NOT_FOUND`; `ERR_METADATA_NOT_EMPTY` while the managed ledger has cursors. */
  async removeManagedLedger(name: string): Promise<void> {
    await this.#store.delete(pathOf(name))
  }

  /** Whether there is a record of the managed ledger. */
  async exists(name: string): Promise<boolean> {
    return this.#store.exists(pathOf(name))
  }

  /** Names of the cursors of a managed ledger. */
  async getCursors(name: string): Promise<string[]> {
    return this.#store.getChildren(pathOf(name))
  }

  /** `ERR_METADATA_NOT_FOUND`. */
  async getCursorInfo(name: string, cursor: string): Promise<Versioned<ManagedCursorInfo>> {
    const path = cursorPath(name, cursor)
    const found = await this.#store.get(path)
    if (found === undefined) throw metadataError('notFound', path)
    return read(managedCursorInfo, path, found)
  }

  /** Writes a cursor; version -1 creates it. `ERR_METADATA_BAD_VERSION`. */
  async updateCursorInfo(
    name: string,
    cursor: string,
    info: ManagedCursorInfo,
    version: number,
  ): Promise<Stat> {
    const bytes = this.#bytesOf(managedCursorInfo, info)
    return this.#store.put(cursorPath(name, cursor), bytes, version)
  }

  /** `ERR_METADATA_NOT_FOUND`. */
  async removeCursor(name: string, cursor: string): Promise<void> {
    await this.#store.delete(cursorPath(name, cursor))
  }
}

function pathOf(name: string): string {
  const path = childOf(base, name)
  checkPath(path)
  return path
}

function cursorPath(name: string, cursor: string): string {
  const path = childOf(pathOf(name), cursor)
  checkPath(path)
  return path
}

function read<T extends object>(
  type: MessageType<T>,
  path: string,
  { value, stat }: GetResult,
): Versioned<T> {
  try {
    return { info: fromBinary(type, decompressed(value)), stat }
  } catch (error) {
    throw metadataError('contentDeserialization', path, error)
  }
}
