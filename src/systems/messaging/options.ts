/** Options of the messaging service and of its calls, with their defaults and limits. */
import {
  boolean,
  callback,
  checkBytesLike,
  checked,
  checkSignal,
  checkText,
  declareOptions,
  durabilityOption,
  implementation,
  integer,
  invalidArgument,
  number,
  required,
  shown,
  systemClock,
  text,
  timerMillisecondsMax,
  type BytesLike,
  type Clock,
  type Coprocessor,
  type CoprocessorRegistration,
  type Option,
  type OptionsOf,
  type SettingsOf,
} from '../../api/index.js'
import type { PruneState, Transaction, TransactionManager } from '../transactions/index.js'
import { checkTransaction } from '../transactions/transaction.js'
import { checkMessageId } from './message-id.js'

/** What messaging needs of a transaction manager. */
type Snapshots = Pick<TransactionManager, 'snapshot' | 'writePointer'>

type Register = (coprocessor: Coprocessor) => Promise<CoprocessorRegistration>

const hour = 3_600_000
const mebibyte = 1 << 20

/** The declared options of `MessagingService.open`. */
export const messagingOptions = declareOptions('messaging', {
  /** Names of the tables begin with it. Default 'tms'. */
  tablePrefix: text('tms'),
  /** Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /**
   * Of published messages, positions and rollbacks; topics are at least as durable. Default
   * 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk.
   */
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
  waitMillisecondsMax: integer({ min: 0, max: timerMillisecondsMax, default: 60_000 }),
})

/** Options of `MessagingService.open`. */
export interface MessagingOptions extends OptionsOf<typeof messagingOptions> {}

/** The options with their defaults. */
export type MessagingSettings = SettingsOf<typeof messagingOptions>

const producerIdBytesMax = 256

const producerOptions = declareOptions('a producer', {
  /** Any text of at most 256 bytes, for instance a random one for each program. */
  id: required(checked(checkProducerId)),
  /**
   * Ascends with each request of the producer to the topic. A retry has the same sequence and gets
   * the first outcome. At most five requests of a producer may be in progress together.
   */
  sequence: required(integer({ min: 0, default: undefined })),
})

/** The identity of a publisher, which prevents that a retried request is published twice. */
export interface Producer extends OptionsOf<typeof producerOptions> {}

/** The declared fields of a request to publish or store. */
export const publishFields = declareOptions('a request to publish', {
  /**
   * Strings are UTF-8. An empty list is allowed for a transactional publish: it publishes the
   * stored payloads.
   */
  messages: required(checked(checkMessages)),
  /** The write pointer of a transaction; absent: the messages are immediately readable. */
  transactionWritePointer: checked(checkPointer),
  /** Makes the publish idempotent. */
  producer: checked((given: Producer): Producer => producerOptions.read(given)),
})

/** Messages to publish, or payloads to store. */
export interface PublishRequest extends OptionsOf<typeof publishFields> {}

const limitAndWait = {
  /** Most messages, above 0. Default: only the limit of the server. */
  limit: integer({ min: 1, default: undefined }),
  /** Longest wait if there is no message, in milliseconds. Default 0. */
  waitMilliseconds: number({ min: 0, default: 0 }),
}

/** The declared options of the poll of a consumer. */
export const consumerPollOptions = declareOptions('a poll of a consumer', limitAndWait)

const fetchOptions = declareOptions('a fetch', {
  /** Start at a message, given by its 20 bytes or in hexadecimal. Not together with `time`. */
  from: checked(copyBytesLike),
  /** Start at a publish time in milliseconds. */
  time: integer({ min: 0, default: undefined }),
  /** Whether a message at the start is returned. Default true. */
  inclusive: boolean(true),
  /**
   * Show the messages that this transaction sees. Absent: all messages, including rolled back ones.
   */
  transaction: checked((given: Transaction) => checkTransaction(given)),
  ...limitAndWait,
  /** Ends the wait and the stream. */
  signal: checked(checkSignal),
})

