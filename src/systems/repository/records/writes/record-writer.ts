/**
 * Writes records of one table. A write reads the record, computes the change, and commits it with a
 * check that the record is unchanged. A write that loses a race throws
 * `ERR_CONCURRENT_RECORD_UPDATE`, or is retried in turn.
 */
import { hasCode } from '../../errors.js'
import type { RecordIdLike } from '../../record-id.js'
import type { RecordReader } from '../reads/record-reader.js'
import type { RecordInput, WriteResult } from '../record.js'
import type { TableContext } from '../table-context.js'
import { commit } from './commit.js'
import { Outcome, type Attempt, type PreparedWrite } from './prepared-write.js'
import { RecordAttempts, recordExists } from './record-attempts.js'
import type { CreateOptions, DeleteOptions, UpdateOptions } from './write-options.js'

const flipsMax = 3

/** The writer of a record table. */
export class RecordWriter {
  /** Prepares the writes. */
  readonly attempts: RecordAttempts
  readonly #context: TableContext
  readonly #reader: RecordReader

  constructor(context: TableContext, reader: RecordReader) {
    this.#context = context
    this.#reader = reader
    this.attempts = new RecordAttempts(context, reader)
  }

  async create(input: RecordInput, options?: CreateOptions): Promise<WriteResult> {
    return this.#create(this.attempts.creating(input, options))
  }

  async update(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    return this.#retried(this.attempts.updating(input, options), options?.retries ?? 0)
  }

  async delete(id: RecordIdLike, options?: DeleteOptions): Promise<WriteResult> {
    return this.#retried(this.attempts.deleting(id, options), options?.retries ?? 0)
  }

  async createOrUpdate(input: RecordInput, options?: UpdateOptions): Promise<WriteResult> {
    const updating = this.attempts.updating(input, options)
    const { useLatestRecordType, retries = 0 } = options ?? {}
    const creating = this.attempts.creating(input, { useLatestRecordType })
    for (let flip = 0; ; flip++) {
      const { state } = await this.#reader.head(updating.id)
      const isThere = state !== undefined && !state.isDeleted
      try {
        return await (isThere ? this.#retried(updating, retries) : this.#create(creating))
      } catch (error) {
        if (!hasCode(error, 'recordExists', 'recordNotFound') || flip >= flipsMax) throw error
      }
    }
  }

  /** Commits a write, unless it changes nothing. */
  async commit(write: PreparedWrite): Promise<WriteResult> {
    const { status, change, show } = write
    const sequence = change && (await commit([{ context: this.#context, change }]))
    return new Outcome(status, sequence, show)
  }

  async #create({ id, run }: Attempt): Promise<WriteResult> {
    const prepared = await run()
    try {
      return await this.commit(prepared)
    } catch (error) {
      if (!isConcurrent(error)) throw error
      // If the record exists now, another writer created it. If not, another check failed.
      const { state } = await this.#reader.head(id)
      if (state !== undefined && !state.isDeleted) throw recordExists(id)
      throw error
    }
  }

  async #retried({ id, run }: Attempt, retries: number): Promise<WriteResult> {
    const once = async (): Promise<WriteResult> => this.commit(await run())
    try {
      return await once()
    } catch (error) {
      if (retries === 0 || !isConcurrent(error)) throw error
    }
    return this.#context.turns.run(this.#context.table.name, id.bytes, async () => {
      for (let left = retries; ; left--) {
        try {
          return await once()
        } catch (error) {
          if (left <= 1 || !isConcurrent(error)) throw error
        }
      }
    })
  }
}

function isConcurrent(error: unknown): boolean {
  return hasCode(error, 'concurrentRecordUpdate')
}
