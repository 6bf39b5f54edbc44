/** Hooks: what programs add to every write of records, before conditions are looked at. */
import type { RecordId } from './record-id.js'
import type { RecordInput, StoredRecord } from './records/record.js'

/** What a hook is told beside the input. */
export interface HookContext {
  /** Name of the repository. */
  readonly repository: string
  /** Name of the record table. */
  readonly table: string
  /** Id of the record, also of a new one. */
  readonly id: RecordId
  /** The record as it is stored; undefined for a new one. */
  readonly stored: StoredRecord | undefined
}

/**
 * A hook. What its functions return takes the place of the input; the id cannot change. They may
 * run more than once for one write, when it is tried again, so they should do nothing else.
 */
export interface RepositoryHook {
  /** For messages. */
  readonly name: string
  /**
   * Called for a record that does not exist. What the function throws is the error of the write.
   */
  beforeCreate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Called for a record that exists. What the function throws is the error of the write. */
  beforeUpdate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Throws to keep the record. */
  beforeDelete?(context: HookContext): void | Promise<void>
}
