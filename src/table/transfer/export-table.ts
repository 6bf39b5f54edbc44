/**
 * Exports a table as a stream of chunks (EXPORT.md), at one point in time.
 *
 * The stream is one scan. It reads the table as of the first chunk, independent of later writes,
 * and pins the files of that time until it ends or is returned. The memory is a chunk of 128 to 256
 * KiB, or one cell if that is larger. Blocks are read off the event loop and bypass the block
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

/** Progress of an export or an import. */
export interface TransferProgress {
  /** Number of rows so far. */
  readonly rows: number
  /** Number of cells so far. */
  readonly cells: number
  /** Uncompressed size of keys and values so far. */
  readonly bytes: number
}

/** Options of an export. */
export interface ExportOptions {
  /** Versions per column, 1 by default as in HBase's Export; 'all': all kept versions. */
  readonly versions?: number | 'all' | undefined
  /** Only cells with timestamps in `[min, max)`. */
  readonly timeRange?: TimeRangeOption | undefined
  /** First row, inclusive. Default: the first of the table. */
  readonly startRow?: BytesLike | undefined
  /** Last row, exclusive. Default: to the end of the table. */
  readonly stopRow?: BytesLike | undefined
  /** Families and columns; default all. */
  readonly columns?: readonly string[] | undefined
  /**
   * Whether delete markers and masked cells are included (HBase: include.deleted.rows). Default
   * false.
   */
  readonly raw?: boolean | undefined
  /** The point in time to export; default now. */
  readonly snapshot?: Snapshot | undefined
  /** Compression of the chunks. Default 'LZ4'. */
  readonly compression?: 'NONE' | 'LZ4' | 'GZ' | 'ZSTD' | undefined
  /** Called after each chunk. */
  readonly onProgress?: ((progress: TransferProgress) => void) | undefined
  /** Ends the export with `ERR_ABORTED`. */
  readonly signal?: AbortSignal | undefined
}

/** Maximum number of rows between two turns of the event loop. */
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

/** The stream; see the file header. Argument errors occur at the first chunk. */
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

/** A codec that does not compress. */
const plainCodec = {
  id: 0,
  name: 'none' as const,
  compress: () => undefined,
  decompress: () => undefined,
}

/**
 * The payload of the head. JSON lacks Infinity, which is left out: wherever it is allowed, it is
 * the default.
 */
function headOf(table: TableState): Buffer {
  const head = { format: 1, families: table.familyNames, table: describeTable(table) }
  const json = JSON.stringify(head, (_key, value: unknown) =>
    value === Infinity ? undefined : value,
  )
  return Buffer.from(json, 'utf8')
}

/** Makes an `ERR_ABORTED` with the signal's reason. */
export function aborted(signal: AbortSignal): CellarError {
  return new CellarError(ErrorCode.aborted, 'the transfer was aborted', { cause: signal.reason })
}
