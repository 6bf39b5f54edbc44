/**
 * The state of the transaction manager as rows of one table with the family `s`, so that changes of
 * state and writes of clients share a log and a frame. The rows are the snapshot, and the
 * database's log is the log of changes, so recovery of the database recovers the state.
 *
 *   m                        the pointers: s:v = readPointer(8) lastWritePointer(8)
 *   p id(8)                  a transaction in progress:
 *                            s:v = type(1) expiration(8) visibilityUpperBound(8) checkpoints(8)*
 *                            s:g = change set of `canCommit`, absent if there is none
 *                            s:n = name of the client, absent if unknown
 *                            s:u = { id(8) }*, commits under way at the start, absent if none
 *   c commitPointer(8) id(8) a commit: s:g = change set, s:n as above
 *   i id(8)                  an invalid transaction: s:v = empty
 *
 *   change set = { length(4) bytes }*
 *
 * Numbers are big-endian. All cells have the timestamp 1: among equal timestamps the last written
 * cell wins, so a clock that steps back restores no old state. A delete at timestamp 1 would mask a
 * later put of the row, but no row is written again: ids are never used twice.
 */
import type { SnapshotTransaction } from './manager-calls.js'
import type { AtomicMutation, Result, Table } from '../../../api/index.js'
import { eachRow } from '../../../comfort/tables.js'
import { corrupt } from '../../bytes/byte-reader.js'
import type { ChangeSet } from './change-sets.js'

/** A running transaction. */
export interface StoredTransaction extends SnapshotTransaction {
  checkpoints: readonly bigint[]
  /** The change set of `canCommit`; undefined before the call. */
  committing: ChangeSet | undefined
  /** Transactions whose commit frames were being written when it started. */
  readonly underWay: readonly bigint[]
}

/** A committed change set. */
export interface StoredCommit {
  readonly pointer: bigint
  readonly id: bigint
  readonly changes: ChangeSet
  readonly client: string | undefined
}

/** The pointers of the state; see `ManagerState`. */
export interface StoredPointers {
  readPointer: bigint
  writePointer: bigint
}

/** The content of the state table. */
export interface StoredState extends StoredPointers {
  readonly running: Map<bigint, StoredTransaction>
  readonly committed: StoredCommit[]
  readonly invalid: Set<bigint>
}

/** A state without transactions. */
export function emptyState(): StoredState {
  return {
    readPointer: 0n,
    writePointer: 0n,
    running: new Map(),
    committed: [],
    invalid: new Set(),
  }
}

/** The single family of the state table. */
export const stateFamily = 's'
const timestamp = 1
const pointersRow = Buffer.from('m')
const valueColumn = 's:v'
const changesColumn = 's:g'
const clientColumn = 's:n'
const underWayColumn = 's:u'
const tagRunning = 0x70
const tagCommitted = 0x63
const tagInvalid = 0x69

export class StateRows {
  readonly #table: string

  constructor(table: string) {
    this.#table = table
  }

  pointers({ readPointer, writePointer }: StoredPointers): AtomicMutation {
    return this.#put(pointersRow, { [valueColumn]: encodeIds([readPointer, writePointer]) })
  }

  running(transaction: StoredTransaction): AtomicMutation {
    const { type, expiration, visibilityUpperBound, checkpoints, committing } = transaction
    const { client, underWay } = transaction
    const numbers = [BigInt(expiration), visibilityUpperBound, ...checkpoints]
    const value = encodeIds(numbers, type === 'LONG' ? 1 : 0)
    const cells: Record<string, Buffer | string> = { [valueColumn]: value }
    if (committing !== undefined) cells[changesColumn] = encodeChanges(committing)
    if (client !== undefined) cells[clientColumn] = client
    if (underWay.length > 0) cells[underWayColumn] = encodeIds(underWay)
    return this.#put(encodeIds([transaction.id], tagRunning), cells)
  }

  /** Writes only the change set of a running transaction. */
  committing(id: bigint, changes: ChangeSet): AtomicMutation {
    return this.#put(encodeIds([id], tagRunning), { [changesColumn]: encodeChanges(changes) })
  }

  ended(id: bigint): AtomicMutation {
    return this.#delete(encodeIds([id], tagRunning))
  }

  committed({ pointer, id, changes, client }: StoredCommit): AtomicMutation {
    const cells: Record<string, Buffer | string> = { [changesColumn]: encodeChanges(changes) }
    if (client !== undefined) cells[clientColumn] = client
    return this.#put(encodeIds([pointer, id], tagCommitted), cells)
  }

  /** Removes the change set of a commit. */
  forgotten(pointer: bigint, id: bigint): AtomicMutation {
    return this.#delete(encodeIds([pointer, id], tagCommitted))
  }

