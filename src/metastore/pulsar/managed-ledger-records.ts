/** The records of ManagedLedger (MLDataFormats.proto), in protobuf's binary form. */
import {
  messageType,
  optional,
  repeated,
  required,
  type WithUnknownFields,
} from '../records/message-type.js'

/** A position in a ledger. */
export interface NestedPositionInfo extends WithUnknownFields {
  ledgerId: bigint
  entryId: bigint
}

/** One ledger of a managed ledger; how it was offloaded stays in `unknownFields`. */
export interface LedgerInfo extends WithUnknownFields {
  ledgerId: bigint
  entries?: bigint
  size?: bigint
  timestamp?: bigint
}

/** A property of a managed ledger. */
export interface KeyValue extends WithUnknownFields {
  key: string
  value: string
}

/** A managed ledger. */
export interface ManagedLedgerInfo extends WithUnknownFields {
  ledgerInfo?: LedgerInfo[]
  terminatedPosition?: NestedPositionInfo
  properties?: KeyValue[]
}

/** Messages that were deleted one by one. */
export interface MessageRange extends WithUnknownFields {
  lowerEndpoint: NestedPositionInfo
  upperEndpoint: NestedPositionInfo
}

/** A cursor. Fields that are not named here stay in `unknownFields`. */
export interface ManagedCursorInfo extends WithUnknownFields {
  cursorsLedgerId: bigint
  markDeleteLedgerId?: bigint
  markDeleteEntryId?: bigint
  individualDeletedMessages?: MessageRange[]
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

/** Table of {@link ManagedLedgerInfo}. */
export const managedLedgerInfo = messageType<ManagedLedgerInfo>('ManagedLedgerInfo', [
  repeated(1, 'ledgerInfo', ledger),
  optional(2, 'terminatedPosition', position),
  repeated(3, 'properties', keyValue),
])

/** Table of {@link ManagedCursorInfo}. */
export const managedCursorInfo = messageType<ManagedCursorInfo>('ManagedCursorInfo', [
  required(1, 'cursorsLedgerId', 'int64'),
  optional(2, 'markDeleteLedgerId', 'int64'),
  optional(3, 'markDeleteEntryId', 'int64'),
  repeated(4, 'individualDeletedMessages', range),
  optional(6, 'lastActive', 'int64'),
])
