/**
 * Hedwig's records in their protobuf field layout (proto2). Absent fields are absent properties: an
 * empty `LedgerRanges` has zero bytes, and a subscription without preferences has no such property.
 */
import {
  messageType,
  optional,
  repeated,
  required,
  type WithUnknownFields,
} from '../records/message-type.js'

/** A hub, such as the owner of a topic. */
export interface HubInfoData extends WithUnknownFields {
  /** `host:port:sslPort`; sslPort is -1 if there is none. */
  readonly hostname: string
  /** Distinguishes incarnations of one hub (ZooKeeper's id of the registration). */
  readonly czxid: bigint
}

/** The load of a hub. */
export interface HubLoadData extends WithUnknownFields {
  /** Number of topics that the hub owns; new topics go to the hub with the lowest number. */
  readonly numTopics: bigint
}

/** The position of a topic in another region where it is also published. */
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
  /** The positions of the topic in other regions; absent = unknown. */
  readonly remoteComponents?: readonly RegionSpecificSeqId[]
}

/** One ledger of a topic and the messages in it. */
export interface LedgerRange extends WithUnknownFields {
  /** Id of the ledger in BookKeeper. */
  readonly ledgerId: bigint
  /**
   * The last message of the ledger. Absent while the ledger is being written, which is possible
   * only in the last range.
   */
  readonly endSeqIdIncluded?: MessageSeqId
  /** The first message of the ledger; absent in older records. */
  readonly startSeqIdIncluded?: bigint
}

/** The ledgers of a topic. */
export interface LedgerRanges extends WithUnknownFields {
  /** The ledgers, oldest first. Absent = none. */
  readonly ranges?: readonly LedgerRange[]
}

/** An entry of a free-form map. */
export interface MapEntry extends WithUnknownFields {
  /** Name of the entry. */
  readonly key?: string
  /** Opaque bytes. */
  readonly value?: Uint8Array
}

/** A map, as a list of its entries. */
export interface OptionMap extends WithUnknownFields {
  /** The entries, in the order in which they were written. */
  readonly entries?: readonly MapEntry[]
}

/** The preferences of a subscriber. */
export interface SubscriptionPreferences extends WithUnknownFields {
  /** Free-form entries for filters. */
  readonly options?: OptionMap
  /** Most unconsumed messages that are kept; older ones are dropped. Absent = all. */
  readonly messageBound?: number
  /** Class name of the message filter on the hub. */
  readonly messageFilter?: string
  /** Most messages that are delivered before the subscriber consumes the first of them. */
  readonly messageWindowSize?: number
}

/** The position of a subscriber. */
export interface SubscriptionState extends WithUnknownFields {
  /** The last message that the subscriber has consumed. */
  readonly msgId: MessageSeqId
  /** @deprecated The bound is among the preferences. */
  readonly messageBound?: number
}

/** A subscription: two parts, stored and updated independently. */
export interface SubscriptionData extends WithUnknownFields {
  /** The position of the subscriber; absent = not stored. */
  readonly state?: SubscriptionState
  /** The preferences of the subscriber; absent = not stored. */
  readonly preferences?: SubscriptionPreferences
}

/** The implementation that laid out the metadata. */
export interface ManagerMeta extends WithUnknownFields {
  /** Name of the factory, such as `MsMetadataManagerFactory`. */
  readonly managerImpl: string
  /** Version of the layout of the factory. */
  readonly managerVersion: number
}

/** Message type of {@link HubInfoData}. */
export const hubInfoDataType = messageType<HubInfoData>('HubInfoData', [
  required(2, 'hostname', 'string'),
  required(3, 'czxid', 'uint64'),
])

/** Message type of {@link HubLoadData}. */
export const hubLoadDataType = messageType<HubLoadData>('HubLoadData', [
  required(2, 'numTopics', 'uint64'),
])

const regionSpecificSeqIdType = messageType<RegionSpecificSeqId>('RegionSpecificSeqId', [
  required(1, 'region', 'bytes'),
  required(2, 'seqId', 'uint64'),
])

/** Message type of {@link MessageSeqId}. */
export const messageSeqIdType = messageType<MessageSeqId>('MessageSeqId', [
  optional(1, 'localComponent', 'uint64'),
  repeated(2, 'remoteComponents', regionSpecificSeqIdType),
])

const ledgerRangeType = messageType<LedgerRange>('LedgerRange', [
  required(1, 'ledgerId', 'uint64'),
  optional(2, 'endSeqIdIncluded', messageSeqIdType),
  optional(3, 'startSeqIdIncluded', 'uint64'),
])

/** Message type of {@link LedgerRanges}. */
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

/** Message type of {@link SubscriptionState}. */
export const subscriptionStateType = messageType<SubscriptionState>('SubscriptionState', [
  required(1, 'msgId', messageSeqIdType),
  optional(2, 'messageBound', 'uint32'),
])

/** Message type of {@link SubscriptionPreferences}. */
export const subscriptionPreferencesType = messageType<SubscriptionPreferences>(
  'SubscriptionPreferences',
  [
    optional(1, 'options', mapType),
    optional(2, 'messageBound', 'uint32'),
    optional(3, 'messageFilter', 'string'),
    optional(4, 'messageWindowSize', 'uint32'),
  ],
)

/** Message type of {@link SubscriptionData}. */
export const subscriptionDataType = messageType<SubscriptionData>('SubscriptionData', [
  optional(1, 'state', subscriptionStateType),
  optional(2, 'preferences', subscriptionPreferencesType),
])

/** Message type of {@link ManagerMeta}. */
export const managerMetaType = messageType<ManagerMeta>('ManagerMeta', [
  required(2, 'managerImpl', 'string'),
  required(3, 'managerVersion', 'uint32'),
])
