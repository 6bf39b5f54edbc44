/**
 * Exports a table as a stream of chunks (EXPORT.md), as it is at one moment.
 *
 * The stream is one scan: it sees the table as of the first chunk, whatever is written meanwhile,
 * and holds the files of that moment until it ends or is returned. Memory: a chunk of about 256
 * KiB, or one cell if that is larger. Blocks are read off the event loop and do not enter the block
 * cache.
 */
import { copyBytes, equalBytes } from '../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../base/errors.js'
import { writeVarint } from '../base/varint.js'
import { rowEndOf, writeSequence } from '../cell/cell-key.js'
import { CodecId, type CodecName } from '../codec/codec.js'
import type { TableState } from '../engine/catalog.js'
import type { Engine } from '../engine/engine.js'
import { numbersPerCell, type CollectedRow } from '../scan/row-collector.js'
import { runLoading } from './block-loading.js'
import { ChunkEncoder, ChunkKind, exportMagic } from './export-format.js'
import { planScan } from './scan-plan.js'
import { ScanSession } from './scan-session.js'
import { describeTable } from './schema.js'
import { readPointOf } from './snapshot.js'
import type { BytesLike, Snapshot, TimeRangeOption } from './types.js'

/** How far an export or an import is. */
export interface TransferProgress {
  readonly rows: number
  readonly cells: number
  /** Keys and values, uncompressed. */
  readonly bytes: number
}

/** What is exported, and how. */
export interface ExportOptions {
  /** Versions per column, 1 by default as in HBase's Export; 'all' = as many as are kept. */
  readonly versions?: number | 'all'
  /** Only cells of this time, `[min, max)`. */
  readonly timeRange?: TimeRangeOption
  readonly startRow?: BytesLike
  /** Exclusive. */
  readonly stopRow?: BytesLike
  /** Families and columns; absent = all. */
  readonly columns?: readonly string[]
  /** Delete markers and what they mask as well (HBase: include.deleted.rows). Default false. */
  readonly raw?: boolean
  /** The moment; default now. */
  readonly snapshot?: Snapshot
  /** Compression of the chunks. Default 'LZ4'. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD'
  /** Told after each chunk. */
  readonly onProgress?: (progress: TransferProgress) => void
  readonly signal?: AbortSignal
}

/** Payload bytes after which a chunk is finished. */
const chunkBytes = 256 * 1024
/** Cells of a row that are held at once. */
const cellsAtOnce = 256
/** Results between two turns of the event loop, if nothing has to be loaded. */
const resultsPerTurn = 256

const codecNames: Readonly<Record<string, CodecName>> = {
  NONE: 'none',
  LZ4: 'lz4',
  GZ: 'gz',
  ZSTD: 'zstd',
}

/** The stream; see the file header. Errors come with the first chunk at the latest. */
export async function* exportTable(
  engine: Engine,
  table: TableState,
  options: ExportOptions,
): AsyncGenerator<Buffer, void> {
  const { compression = 'LZ4', snapshot, onProgress, signal, ...what } = options
  if (!Object.hasOwn(codecNames, compression)) {
    throw invalidArgument(`compression must be NONE, LZ4, GZ or ZSTD, got ${String(compression)}`)
  }
  const moment = snapshot === undefined ? {} : { snapshot }
  const plan = planScan(table, { ...what, cacheBlocks: false, batch: cellsAtOnce })
  const codec = engine.codecs.byName(codecNames[compression])
  const encoder = new ChunkEncoder(codec.id === CodecId.none ? plainCodec : codec)
  const session = new ScanSession(engine, table, plan, readPointOf(moment, engine), false)
  const cells = new CellChunk()
  try {
    yield exportMagic
    yield encoder.encode(ChunkKind.head, headOf(table))
    for (let results = 1; ; results++) {
      if (signal?.aborted === true) throw aborted(signal)
      engine.checkOpen()
      const row = await runLoading(engine, () => session.nextCells())
      if (row === undefined) break
      if (row !== 'pause') cells.add(row)
      if (cells.length >= chunkBytes) {
        yield encoder.encode(ChunkKind.cells, cells.take())
        onProgress?.(cells.progress)
      }
      const pause = row === 'pause' || results % resultsPerTurn === 0
      if (pause) await new Promise((resolve) => setImmediate(resolve))
    }
    if (cells.length > 0) yield encoder.encode(ChunkKind.cells, cells.take())
    const { progress } = cells
    yield encoder.encode(ChunkKind.end, Buffer.from(JSON.stringify(progress), 'utf8'))
    onProgress?.(progress)
  } finally {
    session.close()
  }
}

