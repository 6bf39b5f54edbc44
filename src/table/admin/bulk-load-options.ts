/** Options of bulk loads, and their checks. */
import {
  OptionNames,
  checkArray,
  checkBoolean,
  checkFunction,
  checkSignal,
  readArguments,
} from '../../base/arguments.js'
import { checkDirectory } from '../../storage/engine/options.js'

/** Options of a bulk load. */
export interface BulkLoadOptions {
  /** Whether the files stay in place. Default false: they are moved. */
  readonly copy?: boolean | undefined
  /** Called occasionally with the verified fraction of the bytes, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
  /** Ends the load with `ERR_ABORTED`; no file is loaded. */
  readonly signal?: AbortSignal | undefined
}

/** The result of a bulk load. */
export interface BulkLoaded {
  /** Number of files. */
  readonly files: number
  /** Cells in them. */
  readonly cells: number
  /** Size of the files. */
  readonly bytes: number
}

const names = new OptionNames<BulkLoadOptions>('a bulk load', {
  copy: true,
  onProgress: true,
  signal: true,
})

/** The arguments of a bulk load, copied at the call. */
export interface ParsedBulkLoad extends BulkLoadOptions {
  /** The directories. */
  readonly list: readonly string[]
  readonly copy: boolean
}

/** Checks and copies the arguments. `ERR_INVALID_ARGUMENT`. */
export function parseBulkLoad(
  directories: string | readonly string[],
  options: BulkLoadOptions,
): ParsedBulkLoad {
  return readArguments(() => {
    const given = names.copy(options)
    const list =
      typeof directories === 'string' ? [directories] : checkArray(directories, 'directories')
    for (const directory of list) checkDirectory(directory)
    return {
      list,
      copy: checkBoolean(given.copy, 'copy', false),
      signal: checkSignal(given.signal),
      onProgress: checkFunction(given.onProgress, 'onProgress'),
    }
  })
}
