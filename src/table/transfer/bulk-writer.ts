/**
 * Writes SSTables outside of a database, for `Admin.bulkLoad` (HBase: HFileOutputFormat2): sorted
 * rows in, a directory with finished files and their list out. No open database is needed; any
 * process can do it.
 *
 * Rows come in ascending order of their bytes, each once, and the cells of a row in any order. Of
 * equal cells (column, timestamp, type) the last one counts, as in a put. All cells without
 * timestamp get the same one: that of the writer.
 *
 * The methods are synchronous, like `putSync`; files are cut between rows. The memory is one row,
 * and for each family a block, a chunk and the index of the open file.
 *
 * Failure behaviour: invalid input changes nothing, and the writer stays usable. After any other
 * error it must be abandoned. A directory without its list, `BULK`, is incomplete and is not
 * loaded.
 */
import { noSuchFamily } from '../../api/names.js'
import { checkBytesLike, checkObject, readArguments } from '../../base/arguments.js'
import { assert } from '../../base/assert.js'
import { toBytes } from '../../base/bytes.js'
import { CellarError, closedError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { systemClock } from '../../base/clock.js'
import {
  checked,
  declareOptions,
  integer,
  type Option,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'
import {
  isFamilyMarker,
  keyBytesBound,
  writeKeySuffix,
  writeTerminator,
} from '../../storage/cell/cell-key.js'
import type { CellTypeCode } from '../../storage/cell/cell-type.js'
import { valueHeaderBytes, writeValueHeader } from '../../storage/cell/cell-value.js'
import { CellView } from '../../storage/cell/cell-view.js'
import { cellOverheadBytes, checkCellBytes } from '../../storage/cell/limits.js'
import {
  checkTimestamp,
  latestTimestamp,
  timestampHigh,
  timestampLow,
  type Timestamp,
} from '../../storage/cell/timestamp.js'
import { loadChecksums } from '../../storage/codec/checksum.js'
import { loadCodecs } from '../../storage/codec/codec.js'
import { NodeFileSystem } from '../../storage/fs/node-fs.js'
import { removeQuietly } from '../../storage/fs/quietly.js'
import type { FileSystem } from '../../storage/fs/types.js'
import { temporarySuffix } from '../../storage/fs/whole-file.js'
import { bulkListPath, writeBulkListSync } from '../../storage/job/bulk-list.js'
import { SortedFiles } from '../../storage/job/sorted-files.js'
import { noDatabaseId } from '../../storage/sstable/format.js'
import { formatOfFamily, type FamilySettings } from '../../storage/store/family-settings.js'
import { parseSingleColumn } from '../../storage/cell/column-name.js'
import { checkForm } from '../../checks/forms.js'
import { markerWithQualifier, readPut, type PutTarget } from '../../checks/puts.js'
import { checkDirectory, databaseOptions, fileSystemOption } from '../../storage/engine/options.js'
import { RowKey } from '../arguments/row-key.js'
import { parseFamilyOptions } from '../admin/schema.js'
import type { BytesLike, ColumnName, FamilyOptions, Put } from '../../api/index.js'

interface FamilyOfFiles {
  readonly name: string
  readonly settings: FamilySettings
}

/** The only option that must be given. */
const familiesOption: Option<Readonly<Record<string, FamilyOptions>>, readonly FamilyOfFiles[]> = {
  read(value) {
    const given = value as Readonly<Record<string, FamilyOptions>>
    const families = Object.entries(checkObject(given, 'families of a bulk writer'))
    if (families.length === 0) throw invalidArgument('a bulk writer needs at least one family')
    return families.map(([name, family]) => {
      return { name, settings: parseFamilyOptions(name, family) }
    })
  },
}

function readTimestamp(timestamp: Timestamp, what: string): Timestamp {
  checkTimestamp(timestamp, what)
  return timestamp
}

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

const writerOptions = declareOptions('a bulk writer', {
  families: familiesOption,
  /** A file is cut at the first row after this many bytes. Default 256 MiB, at least 64 KiB. */
  fileBytesMax: integer({ min: 64 * kibibyte, default: 256 * mebibyte }),
  /** Timestamp of cells without one. Default: the time of the writer's creation. */
  timestamp: checked(readTimestamp),
  /** As the option of the database. Default 10 MiB. */
  cellBytesMax: databaseOptions.cellBytesMax,
  /** Default: the machine's file system. */
  fileSystem: fileSystemOption,
  /** As the option of the database. */
  nativeFree: databaseOptions.nativeFree,
})

/** Options of a bulk writer. */
export interface BulkWriterOptions extends OptionsOf<typeof writerOptions> {
  /**
   * The families of the files. Of their options block size, compression and Bloom filter have an
   * effect. `Admin.getDescriptor(table).families` gives those of a table.
   */
  readonly families: Readonly<Record<string, FamilyOptions>>
}

/** The result of a bulk writer. */
export interface BulkSummary {
  /** Path of the directory. */
  readonly directory: string
  /** Number of files. */
  readonly files: number
  /** Rows in them. */
  readonly rows: number
  /** Cells in them. */
  readonly cells: number
  /** Size of the files. */
  readonly bytes: number
}

/** The settings that the encoding of a row needs. */
interface BulkSettings {
  readonly families: readonly FamilyOfFiles[]
  /** Of cells without a timestamp. */
  readonly timestamp: Timestamp
  readonly cellBytesMax: number
}

/** An encoded cell of the current row. */
interface EncodedCell {
  readonly family: number
  readonly key: Buffer
  /** Key and stored value, side by side. */
  readonly entry: Buffer
}

/** Encodes the cells of one row. */
class BulkRow implements PutTarget {
  cells: EncodedCell[] = []
  private readonly families: readonly string[]
  private readonly positions: ReadonlyMap<string, number>
  private readonly settings: BulkSettings
  private readonly row = new RowKey()

  constructor(settings: BulkSettings) {
    this.settings = settings
    this.families = settings.families.map(({ name }) => name)
    this.positions = new Map(this.families.map((name, position) => [name, position]))
  }

  /** Encodes a row; returns its key. */
  read(put: Omit<Put, 'durability'>): Buffer {
    if ('durability' in put) throw invalidArgument('a row of a bulk writer has no durability')
    this.row.set(checkForm(put, 'put').row)
    this.cells = []
    readPut(put, this)
    return this.row.copy()
  }

  addCell(
    column: ColumnName,
    _place: number,
    type: CellTypeCode,
    given: Timestamp | undefined,
    ttl: number,
    value: BytesLike,
  ): void {
    const { settings, row } = this
    const { family, escapedQualifier: qualifier } = parseSingleColumn(column)
    const position = this.positions.get(family)
    if (position === undefined) throw noSuchFamily(family, 'of the bulk writer', this.families)
    if (isFamilyMarker(type) && qualifier.length > 0) throw markerWithQualifier()
    const isOwn = given !== undefined && given !== latestTimestamp
    const timestamp = isOwn ? given : settings.timestamp
    checkTimestamp(timestamp, 'timestamp')
    checkBytesLike(value, 'value')
    const content = toBytes(value)
    const bytes = row.length + family.length + qualifier.length + content.length
    checkCellBytes(bytes + cellOverheadBytes, settings.cellBytesMax)
    const room = keyBytesBound(row.length, qualifier.length) + content.length
    const entry = Buffer.allocUnsafe(room + valueHeaderBytes(ttl))
    let at = row.buffer.copy(entry, 0, 0, row.length)
    at = writeTerminator(entry, at)
    at += qualifier.copy(entry, at)
    at = writeTerminator(entry, at)
    const high = timestampHigh(timestamp)
    const keyEnd = writeKeySuffix(entry, at, high, timestampLow(timestamp), type, 0, row.length)
    const contentAt = writeValueHeader(entry, keyEnd, ttl)
    content.copy(entry, contentAt)
    const end = contentAt + content.length
    const key = entry.subarray(0, keyEnd)
    this.cells.push({ family: position, key, entry: entry.subarray(0, end) })
  }
}

/** Writes sorted rows as the files of a bulk load; see the file header. */
export class BulkWriter {
  /** Rows added so far. */
  rows = 0
  /** Cells added so far. */
  cells = 0
  /** Path of the directory. */
  readonly directory: string
  readonly #fileSystem: FileSystem
  readonly #families: readonly string[]
  readonly #files: SortedFiles
  readonly #row: BulkRow
  readonly #cell = new CellView()
  #lastRow: Buffer | undefined = undefined
  #ended = false
  /** Whether {@link abandon} removes the files. */
  #removable = true

  /**
   * Starts writing into a directory, which must be absent or empty. `ERR_INVALID_ARGUMENT`,
   * `ERR_IO`, `ERR_NO_SPACE`, `ERR_READ_ONLY`.
   */
  static async create(directory: string, options: BulkWriterOptions): Promise<BulkWriter> {
    checkDirectory(directory)
    const settings = writerOptions.read(options, { timestamp: systemClock.now() })
    await loadChecksums()
    return new BulkWriter(directory, settings)
  }

  private constructor(directory: string, settings: SettingsOf<typeof writerOptions>) {
    const { families, fileBytesMax, nativeFree, timestamp = 0, cellBytesMax } = settings
    this.directory = directory
    this.#fileSystem = settings.fileSystem ?? new NodeFileSystem()
    this.#families = families.map(({ name }) => name)
    this.#row = new BulkRow({ families, timestamp, cellBytesMax })
    prepareDirectory(this.#fileSystem, directory)
    let lastFileNumber = 0
    this.#files = new SortedFiles({
      fileSystem: this.#fileSystem,
      codecs: loadCodecs({ nativeFree }),
      directory,
      databaseId: noDatabaseId,
      formats: families.map((family) => formatOfFamily(family.settings)),
      fileBytesMax,
      allocateFileNumber: () => ++lastFileNumber,
      createdMilliseconds: systemClock.now(),
    })
  }

  /**
   * Adds a row, whose cells may be delete markers (`type`). `ERR_INVALID_ARGUMENT` if the row is
   * not above the previous one, and for all rows that a put rejects: no cell is added then.
   */
  add(put: Omit<Put, 'durability'>): void {
    if (this.#ended) throw closedError('the bulk writer')
    const escaped = readArguments(() => this.#row.read(put))
    if (this.#lastRow !== undefined && Buffer.compare(this.#lastRow, escaped) >= 0) {
      throw invalidArgument(`row ${rowText(put.row)} is not above the row before it`)
    }
    this.#lastRow = escaped
    for (const { family, key, entry } of sorted(this.#row.cells)) {
      const keyEnd = key.length
      const valueEnd = entry.length
      this.#cell.set({ buffer: entry, keyStart: 0, keyEnd, valueStart: keyEnd, valueEnd })
      this.#files.add(family, this.#cell)
      this.cells++
    }
    this.rows++
  }

  /** Completes and syncs the files and writes their list. The writer cannot be used afterwards. */
  finish(): BulkSummary {
    if (this.#ended) throw closedError('the bulk writer')
    this.#ended = true
    const files = this.#files.finish().map(({ family, file }) => {
      const { fileNumber, fileBytes, entryCount } = file
      return { family: this.#families[family], fileNumber, fileBytes, entryCount }
    })
    const written = files.reduce((sum, { entryCount }) => sum + entryCount, 0)
    assert(written === this.cells, 'the files hold the cells that were added')
    writeBulkListSync(this.#fileSystem, this.directory, files)
    this.#removable = false
    const bytes = files.reduce((sum, { fileBytes }) => sum + fileBytes, 0)
    const { directory, rows, cells } = this
    return { directory, files: files.length, rows, cells, bytes }
  }

  /** Removes the written files; no effect after a {@link finish} that has succeeded. */
  abandon(): void {
    if (!this.#removable) return
    this.#removable = false
    this.#ended = true
    // A failed sync of the directory leaves the list, too.
    const list = bulkListPath(this.#fileSystem, this.directory)
    for (const path of [list, list + temporarySuffix]) removeQuietly(this.#fileSystem, path)
    this.#files.abandon()
  }
}

/** Sorts the cells in the order of the files; of equal cells only the last is kept. */
function sorted(cells: EncodedCell[]): EncodedCell[] {
  cells.sort((a, b) => a.family - b.family || Buffer.compare(a.key, b.key))
  return cells.filter((cell, i) => {
    const next = cells.at(i + 1)
    return next === undefined || next.family !== cell.family || !next.key.equals(cell.key)
  })
}

function prepareDirectory(fileSystem: FileSystem, directory: string): void {
  fileSystem.makeDirectorySync(directory)
  fileSystem.syncDirectorySync(fileSystem.join(directory, '..'))
  const [found] = fileSystem.listSync(directory)
  if (found === undefined) return
  const what = found === bulkListPath(fileSystem, '') ? 'finished bulk files' : found
  const message = `${directory} must be empty for a bulk writer; it holds ${what}`
  throw new CellarError(ErrorCode.invalidArgument, message)
}

function rowText(row: BytesLike): string {
  return JSON.stringify(typeof row === 'string' ? row : Buffer.from(row).toString('latin1'))
}
