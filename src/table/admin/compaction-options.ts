/** Options of requested compactions, and their checks. */
import { checkBytesLike, checkSignal } from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import { callback, checked, declareOptions, type OptionsOf } from '../../base/options.js'
import type { BytesLike } from '../../api/index.js'
import type { CompactionRequest } from '../../storage/engine/background/compactor.js'

/** The declaration of {@link CompactionWatch}. */
const watch = {
  /** Called occasionally with the completed fraction, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the compaction with `ERR_ABORTED`; the files stay unchanged. */
  signal: checked(checkSignal),
}

/** The declaration of {@link MajorCompaction}. */
export const majorCompaction = {
  /**
   * Only files with rows from this one on, and files with rows in common. Default: from the first
   * row.
   */
  startRow: checked(toRow),
  /** Only files with rows before this one. Default: to the last row. */
  stopRow: checked(toRow),
  ...watch,
}

const watchOptions = declareOptions('a compaction', watch)
const majorOptions = declareOptions('a major compaction', majorCompaction)

/** Progress and abort of a requested compaction. */
export interface CompactionWatch extends OptionsOf<typeof watchOptions> {}

/** The rows of a major compaction, and its progress and abort. */
export interface MajorCompaction extends OptionsOf<typeof majorOptions> {}

/** The request of a compaction by the policy. `ERR_INVALID_ARGUMENT`. */
export function parseCompaction(options: CompactionWatch): CompactionRequest {
  return { major: false, ...watchOptions.read(options) }
}

/** The request of a major compaction. `ERR_INVALID_ARGUMENT`. */
export function parseMajorCompaction(options: MajorCompaction): CompactionRequest {
  const { startRow, stopRow, ...rest } = majorOptions.read(options)
  return { major: true, rows: { firstRow: startRow, endRow: stopRow }, ...rest }
}

function toRow(row: BytesLike, what: string): Buffer {
  checkBytesLike(row, what)
  return toBytes(row)
}
