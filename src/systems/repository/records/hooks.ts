/**
 * Hooks: functions of the program that run before a write, ahead of the check of its conditions.
 */
import type { RecordId } from '../record-id.js'
import type { RecordInput, StoredRecord } from './record.js'

/** Arguments of a hook besides the input. */
export interface HookContext {
  /** Name of the repository. */
  readonly repository: string
  /** Name of the record table. */
  readonly table: string
  /** Id of the record, also of a new one. */
  readonly id: RecordId
  /** The stored record; undefined for a new one. */
  readonly stored: StoredRecord | undefined
}

/**
 * A hook. The return value of its functions replaces the input; the id cannot change. A retried
 * write calls its hooks again, so they should have no side effects.
 */
export interface RepositoryHook {
  /** Name of the hook in messages. */
  readonly name: string
  /** Called for a record that does not exist. An exception is the error of the write. */
  beforeCreate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Called for a record that exists. An exception is the error of the write. */
  beforeUpdate?(input: RecordInput, context: HookContext): RecordInput | Promise<RecordInput>
  /** Called before a deletion; an exception prevents it. */
  beforeDelete?(context: HookContext): void | Promise<void>
}
