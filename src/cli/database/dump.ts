/** `cellar dump` and `cellar load`: the cells of a table as text, and back, without loss. */
import { createReadStream, createWriteStream, lstatSync, renameSync } from 'node:fs'
import { once } from 'node:events'
import { rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { finished } from 'node:stream/promises'
import { CellarError, invalidArgument, type Put, type PutCell } from '../../api/index.js'
import { systemRandomBytes } from '../../base/random-bytes.js'
import type { Database, EmbeddedTable } from '../../entries/index.js'
import { loadCodecs } from '../../storage/codec/codec.js'
import { NodeFileSystem } from '../../storage/fs/node-fs.js'
import { exportedCells, type ExportedCell } from '../../table/transfer/export-cells.js'
import { looking, writing, type DirectoryWords } from './open.js'
import { Output } from './output.js'
import { Progress } from './progress.js'
import { parseBinary } from '../../server/database/json.js'
import {
  cellLine,
  endLine,
  headLine,
  readCsv,
  readJsonLines,
  type DumpLine,
  type TextFormat,
} from './text-formats.js'

/** Options of `cellar dump`. */
export interface DumpWords extends DirectoryWords {
  readonly format: TextFormat
  readonly output?: string
  readonly raw?: true
  readonly from?: string
  readonly to?: string
}

/**
 * Writes all versions of all cells of a table; with `raw` the delete markers too. A file gets its
 * name when it is whole.
 */
export async function dump(table: string, words: DumpWords): Promise<void> {
  const { output: file } = words
  if (file === undefined) {
    await dumpTo(new Output(false), table, words)
    return
  }
  refuseExisting(file)
  // A dump gets its name when it is whole and on the disk: no file of that name is a part of one.
  // What another process has left, or is writing, has another name.
  const part = `${file}.${Buffer.from(systemRandomBytes(8)).toString('hex')}.unfinished`
  const stream = createWriteStream(part, { flags: 'wx', mode: 0o600, flush: true })
  await once(stream, 'open')
  const ended = finished(stream)
  try {
    await Promise.race([ended, dumpTo(new Output(false, stream), table, words)])
    stream.end()
    await ended
    refuseExisting(file)
    renameSync(part, file)
  } catch (error) {
    stream.destroy()
    await ended.catch(() => undefined)
    // The part counts for nothing, and the error tells the reason.
    await rm(part, { force: true }).catch(() => undefined)
    throw error
  }
  await new NodeFileSystem().syncDirectory(dirname(file))
}

function refuseExisting(file: string): void {
  const found = lstatSync(file, { throwIfNoEntry: false })
  if (found !== undefined) throw invalidArgument(`${file} exists already`)
}

async function dumpTo(output: Output, table: string, words: DumpWords): Promise<void> {
  const { format, raw, from, to } = words
  const progress = new Progress('dumping')
  let cells = 0
  await looking(words, async (database) => {
    const source = database.admin.exportTable(table, {
      ...{ versions: 'all' as const, raw: raw === true, compression: 'NONE' as const },
      ...(from !== undefined && { startRow: parseBinary(from) }),
      ...(to !== undefined && { stopRow: parseBinary(to) }),
    })
    for await (const part of exportedCells(source, loadCodecs())) {
      if ('table' in part) {
        await output.line(headLine(format, part.table))
        continue
      }
      for (const cell of part) await output.line(cellLine(format, cell))
      cells += part.length
      progress.show(() => `${cells} cells`)
    }
    const end = endLine(format, cells)
    if (end !== undefined) await output.line(end)
  }).finally(() => progress.end())
}

/** Options of `cellar load`. */
export interface LoadWords extends DirectoryWords {
  readonly format: TextFormat
  readonly table?: string
}

/** Cells, and their bytes, after which no further row is written together with them. */
const batchCells = 500
const batchBytes = 1024 * 1024
/** Bytes at which a row is cut, so that a wide one does not fill the memory. */
const batchBytesMax = 8 * 1024 * 1024
/** Bytes of a cell in memory beside its row, qualifier and value. */
const cellBytes = 64

/** A put that grows while lines of its row come. */
interface RowPut extends Put {
  readonly row: Buffer
  readonly cells: PutCell[]
}

/**
 * Puts the cells of a dump into a table, which is created as it was if it is absent. Loading a dump
 * twice leaves the same cells. Of several dumps in one file each goes to its own table.
 */
export async function load(source: string, words: LoadWords): Promise<void> {
  const stream = source === '-' ? process.stdin : createReadStream(source)
  if (source !== '-') await once(stream, 'open')
  const pieces = textOf(stream as AsyncIterable<Buffer>)
  const lines = words.format === 'csv' ? readCsv(pieces) : readJsonLines(pieces)
  const progress = new Progress('loading')
  const loaded = await writing(words, async (database) => {
    const run = new Loading(database, words.table)
    for await (const line of lines) {
      await run.take(line)
      progress.show(() => `${run.cells} cells`)
    }
    await run.end()
    return { tables: [...run.tables], cells: run.cells }
  }).finally(() => progress.end())
  const output = new Output(words.json === true)
  if (output.json) await output.value(loaded)
  else await output.line(`${loaded.cells} cells in ${loaded.tables.join(', ') || 'no table'}`)
}

/** The text of a file. `ERR_INVALID_ARGUMENT` for bytes that are no UTF-8, which would be lost. */
async function* textOf(stream: AsyncIterable<Buffer>): AsyncGenerator<string, void> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  const decoded = (piece?: Buffer): string => {
    try {
      return decoder.decode(piece, { stream: piece !== undefined })
    } catch {
      throw invalidArgument('the dump has bytes that are no UTF-8')
    }
  }
  for await (const piece of stream) yield decoded(piece)
  yield decoded()
}

