/** The content repository on tables. The public entry `cellardb/repository`. */
export { RepositoryManager } from './manager/repository-manager.js'
export type { Repository, RepositoryWrite } from './manager/repository.js'
export type { RepositoryOptions } from './manager/options.js'
export type { HookContext, RepositoryHook } from './records/record.js'
export { RepositoryErrorCode } from './errors.js'
export {
  checkName,
  lastTag,
  parseName,
  qualifiedName,
  versionField,
  versionTagNamespace,
  type QualifiedName,
} from './qualified-name.js'
export { RecordId, type RecordIdLike, type VariantProperties } from './record-id.js'
export { Link, type LinkParts, type LinkRule } from './link.js'
export type { TypeManager, TypeUpdateOptions } from './schema/type-manager.js'
export type { FieldType, FieldTypeInput, FieldTypeUpdate, Scope } from './schema/types.js'
export type {
  FieldEntry,
  FieldEntryInput,
  FieldRules,
  RecordType,
  RecordTypeInput,
  RecordTypeUpdate,
  Supertype,
  SupertypeInput,
} from './schema/types.js'
export {
  defineRecordType,
  type DefinitionOptions,
  type FieldDefinition,
  type FieldDefinitions,
  type FieldsOf,
  type RecordTypeDefinition,
  type ValueOfType,
} from './schema/define.js'
export type * from './schema/plan.js'
export { applySchema, planSchema } from './schema/plan.js'
export type * from './values/value-type.js'
export type { Blob } from './values/blob-value.js'
export type { BlobStore, ByteRange } from './blobs/blob-store.js'
export { FileBlobStore, type BlobFile, type BlobFiles } from './blobs/file-store.js'
export { S3BlobStore, type S3Options } from './blobs/s3-store.js'
export { TableBlobStore } from './blobs/blob-store.js'
export type {
  Blobs,
  BlobRoute,
  BlobSource,
  BlobUpload,
  SweepCounts,
  SweepOptions,
} from './blobs/blobs.js'
export type { BlobOwner, BlobState, BlobStateKind } from './blobs/blob-state.js'
export type { EmbeddedRecord } from './values/nested-types.js'
export type { ByteReader } from '../bytes/byte-reader.js'
export type { ByteWriter } from '../bytes/byte-writer.js'
export type { RecordTable, BlobContent, BlobPlace } from './tables/record-table.js'
export type { BatchResult, BatchWrite } from './records/writes/record-writer.js'
export type { TypedRecords, TypedRecord } from './tables/record-table.js'
export {
  RecordDraft,
  type FieldValues,
  type RecordInput,
  type RecordTypeLike,
  type RecordTypeName,
  type StoredRecord,
  type WriteResult,
  type WriteStatus,
} from './records/record.js'
export type { Metadata, MetadataValue } from './records/metadata.js'
export type { Condition } from './records/writes/write-options.js'
export type { CompareOperator } from '../../api/index.js'
export type { FieldOptions, ReadOptions, VersionSelection } from './records/reads/record-reader.js'
export type { CreateOptions, DeleteOptions, UpdateOptions } from './records/writes/write-options.js'
export type {
  FieldDifference,
  PruneOptions,
  PurgeOptions,
  RevisionOptions,
} from './records/writes/record-history.js'
export type { RecordScan } from './records/reads/record-scanner.js'
export type { RecordFilter } from './records/reads/record-scanner.js'
export type {
  Subscription,
  EventHandler,
  SubscriptionCounts,
  SubscriptionOptions,
} from './events/subscription.js'
export type { DeadLetter, RecordEvent, StoredSubscription } from './events/subscription-state.js'
export type {
  FieldIndexInfo,
  FieldIndexInput,
  FieldIndexState,
  FieldOrder,
  IndexedField,
} from './fields/field-index.js'
export type { FieldQuery, RecordPage } from './fields/field-query.js'
export type { FieldRange } from './fields/field-query.js'
export type { FieldIndexCheck, IndexBuildOptions, RecordIndexes } from './fields/record-indexes.js'
export type { LinkPath, PopulatedRecord } from './manager/repository.js'
export type { LinkIndex, FoundLink, LinkQuery } from './links/link-index.js'
export type { StoredEvent } from './records/writes/commit.js'
export type { Scanners, ScannerOwner } from './tables/scanners.js'
export type * from './json/json-text.js'
export { JsonNumber, parseJson } from './json/json-text.js'
export { NameReader, NameWriter, type NameWriterOptions } from './json/namespaces.js'
export {
  valueToJson,
  type JsonInput,
  type JsonOutput,
  type RecordOutput,
} from './json/value-json.js'
export { metadataFromJson, metadataToJson } from './json/record-json.js'
export { attributesFromJson, recordFromJson, recordToJson } from './json/record-json.js'
export type * from './json/schema-json.js'
export {
  fieldTypeFromJson,
  fieldTypeToJson,
  recordTypeFromJson,
  recordTypeToJson,
} from './json/schema-json.js'
export type * from './json/scan-json.js'
export { conditionsFromJson, filterToJson, scanFromJson, scanToJson } from './json/scan-json.js'
export type * from './indexer/definition/configuration.js'
export { readXmlConfiguration } from './indexer/definition/xml-configuration.js'
export type { ContentExtractor } from './indexer/documents/content-extraction.js'
export type {
  BuildArguments,
  BuildReport,
  IndexDefinition,
  StoredConfiguration,
} from './indexer/index-definition.js'
export type { BuildProgress } from './indexer/batch-build.js'
export type { ExtractionFailure, RefusedDocument } from './indexer/index-rows.js'
export type { FailedExtraction } from './indexer/documents/content-extraction.js'
export { retryAll, type RetryCounts, type SearchIndex } from './indexer/search-index.js'
export type { FieldSources } from './indexer/definition/field-sources.js'
export type { IndexCounts } from './indexer/index-context.js'
export { SearchIndexes } from './indexer/search-indexes.js'
export type {
  IncrementalState,
  SearchIndexesOptions,
  SearchIndexInput,
  SearchIndexUpdate,
} from './indexer/index-definition.js'
export type * from './extraction/text-extraction.js'
export { TextExtraction } from './extraction/text-extraction.js'
export type { ExtractionModule } from './extraction/extraction-worker.js'
export type * from './manager/maintenance.js'
export { RepositoryMaintenance, maintain } from './manager/maintenance.js'
export type * from './import/import.js'
export { importRecords } from './import/import.js'
export { describeRow, type RecordRow, type RowCell } from './tables/record-row.js'
export type * from '../search/search-backend.js'
export { changesOptions, reservedFields, searchOptions } from '../search/search-backend.js'
export { EmbeddedSearch, type EmbeddedSearchStatus } from '../search/embedded/embedded-search.js'
export type { EmbeddedSearchOptions } from '../search/embedded/embedded-options.js'
export { SolrSearch, type SolrSearchOptions } from '../search/solr-search.js'
export { defaultFieldPatterns, type FieldKind, type FieldPatterns } from '../search/field-kinds.js'
export {
  parseQuery,
  queryFields,
  type Occurrence,
  type QueryClause,
  type QueryNode,
} from '../search/query-syntax.js'
