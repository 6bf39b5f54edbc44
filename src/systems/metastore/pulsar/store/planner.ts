/**
 * Plans commits on the working state: checks, new nodes, entries of indexes and events.
 *
 * A commit is planned synchronously. After an error the caller rolls the state back, so the commit
 * leaves no change.
 */
import { assert } from '../../../../api/index.js'
import {
  entryChanges,
  writeBytes,
  type EntryChanges,
  type EntryForm,
} from '../../../../comfort/indexes/entries.js'
import type { Lease } from '../../kernel/lease-clock.js'
import { metadataError } from '../../metadata/errors.js'
import type { GroupEvents } from './group-events.js'
import { checkPath, nameOf, parentOf } from '../../metadata/paths.js'
import { noIndexes, recordWith, type PlacedRecord, type StoredRecord } from './record-format.js'
import { absentNode, counterRow, indexKey, isAbsent, ownedRow, rowBytesMax } from './rows.js'
import type { Expected, PutOptions, Stat } from '../../metadata/types.js'
import { emptyValue, type WorkingState } from './working-state.js'

/** A put with checked arguments. */
export interface PutStep {
  readonly kind: 'put'
  readonly path: string
  /** The value, after space for the header of the record; see `cellOfValue`. */
  readonly cell: Buffer
  readonly expected: Expected | undefined
  readonly options: PutOptions
  /** Version and times of a record that comes from another store. */
  readonly imported?: Pick<Stat, 'version' | 'creationTimestamp' | 'modificationTimestamp'>
}

/** A delete or a check with checked arguments. */
export interface ExpectStep {
  readonly kind: 'delete' | 'check'
  readonly path: string
  readonly expected: Expected | undefined
}

/** A step of a commit. */
export type Step = PutStep | ExpectStep

/** A session as the planner sees it. */
export interface OwningSession {
  readonly id: number
  readonly lease: Pick<Lease, 'isHeld'>
}

const sequentialDigits = 10
const deltaDigits = 20
const uint64End = 2n ** 53n

/** Plans the commits of one group in order. For each commit: `begin`, its steps, then `finish`. */
export class CommitPlanner {
  readonly #state: WorkingState
  /** Receives the events of each commit: first those of its writes, then `ChildrenChanged`. */
  readonly #events: GroupEvents
  readonly #now: number
  #sequence = 0
  #session: OwningSession | undefined = undefined
  readonly #parentsChanged = new Set<string>()

  /** Events are added to `events`. `now` is the timestamp of all commits. */
  constructor(state: WorkingState, events: GroupEvents, now: number) {
    this.#state = state
    this.#events = events
    this.#now = now
  }

