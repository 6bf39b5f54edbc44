/**
 * How a process becomes the owner of a log.
 *
 * 1. Claim: the epoch of the owner's row is raised by 1. One claimer wins.
 * 2. Seal: from the first chunk that may not be applied, each chunk is sealed, which changes the
 *    state that appends compare. From then on the earlier owner cannot add to the chunk.
 * 3. Repeat: the batches of a sealed chunk are applied in order. Repeating is harmless.
 * 4. The first chunk that does not exist is made by the new owner. If the earlier owner was
 *    quicker, that chunk is sealed as well.
 * 5. After it has made a chunk, an owner asks whether it still is the owner. Otherwise the chunk
 *    may be one that a later owner has made, applied and removed.
 *
 * An owner that meets a chunk of a later epoch has lost the log to another one.
 */
import { CellarError, corruption, ErrorCode } from '../../../base/errors.js'
import { decodeBatch, type LoggedBatch } from './logged-batch.js'
import {
  changeRow,
  chunkRow,
  ownerRow,
  readRow,
  stored,
  type LogPlace,
  type LogRow,
  type Stored,
} from './log-store.js'
import { parseChunk, parseOwner, type ChunkState, type OwnerState } from './states.js'

/** A chunk of the log, as its owner remembers it. */
export interface Chunk extends Stored<ChunkState> {
  readonly number: number
}

/** A log after a takeover. */
export interface RecoveredLog {
  readonly owner: Stored<OwnerState>
  /** The chunks that are kept, in order; the last one is the new owner's, and empty. */
  readonly chunks: readonly Chunk[]
  /** Sequence of the last batch; 0 if there was none. */
  readonly applied: number
  /** No batch has a greater timestamp. */
  readonly timestamp: number
}

/** The error of an owner whose log belongs to another one now. */
export function deposed({ name }: LogPlace): CellarError {
  const message = `another owner has taken over the owned database '${name}'`
  return new CellarError(ErrorCode.locked, message)
}

/** Reads the owner's row; undefined if the database never had an owner. */
export async function readOwner(place: LogPlace): Promise<Stored<OwnerState> | undefined> {
  const row = ownerRow(place)
  const { state } = await readRow(place, row, 'state')
  return state === undefined ? undefined : parseOwner(state, row)
}

/** Throws `ERR_LOCKED` if a later owner has claimed the log. */
async function confirmOwner(place: LogPlace, epoch: number): Promise<void> {
  const owner = await readOwner(place)
  if (owner?.state.epoch !== epoch) throw deposed(place)
}

/**
 * Makes `owner` the owner, if the state of the row is still the one that was seen. Undefined if it
 * is not.
 */
export async function claim(
  place: LogPlace,
  owner: string,
  seen: Stored<OwnerState> | undefined,
): Promise<Stored<OwnerState> | undefined> {
  const before = seen?.state ?? {
    epoch: 0,
    version: 0,
    chunk: 1,
    applied: 0,
    timestamp: 0,
    cut: 1,
    removed: 1,
  }
  const { epoch, version } = before
  const next = stored({ ...before, epoch: epoch + 1, version: version + 1, owner })
  return (await changeRow(place, ownerRow(place), seen?.bytes, next)) ? next : undefined
}

/** Seals the log of earlier owners, repeats it, and begins a chunk. See the file header. */
export async function recover(
  place: LogPlace,
  owner: Stored<OwnerState>,
  apply: (batches: readonly LoggedBatch[]) => Promise<void>,
): Promise<RecoveredLog> {
  const { epoch, chunk } = owner.state
  const chunks = await keptChunks(place, owner.state)
  let { applied, timestamp } = owner.state
  for (let number = chunk; ;) {
    const row = chunkRow(place, number)
    const found = await readRow(place, row)
    if (found.state === undefined) {
      const own = await makeChunk(place, number, { epoch, first: applied + 1 })
      if (own === undefined) continue
      return { owner, chunks: [...chunks, own], applied, timestamp }
    }
    const sealed = await seal(place, { ...parseChunk(found.state, row), number }, epoch)
    if (sealed === undefined) continue
    // The batches are those of the state that was sealed, since nothing came in between.
    const batches = batchesOf(found, sealed.state, row)
    const { first, count } = sealed.state
    if (first > applied + 1) throw gap(row, applied + 1, first)
    const missing = batches.filter(({ sequence }) => sequence > applied)
    if (missing.length > 0) await apply(missing)
    applied = Math.max(applied, first + count - 1)
    for (const batch of batches) timestamp = Math.max(timestamp, batch.timestamp)
    chunks.push(sealed)
    number++
  }
}

/** The chunks that are applied and kept for feeds. */
async function keptChunks(place: LogPlace, { epoch, cut, chunk }: OwnerState): Promise<Chunk[]> {
  const chunks: Chunk[] = []
  for (let number = cut; number < chunk; number++) {
    const row = chunkRow(place, number)
    const { state } = await readRow(place, row, 'state')
    if (state === undefined) throw await missingChunk(place, row, epoch)
    chunks.push({ ...parseChunk(state, row), number })
  }
  return chunks
}

/** Seals a chunk; undefined if it has changed since it was read. */
async function seal(place: LogPlace, chunk: Chunk, epoch: number): Promise<Chunk | undefined> {
  const { state, bytes, number } = chunk
  if (state.epoch > epoch) throw deposed(place)
  if (state.sealed) return chunk
  const next = stored({ ...state, epoch, sealed: true, version: state.version + 1 })
  if (!(await changeRow(place, chunkRow(place, number), bytes, next))) return undefined
  return { ...next, number }
}

/** Makes a chunk; undefined if the row exists already. `ERR_LOCKED` from a later owner on. */
export async function makeChunk(
  place: LogPlace,
  number: number,
  { epoch, first }: { readonly epoch: number; readonly first: number },
): Promise<Chunk | undefined> {
  const own = stored({ epoch, version: 1, sealed: false, first, count: 0, bytes: 0 })
  if (!(await changeRow(place, chunkRow(place, number), undefined, own))) return undefined
  await confirmOwner(place, epoch)
  return { ...own, number }
}

/**
 * Reads the batches of a chunk. `ERR_CORRUPTION` if one is missing or damaged, `ERR_LOCKED` if the
 * chunk is gone because the owner of `epoch` has a successor.
 */
export async function readChunk(
  place: LogPlace,
  number: number,
  epoch: number,
): Promise<LoggedBatch[]> {
  const row = chunkRow(place, number)
  const found = await readRow(place, row)
  if (found.state === undefined) throw await missingChunk(place, row, epoch)
  return batchesOf(found, parseChunk(found.state, row).state, row)
}

function batchesOf({ batches }: LogRow, { first, count }: ChunkState, row: string): LoggedBatch[] {
  const list: LoggedBatch[] = []
  for (let sequence = first; sequence < first + count; sequence++) {
    const bytes = batches.get(sequence)
    if (bytes === undefined) {
      const expected = `batch ${sequence} of ${first} to ${first + count - 1}`
      throw corruption('missing batch', { file: row, offset: 0, expected, found: 'no cell' })
    }
    list.push(decodeBatch(sequence, bytes, row))
  }
  return list
}

async function missingChunk(place: LogPlace, row: string, epoch: number): Promise<Error> {
  await confirmOwner(place, epoch)
  const expected = 'a chunk of the log'
  return corruption('missing chunk', { file: row, offset: 0, expected, found: 'no row' })
}

function gap(row: string, expected: number, found: number): Error {
  const detail = { file: row, offset: 0, expected: `sequence ${expected}`, found: String(found) }
  return corruption('gap of the log', detail)
}
