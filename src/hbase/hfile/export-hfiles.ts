/**
 * Exports a table as HFiles for HBase's bulk load: `directory/family/file`.
 *
 * The cells come from an export of the table with delete markers and masked cells, so the files
 * have what the store has, at one point in time. Files have hidden names, which HBase does not
 * load, until all of them are durable (file-list.ts).
 *
 * Failure behaviour: after an error the files are removed. Those of a process that ended are
 * removed by the next export into the directory.
 */
import { compareBytes } from '../../base/bytes.js'
import { checkAborted, CellarError, ErrorCode } from '../../base/errors.js'
import { systemClock } from '../../base/clock.js'
import { systemRandomBytes } from '../../base/random-bytes.js'
import type { SettingsOf } from '../../base/options.js'
import { checkDatabase, type Database } from '../../api/index.js'
import { writeEscaped } from '../../storage/cell/cell-key.js'
import type { CellView } from '../../storage/cell/cell-view.js'
import { loadChecksums } from '../../storage/codec/checksum.js'
import { loadCodecs } from '../../storage/codec/codec.js'
import { checkDirectory } from '../../storage/engine/options.js'
import { NodeFileSystem } from '../../storage/fs/node-fs.js'
import type { FileSystem } from '../../storage/fs/types.js'
import type { Admin } from '../../table/admin.js'
import { exportedChunks } from '../../table/transfer/export-cells.js'
import { ExportDirectory, hiddenName, type ExportedFile } from './file-list.js'
import { HFileWriter, type HFileFormat } from './hfile-writer.js'
import { exportOptions, type HFileExportOptions } from './options.js'

/** Bytes of cells between two syncs of the open files. */
const syncCells = 200_000

/** The result of an export. */
export interface HFileExport {
  /** Path of the directory, as HBase's `completebulkload` takes it. */
  readonly directory: string
  /** Names and sizes of the files. A family without cells has none. */
  readonly files: readonly ExportedFile[]
  /** Number of cells in them: puts and delete markers. */
  readonly cells: number
}

/**
 * Exports a table as HFiles, which `hbase completebulkload DIRECTORY TABLE` adds to a table of a
 * cluster. The directory must be absent or empty.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_UNSUPPORTED` if the database has no export, or
 *   for a family with `newVersionBehavior`, whose order of writing the files would lack;
 *   `ERR_DIRECTORY_NOT_EMPTY`; `ERR_TABLE_NOT_FOUND`; `ERR_ABORTED`; `ERR_CORRUPTION`, `ERR_IO`,
 *   `ERR_NO_SPACE`. No file is left then.
 */
export async function exportHFiles(
  database: Database,
  table: string,
  directory: string,
  options: HFileExportOptions = {},
): Promise<HFileExport> {
  checkDatabase(database, 'exportHFiles')
  checkDirectory(directory)
  const id = Buffer.from(systemRandomBytes(16)).toString('hex')
  return exportWithId(database, table, directory, id, options)
}

/**
 * As {@link exportHFiles}, unless an earlier call with the same id has exported the table: the id
 * stands in the list. `ERR_DIRECTORY_NOT_EMPTY` if the files there have another one.
 */
export async function exportOnce(
  source: Database,
  table: string,
  directory: string,
  id: string,
  options: HFileExportOptions,
): Promise<HFileExport> {
  const fileSystem = options.fileSystem ?? new NodeFileSystem()
  const found = new ExportDirectory(fileSystem, directory).finished(id)
  if (found === undefined) return exportWithId(source, table, directory, id, options)
  return { directory, files: found, cells: found.reduce((sum, { cells }) => sum + cells, 0) }
}

