/**
 * The state of the transaction manager as rows of one table with the family `s`, so that changes of
 * state and writes of clients share a log and a frame. The rows are the snapshot, and the
 * database's log is the log of changes, so recovery of the database recovers the state.
 *
 *   m                        s:v = readPointer(8) lastWritePointer(8)
 *   p id(8)                  s:v = type(1) expiration(8) visibilityUpperBound(8) checkpoints(8)*
 *                            s:g = change set of `canCommit`, empty if there is none
 *                            s:n = name of the client, absent if unknown
 *                            s:u = { id(8) }*, commits under way at the start, absent if none
 *   c commitPointer(8) id(8) s:g = change set, s:n as above
 *   i id(8)                  s:v = empty: the id is invalid
 *
 *   change set = { length(4) bytes }*
 *
 * Numbers are big-endian. All cells have the timestamp 1: among equal timestamps the last written
 * cell wins. A deleted row is never written again, because ids are never used twice. A clock that
 * steps back therefore restores no old state.
 */
import type { SnapshotTransaction } from './manager-snapshot.js'
import { type AtomicMutation, type Table } from '../../../api/index.js'
import { eachRow } from '../../../comfort/tables.js'
import type { ChangeSet } from './change-sets.js'

/** The stored form of a running transaction. */
export interface StoredTransaction extends SnapshotTransaction {
  /** The change set of `canCommit`; undefined before the call. */
  readonly committing: ChangeSet | undefined
  /** Transactions whose commit frames were being written when it started. */
  readonly underWay: readonly bigint[]
}

/** The stored form of a committed change set. */
export interface StoredCommit {
  readonly pointer: bigint
  readonly id: bigint
  readonly changes: ChangeSet
  readonly client: string | undefined
}

/** The content of the state table. */
export interface StoredState {
  readonly pointers: { readonly read: bigint; readonly lastWrite: bigint } | undefined
  readonly running: StoredTransaction[]
  readonly committed: StoredCommit[]
  readonly invalid: bigint[]
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

/** Makes the mutations of the state table. */
export class StateRows {
  readonly #table: string

  constructor(table: string) {
    this.#table = table
  }

  /** Writes the two pointers. */
  pointers(read: bigint, lastWrite: bigint): AtomicMutation {
    const value = Buffer.allocUnsafe(16)
    value.writeBigInt64BE(read, 0)
    value.writeBigInt64BE(lastWrite, 8)
    return this.#put(pointersRow, { [valueColumn]: value })
  }

  /** Writes a running transaction. */
  running(transaction: StoredTransaction): AtomicMutation {
    const { type, expiration, visibilityUpperBound, checkpoints, committing } = transaction
    const { client, underWay } = transaction
    const value = Buffer.allocUnsafe(17 + 8 * checkpoints.length)
    value.writeUInt8(type === 'LONG' ? 1 : 0, 0)
    value.writeBigInt64BE(BigInt(expiration), 1)
    value.writeBigInt64BE(visibilityUpperBound, 9)
    checkpoints.forEach((pointer, i) => value.writeBigInt64BE(pointer, 17 + 8 * i))
    const cells: Record<string, Buffer | string> = { [valueColumn]: value }
    if (committing !== undefined) cells[changesColumn] = encodeChanges(committing)
    if (client !== undefined) cells[clientColumn] = client
    if (underWay.length > 0) cells[underWayColumn] = encodeIds(underWay)
    return this.#put(rowOf(tagRunning, transaction.id), cells)
  }

  /** Writes only the change set of a running transaction. */
  committing(id: bigint, changes: ChangeSet): AtomicMutation {
    return this.#put(rowOf(tagRunning, id), { [changesColumn]: encodeChanges(changes) })
  }

  /** Removes a running transaction. */
  ended(id: bigint): AtomicMutation {
    return this.#delete(rowOf(tagRunning, id))
  }

