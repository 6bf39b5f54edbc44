/** Batches: writes of several records, of one or several tables, all or none. */
import { checkObject, readArguments } from '../../../../api/index.js'
import { invalidArgument } from '../../errors.js'
import type { RecordIdLike } from '../../record-id.js'
import { commit, type TableChange } from './commit.js'
import type { RecordInput, StoredRecord, WriteStatus } from '../record.js'
import type { TableContext } from '../table-context.js'
import {
  creating,
  deleting,
  updating,
  type Attempt,
  type PreparedWrite,
} from './record-attempts.js'
import { Outcome } from './record-writer.js'
import type { CreateOptions, DeleteOptions, UpdateOptions } from './write-options.js'

/** One write of a batch. */
export type BatchWrite =
  | {
      /** A record that must not exist. */
      readonly create: RecordInput
      /** Options of the single call. */
      readonly options?: CreateOptions | undefined
    }
  | {
      /** A record that must exist, with the fields to change. */
      readonly update: RecordInput
      /** Options of the single call, without `retries`. */
      readonly options?: Omit<UpdateOptions, 'retries'> | undefined
    }
  | {
      /** Id of a record that must exist. */
      readonly delete: RecordIdLike
      /** Options of the single call, without `retries`. */
      readonly options?: Omit<DeleteOptions, 'retries'> | undefined
    }

/** Result of one write of a batch. */
export interface BatchResult {
  /**
   * The status of a single write. `NOT_WRITTEN`: the write would have changed the record, but
   * another one of the batch is a `CONFLICT`, so nothing was written.
   */
  readonly status: WriteStatus | 'NOT_WRITTEN'
  /**
   * The submitted fields after the write; for a conflict and for `NOT_WRITTEN`, as they are stored.
   * Undefined for a create that was not written: there is no such record.
   */
  readonly record: StoredRecord | undefined
  /** Sequence of the batch in the change feed; undefined if nothing was written. */
  readonly sequence: number | undefined
}

/** A write of a batch with its table. */
export interface TableWrite {
  readonly context: TableContext
  readonly write: BatchWrite
}

/** Writes all or none. Later changes of the input by the caller have no effect. */
export async function writeBatch(writes: readonly TableWrite[]): Promise<BatchResult[]> {
  const seen = new Set<string>()
  const entries = writes.map(({ context, write }) => {
    const attempt = readArguments(() => attemptOf(context, write))
    const place = `${context.keyText} ${attempt.id.text}`
    if (seen.has(place)) throw invalidArgument(`the batch writes ${attempt.id.text} twice`)
    seen.add(place)
    return { context, attempt }
  })
  const prepared: PreparedWrite[] = []
  const changes: TableChange[] = []
  for (const { context, attempt } of entries) {
    const write = await attempt.run()
    prepared.push(write)
    if (write.change !== undefined) changes.push({ context, change: write.change })
  }
  const hasConflict = prepared.some(({ status }) => status === 'CONFLICT')
  const sequence = hasConflict || changes.length === 0 ? undefined : await commit(changes)
  return prepared.map(({ status, change, show, showStored }) => {
    if (!hasConflict || change === undefined) return new Outcome(status, sequence, show)
    return new Outcome('NOT_WRITTEN', sequence, showStored)
  })
}

const kinds = { create: creating, update: updating, delete: deleting }

function attemptOf(context: TableContext, write: BatchWrite): Attempt {
  const { options, ...rest } = checkObject(write, 'a write of a batch')
  const [kind, ...others] = Object.keys(rest)
  if (others.length > 0 || !Object.hasOwn(kinds, kind)) {
    throw invalidArgument('a write of a batch is one of create, update and delete, and options')
  }
  if (options !== undefined && 'retries' in checkObject(options, 'options')) {
    throw invalidArgument('a write of a batch has no retries: repeat the batch')
  }
  const given = (rest as Readonly<Record<string, unknown>>)[kind]
  return kinds[kind as keyof typeof kinds](context, given as never, options)
}
