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

const ownerNumbers = ['epoch', 'version', 'chunk', 'applied', 'timestamp', 'cut', 'removed']
const chunkNumbers = ['epoch', 'version', 'first', 'count', 'bytes']

/** Reads the state of the owner's row. `ERR_CORRUPTION`. */
export function parseOwner(bytes: Buffer, row: string): Stored<OwnerState> {
  const state = parse(bytes, row, ownerNumbers)
  if (typeof state['owner'] !== 'string') throw damaged(row, 'an owner', bytes)
  return { state: state as unknown as OwnerState, bytes }
}

/** Reads the state of a chunk. `ERR_CORRUPTION`. */
export function parseChunk(bytes: Buffer, row: string): Stored<ChunkState> {
  const state = parse(bytes, row, chunkNumbers)
  if (typeof state['sealed'] !== 'boolean') throw damaged(row, 'a chunk', bytes)
  return { state: state as unknown as ChunkState, bytes }
}

function parse(bytes: Buffer, row: string, numbers: readonly string[]): Record<string, unknown> {
  let state: unknown
  try {
    state = JSON.parse(bytes.toString())
  } catch {
    throw damaged(row, 'JSON', bytes)
  }
  if (typeof state !== 'object' || state === null) throw damaged(row, 'an object', bytes)
  const members = state as Record<string, unknown>
  for (const name of numbers) {
    const value = members[name]
    if (Number.isSafeInteger(value) && (value as number) >= 0) continue
    throw damaged(row, `a number '${name}'`, bytes)
  }
  return members
}

function damaged(row: string, expected: string, bytes: Buffer): Error {
  const found = JSON.stringify(bytes.subarray(0, 80).toString('latin1'))
  return corruption('damaged state of a log row', { file: row, offset: 0, expected, found })
}
