/** The change feed: the mutations of a database in the order in which they were applied. */
import { checkArray, checkSignal, checkText, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import {
  boolean,
  checked,
  choice,
  declareOptions,
  integer,
  type OptionsOf,
  type SettingsOf,
} from '../base/options.js'
import { plainTableName } from './names.js'
import type { Cell } from './results/result.js'

/** A cell that a mutation wrote: a put or a delete marker. */
export interface ChangedCell extends Cell {
  /** Name of the table. */
  readonly table: string
  /** Cell TTL in milliseconds; 0 = none. */
  readonly ttlMilliseconds: number
}

/** One whole mutation; a feed yields mutations in the order in which they were applied. */
export interface Change {
  /** Ascending and unique. A feed from `sequence + 1` continues after this change. */
  readonly sequence: number
  /**
   * Timestamp in milliseconds that the engine's clock gave to the mutation; undefined if every cell
   * had its own.
   */
  readonly timestamp: number | undefined
  /** In the order of the mutation; only those of the tables that the feed was asked for. */
  readonly cells: readonly ChangedCell[]
}

/** The declaration of {@link ChangeOptions}. */
export const changeOptions = declareOptions('a change feed', {
  /**
   * First sequence of the feed, inclusive. Default: the first mutation after the call of `changes`.
   */
  fromSequence: integer({ min: 0, default: undefined }),
  /**
   * Last sequence of the feed, inclusive: the feed ends after it, when the database has reached
   * it. 'now' is that of the last mutation before the call of `changes`. Default: it never ends.
   */
  toSequence: checked(readEnd),
  /** Only cells of these tables; mutations without such cells are left out. Default all tables. */
  table: checked(readTables),
  /** Only cells of these families; mutations without such cells are left out. Default all. */
  family: checked(readFamilies),
  /**
   * Whether mutations without such cells are yielded too, with an empty list of cells, so that the
   * reader knows how far the feed is. Default false.
   */
  emptyChanges: boolean(false),
  /**
   * 'FSYNC_WAL': a change is yielded when it is on the disk, so that no reader knows a change that
   * is lost later; costs a sync per batch. 'SYNC_WAL': a change is yielded when it was written to
   * the operating system. Default 'FSYNC_WAL'.
   */
  durability: choice<'SYNC_WAL' | 'FSYNC_WAL'>(['SYNC_WAL', 'FSYNC_WAL'], 'FSYNC_WAL'),
  /** Aborting it ends the feed with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Which changes a feed yields, and when. */
export interface ChangeOptions extends OptionsOf<typeof changeOptions> {}

/** What a feed does not show of a table. A reader compares it with one from before. */
export interface UnloggedState {
  /**
   * Identity of the stores of the table, also after a reopen. It differs when the rows were
   * replaced: by truncation, a restore, or another table of the name; and when families came or
   * went.
   */
  readonly stores: string
  /** Number of mutations of `SKIP_WAL`, files loaded and files imported, since the open. */
  readonly mutations: number
}

/** Where a feed begins, and behind which sequence it ends; Infinity = it does not. */
export interface FeedSpan {
  readonly from: number
  readonly to: number
}

/** The span of a feed that is asked for when `last` is the sequence of the last mutation. */
export function spanOfFeed(
  { fromSequence, toSequence = Infinity }: SettingsOf<typeof changeOptions>,
  last: number,
): FeedSpan {
  return {
    from: Math.max(1, fromSequence ?? last + 1),
    to: toSequence === 'now' ? last : toSequence,
  }
}

/**
 * A feed whose reader may end it while it waits. `follow` makes the generator. `return` aborts the
 * signal; without that, a feed that waits would only end after the next mutation.
 */
export function endedByReturn(
  follow: (ended: AbortSignal) => AsyncGenerator<Change, void>,
): AsyncGenerator<Change, void> {
  const ended = new AbortController()
  const feed = follow(ended.signal)
  const end = feed.return.bind(feed)
  feed.return = (value) => {
    ended.abort()
    return end(value)
  }
  return feed
}

/** Reads the option `toSequence` of a feed. */
export function readEnd(sequence: number | 'now', what: string): number | 'now' {
  if (sequence === 'now' || (Number.isSafeInteger(sequence) && sequence >= 0)) return sequence
  throw invalidArgument(`${what} must be 'now' or an integer >= 0, got ${shown(sequence)}`)
}

function namesOf(given: string | readonly string[], what: string): readonly string[] {
  if (typeof given === 'string') return [given]
  if (Array.isArray(given)) return checkArray(given as readonly string[], what)
  throw invalidArgument(`${what} must be a name or a list of names, got ${shown(given)}`)
}

/** Reads the option `family` of a feed. */
export function readFamilies(family: string | readonly string[], what: string): readonly string[] {
  const families = namesOf(family, what)
  for (const name of families) {
    if (checkText(name, what).includes(':')) {
      throw invalidArgument(`${what} takes names of families, not of columns: ${shown(name)}`)
    }
  }
  return families
}

function readTables(table: string | readonly string[], what: string): readonly string[] {
  return namesOf(table, what).map(plainTableName)
}
