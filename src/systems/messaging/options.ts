/** Options of the messaging service, with their defaults and limits. */
import {
  callback,
  declareOptions,
  durabilityOption,
  implementation,
  integer,
  systemClock,
  text,
  type Clock,
  type Coprocessor,
  type CoprocessorRegistration,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import type { PruneState, TransactionManager } from '../transactions/index.js'

/** What messaging needs of a transaction manager. */
type Snapshots = Pick<TransactionManager, 'snapshot' | 'writePointer'>

type Register = (coprocessor: Coprocessor) => Promise<CoprocessorRegistration>

const hour = 3_600_000
const mebibyte = 1 << 20

const messagingOptions = declareOptions('messaging', {
  /** Names of the tables begin with it. Default 'tms'. */
  tablePrefix: text('tms'),
  /** Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Of published messages. Default 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk. */
  durability: durabilityOption('SYNC_WAL'),
  /** TTL of topics without one, in seconds. Default 604,800: a week. */
  ttlSecondsDefault: integer({ min: 0, default: 604_800 }),
  /** Age in milliseconds at which a transaction may no longer publish. Default 25 hours. */
  lifetimeMilliseconds: integer({ min: 0, default: 25 * hour }),
  /**
   * The transactions: compactions mark the messages of invalid ones, and write pointers that were
   * never handed out are refused. Without them pointers are refused whose start lies ahead.
   */
  transactions: implementation<Snapshots>(['snapshot']),
  /** Remembers which compactions marked, so that the list of invalid ones can be pruned. */
  pruneState: implementation<PruneState>(['noteUncleanFlush']),
  /**
   * Registers the prunings of the tables, which end with the service. Absent: expired messages are
   * hidden and stay stored.
   */
  register: callback<Register>(),
  /** Bytes of newest messages kept in memory over all topics. Default 64 MiB; 0 = none. */
  cacheBytesMax: integer({ min: 0, default: 64 * mebibyte }),
  /** Age in milliseconds up to which cached messages serve transactions. Default 12 hours. */
  cacheAgeMillisecondsMax: integer({ min: 0, default: 12 * hour }),
  /** Bytes of one message. Default 8 MiB. */
  messageBytesMax: integer({ min: 0, default: 8 * mebibyte }),
  /** Messages of one request. Default 1,000,000. */
  requestMessagesMax: integer({ min: 0, default: 1_000_000 }),
  /** Bytes of one request. Default 64 MiB. */
  requestBytesMax: integer({ min: 0, default: 64 * mebibyte }),
  /** Bytes that wait to be written; beyond, requests are refused. Default 256 MiB. */
  queueBytesMax: integer({ min: 0, default: 256 * mebibyte }),
  /** Topics that exist or existed. Default 1,000,000. */
  topicsMax: integer({ min: 0, default: 1_000_000 }),
  /** Readers that wait for messages. Default 100,000. */
  waitersMax: integer({ min: 0, default: 100_000 }),
  /** Messages of one `poll`. Default 100,000. */
  pollMessagesMax: integer({ min: 0, default: 100_000 }),
  /** Milliseconds of one wait. Default 60 s. */
  waitMillisecondsMax: integer({ min: 0, default: 60_000 }),
})

/** Options of `MessagingService.open`. */
export interface MessagingOptions extends OptionsOf<typeof messagingOptions> {}

/** The options with their defaults. */
export type MessagingSettings = SettingsOf<typeof messagingOptions>

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function messagingSettings(options: MessagingOptions): MessagingSettings {
  return messagingOptions.read(options)
}
