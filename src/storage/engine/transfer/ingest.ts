/**
 * Adds finished SSTables to a table: bulk load, and the last step of an import.
 *
 * As in HBase's bulk load, the cells of a file count as written by one mutation at the moment of
 * the load. Each file gets a sequence of its own, in the order of the files. So of equal cells
 * (same column, timestamp and type) the one in the last file is visible, and a load hides older
 * equal cells. One edit makes all files of a load visible at the same moment, over all families.
 * Snapshots and scans that are already open do not see them.
 *
 * The edit is durable when the promise resolves. The log does not contain the cells, so a change
 * feed does not show them.
 *
 * Files are linked or copied into the directory under new numbers, and verified there. If an error
 * occurs before the edit, they are removed at once; after a crash, by the next open.
 */
import { CellarError, checkAborted, ErrorCode } from '../../../base/errors.js'
import { copyFile, linkOrCopy, syncFile } from '../../fs/copy-file.js'
import { bulkListPath, readBulkListSync, type BulkFile } from '../../job/bulk-list.js'
import { metadataOf } from '../../job/sstable-output.js'
import { runInSlices } from '../../job/threads/executor.js'
import { verifyBulkFile } from '../../job/verify-bulk-file.js'
import { noDatabaseId } from '../../sstable/format.js'
import { SsTableReader } from '../../sstable/reader.js'
import type { TableDefinition } from '../../version/catalog.js'
import type { FileMetadata, StoreFile } from '../../version/file-metadata.js'
import { formatFileName } from '../../version/file-names.js'
import type { TableState } from '../catalog/catalog.js'
import type { Ddl } from '../catalog/ddl.js'
import type { Engine } from '../engine.js'
import { FileAdoption } from '../catalog/file-adoption.js'

/** A file in the database directory that is not part of its table yet. */
export interface NewFile {
  readonly family: string
  readonly file: FileMetadata
}

/** Options of a bulk load. */
export interface LoadRequest {
  /** Whether to copy the files and leave the originals in place. */
  readonly copy: boolean
  readonly signal?: AbortSignal | undefined
  /** Called repeatedly with the verified part of all bytes, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
}

/** Totals of a bulk load. */
export interface Loaded {
  readonly files: number
  readonly cells: number
  readonly bytes: number
}

interface Source {
  readonly directory: string
  readonly listed: BulkFile
}

export class Ingest {
  private readonly engine: Engine
  private readonly ddl: Ddl

  constructor(engine: Engine, ddl: Ddl) {
    this.engine = engine
    this.ddl = ddl
  }

  /** Loads the files of finished bulk directories. Errors: see `Admin.bulkLoad`. */
  load(tableName: string, directories: readonly string[], request: LoadRequest): Promise<Loaded> {
    return this.engine.lifecycle.change(() => this.loadNow(tableName, directories, request))
  }

  private async loadNow(
    tableName: string,
    directories: readonly string[],
    request: LoadRequest,
  ): Promise<Loaded> {
    const { fileSystem } = this.engine
    const table = this.engine.catalog.find(tableName)
    checkLoadable(table)
    const sources = directories.flatMap((directory) =>
      readBulkListSync(fileSystem, directory).map((listed) => ({ directory, listed })),
    )
    for (const { listed } of sources) storeIdOf(table, listed.family)
    const adoption = new FileAdoption(this.engine)
    let published: readonly NewFile[]
    try {
      const files = await this.takeIn(adoption, sources, request)
      checkAborted('the bulk load', request.signal)
      published = await this.publish(tableName, files)
    } catch (error) {
      // A failed edit may be in the manifest, so its files must stay.
      if (this.engine.lifecycle.failure === undefined) adoption.abandon()
      throw error
    }
    if (!request.copy) this.removeSources(directories, sources)
    return {
      files: published.length,
      cells: published.reduce((sum, { file }) => sum + file.entryCount, 0),
      bytes: published.reduce((sum, { file }) => sum + file.fileBytes, 0),
    }
  }

