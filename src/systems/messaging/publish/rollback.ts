/**
 * Marks messages of a transaction as rolled back by negating their write pointers.
 *
 * A row holds messages of one publish, so it is marked as a whole. A range that ends inside a row,
 * which no answer to a publish has, splits the row: each part becomes its own row, in one batch.
 * Every message keeps its place.
 */
import type { AtomicMutation } from '../../../api/index.js'
import type { ServiceParts } from '../live/topic-registry.js'
import {
  comparePlaces,
  firstSequence,
  placeOf,
  type Place,
  type StoredBatch,
} from '../store/stored-batch.js'
import type { TopicState } from '../live/topic-state.js'
import type { MessageRange } from '../options.js'

const scannedRows = 64

/**
 * Marks the messages of a range that belong to the transaction; other messages are unchanged.
 * Returns the number of marked messages.
 */
export async function rollBackRows(
  { database, tables, settings }: ServiceParts,
  topic: TopicState,
  pointer: bigint,
  range: MessageRange,
): Promise<number> {
  const { durability } = settings
  // A topic that is deleted meanwhile and made again has other rows.
  const { rows, generation } = topic
  const start = { publishTimestamp: range.startTimestamp, sequenceId: range.startSequenceId }
  const rangeEnd = { publishTimestamp: range.endTimestamp, sequenceId: range.endSequenceId }
  const end = comparePlaces(rangeEnd, topic.readable) < 0 ? rangeEnd : topic.readable
  if (comparePlaces(start, end) > 0) return 0
  let marked = 0
  let isCut = false
  // The last row of the range may end after the range, because the last message names the row.
  const scanner = database.table(tables.message).scan({
    startRow: rows.messageRow(start),
    stopRow: rows.messageRow(topic.readable),
    stopInclusive: true,
  })
  try {
    for (let isBehind = false; !isBehind;) {
      const results = await scanner.nextBatch(scannedRows)
      const mutations: AtomicMutation[] = []
      for (const result of results) {
        const row = rows.messagesOf(result)
        if (row === undefined) continue
        if (row.pointer === pointer) {
          const parts = cut(row, start, end)
          isCut ||= parts.length > 1
          for (const part of parts) {
            if (part.pointer === -pointer) marked += part.payloads?.count ?? 1
            mutations.push(
              parts.length > 1 ? rows.messages(part) : rows.pointer(row, part.pointer!),
            )
          }
        }
        isBehind = comparePlaces(row, end) >= 0
        if (isBehind) break
      }
      if (mutations.length > 0) await database.atomic({ mutations, durability })
      // A short page may also mean that an error follows, so only an empty page ends the scan.
      isBehind ||= results.length === 0
    }
  } finally {
    scanner.close()
  }
  if (topic.generation !== generation) return marked
  if (isCut) topic.cache.clear()
  else markCached(topic, start, end, pointer)
  return marked
}

/** The row with its messages from `start` to `end` marked: one to three rows, or none. */
function cut(row: StoredBatch, start: Place, end: Place): StoredBatch[] {
  const { publishTimestamp, sequenceId: last, payloads } = row
  const pointer = row.pointer!
  const first = firstSequence(row)
  const sameTime = (place: Place): boolean => place.publishTimestamp === publishTimestamp
  const from = sameTime(start) ? Math.max(first, start.sequenceId) : first
  const to = sameTime(end) ? Math.min(last, end.sequenceId) : last
  if (from > to || comparePlaces({ publishTimestamp, sequenceId: first }, end) > 0) return []
  if (payloads === undefined || (from === first && to === last)) {
    return [{ ...row, pointer: -pointer }]
  }
  const part = (of: bigint, partFirst: number, partLast: number): StoredBatch => ({
    publishTimestamp,
    sequenceId: partLast,
    pointer: of,
    payloads: payloads.slice(partFirst - first, partLast + 1 - first),
  })
  const parts = [part(-pointer, from, to)]
  if (from > first) parts.push(part(pointer, first, from - 1))
  if (to < last) parts.push(part(pointer, to + 1, last))
  return parts
}

function markCached(topic: TopicState, start: Place, end: Place, pointer: bigint): void {
  const [from, to] = [placeOf(start), placeOf(end)] as StoredBatch[]
  topic.cache.updateEntries(from, to, (row) =>
    row.pointer === pointer ? { ...row, pointer: -pointer } : row,
  )
}
