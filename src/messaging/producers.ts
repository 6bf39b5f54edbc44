/**
 * Remembers the last request of each producer of a topic, so that a request that is sent again is
 * answered with its first outcome. The row is written in the frame of the messages.
 *
 *   row    = namespace:topic: generation(4) producer id
 *   column = d:q = sequence(8) startTimestamp(8) startSequenceId(2) endTimestamp(8)
 *            endSequenceId(2)
 */
import type { AtomicMutation, Database } from '../api/index.js'
import { readTime, writeTime } from './message-id.js'
import type { ProducerState, TopicState } from './topic-state.js'
import type { MessageRange, Producer } from './types.js'

const column = 'd:q'
const valueBytes = 28

/** The last request that is stored; a sequence of -1 if there is none. */
export async function readProducer(
  database: Database,
  table: string,
  topic: TopicState,
  id: string,
): Promise<ProducerState> {
  const result = await database.table(table).get({ row: rowOf(topic, id), columns: [column] })
  const value = result.value(column)
  if (value === undefined || value.length !== valueBytes) {
    const never = Promise.reject<never>(new Error('nothing was published'))
    never.catch(() => undefined)
    return { sequence: -1, outcome: never }
  }
  const rollbackRange: MessageRange = {
    startTimestamp: readTime(value, 8),
    startSequenceId: value.readUInt16BE(16),
    endTimestamp: readTime(value, 18),
    endSequenceId: value.readUInt16BE(26),
  }
  const outcome = Promise.resolve({ transactionWritePointer: undefined, rollbackRange })
  return { sequence: Number(value.readBigInt64BE()), outcome }
}

/** Stores the request of a producer with its messages. */
export function producerRow(
  table: string,
  topic: TopicState,
  { id, sequence }: Producer,
  range: MessageRange,
): AtomicMutation {
  const value = Buffer.allocUnsafe(valueBytes)
  value.writeBigInt64BE(BigInt(sequence))
  writeTime(value, 8, range.startTimestamp)
  value.writeUInt16BE(range.startSequenceId, 16)
  writeTime(value, 18, range.endTimestamp)
  value.writeUInt16BE(range.endSequenceId, 26)
  const put = { cells: { [column]: value }, timestamp: 1 }
  return { table, row: rowOf(topic, id), mutations: [{ put }] }
}

function rowOf(topic: TopicState, id: string): Buffer {
  const generation = Buffer.allocUnsafe(4)
  generation.writeInt32BE(Math.abs(topic.generation))
  return Buffer.concat([topic.prefix, generation, Buffer.from(id, 'utf8')])
}
