/**
 * Writes records of one table. A write reads the record, computes the change, and commits it with a
 * check that the record is unchanged. A write that loses a race throws
 * `ERR_CONCURRENT_RECORD_UPDATE`, or is retried in turn.
 */
import { hasCode } from '../../errors.js'
import { exists } from '../reads/record-heads.js'
import type { RecordInput, StoredRecord, WriteResult } from '../record.js'
import type { TableContext } from '../table-context.js'
import { commit } from './commit.js'
import {
  creating,
  recordExists,
  updating,
  type Attempt,
  type PreparedWrite,
} from './record-attempts.js'
import type { UpdateOptions } from './write-options.js'

const flipsMax = 3

/** Result of a write. The record is built on demand, because most callers never read it. */
export class Outcome<Status, Shown extends StoredRecord | undefined> {
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
    this.#record ??= this.#show()
    return this.#record
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

/** Creates a record. `ERR_RECORD_EXISTS`. */
export async function createRecord(
  context: TableContext,
  { id, run }: Attempt,
): Promise<WriteResult> {
  const prepared = await run()
  try {
    return await commitWrite(context, prepared)
  } catch (error) {
    // If the record exists now, another writer created it. If not, another check failed.
    throw isConcurrent(error) && (await exists(context, id)) ? recordExists(id) : error
  }
}

/** Creates a record, or updates it if it exists. */
export async function createOrUpdateRecord(
  context: TableContext,
  input: RecordInput,
  options?: UpdateOptions,
): Promise<WriteResult> {
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

/** Runs a write, and repeats a write that loses a race. */
export async function retried(
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
