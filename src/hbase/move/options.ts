/** The options of a move. */
import { checkArray, checkSignal } from '../../base/arguments.js'
import {
  callback,
  checked,
  declareOptions,
  integer,
  text,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'
import { plainTableName } from '../../api/names.js'

/** How far a move is. */
export interface MoveProgress {
  /** 'copying' until all rows are copied, then 'following' the writes made meanwhile. */
  readonly phase: 'copying' | 'following'
  /** Number of cells that this call has written. */
  readonly cells: number
}

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
