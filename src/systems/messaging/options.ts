/** Options of the messaging service, with their defaults and limits. */
import {
  checkFunction,
  checkMethods,
  checkText,
  OptionNames,
  shown,
  systemClock,
  type Clock,
  type Coprocessor,
  type CoprocessorRegistration,
  type DurabilityOption,
} from '../../api/index.js'
import type { PruneState, TransactionManager } from '../transactions/index.js'
import { invalidArgument } from './errors.js'

/** Options of `MessagingService.open`. */
export interface MessagingOptions {
  /** Names of the tables begin with it. Default 'tms'. */
  readonly tablePrefix?: string | undefined
  /** Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /** Of published messages. Default 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk. */
  readonly durability?: DurabilityOption | undefined
  /** TTL of topics without one, in seconds. Default 604,800: a week. */
  readonly ttlSecondsDefault?: number | undefined
  /** Age in milliseconds at which a transaction may no longer publish. Default 25 hours. */
  readonly lifetimeMilliseconds?: number | undefined
  /**
   * The transactions: compactions mark the messages of invalid ones, and write pointers that were
   * never handed out are refused. Without them pointers are refused whose start lies ahead.
   */
  readonly transactions?: Pick<TransactionManager, 'snapshot' | 'writePointer'> | undefined
  /** Remembers what compactions marked, so that the list of invalid ones can be pruned. */
  readonly pruneState?: PruneState | undefined
  /**
   * Registers the prunings of the tables, which end with the service. Absent: expired messages are
   * hidden and stay stored.
   */
  readonly register?: (coprocessor: Coprocessor) => Promise<CoprocessorRegistration>
  /** Bytes of newest messages kept in memory over all topics. Default 64 MiB; 0 = none. */
  readonly cacheBytesMax?: number | undefined
  /** Age in milliseconds up to which cached messages serve transactions. Default 12 hours. */
  readonly cacheAgeMillisecondsMax?: number | undefined
  /** Bytes of one message. Default 8 MiB. */
  readonly messageBytesMax?: number | undefined
  /** Messages of one request. Default 1,000,000. */
  readonly requestMessagesMax?: number | undefined
  /** Bytes of one request. Default 64 MiB. */
  readonly requestBytesMax?: number | undefined
  /** Bytes that wait to be written; beyond, requests are refused. Default 256 MiB. */
  readonly queueBytesMax?: number | undefined
  /** Topics that exist or existed. Default 1,000,000. */
  readonly topicsMax?: number | undefined
  /** Readers that wait for messages. Default 100,000. */
  readonly waitersMax?: number | undefined
  /** Messages of one `poll`. Default 100,000. */
  readonly pollMessagesMax?: number | undefined
  /** Milliseconds of one wait. Default 60 s. */
  readonly waitMillisecondsMax?: number | undefined
}

type Injected = 'transactions' | 'pruneState' | 'register'

/** The options with their defaults. */
export type MessagingSettings = Required<Omit<MessagingOptions, Injected>> &
  Pick<MessagingOptions, Injected>

const names = new OptionNames<MessagingOptions>('messaging', {
  tablePrefix: true,
  clock: true,
  durability: true,
  ttlSecondsDefault: true,
  lifetimeMilliseconds: true,
  transactions: true,
  pruneState: true,
  register: true,
  cacheBytesMax: true,
  cacheAgeMillisecondsMax: true,
  messageBytesMax: true,
  requestMessagesMax: true,
  requestBytesMax: true,
  queueBytesMax: true,
  topicsMax: true,
  waitersMax: true,
  pollMessagesMax: true,
  waitMillisecondsMax: true,
})

const hour = 3_600_000
const mebibyte = 1 << 20
const defaults = {
  tablePrefix: 'tms',
  clock: systemClock,
  durability: 'SYNC_WAL',
  ttlSecondsDefault: 604_800,
  lifetimeMilliseconds: 25 * hour,
  cacheBytesMax: 64 * mebibyte,
  cacheAgeMillisecondsMax: 12 * hour,
  messageBytesMax: 8 * mebibyte,
  requestMessagesMax: 1_000_000,
  requestBytesMax: 64 * mebibyte,
  queueBytesMax: 256 * mebibyte,
  topicsMax: 1_000_000,
  waitersMax: 100_000,
  pollMessagesMax: 100_000,
  waitMillisecondsMax: 60_000,
} as const

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function messagingSettings(options: MessagingOptions): MessagingSettings {
  names.check(options)
  const settings: MessagingSettings = { ...defaults, ...defined(options) }
  checkText(settings.tablePrefix, 'tablePrefix')
  checkMethods(settings.clock, 'clock', ['now'])
  checkFunction(settings.register, 'register')
  const { transactions, pruneState } = settings
  if (transactions !== undefined) checkMethods(transactions, 'transactions', ['snapshot'])
  if (pruneState !== undefined) checkMethods(pruneState, 'pruneState', ['noteUncleanFlush'])
  for (const [name, value] of Object.entries(settings)) {
    if (typeof defaults[name as keyof typeof defaults] !== 'number') continue
    if (Number.isSafeInteger(value) && (value as number) >= 0) continue
    throw invalidArgument(`${name} must be a whole number, 0 or more, got ${shown(value)}`)
  }
  return settings
}

/** Options that have a value: undefined is the same as absent. */
function defined(options: MessagingOptions): Partial<MessagingSettings> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}