  invalid(id: bigint): AtomicMutation {
    return this.#put(encodeIds([id], tagInvalid), { [valueColumn]: '' })
  }

  /** Removes from the invalid list. */
  valid(id: bigint): AtomicMutation {
    return this.#delete(encodeIds([id], tagInvalid))
  }

  #put(row: Buffer, cells: Record<string, Buffer | string>): AtomicMutation {
    return { table: this.#table, row, mutations: [{ put: { cells, timestamp } }] }
  }

  #delete(row: Buffer): AtomicMutation {
    return { table: this.#table, row, mutations: [{ delete: { timestamp } }] }
  }
}

/**
 * Reads all rows. `isWhole` is false without the row of the pointers: there is no state, but an
 * import that did not end may have left rows. A malformed row fails the open with `ERR_CORRUPTION`:
 * the state of transactions must not be guessed.
 */
export async function readState(table: Table): Promise<{ state: StoredState; isWhole: boolean }> {
  const state = emptyState()
  let isWhole = false
  await eachRow(table.scan(), 1024, (result) => {
    const row = result.row!
    const damaged: Damaged = (what) => {
      const place = `the row ${row.toString('hex')} of the table '${table.name}'`
      return corrupt(`${place} has ${what} of the transactions`)
    }
    if (row.equals(pointersRow)) {
      const pointers = decodeIds(result.value(valueColumn) ?? Buffer.alloc(0), damaged)
      if (pointers.length !== 2) throw damaged('malformed pointers')
      Object.assign(state, { readPointer: pointers[0], writePointer: pointers[1] })
      isWhole = true
    } else addRow(state, result, damaged)
    return true
  })
  return { state, isWhole }
}

/** Makes the error of a malformed row; `what` names its malformed part. */
type Damaged = (what: string) => Error

function addRow(state: StoredState, result: Result, damaged: Damaged): void {
  const row = result.row!
  const ids = decodeIds(row.subarray(1), damaged)
  const [first, second] = ids
  const client = result.value(clientColumn)?.toString('utf8')
  const changes = result.value(changesColumn)
  const committing = changes && decodeChanges(changes, damaged)
  if (row[0] === tagInvalid && ids.length === 1) state.invalid.add(first)
  else if (row[0] === tagRunning && ids.length === 1) {
    const value = result.value(valueColumn)
    if (value === undefined || value.length < 17 || value[0] > 1) throw damaged('a malformed value')
    const numbers = decodeIds(value.subarray(1), damaged)
    const [expiration, visibilityUpperBound, ...checkpoints] = numbers
    state.running.set(first, {
      id: first,
      type: value[0] === 1 ? 'LONG' : 'SHORT',
      expiration: Number(expiration),
      visibilityUpperBound,
      checkpoints,
      committing,
      client,
      underWay: decodeIds(result.value(underWayColumn) ?? Buffer.alloc(0), damaged),
    })
  } else if (row[0] === tagCommitted && ids.length === 2) {
    if (committing === undefined) throw damaged('no change set')
    state.committed.push({ pointer: first, id: second, changes: committing, client })
  } else throw damaged('an unknown key')
}

/** Ids after each other; after a first byte if given. */
function encodeIds(ids: readonly bigint[], first?: number): Buffer {
  const start = first === undefined ? 0 : 1
  const target = Buffer.allocUnsafe(start + 8 * ids.length)
  if (first !== undefined) target[0] = first
  for (let i = 0; i < ids.length; i++) target.writeBigInt64BE(ids[i], start + 8 * i)
  return target
}

function decodeIds(source: Buffer, damaged: Damaged): bigint[] {
  if (source.length % 8 !== 0) throw damaged('malformed ids')
  const ids: bigint[] = []
  for (let at = 0; at < source.length; at += 8) ids.push(source.readBigInt64BE(at))
  return ids
}

function encodeChanges(changes: ChangeSet): Buffer {
  let length = 0
  for (const key of changes) length += 4 + key.length
  const target = Buffer.allocUnsafe(length)
  let at = 0
  for (const key of changes) {
    at = target.writeUInt32BE(key.length, at)
    at += target.write(key, at, 'latin1')
  }
  return target
}

function decodeChanges(source: Buffer, damaged: Damaged): string[] {
  const changes: string[] = []
  for (let at = 0; at < source.length;) {
    const start = at + 4
    const end = start > source.length ? Infinity : start + source.readUInt32BE(at)
    if (end > source.length) throw damaged('a malformed change set')
    changes.push(source.toString('latin1', start, end))
    at = end
  }
  return changes
}
