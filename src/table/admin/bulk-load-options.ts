/** Options of bulk loads, and their checks. */
import { checkArray, checkSignal, readArguments } from '../../base/arguments.js'
import {
  boolean,
  callback,
  checked,
  declareOptions,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'
import { checkDirectory } from '../../storage/engine/options.js'

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
