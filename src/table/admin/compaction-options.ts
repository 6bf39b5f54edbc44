/** Options of requested compactions, and their checks. */
import {
  OptionNames,
  checkBytesLike,
  checkFunction,
  checkSignal,
  readArguments,
} from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import type { BytesLike } from '../../api/index.js'
import type { CompactionRequest } from '../../storage/engine/background/compactor.js'

/** Progress and abort of a requested compaction. */
export interface CompactionWatch {
  /** Called occasionally with the completed fraction, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
  /** Ends the compaction with `ERR_ABORTED`; the files stay unchanged. */
  readonly signal?: AbortSignal | undefined
}

/** The rows of a major compaction, and its progress and abort. */
export interface MajorCompaction extends CompactionWatch {
  /**
   * Only files with rows from this one on, and files with rows in common. Default: from the first
   * row.
   */
  readonly startRow?: BytesLike | undefined
  /** Only files with rows before this one. Default: to the last row. */
  readonly stopRow?: BytesLike | undefined
}

const watchNames = new OptionNames<CompactionWatch>('a compaction', {
  onProgress: true,
  signal: true,
})
const majorNames = new OptionNames<MajorCompaction>('a major compaction', {
  startRow: true,
  stopRow: true,
  onProgress: true,
  signal: true,
})

/** The request of a compaction by the policy. `ERR_INVALID_ARGUMENT`. */
export function parseCompaction(options: CompactionWatch): CompactionRequest {
  return readArguments(() => ({ major: false, ...checkWatch(watchNames.copy(options)) }))
}

/** The request of a major compaction. `ERR_INVALID_ARGUMENT`. */
export function parseMajorCompaction(options: MajorCompaction): CompactionRequest {
  return readArguments(() => {
    const { startRow, stopRow, ...watch } = majorNames.copy(options)
    const rows = {
      firstRow: startRow === undefined ? undefined : toRow(startRow, 'startRow'),
      endRow: stopRow === undefined ? undefined : toRow(stopRow, 'stopRow'),
    }
    return { major: true, rows, ...checkWatch(watch) }
  })
}

function checkWatch({ onProgress, signal }: CompactionWatch): CompactionWatch {
  return {
    onProgress: checkFunction(onProgress, 'onProgress'),
    signal: checkSignal(signal),
  }
}

function toRow(row: BytesLike, what: string): Buffer {
  checkBytesLike(row, what)
  return toBytes(row)
}