  /** Starts a commit. Does not undo the changes of an unfinished commit. */
  begin(sequence: number, session: OwningSession | undefined): void {
    this.#sequence = sequence
    this.#session = session
    if (this.#parentsChanged.size > 0) this.#parentsChanged.clear()
  }

  /** Adds one `ChildrenChanged` for each path whose set of children changed, except `/`. */
  finish(): void {
    if (this.#parentsChanged.size === 0) return
    for (const path of this.#parentsChanged) {
      if (path !== '/') this.#events.add('ChildrenChanged', path, undefined)
    }
  }

  /** Applies a step. Returns the record of a put. */
  step(step: Step): PlacedRecord | undefined {
    if (step.kind === 'put') return this.#put(step)
    if (step.kind === 'delete') this.#delete(step.path, step.expected)
    else checkExpectation(step.path, this.#state.node(step.path).record, step.expected)
    return undefined
  }

  #put(step: PutStep): PlacedRecord {
    const { options, expected, imported } = step
    const path = this.#finalPath(step)
    // The path with its number is longer than the path that the call checked.
    if (path.length !== step.path.length) checkPath(path)
    const node = this.#state.node(path)
    const before = node.record
    checkExpectation(path, before, expected)
    const header = {
      version: imported?.version ?? (before === undefined ? 0 : before.version + 1),
      sequence: this.#sequence,
      creationSequence: before?.creationSequence ?? this.#sequence,
      created: imported?.creationTimestamp ?? before?.created ?? this.#now,
      modified: imported?.modificationTimestamp ?? this.#now,
      session: before === undefined ? this.#ownerOf(options) : before.session,
      indexes: indexesOf(options, before),
    }
    if (before === undefined && header.session !== 0 && node.children > 0) {
      throw metadataError('noChildrenForEphemerals', path)
    }
    const record = recordWith(header, step.cell)
    this.#moveIndexes(path, before?.indexes ?? noIndexes, record.indexes)
    if (before === undefined && record.session !== 0) {
      const row = ownedRow(record.session, path)
      this.#state.setEntry({ table: 'owned', row, value: emptyValue })
    }
    if (isAbsent(node)) this.#addToParent(path)
    this.#state.setNode(path, { record, children: node.children })
    this.#events.add(before === undefined ? 'Created' : 'Modified', path, record)
    return { path, record }
  }

  #ownerOf({ ephemeral }: PutOptions): number {
    if (ephemeral !== true) return 0
    if (this.#session === undefined)
      throw metadataError('invalidArgument', 'the store has no session')
    if (!this.#session.lease.isHeld) throw metadataError('sessionLost')
    return this.#session.id
  }

  /** The path of a put, including newly assigned sequence numbers. */
  #finalPath({ path, options }: PutStep): string {
    if (options.sequenceKeysDeltas !== undefined) {
      return this.#deltaPath(path, options.sequenceKeysDeltas)
    }
    if (options.sequential !== true) return path
    const row = counterRow('sequential', parentOf(path) ?? '/')
    for (;;) {
      const number = this.#state.counter(row)[0] ?? 0n
      this.#state.setCounter(row, [number + 1n])
      const numbered = path + String(number).padStart(sequentialDigits, '0')
      // A plain put may have created a record at the numbered path.
      if (this.#state.node(numbered).record === undefined) return numbered
    }
  }

  #deltaPath(prefix: string, deltas: readonly number[]): string {
    const row = counterRow('deltas', prefix)
    for (;;) {
      const numbers = nextNumbers(prefix, this.#state.counter(row), deltas)
      this.#state.setCounter(row, numbers)
      const path = sequencePath(prefix, numbers)
      if (this.#state.node(path).record === undefined) return path
    }
  }

  #delete(path: string, expected: Expected | undefined): void {
    const { record, children } = this.#state.node(path)
    if (record === undefined) throw metadataError('notFound', path)
    checkExpectation(path, record, expected)
    if (children > 0) throw metadataError('notEmpty', path)
    this.removeRecord(path)
  }

  /** Removes a record unconditionally, but not its children. Does nothing if there is no record. */
  removeRecord(path: string): void {
    const { record, children } = this.#state.node(path)
    if (record === undefined) return
    this.#moveIndexes(path, record.indexes, noIndexes)
    if (record.session !== 0) {
      const row = ownedRow(record.session, path)
      this.#state.setEntry({ table: 'owned', row, value: undefined })
    }
    this.#state.setNode(path, children === 0 ? absentNode : { record: undefined, children })
    this.#events.add('Deleted', path, undefined)
    if (children === 0) this.#removeFromParent(path)
  }

  #addToParent(path: string): void {
    for (let child = path; ;) {
      const parent = parentOf(child)
      if (parent === undefined) return
      const node = this.#state.node(parent)
      if (isEphemeral(node.record)) throw metadataError('noChildrenForEphemerals', path)
      this.#state.setNode(parent, { record: node.record, children: node.children + 1 })
      this.#parentsChanged.add(parent)
      if (!isAbsent(node)) return
      child = parent
    }
  }

  #removeFromParent(path: string): void {
    for (let child = path; ;) {
      const parent = parentOf(child)
      if (parent === undefined) return
      const { record, children } = this.#state.node(parent)
      assert(children > 0, 'a parent counts its children')
      const node = { record, children: children - 1 }
      this.#state.setNode(parent, isAbsent(node) ? absentNode : node)
      this.#parentsChanged.add(parent)
      if (!isAbsent(node)) return
      child = parent
    }
  }

  #moveIndexes(path: string, before: readonly string[], after: readonly string[]): void {
    if (before === after) return
    const { removed, written } = indexChanges(path, before, after)
    for (const row of removed) this.#state.setEntry({ table: 'index', row, value: undefined })
    for (const { key, value } of written) {
      this.#state.setEntry({ table: 'index', row: key, value })
    }
  }
}

