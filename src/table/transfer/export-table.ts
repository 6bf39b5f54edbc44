/**
 * Exports a table as a stream of chunks (EXPORT.md), as it is at one moment.
 *
 * The stream is one scan: it sees the table as of the first chunk, whatever is written meanwhile,
 * and holds the files of that moment until it ends or is returned. Memory: a chunk of 128 to 256
 * KiB, or one cell if that is larger. Blocks are read off the event loop and do not enter the block
 * cache.
 */
import {
  OptionNames,
  checkChoice,
  checkFunction,
  checkSignal,
  readArguments,
} from '../../base/arguments.js'
import { CellarError, ErrorCode } from '../../base/errors.js'
import { CodecId, type CodecName } from '../../storage/codec/codec.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { Engine } from '../../storage/engine/engine.js'
import { runLoading } from '../reads/block-loading.js'
import { ExportCollector } from './export-collector.js'
import { ChunkEncoder, ChunkKind, exportMagic } from './export-format.js'
import { planScan } from '../reads/scan-plan.js'
import { ScanSession } from '../reads/scan-session.js'
import { describeTable } from '../admin/schema.js'
import { readPointOf, readTimeOf } from '../reads/snapshot.js'
import type { BytesLike, Snapshot, TimeRangeOption } from '../../api/index.js'

/** How far an export or an import is. */
export interface TransferProgress {
  /** Rows so far. */
  readonly rows: number
  /** Cells so far. */
  readonly cells: number
  /** Keys and values, uncompressed. */
  readonly bytes: number
}

/** The options of an export. */
export interface ExportOptions {
  /** Versions per column, 1 by default as in HBase's Export; 'all' = as many as are kept. */
  readonly versions?: number | 'all' | undefined
  /** Only cells of this time, `[min, max)`. */
  readonly timeRange?: TimeRangeOption | undefined
  /** First row, inclusive. Default: the first of the table. */
  readonly startRow?: BytesLike | undefined
  /** Exclusive. */
  readonly stopRow?: BytesLike | undefined
  /** Families and columns; absent = all. */
  readonly columns?: readonly string[] | undefined
  /** Delete markers and what they mask as well (HBase: include.deleted.rows). Default false. */
  readonly raw?: boolean | undefined
  /** The moment; default now. */
  readonly snapshot?: Snapshot | undefined
  /** Compression of the chunks. Default 'LZ4'. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD' | undefined
  /** Called after each chunk. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /** Aborting it ends the export with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** Rows between two turns of the event loop, if no chunk is full before. */
const rowsPerTurn = 4096

const codecNames: Readonly<Record<string, CodecName>> = {
  NONE: 'none',
  LZ4: 'lz4',
  GZ: 'gz',
  ZSTD: 'zstd',
}

const exportNames = new OptionNames<ExportOptions>('an export', {
  versions: true,
  timeRange: true,
  startRow: true,
  stopRow: true,
  columns: true,
  raw: true,
  snapshot: true,
  compression: true,
  onProgress: true,
  signal: true,
})

/** The stream; see the file header. Errors come with the first chunk at the latest. */
export async function* exportTable(
  engine: Engine,
  table: TableState,
  options: ExportOptions,
): AsyncGenerator<Buffer, void> {
  const { compression, onProgress, signal, plan, readPoint, readTime } = readArguments(() => {
    const { compression = 'LZ4', snapshot, onProgress, signal, ...what } = exportNames.copy(options)
    checkChoice(compression, 'compression', ['NONE', 'LZ4', 'GZ', 'ZSTD'])
    checkFunction(onProgress, 'onProgress')
    checkSignal(signal)
    const plan = planScan(table, { ...what, cacheBlocks: false })
    const moment = snapshot === undefined ? {} : { snapshot }
    const readPoint = readPointOf(moment, engine)
    return { compression, onProgress, signal, plan, readPoint, readTime: readTimeOf(moment) }
  })
  const codec = engine.codecs.byName(codecNames[compression])
  const encoder = new ChunkEncoder(codec.id === CodecId.none ? plainCodec : codec)
  const session = new ScanSession(engine, table, plan, readPoint, false, readTime)
  const target = new ExportCollector()
  const progress = (): TransferProgress => {
    const { rows, cells, bytes } = target
    return { rows, cells, bytes }
  }
  try {
    yield exportMagic
    yield encoder.encode(ChunkKind.head, headOf(table))
    for (let more = true; more;) {
      if (signal?.aborted === true) throw aborted(signal)
      engine.checkOpen()
      more = await runLoading(engine, () => session.fill(target, rowsPerTurn))
      if (target.full || !more) {
        for (const payload of target.take()) yield encoder.encode(ChunkKind.cells, payload)
        onProgress?.(progress())
      }
      await new Promise((resolve) => setImmediate(resolve))
    }
    yield encoder.encode(ChunkKind.end, Buffer.from(JSON.stringify(progress()), 'utf8'))
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

/** `ERR_ABORTED` with the signal's reason. */
export function aborted(signal: AbortSignal): CellarError {
  return new CellarError(ErrorCode.aborted, 'the transfer was aborted', { cause: signal.reason })
}
