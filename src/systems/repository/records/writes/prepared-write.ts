/** Writes that are ready for the commit, and their results. */
import type { RecordId } from '../../record-id.js'
import type { RecordReader, StoredHead } from '../reads/record-reader.js'
import type { StoredRecord, WriteStatus } from '../record.js'
import type { RecordChange, StateChange } from './record-change.js'

/** A write ready for the commit, or the result that nothing is to be written. */
export interface PreparedWrite {
  readonly status: WriteStatus
  /** Undefined if nothing is to be written. */
  readonly change: RecordChange | undefined
  /** Builds the record of the result. */
  readonly show: () => StoredRecord
  /** Builds the stored record with the same fields; undefined if there is no record. */
  readonly showStored: () => StoredRecord | undefined
}

/** A write with its input fixed at the call. Each run applies the input to the present record. */
export interface Attempt {
  readonly id: RecordId
  readonly run: () => Promise<PreparedWrite>
}

/** A write that changes nothing. */
export function unchanged(status: WriteStatus, show: () => StoredRecord): PreparedWrite {
  return { status, change: undefined, show, showStored: show }
}

/** The versions from `first` to `last`; none if the record has no versions. */
export function versionRange(first: number, last: number): number[] {
  const count = first === 0 ? 0 : Math.max(0, last - first + 1)
  return Array.from({ length: count }, (_, index) => first + index)
}

/** The change of a write that removes old versions. */
export async function removing(
  reader: RecordReader,
  { id, bytes, state }: StoredHead,
  { after, event }: Pick<StateChange, 'after' | 'event'>,
  removed: readonly number[],
): Promise<RecordChange> {
  return {
    id,
    beforeBytes: bytes,
    before: state,
    after,
    versions: new Map(removed.map((version) => [version, undefined])),
    versionsBefore: await reader.versionStates(id, removed),
    event,
  }
}

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
