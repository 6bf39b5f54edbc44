/**
 * Shows the content of the messaging tables of a database: topics with their generations, rows
 * decoded, and the transactions with the bound below which the invalid list may be pruned.
 */
import { invalidArgument, type Database, type Result } from '../api/index.js'
import {
  decodeMessageId,
  type ConsumerPosition,
  type Message,
  type TopicId,
} from '../systems/messaging/index.js'
import {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
} from '../systems/messaging/store/rows.js'
import { PackedPayloads } from '../systems/messaging/store/packed-payloads.js'
import { parseTopicPrefix } from '../systems/messaging/topics/topic.js'
import { startOf, TransactionManager } from '../systems/transactions/index.js'
import { pruneUpperBound } from '../systems/transactions/transaction-snapshot.js'

/** The views. */
export const views = ['topics', 'messages', 'payloads', 'positions', 'transactions'] as const

/** One of {@link views}. */
export type DebugView = (typeof views)[number]

/** Whether a word is a view. */
export function isView(word: unknown): word is DebugView {
  return views.includes(word as DebugView)
}

/** The lines of a row of a table; none for rows of other content. */
type RowLines = (result: Result) => Iterable<string>

/** The table of each view but transactions, the column that is read, and the lines of a row. */
const tables: Readonly<Record<string, { name: string; columns?: string[]; lines: RowLines }>> = {
  topics: { name: 'tms.meta', columns: ['d:m'], lines: topicLines },
  messages: { name: 'tms.message', lines: messageLines },
  payloads: { name: 'tms.payload', lines: payloadLines },
  positions: { name: 'tms.consumer', lines: positionLines },
}

/** The lines of a view; `ERR_INVALID_ARGUMENT` for one that does not exist. */
export async function* debugMessaging(
  database: Database,
  view: DebugView,
  topic: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  if (!isView(view)) throw invalidArgument(`there is no view '${String(view)}'`)
  const { name, columns, lines } = tables[view] ?? { name: 'tx.state' }
  // A view creates no table: without the table the database has no such rows.
  if (!(await database.admin.tableExists(name))) return
  if (lines === undefined) {
    yield* transactions(database)
    return
  }
  const prefix = topic === undefined || view === 'topics' ? {} : { prefix: `${topic}:` }
  const read = columns === undefined ? prefix : { ...prefix, columns }
  for await (const result of database.table(name).scan({ ...read, limit })) yield* lines(result)
}

function nameOf({ namespace, topic }: TopicId): string {
  return `${namespace}:${topic}`
}

function* topicLines(result: Result): Generator<string, void> {
  const id = parseTopicPrefix(result.row!)
  if (id !== undefined) yield `${nameOf(id)}  ${result.value('d:m')!.toString('utf8')}`
}

function* positionLines(result: Result): Generator<string, void> {
  const row = result.row!
  // namespace:topic: generation(4) name of the consumer
  const end = row.indexOf(':', row.indexOf(':') + 1) + 1
  const topic = parseTopicPrefix(row.subarray(0, end))
  const id = result.value('d:i')
  if (topic === undefined || id === undefined) return
  yield positionLine(topic, { consumer: row.subarray(end + 4).toString('utf8'), id })
}

/** The line of a position. */
export function positionLine(
  topic: TopicId,
  position: Pick<ConsumerPosition, 'consumer' | 'id'> & Partial<ConsumerPosition>,
): string {
  const { consumer, id, lagMilliseconds } = position
  const { publishTimestamp, sequenceId } = decodeMessageId(id)
  const lag = lagMilliseconds === undefined ? '' : `  ${lagMilliseconds} ms behind`
  return `${nameOf(topic)}  ${consumer}  ${timeOf(publishTimestamp)} ${sequenceId}${lag}`
}

/** The line of a message from a server. */
export function messageLine(topic: TopicId, { id, payload }: Message): string {
  const { publishTimestamp, sequenceId } = decodeMessageId(id)
  const place = `${timeOf(publishTimestamp)} ${sequenceId}`
  return `${nameOf(topic)}  ${place}  ${shownPayload(payload)}`
}

function* messageLines(result: Result): Generator<string, void> {
  const row = decodeMessageRow(result.row!)
  if (row === undefined) {
    yield `${result.row!.toString('hex')}  (no message row)`
    return
  }
  const pointer = result.value('d:t')
  const owner = pointer === undefined ? 'plain' : `pointer ${decodePointer(pointer)}`
  const { generation, publishTimestamp, sequenceId } = row
  const start = `${nameOf(row.id)}  ${generation}  ${timeOf(publishTimestamp)}`
  const payloads = payloadsOf(result, 'd:p')
  if (payloads.length === 0) yield `${start} ${sequenceId}  ${owner}  (payload table)`
  for (const [i, payload] of payloads.entries()) {
    const sequence = sequenceId + 1 - payloads.length + i
    yield `${start} ${sequence}  ${owner}  ${shownPayload(payload)}`
  }
}

function* payloadLines(result: Result): Generator<string, void> {
  const row = decodePayloadRow(result.row!)
  if (row === undefined) {
    yield `${result.row!.toString('hex')}  (no payload row)`
    return
  }
  const { generation, writePointer, writeTimestamp: time, sequenceId } = row
  const start = `${nameOf(row.id)}  ${generation}  pointer ${writePointer}  ${timeOf(time)}`
  const payloads = payloadsOf(result, 'd:c')
  for (const [i, payload] of payloads.entries()) {
    yield `${start} ${sequenceId + 1 - payloads.length + i}  ${shownPayload(payload)}`
  }
}

async function* transactions(database: Database): AsyncGenerator<string, void> {
  const manager = await TransactionManager.open(database, { sweepMilliseconds: 0 })
  const snapshot = manager.snapshot()
  yield `read pointer ${snapshot.readPointer}, write pointer ${snapshot.writePointer}`
  yield `invalid ${snapshot.invalid.length}, running ${snapshot.running.length}`
  yield `prune bound ${pruneUpperBound(snapshot)}`
  for (const { id, type, expiration } of snapshot.running) {
    yield `running ${id}  ${type}  since ${timeOf(startOf(id))}  until ${timeOf(expiration)}`
  }
  for (const pointer of snapshot.invalid.slice(-100)) {
    yield `invalid ${pointer}  since ${timeOf(startOf(pointer))}`
  }
  await manager.close()
}

/** The payloads of a row, whether it holds one or several. */
function payloadsOf(result: Result, column: string): Buffer[] {
  const batch = result.value('d:b')
  if (batch === undefined) return [result.value(column)].filter((each) => each !== undefined)
  const payloads = PackedPayloads.stored(batch)
  return payloads.copies(0, payloads.count)
}

function timeOf(milliseconds: number): string {
  const time = new Date(milliseconds)
  return Number.isNaN(time.getTime()) ? String(milliseconds) : time.toISOString()
}

function shownPayload(payload: Buffer): string {
  const text = payload.toString('utf8')
  const isText =
    Buffer.from(text, 'utf8').equals(payload) && /^[\x20-\x7e\u00a0-\uffff]*$/.test(text)
  const shown = isText ? JSON.stringify(text) : payload.toString('hex')
  return shown.length > 80 ? `${shown.slice(0, 80)}…` : shown
}
