/** Options of requested compactions and bulk loads, and their checks. */
import { checkArray, checkBytesLike, checkSignal, readArguments } from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import {
  boolean,
  callback,
  checked,
  declareOptions,
  text,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'
import { invalidArgument } from '../../base/errors.js'
import type { BytesLike } from '../../api/index.js'
import type { CompactionRequest } from '../../storage/engine/background/compaction-requests.js'
import { checkDirectory } from '../../storage/engine/options.js'

/** The declaration of {@link CompactionWatch}. */
const watch = {
  /** Called occasionally with the completed fraction, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the compaction with `ERR_ABORTED`; the files stay unchanged. */
  signal: checked(checkSignal),
}

/** The declaration of {@link MajorCompaction}. */
const majorCompaction = {
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

const compactOptions = declareOptions('a compaction', {
  /** Whether all files are merged; `startRow` and `stopRow` need it. Default true. */
  major: boolean(true),
  /** Only this family of the table. */
  family: text(undefined),
  ...majorCompaction,
})

/** Options of {@link Database.compact}. */
export interface CompactOptions extends OptionsOf<typeof compactOptions> {}

/** The family of a call of `Database.compact`, and its request. `ERR_INVALID_ARGUMENT`. */
export function parseCompact(options: CompactOptions): {
  readonly family: string | undefined
  readonly request: CompactionRequest
} {
  const { major, family, startRow, stopRow, ...watch } = compactOptions.read(options)
  if (!major && (startRow !== undefined || stopRow !== undefined)) {
    throw invalidArgument('startRow and stopRow of a compaction need major')
  }
  const rows = { firstRow: startRow, endRow: stopRow }
  return { family, request: major ? { major, rows, ...watch } : { major, ...watch } }
}

function toRow(row: BytesLike, what: string): Buffer {
  checkBytesLike(row, what)
  return toBytes(row)
}

const loadOptions = declareOptions('a bulk load', {
  /** Whether the files stay in place. Default false: they are moved. */
  copy: boolean(false),
  /** Called occasionally with the verified fraction of the bytes, 0 to 1. */
  onProgress: callback<(part: number) => void>(),
  /** Ends the load with `ERR_ABORTED`; no file is loaded. */
  signal: checked(checkSignal),
})

/** Options of a bulk load. */
export interface BulkLoadOptions extends OptionsOf<typeof loadOptions> {}

/** The result of a bulk load. */
export interface BulkLoaded {
  /** Number of files. */
  readonly files: number
  /** Cells in them. */
  readonly cells: number
  /** Size of the files. */
  readonly bytes: number
}

/** The arguments of a bulk load, copied at the call. */
export interface ParsedBulkLoad extends SettingsOf<typeof loadOptions> {
  /** The directories. */
  readonly list: readonly string[]
}

/** Checks and copies the arguments. `ERR_INVALID_ARGUMENT`. */
export function parseBulkLoad(
  directories: string | readonly string[],
  options: BulkLoadOptions,
): ParsedBulkLoad {
  return readArguments(() => {
    const settings = loadOptions.read(options)
    const list =
      typeof directories === 'string' ? [directories] : checkArray(directories, 'directories')
    for (const directory of list) checkDirectory(directory)
    return { list, ...settings }
  })
}
