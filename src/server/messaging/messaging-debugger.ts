/**
 * Shows the content of the messaging tables of a database: topics with their generations, rows
 * decoded, and the transactions with the bound below which the invalid list may be pruned.
 */
import { CellarError, ErrorCode, type Database, type Result } from '../../api/index.js'
import {
  decodeMessageId,
  type ConsumerPosition,
  type Message,
  type TopicId,
} from '../../systems/messaging/index.js'
import {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
} from '../../systems/messaging/store/rows.js'
import { PackedPayloads } from '../../systems/messaging/store/packed-payloads.js'
import { parseTopicPrefix } from '../../systems/messaging/topics/topic.js'
import { startOf, TransactionManager } from '../../systems/transactions/index.js'
import { pruneUpperBound } from '../../systems/transactions/transaction-snapshot.js'

/** The views. */
export const views = ['topics', 'messages', 'payloads', 'positions', 'transactions'] as const

/** One of {@link views}. */
export type DebugView = (typeof views)[number]

/** Whether a word is a view. */
export function isView(word: unknown): word is DebugView {
  return views.includes(word as DebugView)
}

const tableOf: Readonly<Record<string, string | undefined>> = {
  topics: 'tms.meta',
  messages: 'tms.message',
  payloads: 'tms.payload',
  positions: 'tms.consumer',
  transactions: 'tx.state',
}

/** The lines of a view; `ERR_INVALID_ARGUMENT` for one that does not exist. */
export async function* debugMessaging(
  database: Database,
  view: DebugView,
  topic: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const prefix = topic === undefined ? undefined : `${topic}:`
  const table = tableOf[view]
  // A view creates no table: without the table the database has no such rows.
  if (table !== undefined && !(await database.admin.tableExists(table))) return
  if (view === 'topics') yield* topics(database, limit)
  else if (view === 'positions') yield* positions(database, prefix, limit)
  else if (view === 'messages') yield* messages(database, prefix, limit)
  else if (view === 'payloads') yield* payloads(database, prefix, limit)
  else if (view === 'transactions') yield* transactions(database)
  else throw new CellarError(ErrorCode.invalidArgument, `there is no view '${String(view)}'`)
}

function nameOf({ namespace, topic }: TopicId): string {
  return `${namespace}:${topic}`
}

async function* topics(database: Database, limit: number): AsyncGenerator<string, void> {
  for await (const result of database.table('tms.meta').scan({ columns: ['d:m'], limit })) {
    const id = parseTopicPrefix(result.row!)
    if (id !== undefined) yield `${nameOf(id)}  ${result.value('d:m')!.toString('utf8')}`
  }
}

async function* positions(
  database: Database,
  prefix: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const range = prefix === undefined ? { limit } : { prefix, limit }
  for await (const result of database.table('tms.consumer').scan(range)) {
    const row = result.row!
    // namespace:topic: generation(4) name of the consumer
    const end = row.indexOf(':', row.indexOf(':') + 1) + 1
    const topic = parseTopicPrefix(row.subarray(0, end))
    const id = result.value('d:i')
    if (topic === undefined || id === undefined) continue
    const consumer = row.subarray(end + 4).toString('utf8')
    yield positionLine(topic, { consumer, id })
  }
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

async function* messages(
  database: Database,
  prefix: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const range = prefix === undefined ? { limit } : { prefix, limit }
  for await (const result of database.table('tms.message').scan(range)) {
    const row = decodeMessageRow(result.row!)
    if (row === undefined) yield `${result.row!.toString('hex')}  (no message row)`
    else {
      const pointer = result.value('d:t')
      const owner = pointer === undefined ? 'plain' : `pointer ${decodePointer(pointer)}`
      const { generation, publishTimestamp: time, sequenceId } = row
      const start = `${nameOf(row.id)}  ${generation}  ${timeOf(time)}`
      const payloads = payloadsOf(result, 'd:p')
      if (payloads.length === 0) yield `${start} ${sequenceId}  ${owner}  (payload table)`
      for (const [i, payload] of payloads.entries()) {
        const sequence = sequenceId + 1 - payloads.length + i
        yield `${start} ${sequence}  ${owner}  ${shownPayload(payload)}`
      }
    }
  }
}

async function* payloads(
  database: Database,
  prefix: string | undefined,
  limit: number,
): AsyncGenerator<string, void> {
  const range = prefix === undefined ? { limit } : { prefix, limit }
  for await (const result of database.table('tms.payload').scan(range)) {
    const row = decodePayloadRow(result.row!)
    if (row === undefined) yield `${result.row!.toString('hex')}  (no payload row)`
    else {
      const { generation, writePointer, writeTimestamp: time, sequenceId } = row
      const start = `${nameOf(row.id)}  ${generation}  pointer ${writePointer}  ${timeOf(time)}`
      const payloads = payloadsOf(result, 'd:c')
      for (const [i, payload] of payloads.entries()) {
        yield `${start} ${sequenceId + 1 - payloads.length + i}  ${shownPayload(payload)}`
      }
    }
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