  /**
   * Publishes files that are in the directory already. Throws `ERR_TABLE_NOT_FOUND`,
   * `ERR_TABLE_NOT_ENABLED` or `ERR_READ_ONLY`.
   */
  publish(tableName: string, files: readonly NewFile[]): Promise<readonly NewFile[]> {
    return this.ddl.enqueue(async () => {
      const table = this.engine.catalog.find(tableName)
      checkLoadable(table)
      await this.publishNow(files, (family) => storeIdOf(table, family))
      for (const family of new Set(files.map((file) => file.family))) {
        const { store } = table.familyByName.get(family)!
        this.engine.background.filesAdded(store)
      }
      return files
    })
  }

  /** As {@link publish}, in one edit with the creation of the table. Throws `ERR_TABLE_EXISTS`. */
  publishNew(
    name: string,
    define: () => TableDefinition,
    files: readonly NewFile[],
  ): Promise<TableState> {
    return this.ddl.enqueue(async () => {
      this.engine.catalog.checkNew(name)
      this.engine.catalog.checkNamespace(name)
      const definition = define()
      const storeId = (family: string): number =>
        definition.families.find((other) => other.name === family)!.storeId
      await this.ddl.prepare(definition)
      await this.publishNow(files, storeId, definition)
      return this.ddl.install(definition)
    })
  }

  /**
   * Assigns sequences and publishes the files in one turn of the event loop. So no reader can have
   * a read point at or above the sequences without seeing the files.
   */
  private async publishNow(
    files: readonly NewFile[],
    storeIdOfFamily: (family: string) => number,
    created?: TableDefinition,
  ): Promise<void> {
    const { catalog, lifecycle, log, publisher, readers, readPoints } = this.engine
    await log.commit('FSYNC_WAL')
    lifecycle.checkWritable()
    log.commitSync('FSYNC_WAL')
    const base = readPoints.lastSequence
    const filesAdded = files.map(({ family, file }, position): StoreFile => {
      const sequence = base + 1 + position
      const assigned = {
        ...file,
        sequenceAssigned: sequence,
        minSequence: sequence,
        maxSequence: sequence,
      }
      const { firstKey, lastKey } = readers.open(assigned).properties
      return { storeId: storeIdOfFamily(family), file: { ...assigned, firstKey, lastKey } }
    })
    const lastSequence = base + files.length
    const creation =
      created === undefined
        ? {}
        : {
            tablesCreated: [created],
            flushedSequences: created.families.map(({ storeId }) => {
              return { storeId, sequence: lastSequence }
            }),
          }
    publisher.publishSync({ ...creation, filesAdded, lastSequence }, () => {
      readPoints.lastSequence = lastSequence
      for (const { storeId } of filesAdded) {
        const store = catalog.stores.get(storeId)
        if (store !== undefined) store.unloggedMutations++
      }
    })
  }

  private async takeIn(
    adoption: FileAdoption,
    sources: readonly Source[],
    request: LoadRequest,
  ): Promise<NewFile[]> {
    const { fileSystem, directory } = this.engine
    const total = sources.reduce((sum, { listed }) => sum + listed.fileBytes, 0)
    const files: NewFile[] = []
    let done = 0
    for (const source of sources) {
      const { family, fileBytes } = source.listed
      const onPart = (bytes: number): void => {
        // A close waits for the load, so the load must end soon.
        this.engine.lifecycle.checkWritable()
        checkAborted('the bulk load', request.signal)
        request.onProgress?.((done + bytes) / total)
      }
      files.push({ family, file: await this.takeInFile(adoption, source, request.copy, onPart) })
      done += fileBytes
    }
    if (files.length > 0) fileSystem.syncDirectorySync(directory)
    return files
  }

