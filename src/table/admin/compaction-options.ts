/** Options of compactions that are asked for: what they are, and how they are checked. */
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

/** How a compaction that was asked for reports and stops. */
export interface CompactionWatch {
  /** Called now and then with the part that is done, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
  /** Ends it with `ERR_ABORTED`; the files stay as they were. */
  readonly signal?: AbortSignal | undefined
}

/** Which rows a major compaction is about, besides how it reports and stops. */
export interface MajorCompaction extends CompactionWatch {
  /**
   * Only files with rows from this one on, and what shares rows with them. Default: from the first.
   */
  readonly startRow?: BytesLike | undefined
  /** Only files with rows before this one. Default: to the last. */
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
