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
import { typeOf, type TephraRunning, type TephraState } from './snapshot.js'

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
export function applyTephraEdits(state: TephraState, bytes: Uint8Array): number {
  const source = new ByteSource(bytes)
  for (let edits = 0; ; edits++) {
    if (source.left === 0) return edits
    let edit: Edit
    try {
      source.long()
      edit = readEdit(source)
    } catch (error) {
      if (source.isCut) return edits
      throw error
    }
    apply(state, edit)
  }
}

function readEdit(source: ByteSource) {
  const version = -((source.byte() << 24) >> 24)
  if (version < 1 || version > 4) throw malformed(`an edit of version ${-version}`)
  const id = source.long()
  const state = states[source.int()]
  if (state === undefined) throw malformed('an unknown kind of edit')
  const expiration = source.long()
  const commitPointer = source.long()
  const canCommit = source.byte() !== 0
  const changes = repeat(source, () => source.bytes(source.int()).toString('latin1'))
  const visibilityUpperBound = version >= 2 ? source.long() : 0n
  const typeIndex = version >= 3 ? source.int() : -1
  const truncated = version >= 3 ? repeat(source, () => source.long()) : []
  const truncateTime = version >= 3 ? source.long() : 0n
  const parent = version >= 4 ? source.long() : 0n
  const checkpoints = version >= 4 ? repeat(source, () => source.long()) : []
  const type: TransactionType | undefined = transactionTypes[typeIndex]
  const record = { id, state, expiration, commitPointer, canCommit, changes, visibilityUpperBound }
  return { ...record, type, truncated, truncateTime, parent, checkpoints }
}

/** A count, -1 for none, followed by the members. */
function repeat<T>(source: ByteSource, member: () => T): T[] {
  const count = source.int()
  const members: T[] = []
  for (let i = source.count(Math.max(0, count)); i > 0; i--) members.push(member())
  return members
}

function apply(state: TephraState, edit: Edit): void {
  const { id, changes } = edit
  switch (edit.state) {
    case 'INPROGRESS': {
      const { type, expiration, visibilityUpperBound } = edit
      const fields =
        type === undefined ? typeOf(id, expiration) : { type, expiration: Number(expiration) }
      state.running.set(id, { ...fields, visibilityUpperBound, checkpoints: [] })
      seen(state, id)
      break
    }
    case 'COMMITTING':
      state.committing.set(id, changes)
      break
    case 'COMMITTED':
      commit(state, edit)
      break
    case 'INVALID': {
      const running = end(state, id)
      for (const pointer of [id, ...(running?.checkpoints ?? [])]) state.invalid.add(pointer)
      if (running?.type === 'SHORT') raise(state, running.checkpoints.at(-1) ?? id)
      break
    }
    case 'ABORTED':
      abort(state, edit)
      break
    case 'TRUNCATE_INVALID_TX': {
      const bound = edit.truncateTime * idsPerMillisecond
      for (const pointer of edit.truncated) state.invalid.delete(pointer)
      if (edit.truncated.length > 0) break
      for (const pointer of state.invalid) if (pointer < bound) state.invalid.delete(pointer)
      break
    }
    case 'CHECKPOINT': {
      const parent = state.running.get(edit.parent)
      seen(state, id)
      if (parent === undefined) break
      state.running.set(edit.parent, { ...parent, checkpoints: [...parent.checkpoints, id] })
      break
    }
    case 'MOVE_WATERMARK':
  }
}

function commit(state: TephraState, { id, changes, commitPointer, ...edit }: Edit): void {
  const running = end(state, id)
  const checkpoints = edit.checkpoints.length > 0 ? edit.checkpoints : (running?.checkpoints ?? [])
  if (edit.canCommit && changes.length > 0) {
    const others = state.committed.get(commitPointer) ?? []
    state.committed.set(commitPointer, [...new Set([...others, ...changes])])
  }
  // The transaction had timed out before its commit was logged.
  for (const pointer of [id, ...checkpoints]) state.invalid.delete(pointer)
  raise(state, checkpoints.at(-1) ?? id)
}

function abort(state: TephraState, { id, type, ...edit }: Edit): void {
  const running = end(state, id)
  const pointers = [id, ...(running?.checkpoints ?? edit.checkpoints)]
  if ((type ?? running?.type) === 'LONG') {
    for (const pointer of pointers) state.invalid.add(pointer)
    return
  }
  for (const pointer of pointers) state.invalid.delete(pointer)
  raise(state, pointers.at(-1)!)
}

function end(state: TephraState, id: bigint): TephraRunning | undefined {
  const running = state.running.get(id)
  state.running.delete(id)
  state.committing.delete(id)
  return running
}

function raise(state: TephraState, pointer: bigint): void {
  if (pointer > state.readPointer) state.readPointer = pointer
}

function seen(state: TephraState, pointer: bigint): void {
  if (pointer > state.writePointer) state.writePointer = pointer
}
