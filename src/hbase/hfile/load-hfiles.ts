/**
 * Loads HFiles of a cluster into a table: of copied region directories, or of an export for a bulk
 * load, `directory/family/file`.
 *
 * The cells are merged and go as a stream of an export to `importTable`, which checks them again,
 * and adds all of them at once when every file was read to its end. So a file that is damaged, cut
 * or not readable loads nothing.
 */
import { checkArray } from '../../base/arguments.js'
import { equalBytes } from '../../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import type { SettingsOf } from '../../base/options.js'
import { checkDatabase, type Database } from '../../api/index.js'
import { plainTableName } from '../../api/names.js'
import { rowEndOf, terminatorBytes } from '../../storage/cell/cell-key.js'
import { loadChecksums } from '../../storage/codec/checksum.js'
import { checkDirectory } from '../../storage/engine/options.js'
import { NodeFileSystem } from '../../storage/fs/node-fs.js'
import type { FileSystem } from '../../storage/fs/types.js'
import type { Admin } from '../../table/admin.js'
import { ExportCollector } from '../../table/transfer/export-collector.js'
import { ChunkEncoder, ChunkKind, exportMagic } from '../../table/transfer/export-format.js'
import { plainCodec } from '../../table/transfer/export-table.js'
import { ExportDirectory } from './file-list.js'
import { HFileReader } from './hfile-reader.js'
import { HFileMerge, type MergedFile } from './merge.js'
import { loadOptions, type HFileLoadOptions } from './options.js'
import { unsupported } from './trailer.js'

/** Versions of the families of a table that a load creates: as many as HBase allows. */
const allVersions = 0x7fff_ffff
/** Bytes of a key from its sequence on. */
const sequenceFromEnd = 9

/** The result of a load. */
export interface HFileLoad {
  /** Name of the table. */
  readonly table: string
  /** Number of files. */
  readonly files: number
  /** Number of rows. */
  readonly rows: number
  /** Number of cells that were added. Of equal cells of the files only the newest one is. */
  readonly cells: number
}

/**
 * Adds the cells of HFiles to a table of an embedded database, with timestamps, delete markers and
 * TTLs: all of them at once, or none. They count as written at the end of the load. An absent
 * table is created with the families of the files, each of which keeps all versions.
 *
 * `directories` are regions of a cluster, copied with `hdfs dfs -get`, or those of bulk loads.
 *
 * @throws CellarError `ERR_INVALID_ARGUMENT`; `ERR_CORRUPTION` with file and offset;
 *   `ERR_UNSUPPORTED` if the database has no import, or a file has an encoding, encryption, a
 *   compression but NONE, GZ and LZ4, tags but TTLs below 2^48 ms, negative times, or markers of
 *   the family with a qualifier; `ERR_FORMAT_VERSION`;
 *   `ERR_NO_SUCH_COLUMN_FAMILY`; `ERR_READ_ONLY`; `ERR_ABORTED`; `ERR_IO`.
 */
export async function loadHFiles(
  database: Database,
  table: string,
  directories: readonly string[],
  options: HFileLoadOptions = {},
): Promise<HFileLoad> {
  checkDatabase(database, 'loadHFiles')
  const name = plainTableName(table)
  const list = checkArray(directories, 'the directories')
  if (list.length === 0) throw invalidArgument('a load of HFiles needs a directory')
  for (const directory of list) checkDirectory(directory)
  const settings = loadOptions.read(options)
  if (!('importTable' in database.admin)) {
    const message = 'only an embedded database loads HFiles: HBase has completebulkload'
    throw new CellarError(ErrorCode.unsupported, message)
  }
  await loadChecksums()
  const sources = list.flatMap((directory) => {
    return filesOf(settings.fileSystem ?? new NodeFileSystem(), directory)
  })
  const admin = database.admin as unknown as Admin
  const given = { table: name, source: 'the HFiles', signal: settings.signal }
  const { rows, cells } = await admin.importTable(stream(name, sources, settings), given)
  return { table: name, files: sources.length, rows, cells }
}

interface Source {
  readonly fileSystem: FileSystem
  readonly path: string
  readonly family: string
  readonly loadSequence: number | undefined
}

/**
 * The HFiles of a directory. `ERR_INVALID_ARGUMENT`; `ERR_UNSUPPORTED` for references;
 * `ERR_CORRUPTION` for an export of Cellar that did not end, or lacks a file.
 */