  /** Writes the change set of a commit. */
  committed({ pointer, id, changes, client }: StoredCommit): AtomicMutation {
    const cells: Record<string, Buffer | string> = { [changesColumn]: encodeChanges(changes) }
    if (client !== undefined) cells[clientColumn] = client
    return this.#put(rowOf(tagCommitted, pointer, id), cells)
  }

  /** Removes the change set of a commit. */
  forgotten(pointer: bigint, id: bigint): AtomicMutation {
    return this.#delete(rowOf(tagCommitted, pointer, id))
  }

  /** Adds to the invalid list. */
  invalid(id: bigint): AtomicMutation {
    return this.#put(rowOf(tagInvalid, id), { [valueColumn]: '' })
  }

  /** Removes from the invalid list. */
  valid(id: bigint): AtomicMutation {
    return this.#delete(rowOf(tagInvalid, id))
  }

  #put(row: Buffer, cells: Record<string, Buffer | string>): AtomicMutation {
    return { table: this.#table, row, mutations: [{ put: { cells, timestamp } }] }
  }

  #delete(row: Buffer): AtomicMutation {
    return { table: this.#table, row, mutations: [{ delete: { timestamp } }] }
  }
}

/**
 * Reads all state. A malformed row fails the open: the state of transactions must not be guessed.
 */
export async function readState(table: Table): Promise<StoredState> {
  let pointers: StoredState['pointers'] = undefined
  const running: StoredTransaction[] = []
  const committed: StoredCommit[] = []
  const invalid: bigint[] = []
  const scanner = table.scan()
  await eachRow(scanner, 1024, (result) => {
    const row = result.row!
    const value = result.value(valueColumn)
    const client = result.value(clientColumn)?.toString('utf8')
    if (row[0] === tagInvalid && row.length === 9) invalid.push(row.readBigInt64BE(1))
    else if (row[0] === tagRunning && row.length === 9 && value !== undefined) {
      const changes = result.value(changesColumn)
      const committing = changes && decodeChanges(changes)
      const underWay = decodeIds(result.value(underWayColumn) ?? Buffer.alloc(0))
      const transaction = decodeRunning(row.readBigInt64BE(1), value)
      running.push({ ...transaction, committing, client, underWay })
    } else if (row[0] === tagCommitted && row.length === 17) {
      const changes = decodeChanges(result.value(changesColumn) ?? Buffer.alloc(0))
      const pointer = row.readBigInt64BE(1)
      committed.push({ pointer, id: row.readBigInt64BE(9), changes, client })
    } else if (row.equals(pointersRow) && value?.length === 16) {
      pointers = { read: value.readBigInt64BE(0), lastWrite: value.readBigInt64BE(8) }
    } else throw new Error(`the table of transactions holds the unknown row ${row.toString('hex')}`)
    return true
  })
  return { pointers, running, committed, invalid }
}

function decodeRunning(
  id: bigint,
  value: Buffer,
): Omit<StoredTransaction, 'committing' | 'client' | 'underWay'> {
  return {
    id,
    type: value.readUInt8(0) === 1 ? 'LONG' : 'SHORT',
    expiration: Number(value.readBigInt64BE(1)),
    visibilityUpperBound: value.readBigInt64BE(9),
    checkpoints: decodeIds(value.subarray(17)),
  }
}

function encodeIds(ids: readonly bigint[]): Buffer {
  const target = Buffer.allocUnsafe(8 * ids.length)
  ids.forEach((id, i) => target.writeBigInt64BE(id, 8 * i))
  return target
}

function decodeIds(source: Buffer): bigint[] {
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

function decodeChanges(source: Buffer): string[] {
  const changes: string[] = []
  for (let at = 0; at < source.length;) {
    const length = source.readUInt32BE(at)
    at += 4
    changes.push(source.toString('latin1', at, at + length))
    at += length
  }
  return changes
}

function rowOf(tag: number, first: bigint, second?: bigint): Buffer {
  const row = Buffer.allocUnsafe(second === undefined ? 9 : 17)
  row.writeUInt8(tag, 0)
  row.writeBigInt64BE(first, 1)
  if (second !== undefined) row.writeBigInt64BE(second, 9)
  return row
}
