/**
 * Topics: their names, the prefixes of their rows, and their metadata (FORMAT.md).
 *
 * A topic is named by a namespace and a name inside it. All its rows in all tables begin with
 * `namespace:name:`. Names cannot contain a colon, so the prefixes of two topics never overlap.
 */
import { messagingFamily, metadataQualifier } from '../prune-job/row-layout.js'
import {
  invalidArgument,
  checkObject,
  readArguments,
  shown,
  checkMethods,
  type SyncTable,
} from '../../../api/index.js'

/** The name of a topic. */
export interface TopicId {
  /** Letters, digits and `_`; at least one. */
  readonly namespace: string
  /** Letters, digits, `_` and `-`; at least one. */
  readonly topic: string
}

/** The state of a topic that pruning needs. */
export interface TopicState {
  /**
   * Not 0. Positive: the generation of the existing topic. Negative: deleted, the last one was -n.
   */
  readonly generation: number
  /** Lifetime of a message, in milliseconds; Infinity = forever. */
  readonly ttlMilliseconds: number
}

/** A topic and its state in the metadata table. */
export interface TopicRecord extends TopicState {
  /** Namespace and name of the topic. */
  readonly id: TopicId
}

/** Names of the tables. */
export interface MessagingTables {
  readonly metadata: string
  readonly message: string
  readonly payload: string
  readonly producer: string
  readonly consumer: string
}

/** Largest generation: it takes four bytes of a row, signed. */
export const generationMax = 0x7fff_ffff

const namespacePattern = /^[A-Za-z0-9_]+$/
const topicPattern = /^[A-Za-z0-9_-]+$/

/** A copy of the names. `ERR_INVALID_ARGUMENT` unless both are allowed. */
export function checkTopicId(id: TopicId): TopicId {
  const { namespace, topic } = readArguments(() => {
    checkObject(id, 'a topic', '{ namespace, topic }')
    return { namespace: id.namespace, topic: id.topic }
  })
  checkNamespace(namespace)
  if (typeof topic !== 'string' || !topicPattern.test(topic)) {
    throw invalidArgument(`topic must match [A-Za-z0-9_-]+, got ${shown(topic)}`)
  }
  return { namespace, topic }
}

/** `ERR_INVALID_ARGUMENT` unless the name of the namespace is allowed. */
export function checkNamespace(namespace: string): void {
  if (typeof namespace === 'string' && namespacePattern.test(namespace)) return
  throw invalidArgument(`namespace must match [A-Za-z0-9_]+, got ${shown(namespace)}`)
}

/** `namespace:topic:`, the row of the topic's metadata and the prefix of its other rows. */
export function topicPrefix(id: TopicId): Buffer {
  checkTopicId(id)
  return Buffer.from(`${id.namespace}:${id.topic}:`, 'latin1')
}

/** The topic of a metadata row; undefined for another row. */
export function parseTopicPrefix(row: Uint8Array): TopicId | undefined {
  const [namespace, topic, rest, ...more] = Buffer.from(row).toString('latin1').split(':')
  if (rest !== '' || more.length > 0) return undefined
  if (!namespacePattern.test(namespace) || !topicPattern.test(topic)) return undefined
  return { namespace, topic }
}

/** The two reserved properties of a topic; other properties are kept unchanged. */
const ttlProperty = 'ttl'
const generationProperty = 'generation'

/** Writes the metadata value of a topic: a JSON object of strings with its keys sorted. */
export function encodeTopicProperties(properties: Readonly<Record<string, string>>): Buffer {
  const sorted = Object.keys(properties)
    .sort()
    .map((key) => [key, properties[key]] as const)
  return Buffer.from(JSON.stringify(Object.fromEntries(sorted)), 'utf8')
}

/**
 * Reads the state that pruning needs from a metadata value. Undefined unless the value is a JSON
 * object with a valid generation, and with either no ttl or a whole number of seconds above 0. Such
 * a topic counts as unknown and is never pruned. A topic without ttl keeps its messages forever.
 */
export function parseTopicState(value: Uint8Array): TopicState | undefined {
  let properties: unknown
  try {
    properties = JSON.parse(Buffer.from(value).toString('utf8'))
  } catch {
    return undefined
  }
  if (typeof properties !== 'object' || properties === null) return undefined
  const { [generationProperty]: generationText, [ttlProperty]: ttlText } = properties as Record<
    string,
    unknown
  >
  const generation = wholeNumber(generationText)
  if (generation === undefined || generation === 0 || Math.abs(generation) > generationMax) {
    return undefined
  }
  if (ttlText === undefined) return { generation, ttlMilliseconds: Infinity }
  const ttlSeconds = wholeNumber(ttlText)
  if (ttlSeconds === undefined || ttlSeconds <= 0) return undefined
  return { generation, ttlMilliseconds: ttlSeconds * 1000 }
}

function wholeNumber(text: unknown): number | undefined {
  if (typeof text !== 'string' || !/^[+-]?[0-9]{1,15}$/.test(text)) return undefined
  return Number(text)
}

const metadataColumn = `${messagingFamily}:${metadataQualifier}`

/**
 * The current topics of a metadata table, including deleted ones. Synchronous, because a job needs
 * the topics at its start. Nothing is cached, because tables also change by truncation, bulk load
 * and restored snapshots, which no observer of mutations sees.
 * Rows of other forms and topics
 * with malformed metadata are left out: they count as unknown.
 */
export function readTopics(metadata: SyncTable): TopicRecord[] {
  checkMethods(metadata, 'the metadata table', ['scanSync'])
  const records: TopicRecord[] = []
  for (const result of metadata.scanSync({ columns: [metadataColumn] })) {
    const id = parseTopicPrefix(result.row!)
    const state = parseTopicState(result.value(metadataColumn)!)
    if (id !== undefined && state !== undefined) records.push({ id, ...state })
  }
  return records
}
