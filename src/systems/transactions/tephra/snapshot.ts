/**
 * Reads the snapshot file of a Tephra manager (`snapshot.TIME`), versions 1 to 4.
 *
 *   version time readPointer writePointer invalid* running* committing* committed*
 *
 * Numbers are zigzag varints. A list consists of blocks, each a count followed by the members; a
 * count of 0 ends the list. A running transaction is id, expiration and visibility bound; since
 * version 2 its type, and in version 4 the list of its checkpoints. Version 3 has the form of
 * version 2. A change set is a pointer and a list of keys.
 */
import { idsPerMillisecond, transactionTypes, type TransactionType } from '../transaction.js'
import { emptyState, type StoredState, type StoredTransaction } from '../manager/state-rows.js'
import { ByteSource, malformed } from './bytes.js'

const dayMilliseconds = 86_400_000
/** Tolerance between the expiration of a long transaction and its start plus one day. */
const toleranceMilliseconds = 10_000

/**
 * A running transaction. Without a type, as in the first formats, it is LONG if the expiration is
 * negative, or about a day after the start, which the id contains.
 */
export function tephraTransaction(
  id: bigint,
  milliseconds: bigint,
  visibilityUpperBound: bigint,
  given: TransactionType | undefined,
  checkpoints: readonly bigint[] = [],
): StoredTransaction {
  const longExpiration = Number(id / idsPerMillisecond) + dayMilliseconds
  let [type, expiration] = [given, Math.min(Number(milliseconds), Number.MAX_SAFE_INTEGER)]
  if (type === undefined) {
    type = expiration < 0 || longExpiration - expiration < toleranceMilliseconds ? 'LONG' : 'SHORT'
    if (type === 'LONG') expiration = longExpiration
  }
  const unknown = { committing: undefined, client: undefined, underWay: [] }
  return { id, type, expiration, visibilityUpperBound, checkpoints, ...unknown }
}

/** Reads a snapshot. `ERR_INVALID_ARGUMENT` for other bytes and versions. */
export function readTephraSnapshot(bytes: Uint8Array): StoredState {
  const source = new ByteSource(bytes)
  const version = Number(source.long())
  if (version < 1 || version > 4) throw malformed(`a snapshot of version ${version}`)
  const state = emptyState()
  source.long()
  state.readPointer = source.long()
  state.writePointer = source.long()
  for (const pointer of list(source, () => source.long())) state.invalid.add(pointer)
  list(source, () => {
    const running = readRunning(source, version)
    state.running.set(running.id, running)
  })
  list(source, () => {
    const running = state.running.get(source.long())
    const changes = readChanges(source)
    if (running !== undefined) running.committing = changes
  })
  list(source, () => {
    const pointer = source.long()
    state.committed.push({ pointer, id: 0n, changes: readChanges(source), client: undefined })
  })
  if (source.left > 0) throw malformed(`${source.left} bytes after the end of a snapshot`)
  return state
}

function readRunning(source: ByteSource, version: number): StoredTransaction {
  const id = source.long()
  const expiration = source.long()
  const bound = source.long()
  const type = version === 1 ? undefined : transactionTypes[Number(source.long())]
  if (version > 1 && type === undefined) throw malformed('an unknown type of transaction')
  const checkpoints = version === 4 ? list(source, () => source.long()) : []
  return tephraTransaction(id, expiration, bound, type, checkpoints)
}

function readChanges(source: ByteSource): string[] {
  return list(source, () => source.raw(source.records(source.long())).toString('latin1'))
}

function list<T>(source: ByteSource, member: () => T): T[] {
  const members: T[] = []
  for (;;) {
    const count = source.records(source.long())
    if (count === 0) return members
    for (let i = 0; i < count; i++) members.push(member())
  }
}