/** The numbers of a sequence after the given ones. `ERR_METADATA_INVALID_ARGUMENT` at its end. */
export function nextNumbers(
  prefix: string,
  before: readonly bigint[],
  deltas: readonly number[],
): readonly bigint[] {
  const numbers = deltas.map((delta, i) => (before[i] ?? 0n) + BigInt(delta))
  if (numbers.every((number) => number < uint64End)) return numbers
  throw metadataError('invalidArgument', `the sequence of ${prefix} is exhausted`)
}

/** The stored path of a put with sequence keys. */
export function sequencePath(prefix: string, numbers: readonly bigint[]): string {
  const digits = numbers.map((number) => String(number).padStart(deltaDigits, '0'))
  return `${prefix}-${digits.join('-')}`
}

/** Whether a record is ephemeral. An ephemeral record must not have children. */
function isEphemeral(record: StoredRecord | undefined): boolean {
  return record !== undefined && record.session !== 0
}

function indexesOf(options: PutOptions, before: StoredRecord | undefined): readonly string[] {
  const { secondaryIndexes } = options
  if (secondaryIndexes === undefined) return before?.indexes ?? noIndexes
  const indexes = Object.entries(secondaryIndexes).flat()
  return indexes.length === 0 ? noIndexes : indexes
}

/** Throws `ERR_METADATA_BAD_VERSION` unless a record is in the expected state. */
export function checkExpectation(
  path: string,
  record: StoredRecord | undefined,
  expected: Expected | undefined,
): void {
  if (expected === undefined) return
  if (expected === -1) {
    if (record !== undefined)
      throw metadataError('badVersion', `${path}: the record exists already`)
    return
  }
  if (record === undefined) throw metadataError('badVersion', `${path}: there is no record`)
  if (typeof expected === 'number') {
    if (record.version === expected) return
    throw metadataError('badVersion', `${path}: version ${record.version}, expected ${expected}`)
  }
  const isCreation = 'creationSequence' in expected
  const found = isCreation ? record.creationSequence : record.sequence
  const wanted = isCreation ? expected.creationSequence : expected.sequence
  if (found === wanted) return
  const what = isCreation ? 'creation' : 'sequence'
  throw metadataError('badVersion', `${path}: ${what} ${found}, expected ${wanted}`)
}

/** The beginning of an entry, and the index for messages. */
interface IndexKey {
  readonly index: string
  readonly bytes: Buffer
}

/**
 * What a write of the record at a path does to its entries; `before` and `after` are alternating
 * names and keys. `ERR_METADATA_INVALID_ARGUMENT` for an entry that is too long.
 */
function indexChanges(
  path: string,
  before: readonly string[],
  after: readonly string[],
): EntryChanges {
  return entryChanges(formOf(path), Buffer.from(nameOf(path)), before, after)
}

function formOf(path: string): EntryForm<readonly string[]> {
  const parent = parentOf(path) ?? ''
  const tooLong = (what: string): Error => {
    const limit = `${rowBytesMax} bytes with the path`
    return metadataError('invalidArgument', `${what} of ${path} is longer than ${limit}`)
  }
  return {
    parts: [
      {
        values: (indexes) => {
          const keys: IndexKey[] = []
          for (let i = 0; i < indexes.length; i += 2) {
            keys.push({ index: indexes[i], bytes: indexKey(indexes[i], indexes[i + 1], parent) })
          }
          return keys
        },
        write(target, offset, value) {
          const { index, bytes } = value as IndexKey
          const end = writeBytes(target, offset, bytes)
          if (end + Buffer.byteLength(nameOf(path)) <= rowBytesMax) return end
          throw tooLong(`the index ${index}`)
        },
      },
    ],
    unique: false,
    valueOf: () => emptyValue,
    tooLong: () => tooLong('an index'),
  }
}
