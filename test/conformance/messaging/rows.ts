/** Rows of the messaging tables, made as the service makes them. */
import {
  TopicRows,
  type MessageRow,
  type PayloadRow,
} from '../../../src/systems/messaging/store/rows.js'
import { topicPrefix, type TopicId } from '../../../src/systems/messaging/topics/topic.js'

const tables = { message: 'message', payload: 'payload' }

function rowsOf(id: TopicId, generation: number): TopicRows {
  return new TopicRows(tables, topicPrefix(id), generation)
}

/** The row of a message. */
export function encodeMessageRow({ id, generation, ...place }: MessageRow): Buffer {
  return rowsOf(id, generation).messageRow(place)
}

/** The row of a stored payload. */
export function encodePayloadRow(row: PayloadRow): Buffer {
  const { id, generation, writePointer, writeTimestamp: publishTimestamp, sequenceId } = row
  return rowsOf(id, generation).payloadRow(writePointer, { publishTimestamp, sequenceId })
}