  private async takeInFile(
    adoption: FileAdoption,
    { directory, listed }: Source,
    copy: boolean,
    onPart: (bytes: number) => void,
  ): Promise<FileMetadata> {
    const { fileSystem, readers } = this.engine
    onPart(0)
    const from = fileSystem.join(directory, formatFileName('table', listed.fileNumber))
    const fileNumber = adoption.allocate()
    const path = readers.pathOf(fileNumber)
    if (copy) await copyFile(fileSystem, from, path)
    else await linkOrCopy(fileSystem, from, path)
    // The program that wrote the file may not have synced it.
    await syncFile(fileSystem, path)
    try {
      return await this.verifyFile(path, fileNumber, listed, onPart)
    } catch (error) {
      throw withPath(error, path, from)
    }
  }

  /** Opens and verifies a file in the directory, and returns its description for the manifest. */
  private async verifyFile(
    path: string,
    fileNumber: number,
    listed: BulkFile,
    onPart: (bytes: number) => void,
  ): Promise<FileMetadata> {
    const { fileSystem } = this.engine
    const reader = SsTableReader.openSync(fileSystem, path, listed.fileNumber, {
      codecs: this.engine.codecs,
      databaseId: noDatabaseId,
      expectedBytes: listed.fileBytes,
    })
    try {
      if (reader.properties.entryCount !== listed.entryCount) {
        throw reader.damagedBlock(0, `${listed.entryCount} entries`, 'another number')
      }
      await runInSlices(withProgress(verifyBulkFile(reader), reader, onPart))
      onPart(listed.fileBytes)
      const { properties, fileBytes, writtenAs } = reader
      const facts = {
        fileNumber,
        fileBytes,
        level: 0,
        createdMilliseconds: this.engine.clock.now(),
      }
      return { ...metadataOf(properties, facts), writtenAs, fromBulkWriter: true }
    } finally {
      reader.closeSync()
    }
  }

  /** Removes the original files, as HBase does. They are part of the table now. */
  private removeSources(directories: readonly string[], sources: readonly Source[]): void {
    const { fileSystem } = this.engine
    const paths = [
      ...directories.map((directory) => bulkListPath(fileSystem, directory)),
      ...sources.map(({ directory, listed }) =>
        fileSystem.join(directory, formatFileName('table', listed.fileNumber)),
      ),
    ]
    for (const path of paths) {
      try {
        fileSystem.unlinkSync(path)
      } catch (error) {
        this.engine.reports.warn(error)
      }
    }
  }
}

/**
 * Replaces the path of the linked file by that of the caller's file in an error. The linked file is
 * removed with the failed load.
 */
function withPath(error: unknown, taken: string, source: string): unknown {
  if (!(error instanceof CellarError) || !error.message.includes(taken)) return error
  const { code, corruption: detail, cause } = error
  const found = detail?.file === taken ? { ...detail, file: source } : detail
  const options = { cause, ...(found !== undefined && { corruption: found }) }
  return new CellarError(code, error.message.replaceAll(taken, source), options)
}

function* withProgress(
  steps: Generator<void, void>,
  reader: SsTableReader,
  onPart: (bytes: number) => void,
): Generator<void, void> {
  const { counters, fileBytes } = reader
  while (steps.next().done !== true) {
    // Each block is read twice.
    onPart(Math.min(fileBytes, counters.blockBytesRead / 2))
    yield
  }
}

function storeIdOf(table: TableState, family: string): number {
  const found = table.familyByName.get(family)
  if (found !== undefined) return found.store.storeId
  const message =
    `the bulk files hold column family '${family}', which table '${table.name}' does not have; ` +
    `it has: ${table.familyNames.join(', ')}`
  throw new CellarError(ErrorCode.noSuchColumnFamily, message)
}

/** Throws `ERR_TABLE_NOT_ENABLED` or `ERR_READ_ONLY` if the table takes no files. */
export function checkLoadable(table: TableState): void {
  if (table.settings.disabled) {
    throw new CellarError(ErrorCode.tableNotEnabled, `table '${table.name}' is disabled`)
  }
  if (table.settings.readOnly) {
    throw new CellarError(ErrorCode.readOnly, `table '${table.name}' is read-only`)
  }
}