/** The start of a fetch, and the limits of its result. */
export interface FetchOptions extends OptionsOf<typeof fetchOptions> {}

/** A fetch with its defaults. */
export type CheckedFetch = SettingsOf<typeof fetchOptions>

/**
 * A copy of the options of a fetch. `ERR_INVALID_ARGUMENT`, except for checks that depend on the
 * topic.
 */
export function checkedFetch(options: FetchOptions): CheckedFetch {
  const fetch = fetchOptions.read(options)
  if (fetch.from === undefined || fetch.time === undefined) return fetch
  throw invalidArgument('a fetch starts at a message or at a time, not at both')
}

/** The declared options of a change of a position. */
export const setPositionOptions = declareOptions('a position', {
  /** The expected current position, or null for none. Default: no expectation. */
  expected: checked((given: Uint8Array | string | null) =>
    given === null ? null : checkMessageId(given),
  ),
})

/** Options of `Messaging.setPosition`. */
export interface SetPositionOptions extends OptionsOf<typeof setPositionOptions> {}

const rangeFields = declareOptions('a range', {
  /** Publish time of the first row, in milliseconds since the Unix epoch. */
  startTimestamp: required(integer({ min: 0, default: undefined })),
  /** 0 to 65535. */
  startSequenceId: required(integer({ min: 0, max: 0xffff, default: undefined })),
  /** Publish time of the last row, in milliseconds since the Unix epoch. */
  endTimestamp: required(integer({ min: 0, default: undefined })),
  /** 0 to 65535. */
  endSequenceId: required(integer({ min: 0, max: 0xffff, default: undefined })),
})

/** Rows of one publish; both ends are inclusive. */
export interface MessageRange extends SettingsOf<typeof rangeFields> {}

/** The answer of a publish may lack a write pointer, but then nothing can be rolled back. */
const writePointer: Option<bigint, bigint> = { read: (value) => checkPublished(value as bigint) }

/** The declared fields of the answer of a publish, for a rollback. */
export const responseFields = declareOptions('the answer of a publish', {
  /** Write pointer of the transaction. */
  transactionWritePointer: writePointer,
  /** The range of rows of the publish. */
  rollbackRange: required(checked((given: MessageRange) => rangeFields.read(given))),
})

/** Checks a write pointer: a bigint other than 0. `ERR_INVALID_ARGUMENT`. */
export function checkPointer(pointer: bigint): bigint {
  if (typeof pointer === 'bigint' && pointer !== 0n && BigInt.asIntN(64, -pointer) === -pointer) {
    if (BigInt.asIntN(64, pointer) === pointer) return pointer
  }
  throw invalidArgument(`a write pointer is a bigint other than 0, got ${shown(pointer)}`)
}

/**
 * Checks the write pointer of a publish. A negative one names messages that were rolled back, and
 * to roll these back would show them. `ERR_INVALID_ARGUMENT`.
 */
export function checkPublished(pointer: bigint): bigint {
  if (checkPointer(pointer) > 0n) return pointer
  throw invalidArgument(`a write pointer of a publish is positive, got ${shown(pointer)}`)
}

function checkProducerId(id: string): string {
  const bytes = typeof id === 'string' ? Buffer.byteLength(id) : 0
  if (bytes > 0 && bytes <= producerIdBytesMax) return checkText(id, 'the id of a producer')
  throw invalidArgument(`the id of a producer is a text of 1 to ${producerIdBytesMax} bytes`)
}

/** The messages themselves are checked where they are copied. */
function checkMessages(messages: readonly BytesLike[]): readonly BytesLike[] {
  if (Array.isArray(messages)) return messages as readonly BytesLike[]
  throw invalidArgument('messages must be an array')
}

function copyBytesLike(given: Uint8Array | string, what: string): Uint8Array | string {
  checkBytesLike(given, what)
  return typeof given === 'string' ? given : Buffer.from(given)
}
