/**
 * Exports a table as a stream of chunks (EXPORT.md), at one point in time.
 *
 * The stream is one scan. It reads the table as of the first chunk, independent of later writes,
 * and pins the files of that time until it ends or is returned. The memory is a chunk of 128 to 256
 * KiB, or one cell if that is larger. Blocks are read as by other awaited scans, and bypass the
 * block cache.
 */
import { checkSignal, readArguments } from '../../base/arguments.js'
import { CellarError, checkAborted, ErrorCode } from '../../base/errors.js'
import {
  callback,
  checked,
  choice,
  declareOptions,
  unchecked,
  type OptionsOf,
} from '../../base/options.js'
import { CodecId, type CodecName } from '../../storage/codec/codec.js'
import type { TableState } from '../../storage/engine/catalog/catalog.js'
import type { OpenedParts, TableParts } from '../../storage/engine/engine.js'
import { runLoading } from '../reads/block-loading.js'
import type { ReadPlan } from '../reads/read-plan.js'
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

const exportOptions = declareOptions('an export', {
  /** Versions per column, 1 by default as in HBase's Export; 'all': all kept versions. */
  versions: unchecked<number | 'all'>(),
  /** Only cells with timestamps in `[min, max)`. */
  timeRange: unchecked<TimeRangeOption>(),
  /** First row, inclusive. Default: the first of the table. */
  startRow: unchecked<BytesLike>(),
  /** Last row, exclusive. Default: to the end of the table. */
  stopRow: unchecked<BytesLike>(),
  /** Families and columns; default all. */
  columns: unchecked<readonly string[]>(),
  /**
   * Whether delete markers and masked cells are included (HBase: include.deleted.rows). Default
   * false. `ERR_UNSUPPORTED` for families with `newVersionBehavior`: the order of writing, by which
   * markers mask cells there, is not exported.
   */
  raw: unchecked<boolean>(),
  /** The point in time to export; default now. */
  snapshot: unchecked<Snapshot>(),
  /** Compression of the chunks. Default 'LZ4'. */
  compression: choice<'NONE' | 'LZ4' | 'GZ' | 'ZSTD'>(['NONE', 'LZ4', 'GZ', 'ZSTD'], 'LZ4'),
  /** Called after each chunk. */
  onProgress: callback<(progress: TransferProgress) => void>(),
  /** Ends the export with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of an export. */
export interface ExportOptions extends OptionsOf<typeof exportOptions> {}

/** Maximum number of rows between two turns of the event loop. */
const rowsPerTurn = 4096

/** The stream; see the file header. Argument errors occur at the first chunk. */
export async function* exportTable(
  parts: TableParts & Pick<OpenedParts, 'codecs'>,
  table: TableState,
  options: ExportOptions,
): AsyncGenerator<Buffer, void> {
  const { compression, onProgress, signal, plan, readPoint, readTime } = readArguments(() => {
    const { compression, snapshot, onProgress, signal, ...what } = exportOptions.read(options)
    const plan = planScan(table, { ...what, cacheBlocks: false })
    if (what.raw === true) refuseOrder(plan.read)
    const moment = snapshot === undefined ? {} : { snapshot }
    const readPoint = readPointOf(moment, parts.readPoints)
    return { compression, onProgress, signal, plan, readPoint, readTime: readTimeOf(moment) }
  })
  const codec = parts.codecs.byName(compression.toLowerCase() as CodecName)
  const encoder = new ChunkEncoder(codec.id === CodecId.none ? plainCodec : codec)
  const session = new ScanSession(parts, table, plan, readPoint, false, readTime)
  const target = new ExportCollector()
  const progress = (): TransferProgress => {
    const { rows, cells, bytes } = target
    return { rows, cells, bytes }
  }
  try {
    yield exportMagic
    yield encoder.encode(ChunkKind.head, headOf(table))
    for (let more = true; more;) {
      checkAborted('the transfer', signal)
      parts.lifecycle.checkOpen()
      more = await runLoading(parts, () => session.fill(target, rowsPerTurn))
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

/** Throws `ERR_UNSUPPORTED` for families whose cells a raw export does not hold. */
function refuseOrder({ families }: ReadPlan): void {
  for (const { family } of families) {
    if (!family.settings.newVersionBehavior) continue
    throw new CellarError(
      ErrorCode.unsupported,
      `family '${family.name}' has newVersionBehavior, by which the order of writing counts, and ` +
        'a raw export lacks that order; export the visible cells, without raw',
    )
  }
}

/** A codec that does not compress. */
export const plainCodec = {
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