async function exportWithId(
  database: Database,
  table: string,
  directory: string,
  id: string,
  options: HFileExportOptions,
): Promise<HFileExport> {
  const settings = exportOptions.read(options)
  if (!('exportTable' in database.admin)) {
    const message = 'only an embedded database exports to HFiles: this one has no exportTable'
    throw new CellarError(ErrorCode.unsupported, message)
  }
  const admin = database.admin as unknown as Admin
  const fileSystem = settings.fileSystem ?? new NodeFileSystem()
  await loadChecksums()
  const { signal, snapshot, onProgress } = settings
  const given = { raw: true, versions: 'all', compression: 'NONE', snapshot } as const
  const stream = admin.exportTable(table, given)
  const target = new ExportDirectory(fileSystem, directory)
  let files: Files | undefined
  try {
    for await (const { families, table: head, visit } of exportedChunks(stream, loadCodecs())) {
      checkAborted('the export', signal)
      if (head !== undefined) {
        // The table is there, so the directory may be made.
        target.prepare()
        files = new Files(fileSystem, directory, families, settings)
        continue
      }
      const open = files!
      visit((family, cell) => open.add(family, cell))
      onProgress?.({ cells: open.cells })
      await open.syncWritten()
    }
    const list = files!.finish()
    target.complete(id, list)
    return { directory, files: list, cells: files!.cells }
  } catch (error) {
    // Files stay with a list that stays: it is written when they are durable, and names them.
    if (files !== undefined && target.takeBack(id)) files.abandon()
    throw error
  }
}

/** The open files of an export, one a family, and those that are finished. */
class Files {
  cells = 0
  readonly #fileSystem: FileSystem
  readonly #directory: string
  readonly #formats: readonly HFileFormat[]
  readonly #writers: (HFileWriter | undefined)[]
  readonly #names: string[] = []
  /** Escaped split keys, the next one last. */
  readonly #splits: Buffer[]
  readonly #made: HFileWriter[] = []
  readonly #finished: ExportedFile[] = []
  #syncAt = syncCells

  constructor(
    fileSystem: FileSystem,
    directory: string,
    families: readonly string[],
    settings: SettingsOf<typeof exportOptions>,
  ) {
    const { splitKeys, compression, blockBytes, indexBlockBytes } = settings
    this.#fileSystem = fileSystem
    this.#directory = directory
    const format = { compression, blockBytes, indexBytes: indexBlockBytes }
    const created = systemClock.now()
    this.#formats = families.map((family) => ({ family, created, ...format }))
    this.#writers = families.map(() => undefined)
    this.#splits = splitKeys.map(escaped).sort((a, b) => Buffer.compare(b, a))
  }

  add(family: number, cell: CellView): void {
    const { buffer, keyStart, rowEnd } = cell
    for (let split = this.#splits.at(-1); split !== undefined; split = this.#splits.at(-1)) {
      if (compareBytes(buffer, keyStart, rowEnd, split, 0, split.length) < 0) break
      this.#splits.pop()
      this.#finishOpen()
    }
    const writer = (this.#writers[family] ??= this.#start(family))
    writer.add(cell)
    this.cells++
  }

  /** Makes the written part durable after many cells. */
  async syncWritten(): Promise<void> {
    if (this.cells < this.#syncAt) return
    this.#syncAt = this.cells + syncCells
    await Promise.all(this.#writers.flatMap((writer) => writer?.sync() ?? []))
  }

  finish(): readonly ExportedFile[] {
    this.#finishOpen()
    return this.#finished
  }

  /** Removes the files, all of which are hidden. */
  abandon(): void {
    for (const writer of this.#made) writer.abandon()
  }

  #start(family: number): HFileWriter {
    const folder = this.#fileSystem.join(this.#directory, this.#formats[family].family)
    this.#fileSystem.makeDirectorySync(folder)
    const name = Buffer.from(systemRandomBytes(16)).toString('hex')
    this.#names[family] = name
    const path = this.#fileSystem.join(folder, hiddenName(name))
    const writer = new HFileWriter(this.#fileSystem, path, this.#formats[family])
    this.#made.push(writer)
    return writer
  }

  #finishOpen(): void {
    for (const [i, writer] of this.#writers.entries()) {
      if (writer === undefined) continue
      const bytes = writer.finish()
      const { family } = this.#formats[i]
      this.#finished.push({ family, file: this.#names[i], cells: writer.cells, bytes })
      this.#writers[i] = undefined
    }
  }
}

function escaped(row: Buffer): Buffer {
  const bytes = Buffer.alloc(2 * row.length)
  return bytes.subarray(0, writeEscaped(bytes, 0, row))
}