class Loading {
  /** The tables of the dumps, in their order. */
  readonly tables = new Set<string>()
  cells = 0
  private readonly database: Database
  private readonly wanted: string | undefined
  private table: EmbeddedTable | undefined = undefined
  private puts: RowPut[] = []
  /** Cells in these puts, and their bytes. */
  private cellsWaiting = 0
  private bytesWaiting = 0
  /** Number of cells before the dump that is being read; undefined between dumps. */
  private cellsBefore: number | undefined = undefined

  constructor(database: Database, wanted: string | undefined) {
    this.database = database
    this.wanted = wanted
    if (wanted !== undefined && database.hasTable(wanted)) this.into(database.table(wanted))
  }

  private into(table: EmbeddedTable): void {
    this.table = table
    this.tables.add(table.name)
  }

  async take(line: DumpLine): Promise<void> {
    if ('cells' in line) {
      const read = this.cells - (this.cellsBefore ?? 0)
      if (read !== line.cells)
        throw invalidArgument(`a dump of ${line.cells} cells has ${read}: it may be cut`)
      this.cellsBefore = undefined
      return
    }
    if ('table' in line) {
      // The cells before this line are of the table before.
      await this.end()
      this.cellsBefore = this.cells
      const { name, ...described } = line.table
      const { database } = this
      const target = this.wanted ?? name
      const isThere = database.hasTable(target)
      this.into(isThere ? database.table(target) : await database.createTable(target, described))
      return
    }
    await this.add(line)
    this.cells++
  }

  /**
   * Adds a cell to the put of its row. A row is put as a whole: its markers come before the cells
   * that are newer, so that of a part of it too little would show.
   */
  private async add(cell: ExportedCell): Promise<void> {
    const { row, family, qualifier, timestamp, type, value, ttlMilliseconds } = cell
    const bytes = cellBytes + row.length + qualifier.length + value.length
    const isSame = this.puts.at(-1)?.row.equals(row) === true
    const isFull = this.cellsWaiting >= batchCells || this.bytesWaiting >= batchBytes
    const isCut = this.bytesWaiting + bytes > batchBytesMax
    if (isCut || (isFull && !isSame)) await this.flush()
    if (isCut || !isSame) this.puts.push({ row, cells: [] })
    const column = { family, qualifier }
    this.puts.at(-1)!.cells.push({ column, value, timestamp, type, ttlMilliseconds })
    this.cellsWaiting++
    this.bytesWaiting += bytes
  }

  /** Ends a dump. `ERR_INVALID_ARGUMENT` if it lacks its last line. */
  async end(): Promise<void> {
    if (this.cellsBefore !== undefined) throw invalidArgument('the dump has no end: it may be cut')
    await this.flush()
  }

  private async flush(): Promise<void> {
    const { puts, table } = this
    if (puts.length === 0) return
    if (table === undefined) {
      throw invalidArgument('the dump names no table: give --table the name of one that exists')
    }
    this.puts = []
    this.cellsWaiting = 0
    this.bytesWaiting = 0
    await table.putList(puts).catch((error: unknown) => {
      // The list says only that some puts failed; the first failure says why.
      const first = error instanceof CellarError ? error.failures?.values().next().value : undefined
      throw first ?? error
    })
  }
}