/** Chunks are stored as they are. */
const plainCodec = {
  id: 0,
  name: 'none' as const,
  compress: () => undefined,
  decompress: () => undefined,
}

/** JSON has no Infinity; what is left out is the default, which it is wherever it can stand. */
function headOf(table: TableState): Buffer {
  const head = { format: 1, families: table.familyNames, table: describeTable(table) }
  const json = JSON.stringify(head, (_key, value: unknown) =>
    value === Infinity ? undefined : value,
  )
  return Buffer.from(json, 'utf8')
}

/** Gathers cells for the next chunk. */
class CellChunk {
  length = 0
  private buffer: Buffer = Buffer.allocUnsafeSlow(2 * chunkBytes)
  private rows = 0
  private cells = 0
  private bytes = 0
  /** Key of the cell before, to leave out equal cells of a raw scan: an older one is never seen. */
  private previous: Buffer = Buffer.alloc(0)
  private previousLength = 0
  private previousFamily = -1

  get progress(): TransferProgress {
    const { rows, cells, bytes } = this
    return { rows, cells, bytes }
  }

  add({ page, cells }: CollectedRow): void {
    for (let at = 0; at < cells.length; at += numbersPerCell) {
      this.addCell(page, cells[at], cells[at + 1], cells[at + 2], cells[at + 3])
    }
  }

  /** The payload, in memory that is used again after the next turn. */
  take(): Buffer {
    const payload = this.buffer.subarray(0, this.length)
    this.length = 0
    return payload
  }

  private addCell(
    page: Buffer,
    family: number,
    keyStart: number,
    keyEnd: number,
    valueEnd: number,
  ): void {
    const keyBytes = keyEnd - keyStart
    const valueBytes = valueEnd - keyEnd
    this.reserve(15 + keyBytes + valueBytes)
    const { buffer } = this
    const before = this.length
    let at = writeVarint(buffer, before, family)
    at = writeVarint(buffer, at, keyBytes)
    at = writeVarint(buffer, at, valueBytes)
    page.copy(buffer, at, keyStart, valueEnd)
    writeSequence(buffer, at + keyBytes, 0)
    const keyEndAt = at + keyBytes
    const { previous, previousLength } = this
    if (
      family === this.previousFamily &&
      equalBytes(buffer, at, keyEndAt, previous, 0, previousLength)
    ) {
      return
    }
    if (!this.isInPreviousRow(buffer, at, keyEndAt)) this.rows++
    this.previousFamily = family
    if (previous.length < keyBytes) this.previous = Buffer.allocUnsafeSlow(2 * keyBytes)
    copyBytes(buffer, at, keyEndAt, this.previous, 0)
    this.previousLength = keyBytes
    this.length = at + keyBytes + valueBytes
    this.cells++
    this.bytes += keyBytes + valueBytes
  }

  private isInPreviousRow(buffer: Buffer, start: number, end: number): boolean {
    const { previous, previousLength } = this
    if (this.previousFamily < 0) return false
    const rowEnd = rowEndOf(previous, 0, previousLength)
    return equalBytes(buffer, start, rowEndOf(buffer, start, end), previous, 0, rowEnd)
  }

  private reserve(bytes: number): void {
    const needed = this.length + bytes
    if (needed <= this.buffer.length) return
    const grown = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.buffer.length))
    this.buffer.copy(grown, 0, 0, this.length)
    this.buffer = grown
  }
}

/** `ERR_ABORTED` with the signal's reason. */
export function aborted(signal: AbortSignal): CellarError {
  return new CellarError(ErrorCode.aborted, 'the transfer was aborted', { cause: signal.reason })
}
