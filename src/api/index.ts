/**
 * The seam between backends and systems built on tables: interfaces, options, results and errors.
 *
 * The embedded engine implements these interfaces, and other backends may. The systems above
 * tables, such as the metastore and messaging, compile against this folder alone.
 */
export {
  checkArray,
  checkBoolean,
  checkBytes,
  checkBytesLike,
  checkChoice,
  checkFunction,
  checkMethods,
  checkObject,
  checkSignal,
  checkText,
  isBytes,
  isDetached,
  isText,
  readArguments,
  shown,
} from '../base/arguments.js'
export { assert } from '../base/assert.js'
export { comparisons, lowerBound, type CompareOperator } from '../base/compare-operator.js'
export { copyArguments, type CopiedArguments } from '../base/copy-arguments.js'
export { systemClock, timerMillisecondsMax, type Clock } from '../base/clock.js'
export { deferred, Waiters, type Deferred } from '../base/deferred.js'
export { GroupQueue, KeyedQueue, type GroupWork } from '../base/group-queue.js'
export {
  CellarError,
  ErrorCode,
  hasCode,
  invalidArgument,
  isRefusal,
  type CorruptionDetail,
} from '../base/errors.js'
export {
  boolean,
  callback,
  checked,
  choice,
  declareOptions,
  described,
  implementation,
  integer,
  list,
  number,
  required,
  text,
  unchecked,
  type GivenOptions,
  type JsonSchema,
  type Option,
  type OptionsOf,
  type Settings,
  type SettingsOf,
} from '../base/options.js'
export { requirePackage } from '../base/load-package.js'
export { bucketMicroseconds } from '../base/latency-histogram.js'
export type { CellView } from '../storage/cell/cell-view.js'
export type { CellTypeName } from '../storage/cell/cell-type.js'
export type { BytesLike, ColumnName, ColumnParts } from '../storage/cell/column-name.js'
export type { Timestamp } from '../storage/cell/timestamp.js'
export { CellDecision } from '../storage/coprocessor/cell-hook.js'
export type {
  CellHook,
  CellHookReference,
  CellHookSetup,
  CellReplacement,
  CreateCellHook,
  StoreJob,
} from '../storage/coprocessor/cell-hook.js'
export type * from '../storage/coprocessor/job-observer.js'
export { CoprocessorPriority } from '../storage/coprocessor/priority.js'
export { FilterCode, type Filter, type RowCells } from '../storage/filter/filter.js'
export type {
  AtomicBatch,
  AtomicBatchOption,
  AtomicCheck,
  AtomicMutation,
  AtomicResult,
} from './atomic.js'
export {
  allCapabilities,
  checkDatabase,
  requireCapability,
  type Capabilities,
  type Capability,
} from './capabilities.js'
export type { Change, ChangedCell, ChangeOptions, UnloggedState } from './changes.js'
export { durabilityOption, stronger, type Durability, type DurabilityOption } from './durability.js'
export type {
  Coprocessor,
  CoprocessorModule,
  CoprocessorRegistration,
  Endpoint,
  Endpoints,
  TableCoprocessor,
} from './coprocessor.js'
export type * from './database.js'
export type {
  Append,
  AppendColumn,
  BatchCallback,
  BatchForms,
  BatchOperation,
  BatchResult,
  Check,
  CheckAction,
  CheckAndMutateResult,
  CheckCondition,
  CheckedAction,
  CheckMembers,
  CheckOf,
  CheckTarget,
  ColumnTarget,
  Delete,
  FamilyTarget,
  FamilyVersion,
  Increment,
  IncrementColumn,
  MultiRowMutations,
  MutatedRow,
  Mutation,
  MutationForms,
  OneOf,
  Put,
  PutCell,
  PutValue,
  RowForms,
  RowMutations,
  RowOperation,
  TimedValue,
} from './mutations.js'
export type * from './observer.js'
export { emptyReceipt, type PutReceipt } from './put-receipt.js'
export type {
  Get,
  ReadOptions,
  RowPrefix,
  RowSpan,
  Scan,
  ScanMetrics,
  ScanOptions,
  Snapshot,
  TimeRangeOption,
} from './reads.js'
export { ResultScanner, SyncResultScanner } from './scanners.js'
export { AsyncRows, type ElementCallback } from './rows/async-rows.js'
export { SyncRows, type SyncElementCallback } from './rows/sync-rows.js'
export {
  encodings,
  type Encoding,
  type EncodingByName,
  type EncodingName,
  type EncodingOption,
  type ValueOf,
} from './results/encodings.js'
export type { CellDisplay, Inspect, ResultDisplay } from './results/display.js'
export { Result, type Cell, type ResultMarks } from './results/result.js'
export type { ValuesByFamily } from './results/result-maps.js'
export type {
  FamilyDescription,
  FamilyOptions,
  TableAlteration,
  TableDescription,
  TableOptions,
} from './schema.js'
export type * from './table.js'
