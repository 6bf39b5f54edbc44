/**
 * The states of the two kinds of rows, as JSON texts: of the owner, and of a chunk of the log. The
 * texts are compared byte by byte, so an owner keeps the bytes that it wrote or read.
 */
import { corruption } from '../../../base/errors.js'
import type { Stored } from './log-store.js'

/** Who owns the database, and how far the log is applied. */
export interface OwnerState {
  /** Number of the ownership, from 1. Each takeover adds 1. */
  readonly epoch: number
  /** Grows with each change of the row; a version that stays shows that no owner is alive. */
  readonly version: number
  /** Identity of the owner; empty after a close. */
  readonly owner: string
  /** First chunk with a batch that may not be applied. */
  readonly chunk: number
  /** All batches up to this sequence are applied. */
  readonly applied: number
  /** No batch up to `applied` has a greater timestamp. */
  readonly timestamp: number
  /** First chunk that is kept. */
  readonly cut: number
  /** Chunks below this one are removed. */
  readonly removed: number
}

/** Who may append to a chunk, and how many batches it has. */
export interface ChunkState {
  /** The epoch that made the chunk, or that sealed it. */
  readonly epoch: number
  /** Grows with each change of the row. */
  readonly version: number
  /** Whether the chunk is complete: no batch is added any more. */
  readonly sealed: boolean
  /** Sequence of the first batch. */
  readonly first: number
  readonly count: number
  /** Bytes of all batches. */
  readonly bytes: number
}

/** The members of a state by their type; numbers are whole and not negative. */
type Form = Readonly<Partial<Record<'number' | 'string' | 'boolean' | 'object', readonly string[]>>>

const ownerForm: Form = {
  number: ['epoch', 'version', 'chunk', 'applied', 'timestamp', 'cut', 'removed'],
  string: ['owner'],
}

const chunkForm: Form = {
  number: ['epoch', 'version', 'first', 'count', 'bytes'],
  boolean: ['sealed'],
}

/** Reads the state of the owner's row. `ERR_CORRUPTION`. */
export function parseOwner(bytes: Buffer, row: string): Stored<OwnerState> {
  return parseState(bytes, row, ownerForm)
}

/** Reads the state of a chunk. `ERR_CORRUPTION`. */
export function parseChunk(bytes: Buffer, row: string): Stored<ChunkState> {
  return parseState(bytes, row, chunkForm)
}

/** Reads the state of a row. `ERR_CORRUPTION`. */
export function parseState<State>(bytes: Buffer, row: string, form: Form): Stored<State> {
  let state: Readonly<Record<string, unknown>> | undefined
  try {
    state = Object(JSON.parse(bytes.toString())) as typeof state
  } catch {
    // As one without members.
  }
  for (const [type, names] of Object.entries(form)) {
    const isRight = (value: unknown): boolean =>
      type === 'number' ? Number.isSafeInteger(value) && Number(value) >= 0 : typeof value === type
    const wrong = names.find((name) => !isRight(state?.[name]))
    if (wrong !== undefined) throw damagedState(bytes, row, `a ${type} '${wrong}'`)
  }
  return { state: state as State, bytes }
}

/** The `ERR_CORRUPTION` of a state. */
export function damagedState(bytes: Buffer, row: string, expected: string): Error {
  const found = JSON.stringify(bytes.subarray(0, 80).toString('latin1'))
  return corruption('damaged state of a row', { file: row, offset: 0, expected, found })
}
