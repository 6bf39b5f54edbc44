/** The BookKeeper MetaStore over Cellar. The public entry `cellardb/metastore`. */
export type * from './bookkeeper/types.js'
export { EMPTY_END_KEY, EMPTY_START_KEY } from './bookkeeper/types.js'
export {
  HedwigErrorCode,
  LedgerErrorCode,
  MetastoreErrorCode,
  ReturnCode,
  returnCodeOf,
} from './errors.js'
export {
  ALL_FIELDS,
  NON_FIELDS,
  Value,
  type FieldData,
  type FieldSelection,
} from './bookkeeper/value.js'
export { LongVersion, Version, type Occurred, type Versioned } from './bookkeeper/tables/version.js'
export { CallbackTable } from './bookkeeper/tables/callback-table.js'
export type {
  CallbackCursor,
  CallbackErrorHandler,
  MetastoreCallback,
} from './bookkeeper/tables/callback-table.js'
export { CellarMetaStore } from './bookkeeper/tables/cellar-metastore.js'
export type { CellarMetastoreConfiguration } from './bookkeeper/tables/cellar-metastore.js'
export { cleanTable } from './bookkeeper/tables/record-table.js'
export type {
  MetastoreDatabase,
  OpenMetastoreDatabase,
} from './bookkeeper/tables/shared-database.js'
export type { MetastoreDurability } from './bookkeeper/tables/row-operations.js'
export {
  createLedgerManagerFactory,
  MSLedgerManagerFactory,
  type LedgerFactoryOptions,
  type LedgerManagerFactory,
  type LedgerManagerFactoryClass,
} from './bookkeeper/ledgers/ledger-manager-factory.js'
export { LedgerLayoutRecord, type LedgerLayout } from './bookkeeper/ledgers/ledger-layout.js'
export type { LayoutForm, LayoutRecord } from './bookkeeper/ledgers/layout-record.js'
export { LedgerManager, type LedgerManagerOptions } from './bookkeeper/ledgers/ledger-manager.js'
export { LedgerIdGenerator, type LedgerIdOptions } from './bookkeeper/ledgers/ledger-ids.js'
export type { LedgerIdRange, LedgerRangeIterator } from './bookkeeper/ledgers/ledger-ranges.js'
export type { LedgerMetadataListener } from './bookkeeper/ledgers/ledger-listeners.js'
export {
  ledgerMetadataCodec,
  type LedgerCustomMetadata,
  type LedgerMetadata,
  type LedgerMetadataCodec,
  type LedgerSegment,
} from './bookkeeper/ledgers/ledger-metadata.js'
export {
  collectLedgers,
  type CollectionOptions,
  type ListedLedgers,
} from './bookkeeper/ledgers/ledger-collector.js'
export type * from './hedwig/records.js'
export type { RecordForm } from './hedwig/record-form.js'
export type { UnknownField, WithUnknownFields } from './records/message-type.js'
export type { SubscriberId, TopicName } from './hedwig/topic-key.js'
export { formatHubInfo, hubAddress, parseHubInfo } from './hedwig/hub-info.js'
export { formatHubLoad, parseHubLoad } from './hedwig/hub-info.js'
export { TopicOwnershipManager, TopicPersistenceManager } from './hedwig/topic-records.js'
export { SubscriptionDataManager } from './hedwig/subscription-data-manager.js'
export type { Subscription } from './hedwig/subscription-data-manager.js'
export type { SubscriptionFence } from './hedwig/subscription-fence.js'
export {
  createMetadataManagerFactory,
  FactoryLayout,
  MsMetadataManagerFactory,
  type FactoryOptions,
  type MetadataConfiguration,
  type MetadataManagerFactory,
  type MetadataManagerFactoryClass,
} from './hedwig/metadata-manager-factory.js'
export { LeaseHubRegistry, type LeaseOptions } from './hedwig/lease-hub-registry.js'
export type { LeaseRegistration } from './hedwig/hub-lease.js'
export type { LeaseClock } from './kernel/lease-clock.js'
export {
  type HubRegistration,
  type HubRegistry,
  TopicManager,
  type TopicManagerOptions,
  type TopicOwnership,
  type TopicOwnershipChangeListener,
} from './hedwig/topic-manager.js'
