/**
 * Hedwig's records in their protobuf field layout (proto2). What is absent is absent: an empty
 * `LedgerRanges` is zero bytes, a subscription without preferences has no such property.
 */
import {
  messageType,
  optional,
  repeated,
  required,
  type WithUnknownFields,
} from '../records/message-type.js'

/** Who owns a topic. */
export interface HubInfoData extends WithUnknownFields {
  /** `host:port:sslPort`; sslPort is -1 if there is none. */
  readonly hostname: string
  /** Tells incarnations of one hub apart (the id of the transaction that registered it). */
  readonly czxid: bigint
}

/** How busy a hub is. */
export interface HubLoadData extends WithUnknownFields {
  /** Topics that the hub owns; new topics go to the hub with the lowest number. */
  readonly numTopics: bigint
}

/** How far a topic that is also published in another region has got there. */
export interface RegionSpecificSeqId extends WithUnknownFields {
  /** Name of the other region, as bytes. */
  readonly region: Uint8Array
  /** The last message of that region, unsigned 64 bits. */
  readonly seqId: bigint
}

/** The number of a message in its topic, unsigned 64 bits. */
export interface MessageSeqId extends WithUnknownFields {
  /** The number in the region where the topic is stored. */
  readonly localComponent?: bigint
  /** How far the topic has got in other regions; absent = nothing is known. */
  readonly remoteComponents?: readonly RegionSpecificSeqId[]
}

/** One ledger of a topic and the messages in it. */
export interface LedgerRange extends WithUnknownFields {
  /** Id of the ledger in BookKeeper. */
  readonly ledgerId: bigint
  /** Absent while the ledger is being written; only the last range of a list may lack it. */
  readonly endSeqIdIncluded?: MessageSeqId
  /** Older records do not have it. */
  readonly startSeqIdIncluded?: bigint
}

/** The ledgers that hold a topic's messages, oldest first. */
export interface LedgerRanges extends WithUnknownFields {
  /** The ledgers, oldest first. Absent = none. */
  readonly ranges?: readonly LedgerRange[]
}

/** Entries of a free-form map. */
export interface MapEntry extends WithUnknownFields {
  /** Name of the entry. */
  readonly key?: string
  /** Bytes that the managers store and do not read. */
  readonly value?: Uint8Array
}

/** A map, as a list of its entries. */
export interface OptionMap extends WithUnknownFields {
  /** The entries, in the order in which they were written. */
  readonly entries?: readonly MapEntry[]
}

/** What a subscriber asked for. */
export interface SubscriptionPreferences extends WithUnknownFields {
  /** Free-form entries for filters. */
  readonly options?: OptionMap
  /** Unconsumed messages that are kept at most; older ones are dropped. Absent = all. */
  readonly messageBound?: number
  /** Class name of the filter that chooses messages on the hub. */
  readonly messageFilter?: string
  /** Messages that are delivered at most before the subscriber consumes the first of them. */
  readonly messageWindowSize?: number
}

/** How far a subscriber has consumed. */
export interface SubscriptionState extends WithUnknownFields {
  /** The last message that the subscriber has consumed. */
  readonly msgId: MessageSeqId
  /** @deprecated The bound is among the preferences. */
  readonly messageBound?: number
}

/** A subscription: two parts, stored and updated independently. */
export interface SubscriptionData extends WithUnknownFields {
  /** How far the subscriber has consumed; absent = not stored. */
  readonly state?: SubscriptionState
  /** What the subscriber asked for; absent = not stored. */
  readonly preferences?: SubscriptionPreferences
}

/** Which implementation laid out the metadata. */
export interface ManagerMeta extends WithUnknownFields {
  /** Name of the factory, such as `MsMetadataManagerFactory`. */
  readonly managerImpl: string
  /** Version of the layout that the factory writes. */
  readonly managerVersion: number
}

/** The table of {@link HubInfoData}. */
export const hubInfoDataType = messageType<HubInfoData>('HubInfoData', [
  required(2, 'hostname', 'string'),
  required(3, 'czxid', 'uint64'),
])

/** The table of {@link HubLoadData}. */
export const hubLoadDataType = messageType<HubLoadData>('HubLoadData', [
  required(2, 'numTopics', 'uint64'),
])

const regionSpecificSeqIdType = messageType<RegionSpecificSeqId>('RegionSpecificSeqId', [
  required(1, 'region', 'bytes'),
  required(2, 'seqId', 'uint64'),
])

/** The table of {@link MessageSeqId}. */
export const messageSeqIdType = messageType<MessageSeqId>('MessageSeqId', [
  optional(1, 'localComponent', 'uint64'),
  repeated(2, 'remoteComponents', regionSpecificSeqIdType),
])

const ledgerRangeType = messageType<LedgerRange>('LedgerRange', [
  required(1, 'ledgerId', 'uint64'),
  optional(2, 'endSeqIdIncluded', messageSeqIdType),
  optional(3, 'startSeqIdIncluded', 'uint64'),
])

/** The table of {@link LedgerRanges}. */
export const ledgerRangesType = messageType<LedgerRanges>('LedgerRanges', [
  repeated(1, 'ranges', ledgerRangeType),
])

const mapType = messageType<OptionMap>('Map', [
  repeated(
    1,
    'entries',
    messageType<MapEntry>('Entry', [optional(1, 'key', 'string'), optional(2, 'value', 'bytes')]),
  ),
])

/** The table of {@link SubscriptionState}. */
export const subscriptionStateType = messageType<SubscriptionState>('SubscriptionState', [
  required(1, 'msgId', messageSeqIdType),
  optional(2, 'messageBound', 'uint32'),
])

/** The table of {@link SubscriptionPreferences}. */
export const subscriptionPreferencesType = messageType<SubscriptionPreferences>(
  'SubscriptionPreferences',
  [
    optional(1, 'options', mapType),
    optional(2, 'messageBound', 'uint32'),
    optional(3, 'messageFilter', 'string'),
    optional(4, 'messageWindowSize', 'uint32'),
  ],
)

/** The table of {@link SubscriptionData}. */
export const subscriptionDataType = messageType<SubscriptionData>('SubscriptionData', [
  optional(1, 'state', subscriptionStateType),
  optional(2, 'preferences', subscriptionPreferencesType),
])

/** The table of {@link ManagerMeta}. */
export const managerMetaType = messageType<ManagerMeta>('ManagerMeta', [
  required(2, 'managerImpl', 'string'),
  required(3, 'managerVersion', 'uint32'),
])
