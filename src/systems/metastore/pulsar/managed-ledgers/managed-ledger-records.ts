/** The records of ManagedLedger (MLDataFormats.proto), in protobuf's binary form. */
import {
  messageType,
  optional,
  repeated,
  required,
  type WithUnknownFields,
} from '../../records/message-type.js'

/** A position in a ledger. */
export interface NestedPositionInfo extends WithUnknownFields {
  /** Id of the ledger in BookKeeper. */
  ledgerId: bigint
  /** Number of the entry in the ledger, from 0; -1 = before the first. */
  entryId: bigint
}

/** One ledger of a managed ledger. The fields of offloading are kept in `unknownFields`. */
export interface LedgerInfo extends WithUnknownFields {
  /** Id of the ledger in BookKeeper. */
  ledgerId: bigint
  /** Entries in the ledger; absent while it is being written. */
  entries?: bigint
  /** Bytes of all entries; absent while the ledger is being written. */
  size?: bigint
  /** When the ledger was closed, in milliseconds since the Unix epoch. */
  timestamp?: bigint
}

/** A property of a managed ledger. */
export interface KeyValue extends WithUnknownFields {
  /** Name of the property. */
  key: string
  /** Text of the property. */
  value: string
}

/** A managed ledger. */
export interface ManagedLedgerInfo extends WithUnknownFields {
  /** The ledgers, oldest first. */
  ledgerInfo?: LedgerInfo[]
  /** Position of the last message of a terminated topic; absent = not terminated. */
  terminatedPosition?: NestedPositionInfo
  /** Free-form properties of the topic. */
  properties?: KeyValue[]
}

/** A range of messages that were acknowledged individually. */
export interface MessageRange extends WithUnknownFields {
  /** The message before the range: the endpoint is exclusive. */
  lowerEndpoint: NestedPositionInfo
  /** The last message of the range, inclusive. */
  upperEndpoint: NestedPositionInfo
}

/** A cursor. Other fields of the message are kept in `unknownFields`. */
export interface ManagedCursorInfo extends WithUnknownFields {
  /** Ledger that holds the positions of the cursor; -1 = the fields below hold the position. */
  cursorsLedgerId: bigint
  /** Ledger of the mark: all messages up to and including the mark are acknowledged. */
  markDeleteLedgerId?: bigint
  /** Entry of the mark; -1 = before the first entry of the ledger. */
  markDeleteEntryId?: bigint
  /** Acknowledged ranges after the mark, ascending. */
  individualDeletedMessages?: MessageRange[]
  /** When the cursor was used last, in milliseconds since the Unix epoch. */
  lastActive?: bigint
}

const position = messageType<NestedPositionInfo>('NestedPositionInfo', [
  required(1, 'ledgerId', 'int64'),
  required(2, 'entryId', 'int64'),
])

const ledger = messageType<LedgerInfo>('LedgerInfo', [
  required(1, 'ledgerId', 'int64'),
  optional(2, 'entries', 'int64'),
  optional(3, 'size', 'int64'),
  optional(4, 'timestamp', 'int64'),
])

const keyValue = messageType<KeyValue>('KeyValue', [
  required(1, 'key', 'string'),
  required(2, 'value', 'string'),
])

const range = messageType<MessageRange>('MessageRange', [
  required(1, 'lowerEndpoint', position),
  required(2, 'upperEndpoint', position),
])

/** Message type of {@link ManagedLedgerInfo}. */
export const managedLedgerInfo = messageType<ManagedLedgerInfo>('ManagedLedgerInfo', [
  repeated(1, 'ledgerInfo', ledger),
  optional(2, 'terminatedPosition', position),
  repeated(3, 'properties', keyValue),
])

/** Message type of {@link ManagedCursorInfo}. */
export const managedCursorInfo = messageType<ManagedCursorInfo>('ManagedCursorInfo', [
  required(1, 'cursorsLedgerId', 'int64'),
  optional(2, 'markDeleteLedgerId', 'int64'),
  optional(3, 'markDeleteEntryId', 'int64'),
  repeated(4, 'individualDeletedMessages', range),
  optional(6, 'lastActive', 'int64'),
])
