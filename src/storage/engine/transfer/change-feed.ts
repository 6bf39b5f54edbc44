/**
 * Reads the mutations of the log from a sequence on, in order, and waits for new ones.
 *
 * With `FSYNC_WAL` the feed asks for a sync itself and yields a mutation only when it is durable.
 * So a reader never knows more than a reopen after a power cut shows. With `SYNC_WAL` it yields
 * mutations that were written to the operating system. A feed holds the segments that it has not
 * read.
 *
 * Errors: `ERR_CHANGES_GONE` if segments after the start were removed, before anything is yielded;
 * `ERR_POISONED` once the log has failed, or at its end if another failure has poisoned the
 * database; `ERR_CLOSED` after the close; `ERR_CORRUPTION` with file and offset. An error ends the
 * feed. Another feed can begin where it stopped.
 */
import {
  CellarError,
  checkAborted,
  corruption,
  ErrorCode,
  poisonedError,
} from '../../../base/errors.js'
import { sequenceOf } from '../../cell/cell-key.js'
import type { LogSegment } from '../../wal/log-segment.js'
import { SegmentReader } from '../../wal/segment-reader.js'
import type { OpenedParts } from '../engine.js'
import { isWellFormedMutation, serverTimestampOf, visitEntries } from '../write/mutation-buffer.js'

/** A cell of a mutation. The key is `buffer[keyStart, keyEnd)`, the value `buffer[keyEnd, end)`. */
export interface LoggedCell {
  readonly storeId: number
  readonly keyStart: number
  readonly keyEnd: number
  readonly end: number
}

/** One mutation of the log, in a buffer of its own. */
export interface LoggedMutation {
  readonly sequence: number
  /** Timestamp that the engine's clock gave to the mutation; 0 if every cell had its own. */
  readonly serverTimestamp: number
  readonly buffer: Buffer
  readonly cells: readonly LoggedCell[]
}

type FeedParts = Pick<
  OpenedParts,
  'directory' | 'fileSystem' | 'lifecycle' | 'log' | 'readPoints' | 'versions'
>

/** The first and the last sequence of a feed; it ends when the database has reached the last. */
interface Span {
  readonly from: number
  readonly to: number
}

/**
 * Yields mutations until the end, an abort, or the return of the caller; see the file header. A
 * feed that waits for a mutation ends when `ended` aborts.
 */
export async function* readMutations(
  parts: FeedParts,
  span: Span,
  durability: 'SYNC_WAL' | 'FSYNC_WAL',
  signal: AbortSignal | undefined,
  ended: AbortSignal,
): AsyncGenerator<LoggedMutation, void> {
  const { directory, fileSystem, log } = parts
  const { databaseId } = parts.versions
  const first = firstSegment(log.readable(durability), span.from)
  const hold = log.hold(first.fileNumber)
  let reader: SegmentReader | undefined
  try {
    reader = await SegmentReader.open(fileSystem, directory, databaseId, first.fileNumber)
    checkStart(reader, span.from)
    for (;;) {
      check(parts, signal)
      const { lastSequence } = parts.readPoints
      const written = log.nextWrite()
      await log.commit(durability)
      for (;;) {
        const segments = log.readable(durability)
        const index = segments.findIndex(({ fileNumber }) => fileNumber === reader!.fileNumber)
        const segment = segments[index]
        yield* readSegment(parts, reader, segment.length, span, signal)
        const next = segments.at(index + 1)
        if (next === undefined) break
        const following = await SegmentReader.open(
          fileSystem,
          directory,
          databaseId,
          next.fileNumber,
        )
        reader.close()
        reader = following
        hold.fileNumber = next.fileNumber
        log.trimRetained()
      }
      // After an older segment that was not durable there is more to read.
      if (reader.fileNumber !== log.segments.at(-1)!.fileNumber) continue
      if (lastSequence >= span.to) return
      // No mutation will follow.
      const { failure } = parts.lifecycle
      if (failure !== undefined) throw poisonedError(failure)
      await untilAborted(written, signal === undefined ? [ended] : [ended, signal])
      if (ended.aborted) return
    }
  } finally {
    reader?.close()
    log.release(hold)
  }
}

async function* readSegment(
  parts: FeedParts,
  reader: SegmentReader,
  limit: number,
  { from, to }: Span,
  signal: AbortSignal | undefined,
): AsyncGenerator<LoggedMutation, void> {
  let found: LoggedMutation[] = []
  const take = (source: Buffer, start: number, end: number): void => {
    if (!isWellFormedMutation(source, start, end)) {
      const { directory } = parts
      throw corruption('malformed mutation', { file: directory, offset: reader.position })
    }
    const mutation = copyMutation(source, start, end)
    const { cells, sequence } = mutation
    if (cells.length > 0 && sequence >= from && sequence <= to) found.push(mutation)
  }
  while (await reader.nextFrame(limit, take)) {
    const mutations = found
    found = []
    for (const mutation of mutations) {
      check(parts, signal)
      yield mutation
    }
  }
}

function copyMutation(source: Buffer, start: number, end: number): LoggedMutation {
  const buffer = Buffer.from(source.subarray(start, end))
  const cells: LoggedCell[] = []
  let sequence = 0
  visitEntries(buffer, 0, buffer.length, (storeId, _source, keyStart, keyEnd, valueEnd) => {
    cells.push({ storeId, keyStart, keyEnd, end: valueEnd })
    sequence = sequenceOf(buffer, keyEnd)
  })
  return { sequence, serverTimestamp: serverTimestampOf(buffer, 0), buffer, cells }
}

/** The segment that holds the sequence, else the first one after it. */
function firstSegment(segments: readonly LogSegment[], fromSequence: number): LogSegment {
  return segments.find(({ lastSequence }) => lastSequence >= fromSequence) ?? segments.at(-1)!
}

/** Throws `ERR_CHANGES_GONE` if mutations from the start on are older than the segment. */
function checkStart(reader: SegmentReader, fromSequence: number): void {
  const before = reader.header.predecessor?.lastSequence ?? 0
  if (fromSequence > before) return
  const message =
    `changes from sequence ${fromSequence} on are no longer in the log, which begins behind ` +
    `${before}; logRetentionBytes keeps more of it`
  throw new CellarError(ErrorCode.changesGone, message)
}

function check({ lifecycle }: FeedParts, signal: AbortSignal | undefined): void {
  checkAborted('the change feed', signal)
  lifecycle.checkOpen()
}

/** Resolves with the promise, or when one of the signals aborts. */
async function untilAborted(
  promise: Promise<void>,
  signals: readonly AbortSignal[],
): Promise<void> {
  let stop: (() => void) | undefined
  const stopped = new Promise<void>((resolve) => {
    stop = resolve
    for (const signal of signals) signal.addEventListener('abort', stop, { once: true })
    if (signals.some(({ aborted }) => aborted)) resolve()
  })
  await Promise.race([promise, stopped])
  for (const signal of signals) signal.removeEventListener('abort', stop!)
}
