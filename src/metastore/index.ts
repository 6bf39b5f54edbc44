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
