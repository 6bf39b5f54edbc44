/** The dependencies that the parts of a record table share. */
import type {
  Clock,
  Database,
  DurabilityOption,
  KeyedQueue,
  SyncTable,
  Table,
} from '../../../api/index.js'
import type { RepositoryHook } from './record.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { CommitGate, CommitPart } from './writes/commit.js'
import type { UniqueClaims } from './unique/unique-values.js'

/** One record table as its parts see it. */
export interface TableContext {
  readonly database: Database
  readonly table: Table
  /** The same table, if the backend has synchronous calls. */
  readonly syncTable: SyncTable | undefined
  /** Name of the table of the database that holds the index rows of all record tables. */
  readonly indexTable: string
  readonly repository: string
  /** Name of the record table in its repository. */
  readonly name: string
  /** Identifies this record table in the rows of shared tables. */
  readonly key: Buffer
  /** The same as text: repository `/` table. */
  readonly keyText: string
  readonly schema: SchemaCache
  readonly clock: Clock
  readonly durability: DurabilityOption
  readonly randomBytes: (length: number) => Uint8Array
  /** Milliseconds during which a deleted record can be restored; 0 = never. */
  readonly undeleteMilliseconds: number
  readonly hooks: readonly RepositoryHook[]
  readonly gate: CommitGate
  /** Writers that have lost a race for a row continue in turn, without conflicts of their own. */
  readonly turns: KeyedQueue
  readonly uniqueClaims: UniqueClaims
  /** Parts that write in the batches of records. */
  readonly parts: readonly CommitPart[]
  /**
   * Throws `ERR_REPOSITORY_CLOSED` once the manager is closed, and `ERR_RECORD_TABLE_NOT_FOUND`
   * once the record table is dropped.
   */
  checkOpen(): void
  /** The database table of another record table of the repository. `ERR_RECORD_TABLE_NOT_FOUND`. */
  tableOf(name: string): Table
}
