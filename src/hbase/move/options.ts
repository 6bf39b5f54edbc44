/** The options of a move, and its outcome. */
import { checkArray, checkSignal, checkText } from '../../base/arguments.js'
import {
  callback,
  checked,
  declareOptions,
  integer,
  required,
  text,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'
import { plainTableName } from '../../api/names.js'
import { compressionOption } from '../hfile/options.js'

/** How far a move is. */
export interface MoveProgress {
  /** 'copying' until all rows are copied, then 'following' the writes made meanwhile. */
  readonly phase: 'copying' | 'following'
  /** Number of cells that this call has written. */
  readonly cells: number
}

/** The HFiles of a table. */
export interface TableHFiles {
  /** The name of the table. */
  readonly table: string
  /** Path of the directory, for `hbase completebulkload DIRECTORY TABLE`. */
  readonly directory: string
}

/** The declaration of {@link BulkLoadOptions}. */
export const bulkLoadOptions = declareOptions('the bulk load of a move', {
  /** Path of the directory for the files. Each table gets a directory in it, named as the table. */
  directory: required(checked((path: string, what: string) => checkText(path, what))),
  /**
   * Adds the files to the tables of the target, with HBase's `completebulkload`. When its promise
   * is fulfilled, the cells are there. A later call of the move may call it again.
   */
  load: required(callback<(files: readonly TableHFiles[]) => Promise<void> | void>()),
  /** As of `exportHFiles`. Default 'NONE'. */
  compression: compressionOption,
})

/** Options of the bulk load of a move. */
export interface BulkLoadOptions extends OptionsOf<typeof bulkLoadOptions> {}

/** These options with their defaults. */
export type BulkLoadSettings = SettingsOf<typeof bulkLoadOptions>

/** The declaration of {@link MoveOptions}. */
export const moveOptions = declareOptions('a move', {
  /** Names of the tables to move. Default: all but `stateTable`. */
  tables: checked((names: readonly string[], what: string): readonly string[] =>
    checkArray(names, what).map(plainTableName),
  ),
  /**
   * Stops all writes to the source. When its promise is fulfilled, no write is under way. Called
   * once the target is a little behind; from a source without a feed, before the copy. May be
   * called again by a later call of the move. Default: makes the moved tables of the source
   * read-only, so that writes end with `ERR_READ_ONLY`.
   */
  stopWrites: callback<() => Promise<void> | void>(),
  /**
   * Copies the tables of an embedded source as HFiles, which the function `load` adds to the
   * target. Absent: by calls.
   */
  bulkLoad: checked((value: BulkLoadOptions) => bulkLoadOptions.read(value)),
  /** The table of the move's state, made in source and target. Default 'cellar_move'. */
  stateTable: text('cellar_move'),
  /** How long a write to the target that fails is repeated. Default 60,000. */
  retryMilliseconds: integer({ min: 0, default: 60_000 }),
  /** Called after each group of writes. */
  onProgress: callback<(progress: MoveProgress) => void>(),
  /** Ends the call with `ERR_ABORTED`; a later call continues. */
  signal: checked(checkSignal),
})

/** Options of `moveDatabase`. */
export interface MoveOptions extends OptionsOf<typeof moveOptions> {}

/** The options with their defaults. */
export type MoveSettings = SettingsOf<typeof moveOptions>

/** The outcome of a move. */
export interface MoveReport {
  /** Names of the tables that were moved. */
  readonly tables: readonly string[]
  /** Number of comparisons that found a row equal, over all rounds of this call. */
  readonly comparedRows: number
  /** Number of cells of these rows. */
  readonly comparedCells: number
  /** Number of cells that this call has written, with repetitions. */
  readonly writtenCells: number
  /** Number of rows that differed and were copied once more by this call. */
  readonly repairedRows: number
}
