/**
 * Writes records, one or several together. A write reads the record, computes the change, and
 * commits it with a check that the record is unchanged. A write that loses a race throws
 * `ERR_CONCURRENT_RECORD_UPDATE`, or is retried in turn.
 */
import { hasCode, invalidArgument } from '../../errors.js'
import { exists, readHead } from '../reads/record-heads.js'
import { RecordReader } from '../reads/record-reader.js'
import {
  copyAttributes,
  type RecordInput,
  type StoredRecord,
  type WriteResult,
  type WriteStatus,
} from '../record.js'
import type { TableContext } from '../table-context.js'
import { commit, type StoredEvent, type TableChange } from './commit.js'
import { eventColumn, headColumn } from '../record-state.js'
import {
  creating,
  deleting,
  recordExists,
  updating,
  type Attempt,
  type PreparedWrite,
} from './record-attempts.js'
import type { CreateOptions, DeleteOptions, UpdateOptions } from './write-options.js'
import { checkArray, checkObject, readArguments } from '../../../../api/index.js'
import { RecordId, type RecordIdLike } from '../../record-id.js'

const flipsMax = 3

/** Result of a write. The record is built on demand, because most callers never read it. */
class Outcome<Status, Shown> {
  readonly status: Status
  readonly sequence: number | undefined
  readonly #show: () => Shown
  #record: Shown | undefined

  constructor(status: Status, sequence: number | undefined, show: () => Shown) {
    this.status = status
    this.sequence = sequence
    this.#show = show
  }

  get record(): Shown {
    return (this.#record ??= this.#show())
  }
}

/** Commits a write, unless it changes nothing. */
export async function commitWrite(
  context: TableContext,
  { status, change, show }: PreparedWrite,
): Promise<WriteResult> {
  const sequence = change && (await commit([{ context, change }]))
  return new Outcome(status, sequence, show)
}

async function createRecord(context: TableContext, { id, run }: Attempt): Promise<WriteResult> {
  const prepared = await run()
  try {
    return await commitWrite(context, prepared)
  } catch (error) {
    // If the record exists now, another writer created it. If not, another check failed.
    throw isConcurrent(error) && (await exists(context, id)) ? recordExists(id) : error
  }
}

/** Runs a write, and repeats a write that loses a race. */
async function retried(
  context: TableContext,
  { id, run }: Attempt,
  retries = 0,
): Promise<WriteResult> {
  const once = async (): Promise<WriteResult> => commitWrite(context, await run())
  try {
    return await once()
  } catch (error) {
    if (retries === 0 || !isConcurrent(error)) throw error
  }
  const row = `${context.table.name} ${id.bytes.toString('latin1')}`
  return context.turns.run(row, async () => {
    for (let left = retries; ; left--) {
      try {
        return await once()
      } catch (error) {
        if (left <= 1 || !isConcurrent(error)) throw error
      }
    }
  })
}

function isConcurrent(error: unknown): boolean {
  return hasCode(error, 'concurrentRecordUpdate')
}

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

/** Writes all or none. Later changes of the input by the caller have no effect. */
export async function writeBatch(
  writes: readonly { readonly context: TableContext; readonly write: BatchWrite }[],
): Promise<BatchResult[]> {
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

/** The writes of a record table. */
export abstract class RecordWriter extends RecordReader {
  /**
   * Creates a record. `ERR_RECORD_EXISTS`. A deleted id may be used again; its versions continue.
   */
  async create(input: RecordInput, options?: CreateOptions): Promise<WriteResult> {
    return createRecord(this.context, creating(this.context, input, options))
  }

  /**
   * Changes the given fields. `ERR_RECORD_NOT_FOUND`, `ERR_VERSION_NOT_FOUND`. Status `UP_TO_DATE`
   * if nothing changes, `CONFLICT` if a condition does not hold.
   */
  async update(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    return retried(this.context, updating(this.context, input, options), options?.retries)
  }

  /** Creates the record, or updates it if it exists. Safe to repeat. */
  async createOrUpdate(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    const { context } = this
    const update = updating(context, input, options)
    const { useLatestRecordType, retries } = options ?? {}
    const create = creating(context, input, { useLatestRecordType })
    for (let flip = 0; ; flip++) {
      const isThere = await exists(context, update.id)
      try {
        return await (isThere ? retried(context, update, retries) : createRecord(context, create))
      } catch (error) {
        if (!hasCode(error, 'recordExists', 'recordNotFound') || flip >= flipsMax) throw error
      }
    }
  }

  /** Deletes a record with all its versions. `ERR_RECORD_NOT_FOUND`. */
  async delete(id: RecordIdLike, options?: DeleteOptions): Promise<WriteResult> {
    return retried(this.context, deleting(this.context, id, options), options?.retries)
  }

  /**
   * Writes several different records, all or none. Results are by position. If one write is a
   * `CONFLICT`, nothing is written, and the other changes are `NOT_WRITTEN`. `Repository.batch`
   * writes to several tables.
   */
  async batch(writes: readonly BatchWrite[]): Promise<BatchResult[]> {
    const list = readArguments(() => checkArray(writes, 'the writes of a batch'))
    return writeBatch(list.map((write) => ({ context: this.context, write })))
  }

  /**
   * Notifies subscribers of the present record by an event of the type `record-index`. Returns the
   * sequence of the event; undefined if there is no such record.
   */
  async publish(
    idLike: RecordIdLike,
    attributes?: Readonly<Record<string, string>>,
  ): Promise<number | undefined> {
    const texts = readArguments(() => attributes && copyAttributes(attributes))
    const id = RecordId.of(idLike)
    const { table, database, durability, repository, name } = this.context
    const named = { repository, table: name, id: id.text }
    const type = 'record-index'
    const event: StoredEvent = { type, ...named, updatedFields: [], attributes: texts }
    const row = { table, row: id.bytes }
    const cells = { [eventColumn]: JSON.stringify(event) }
    for (;;) {
      const { bytes: head, state } = await readHead(this.context, id)
      if (head === undefined || state?.isDeleted === true) return undefined
      const { sequence } = await database.atomic({
        checks: [{ ...row, column: headColumn, equals: head }],
        mutations: [{ ...row, mutations: [{ put: { cells, timestamp: 1 } }] }],
        durability,
      })
      if (sequence !== undefined) return sequence
    }
  }
}
