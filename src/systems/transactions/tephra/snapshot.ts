/**
 * The state of a Tephra manager, and its snapshot file (`snapshot.TIME`), versions 1, 2 and 4.
 *
 *   version time readPointer writePointer invalid* running* committing* committed*
 *
 * Numbers are zigzag varints. A list consists of blocks, each a count followed by the members; a
 * count of 0 ends the list. A running transaction is id, expiration and visibility bound; since
 * version 2 its type, and in version 4 the list of its checkpoints. A change set is a pointer and a
 * list of keys.
 */
import { idsPerMillisecond, transactionTypes, type TransactionType } from '../transaction.js'
import { ByteSource, malformed } from './bytes.js'

/** A running transaction of Tephra. */
export interface TephraRunning {
  readonly type: TransactionType
  /** Milliseconds since the epoch. */
  readonly expiration: number
  readonly visibilityUpperBound: bigint
  readonly checkpoints: readonly bigint[]
}

/** The state of a manager during the read of its files. Keys of change sets are latin1 text. */
export interface TephraState {
  readPointer: bigint
  writePointer: bigint
  readonly invalid: Set<bigint>
  readonly running: Map<bigint, TephraRunning>
  readonly committing: Map<bigint, readonly string[]>
  /** By commit pointer; several transactions may share one. */
  readonly committed: Map<bigint, readonly string[]>
}

/** A state without transactions. */
export function emptyTephraState(): TephraState {
  return {
    readPointer: 0n,
    writePointer: 0n,
    invalid: new Set(),
    running: new Map(),
    committing: new Map(),
    committed: new Map(),
  }
}

const dayMilliseconds = 86_400_000
/** Tolerance between the expiration of a long transaction and its start plus one day. */
const toleranceMilliseconds = 10_000

/**
 * Type and expiration of a transaction whose record has no type, as in the first formats. It is
 * LONG if the expiration is negative, or about a day after the start, which the id contains.
 */
export function typeOf(id: bigint, expiration: bigint): Pick<TephraRunning, 'type' | 'expiration'> {
  const longExpiration = Number(id / idsPerMillisecond) + dayMilliseconds
  const isLong = expiration < 0n || longExpiration - Number(expiration) < toleranceMilliseconds
  return isLong
    ? { type: 'LONG', expiration: longExpiration }
    : { type: 'SHORT', expiration: Number(expiration) }
}

/** Reads a snapshot. `ERR_INVALID_ARGUMENT` for other bytes and versions. */
export function readTephraSnapshot(bytes: Uint8Array): TephraState {
  const source = new ByteSource(bytes)
  const version = Number(source.varint())
  if (version !== 1 && version !== 2 && version !== 4) {
    throw malformed(`a snapshot of version ${version}`)
  }
  const state = emptyTephraState()
  source.varint()
  state.readPointer = source.varint()
  state.writePointer = source.varint()
  list(source, () => state.invalid.add(source.varint()))
  list(source, () => readRunning(source, version, state))
  list(source, () => readChanges(source, state.committing))
  list(source, () => readChanges(source, state.committed))
  if (source.left > 0) throw malformed(`${source.left} bytes after the end of a snapshot`)
  return state
}

function readRunning(source: ByteSource, version: number, state: TephraState): void {
  const id = source.varint()
  const expiration = source.varint()
  const visibilityUpperBound = source.varint()
  const checkpoints: bigint[] = []
  if (version === 1) {
    state.running.set(id, { ...typeOf(id, expiration), visibilityUpperBound, checkpoints })
    return
  }
  const type = transactionTypes[Number(source.varint())]
  if (type === undefined) throw malformed('an unknown type of transaction')
  if (version === 4) list(source, () => checkpoints.push(source.varint()))
  const fields = { type, expiration: Number(expiration) }
  state.running.set(id, { ...fields, visibilityUpperBound, checkpoints })
}

function readChanges(source: ByteSource, sets: Map<bigint, readonly string[]>): void {
  const pointer = source.varint()
  const keys: string[] = []
  list(source, () => {
    keys.push(source.bytes(source.count(source.varint())).toString('latin1'))
  })
  sets.set(pointer, keys)
}

function list(source: ByteSource, member: () => unknown): void {
  for (;;) {
    const count = source.count(source.varint())
    if (count === 0) return
    for (let i = 0; i < count; i++) member()
  }
}