function filesOf(fileSystem: FileSystem, directory: string): Source[] {
  if (fileSystem.statSync(directory)?.kind !== 'directory') {
    throw invalidArgument(`${directory} is no directory`)
  }
  const sources: Source[] = []
  for (const family of fileSystem.listSync(directory).sort()) {
    const folder = fileSystem.join(directory, family)
    const isOfRegion = family.startsWith('.') || family === 'recovered.edits'
    if (isOfRegion || fileSystem.statSync(folder)?.kind !== 'directory') continue
    for (const name of shownNames(fileSystem, folder)) {
      const path = fileSystem.join(folder, name)
      if (fileSystem.statSync(path)?.kind !== 'file') continue
      if (/[.=]/.test(name)) {
        throw unsupported(path, 'refers to another file: compact the region in HBase first')
      }
      const loaded = /_SeqId_(\d+)_$/.exec(name)
      const loadSequence = loaded === null ? undefined : Number(loaded[1])
      sources.push({ fileSystem, path, family, loadSequence })
    }
  }
  const paths = new Set(sources.map(({ path }) => path))
  new ExportDirectory(fileSystem, directory).checkComplete(paths)
  if (sources.length > 0) return sources
  throw invalidArgument(`${directory} holds no HFiles: they lie in it as family/file`)
}

/** Names of a folder of a family that HBase's bulk load does not pass over, in order. */
function shownNames(fileSystem: FileSystem, directory: string): string[] {
  return fileSystem
    .listSync(directory)
    .filter((name) => !/^[._]/.test(name))
    .sort()
}

/** The cells of the files as a stream of an export. */
async function* stream(
  table: string,
  sources: readonly Source[],
  { onProgress }: SettingsOf<typeof loadOptions>,
): AsyncGenerator<Buffer, void> {
  const families = [...new Set(sources.map(({ family }) => family))].sort()
  const description = Object.fromEntries(families.map((name) => [name, { versions: allVersions }]))
  const encoder = new ChunkEncoder(plainCodec)
  yield exportMagic
  const head = { format: 1, families, table: { name: table, families: description } }
  yield encoder.encode(ChunkKind.head, Buffer.from(JSON.stringify(head)))
  const files: MergedFile[] = []
  try {
    for (const { fileSystem, path, family, loadSequence } of sources) {
      const reader = HFileReader.open(fileSystem, path, family, loadSequence)
      files.push({ reader, family: families.indexOf(family) })
    }
    const collector = new ExportCollector()
    const cells = new MergedCells(files)
    for (let more = true; more;) {
      more = cells.fill(collector)
      for (const payload of collector.take()) yield encoder.encode(ChunkKind.cells, payload)
      onProgress?.({ cells: collector.cells })
    }
    const { rows, cells: count, bytes } = collector
    const end = JSON.stringify({ rows, cells: count, bytes })
    yield encoder.encode(ChunkKind.end, Buffer.from(end))
  } finally {
    for (const { reader } of files) reader.close()
  }
}

/** The merged cells, each of equal ones once. */
class MergedCells {
  readonly #merge: HFileMerge
  /** The key of the cell before. */
  #last = Buffer.alloc(0)
  #lastEnd = 0
  #lastFamily = -1

  constructor(files: readonly MergedFile[]) {
    this.#merge = new HFileMerge(files)
  }

  /** Adds cells until the collector is full; false at the end. */
  fill(collector: ExportCollector): boolean {
    const merge = this.#merge
    for (let file = merge.first; file !== undefined; file = merge.first) {
      const { reader, family } = file
      const { buffer, keyStart, keyEnd, valueEnd } = reader
      if (!this.#isEqual(buffer, keyStart, keyEnd, family)) {
        if (!this.#isInRow(buffer, keyStart, keyEnd)) collector.startRow()
        collector.addRange(family, buffer, keyStart, keyEnd, valueEnd)
        this.#keep(buffer, keyStart, keyEnd, family)
      }
      if (reader.isLastOfBlock) collector.settle()
      merge.advance()
      if (collector.full) return true
    }
    return false
  }

  #isEqual(buffer: Buffer, start: number, end: number, family: number): boolean {
    const lastEnd = this.#lastEnd - sequenceFromEnd
    return (
      family === this.#lastFamily &&
      equalBytes(buffer, start, end - sequenceFromEnd, this.#last, 0, lastEnd)
    )
  }

  #isInRow(buffer: Buffer, start: number, end: number): boolean {
    if (this.#lastEnd === 0) return false
    const rowEnd = rowEndOf(buffer, start, end) + terminatorBytes
    const lastRowEnd = rowEndOf(this.#last, 0, this.#lastEnd) + terminatorBytes
    return equalBytes(buffer, start, rowEnd, this.#last, 0, lastRowEnd)
  }

  #keep(buffer: Buffer, start: number, end: number, family: number): void {
    if (this.#last.length < end - start) this.#last = Buffer.alloc(2 * (end - start))
    buffer.copy(this.#last, 0, start, end)
    this.#lastEnd = end - start
    this.#lastFamily = family
  }
}
