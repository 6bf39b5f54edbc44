/** Options of bulk loads: what they are, and how they are checked. */
import {
  OptionNames,
  checkArray,
  checkBoolean,
  checkFunction,
  checkSignal,
  readArguments,
} from '../../base/arguments.js'
import { checkDirectory } from '../../storage/engine/options.js'

/** How a bulk load is carried out. */
export interface BulkLoadOptions {
  /** Leave the files where they are. Default false: they are moved. */
  readonly copy?: boolean | undefined
  /** Called now and then with the part of the bytes that is verified, 0 to 1. */
  readonly onProgress?: ((part: number) => void) | undefined
  /** Aborting it ends the load with `ERR_ABORTED`; nothing is loaded. */
  readonly signal?: AbortSignal | undefined
}

/** What a bulk load made part of a table. */
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

/** The arguments of a bulk load as of the call. */
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
