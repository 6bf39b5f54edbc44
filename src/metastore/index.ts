/** The BookKeeper MetaStore over Cellar. The public entry `cellardb/metastore`. */
export type * from './bookkeeper/types.js'
export { EMPTY_END_KEY, EMPTY_START_KEY } from './bookkeeper/types.js'
export {
  MetastoreError,
  MetastoreErrorCode,
  MetastoreException,
  ReturnCode,
} from './bookkeeper/errors.js'
export {
  ALL_FIELDS,
  NON_FIELDS,
  Value,
  type FieldData,
  type FieldSelection,
} from './bookkeeper/value.js'
export { LongVersion, Version, type Occurred, type Versioned } from './bookkeeper/version.js'
export {
  CallbackCursor,
  CallbackScannableTable,
  CallbackTable,
} from './bookkeeper/callback-table.js'
export type { CallbackErrorHandler, MetastoreCallback } from './bookkeeper/callback-table.js'
export { CellarMetaStore } from './bookkeeper/cellar-metastore.js'
export type { CellarMetastoreConfiguration } from './bookkeeper/cellar-metastore.js'
export { cleanTable } from './bookkeeper/clean-table.js'
export { MemoryMetaStore, MemoryMetastoreData } from './bookkeeper/memory-metastore.js'
export type { MemoryMetastoreConfiguration } from './bookkeeper/memory-metastore.js'
export type { MetastoreDatabase, MetastoreDurability } from './bookkeeper/shared-database.js'
