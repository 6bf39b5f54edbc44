/** Marks messages of a transaction as rolled back: their write pointers become negative. */
import type { AtomicMutation, Database, DurabilityOption } from '../api/index.js'
import { storedMessage } from './message-rows.js'
import { comparePlaces, type Place, type StoredMessage } from './stored-message.js'
import type { TopicState } from './topic-state.js'
import type { MessageRange } from './types.js'

const batchRows = 1024

/**
 * Marks the messages of a range that belong to the transaction; all others stay as they are. The
 * number of messages that were marked.
 */
export async function rollBackRows(
  written: { database: Database; table: string; durability: DurabilityOption },
  topic: TopicState,
  pointer: bigint,
  range: MessageRange,
): Promise<number> {
  const { database, table, durability } = written
  const start = { publishTimestamp: range.startTimestamp, sequenceId: range.startSequenceId }
  const rangeEnd = { publishTimestamp: range.endTimestamp, sequenceId: range.endSequenceId }
  const end = comparePlaces(rangeEnd, topic.readable) < 0 ? rangeEnd : topic.readable
  if (comparePlaces(start, end) > 0) return 0
  const { rows } = topic
  let marked = 0
  const scanner = database.table(table).scan({
    startRow: rows.messageRow(start),
    stopRow: rows.messageRow(end),
    stopInclusive: true,
  })
  try {
    for (;;) {
      const results = await scanner.nextBatch(batchRows)
      const own = results.map(storedMessage).filter((message) => message.pointer === pointer)
      const mutations = own.map((place): AtomicMutation => rows.pointer(place, -pointer))
      if (mutations.length > 0) await database.atomic({ mutations, durability })
      marked += mutations.length
      if (results.length < batchRows) break
    }
  } finally {
    scanner.close()
  }
  markCached(topic, start, end, pointer)
  return marked
}

function markCached(topic: TopicState, start: Place, end: Place, pointer: bigint): void {
  topic.cache.updateEntries(start as StoredMessage, end as StoredMessage, (message) =>
    message.pointer === pointer ? { ...message, pointer: -pointer } : message,
  )
}
