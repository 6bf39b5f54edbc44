/**
 * Replays a log file of Tephra (`txlog.TIME` as local mode writes it) over a state. A record is
 * sequence(8), then the edit, whose first byte is its version -1 to -4:
 *
 *   id(8) state(4) expiration(8) commitPointer(8) canCommit(1) count(4) { length(4) key }*
 *   -2: visibilityUpperBound(8)
 *   -3: type(4) or -1, count(4) { truncatedId(8) }*, truncateTime(8)
 *   -4: parent(8) count(4) or -1, { checkpoint(8) }*
 *
 * Each version has the fields of the earlier ones. A log may end inside its last record.
 */
import { idsPerMillisecond, transactionTypes, type TransactionType } from '../transaction.js'
import { ByteSource, malformed } from './bytes.js'
import type { StoredState } from '../manager/state-rows.js'
import { tephraTransaction } from './snapshot.js'

const states = [
  'INPROGRESS',
  'COMMITTING',
  'COMMITTED',
  'INVALID',
  'ABORTED',
  'MOVE_WATERMARK',
  'TRUNCATE_INVALID_TX',
  'CHECKPOINT',
] as const

type Edit = ReturnType<typeof readEdit>

/**
 * Applies the edits of a log to a state, in order; returns their number. An incomplete last record
 * is ignored. `ERR_INVALID_ARGUMENT` for other bytes.
 */
export function applyTephraEdits(state: StoredState, bytes: Uint8Array): number {
  const source = new ByteSource(bytes)
  for (let edits = 0; ; edits++) {
    if (source.left === 0) return edits
    let edit: Edit
    try {
      source.int64()
      edit = readEdit(source)
    } catch (error) {
      if (source.isShort) return edits
      throw error
    }
    apply(state, edit)
  }
}

function readEdit(source: ByteSource) {
  const version = -((source.byte() << 24) >> 24)
  if (version < 1 || version > 4) throw malformed(`an edit of version ${-version}`)
  const id = source.int64()
  const state = states[source.int32()]
  if (state === undefined) throw malformed('an unknown kind of edit')
  const expiration = source.int64()
  const commitPointer = source.int64()
  const canCommit = source.byte() !== 0
  const changes = repeat(source, () =>
    source.raw(source.records(source.int32())).toString('latin1'),
  )
  const visibilityUpperBound = version >= 2 ? source.int64() : 0n
  const typeIndex = version >= 3 ? source.int32() : -1
  const truncated = version >= 3 ? repeat(source, () => source.int64()) : []
  const truncateTime = version >= 3 ? source.int64() : 0n
  const parent = version >= 4 ? source.int64() : 0n
  const checkpoints = version >= 4 ? repeat(source, () => source.int64()) : []
  const type: TransactionType | undefined = transactionTypes[typeIndex]
  const record = { id, state, expiration, commitPointer, canCommit, changes, visibilityUpperBound }
  return { ...record, type, truncated, truncateTime, parent, checkpoints }
}

/** A count, -1 for none, followed by the members. */
function repeat<T>(source: ByteSource, member: () => T): T[] {
  const count = source.int32()
  const members: T[] = []
  for (let i = source.records(Math.max(0, count)); i > 0; i--) members.push(member())
  return members
}

function apply(state: StoredState, edit: Edit): void {
  const { id, changes, commitPointer: pointer } = edit
  const running = state.running.get(id)
  const checkpoints = edit.checkpoints.length > 0 ? edit.checkpoints : (running?.checkpoints ?? [])
  const pointers = [id, ...checkpoints]
  switch (edit.state) {
    case 'INPROGRESS': {
      const { type, expiration, visibilityUpperBound } = edit
      state.running.set(id, tephraTransaction(id, expiration, visibilityUpperBound, type))
      raise(state, 'writePointer', id)
      break
    }
    case 'COMMITTING':
      if (running !== undefined) running.committing = changes
      break
    case 'COMMITTED':
      if (edit.canCommit && changes.length > 0) {
        state.committed.push({ pointer, id, changes, client: undefined })
      }
      end(state, pointers, true)
      break
    case 'INVALID':
      end(state, pointers, false)
      if (running?.type === 'SHORT') raise(state, 'readPointer', pointers.at(-1)!)
      break
    case 'ABORTED':
      end(state, pointers, (edit.type ?? running?.type) !== 'LONG')
      break
    case 'TRUNCATE_INVALID_TX': {
      const bound = edit.truncateTime * idsPerMillisecond
      for (const each of edit.truncated) state.invalid.delete(each)
      if (edit.truncated.length > 0) break
      for (const each of state.invalid) if (each < bound) state.invalid.delete(each)
      break
    }
    case 'CHECKPOINT': {
      const parent = state.running.get(edit.parent)
      if (parent !== undefined) parent.checkpoints = [...parent.checkpoints, id]
      raise(state, 'writePointer', id)
      break
    }
    case 'MOVE_WATERMARK':
  }
}

/** Ends a transaction, which may have timed out before. */
function end(state: StoredState, pointers: readonly bigint[], isClean: boolean): void {
  state.running.delete(pointers[0])
  for (const pointer of pointers) {
    if (isClean) state.invalid.delete(pointer)
    else state.invalid.add(pointer)
  }
  if (isClean) raise(state, 'readPointer', pointers.at(-1)!)
}

function raise(state: StoredState, name: 'readPointer' | 'writePointer', pointer: bigint): void {
  if (pointer > state[name]) state[name] = pointer
}
