/**
 * `cellar messaging`: shows the messaging of a directory, even while a server has it open, or of a
 * remote server. It writes nothing.
 */
import { readFile } from 'node:fs/promises'
import { invalidArgument, type Result } from '../api/index.js'
import { Database } from '../entries/index.js'
import { escapeControls, Output } from './database/output.js'
import { MessagingClient } from '../server/index.js'
import { decodeMessageId, type ConsumerPosition, type TopicId } from '../systems/messaging/index.js'
import { PackedPayloads } from '../systems/messaging/store/packed-payloads.js'
import {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
} from '../systems/messaging/store/rows.js'
import { parseTopicPrefix } from '../systems/messaging/topics/topic.js'
import { startOf, TransactionManager } from '../systems/transactions/index.js'
import { pruneUpperBound } from '../systems/transactions/transaction-snapshot.js'

/** The options of the command line. */
export interface MessagingWords {
  readonly directory: string
  readonly limit: string
  readonly url?: string
  readonly tokenFile?: string
}

/** The environment variable with the token of a server. */
export const tokenVariable = 'CELLAR_TOKEN'

/** The token from a file or from the environment: other users of the machine can read neither. */
export async function tokenOf(
  { tokenFile }: { tokenFile?: string },
  read = (file: string): Promise<string> => readFile(file, 'utf8'),
): Promise<string | undefined> {
  if (tokenFile !== undefined) return (await read(tokenFile)).trim()
  return process.env[tokenVariable]
}

interface View {
  /** The table of the view, and the columns that are read. */
  readonly table: string
  readonly columns?: readonly string[]
  /** The lines of a row of the table; none for rows of other content. */
  readonly ofRow?: (result: Result) => Iterable<string>
  /** The lines of a server, for a topic or for all. Undefined for views of directories. */
  readonly ofServer?: (
    client: MessagingClient,
    limit: number,
    topic: TopicId,
  ) => AsyncIterable<string>
}

/** The views. One without `ofRow` shows the transactions. */
const views: Readonly<Record<string, View>> = {
  topics: { table: 'tms.meta', columns: ['d:m'], ofRow: topicLines, ofServer: remoteTopics },
  messages: { table: 'tms.message', ofRow: messageLines, ofServer: remoteMessages },
  payloads: { table: 'tms.payload', ofRow: payloadLines },
  positions: { table: 'tms.consumer', ofRow: positionLines, ofServer: remotePositions },
  transactions: { table: 'tx.state' },
}

/** Writes the lines of a view to the standard output. */
export async function showMessaging(
  name: string,
  topic: string | undefined,
  words: MessagingWords,
): Promise<void> {
  const limit = /^[1-9][0-9]{0,14}$/.test(words.limit) ? Number(words.limit) : NaN
  if (Number.isNaN(limit)) throw invalidArgument(`limit must be above 0, got '${words.limit}'`)
  if (!Object.hasOwn(views, name)) {
    throw invalidArgument(`no view '${name}'; there are ${Object.keys(views).join(', ')}`)
  }
  const { url, directory } = words
  let lines: AsyncIterable<string>
  if (url === undefined) lines = ofDirectory(directory, name, limit, topic)
  else {
    const [namespace, own] = topic?.split(':') ?? []
    if (own === undefined && name !== 'topics') {
      throw invalidArgument(`'${name}' of a server is of one topic: namespace:topic`)
    }
    const { ofServer } = views[name]
    if (ofServer === undefined) throw invalidArgument(`'${name}' is a view of directories`)
    const client = new MessagingClient({ url, token: await tokenOf(words) })
    lines = ofServer(client, limit, { namespace, topic: own })
  }
  const output = new Output(false)
  let left = limit
  for await (const line of lines) {
    // Names of consumers hold any characters, also control characters of terminals.
    await output.line(escapeControls(line))
    if (--left === 0) break
  }
}

async function* ofDirectory(
  directory: string,
  name: string,
  limit: number,
  topic: string | undefined,
): AsyncGenerator<string, void> {
  const { table, columns, ofRow } = views[name]
  const database = await Database.open(directory, { readOnly: true })
  try {
    // A view creates no table: without the table the database has no such rows.
    if (!database.admin.tableExists(table)) return
    if (ofRow === undefined) {
      yield* transactions(database)
      return
    }
    const prefix = topic === undefined ? undefined : `${topic}:`
    const rows = database.table(table).scan({ prefix, columns, limit })
    for await (const result of rows) yield* ofRow(result)
  } finally {
    await database.close()
  }
}

function nameOf({ namespace, topic }: TopicId): string {
  return `${namespace}:${topic}`
}

async function* remoteTopics(
  client: MessagingClient,
  _limit: number,
  wanted: Partial<TopicId>,
): AsyncGenerator<string, void> {
  for (const namespace of await client.listNamespaces()) {
    if (wanted.namespace !== undefined && wanted.namespace !== namespace) continue
    for (const topic of await client.listTopics(namespace)) {
      if (wanted.topic !== undefined && wanted.topic !== topic) continue
      const properties = await client.getTopic({ namespace, topic })
      yield `${namespace}:${topic}  ${JSON.stringify(properties)}`
    }
  }
}

function* topicLines(result: Result): Generator<string, void> {
  const id = parseTopicPrefix(result.row!)
  if (id !== undefined) yield `${nameOf(id)}  ${result.value('d:m')!.toString('utf8')}`
}

async function* remotePositions(
  client: MessagingClient,
  _limit: number,
  topic: TopicId,
): AsyncGenerator<string, void> {
  for (const position of await client.listPositions(topic)) yield positionLine(topic, position)
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

function positionLine(
  topic: TopicId,
  position: Pick<ConsumerPosition, 'consumer' | 'id'> & Partial<ConsumerPosition>,
): string {
  const { consumer, id, lagMilliseconds } = position
  const { publishTimestamp, sequenceId } = decodeMessageId(id)
  const lag = lagMilliseconds === undefined ? '' : `  ${lagMilliseconds} ms behind`
  return `${nameOf(topic)}  ${consumer}  ${timeOf(publishTimestamp)} ${sequenceId}${lag}`
}

async function* remoteMessages(
  client: MessagingClient,
  limit: number,
  topic: TopicId,
): AsyncGenerator<string, void> {
  for (const { id, payload } of await client.poll(topic, { limit })) {
    const { publishTimestamp, sequenceId } = decodeMessageId(id)
    const place = `${timeOf(publishTimestamp)} ${sequenceId}`
    yield `${nameOf(topic)}  ${place}  ${shownPayload(payload)}`
  }
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
  await manager.close()
  yield `read pointer ${snapshot.readPointer}, write pointer ${snapshot.writePointer}`
  yield `invalid ${snapshot.invalid.length}, running ${snapshot.running.length}`
  yield `prune bound ${pruneUpperBound(snapshot)}`
  for (const { id, type, expiration } of snapshot.running) {
    yield `running ${id}  ${type}  since ${timeOf(startOf(id))}  until ${timeOf(expiration)}`
  }
  for (const pointer of snapshot.invalid.slice(-100)) {
    yield `invalid ${pointer}  since ${timeOf(startOf(pointer))}`
  }
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
