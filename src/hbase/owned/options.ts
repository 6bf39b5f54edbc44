/** The options of an owned database. */
import { checkSignal, checkText, shown } from '../../base/arguments.js'
import { systemClock, timerMillisecondsMax, type Clock } from '../../base/clock.js'
import { invalidArgument, type CellarError } from '../../base/errors.js'
import {
  callback,
  checked,
  choice,
  declareOptions,
  implementation,
  integer,
  orInfinity,
  required,
  text,
  type OptionsOf,
  type SettingsOf,
} from '../../base/options.js'

const mebibyte = 1024 * 1024

function readName(name: string, what: string): string {
  if (/^[A-Za-z0-9_.-]{1,200}$/.test(checkText(name, what))) return name
  throw invalidArgument(`${what} must be 1 to 200 of A-Z a-z 0-9 _ . -, got ${shown(name)}`)
}

/** The declaration of {@link OwnedOptions}. */
export const ownedOptions = declareOptions('an owned database', {
  /** Name of the owned database. Owners with one name share a log, and one of them serves. */
  name: required(checked(readName)),
  /** The table of owners and logs, made if absent. Default 'cellar_owned'. */
  logTable: text('cellar_owned'),
  /** Durability of the log, if its table is made. Default 'FSYNC_WAL'. */
  durability: choice<'SYNC_WAL' | 'FSYNC_WAL'>(['SYNC_WAL', 'FSYNC_WAL'], 'FSYNC_WAL'),
  /** How often the owner shows that it lives, and notes how far it is. Default 1,000. */
  heartbeatMilliseconds: integer({ min: 10, max: timerMillisecondsMax, default: 1_000 }),
  /** A standby takes over after this time without a heartbeat. Default 10,000. */
  takeoverMilliseconds: integer({ min: 20, max: timerMillisecondsMax, default: 10_000 }),
  /** How long a call that fails is repeated before the database is poisoned. Default 60,000. */
  retryMilliseconds: integer({ min: 0, default: 60_000 }),
  /** Bytes of the log that are kept for feeds that begin later. Default 64 MiB. */
  logRetentionBytes: integer({ min: 0, default: 64 * mebibyte }),
  /** Bytes of a batch; a larger one is refused with `ERR_TOO_LARGE`. Default 32 MiB. */
  batchBytesMax: integer({ min: 1_024, default: 32 * mebibyte }),
  /**
   * Timestamps further ahead of the clock than this are refused, as the store refuses them (HBase:
   * hbase.hregion.keyvalue.timestamp.slop.millisecs). Give the store's limit. Default Infinity.
   */
  timestampSlopMilliseconds: orInfinity(integer({ min: 0, default: undefined })),
  /** Source of timestamps. Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Called once when the database is poisoned, for instance because a standby took over. */
  onFailure: callback<(error: CellarError) => void>(),
  /** Ends the wait for the ownership with `ERR_ABORTED`. */
  signal: checked(checkSignal),
})

/** Options of `ownDatabase`. */
export interface OwnedOptions extends OptionsOf<typeof ownedOptions> {}

/** The options with their defaults. */
export type OwnedSettings = SettingsOf<typeof ownedOptions>
