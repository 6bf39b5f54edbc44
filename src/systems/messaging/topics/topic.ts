/**
 * Topics: their names, the prefixes of their rows, and their metadata (FORMAT.md).
 *
 * A topic is named by a namespace and a name inside it. All its rows in all tables begin with
 * `namespace:name:`. Names cannot contain a colon, so the prefixes of two topics never overlap.
 *
 * The metadata is a JSON object of strings in the metadata table. Two properties are reserved,
 * `ttl` and `generation`; others are kept unchanged.
 */
import { messagingFamily, metadataQualifier } from '../prune-job/row-layout.js'
import {
  checkMethods,
  checkObject,
  invalidArgument,
  readArguments,
  shown,
  type Result,
  type SyncTable,
} from '../../../api/index.js'
import type { TopicProperties } from '../types.js'

/** The name of a topic. */
export interface TopicId {
  /** Letters, digits and `_`; at least one. */
  readonly namespace: string
  /** Letters, digits, `_` and `-`; at least one. */
  readonly topic: string
}

/** Names of the tables. */
export interface MessagingTables {
  readonly metadata: string
  readonly message: string
  readonly payload: string
  readonly producer: string
  readonly consumer: string
}

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

/** The metadata of a topic. */
export interface TopicMetadata extends TopicState {
  /** All properties, with `ttl` and `generation`. */
  readonly properties: TopicProperties
}

/** The column of the metadata table. */
export const metadataColumn = `${messagingFamily}:${metadataQualifier}`

/** Largest generation: it takes four bytes of a row, signed. */
const generationMax = 0x7fff_ffff
const ttlSecondsMax = 0x7fff_ffff
const propertiesBytesMax = 64 * 1024

/**
 * The effective properties of a topic: defaults overlaid by the caller's properties. The generation
 * is checked, and set by the store. `ERR_INVALID_ARGUMENT`.
 */
export function effectiveProperties(
  properties: unknown,
  defaultTtlSeconds: number,
): TopicProperties {
  const given = checkedProperties(properties)
  const bytes = given.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (bytes > propertiesBytesMax) {
    throw invalidArgument(`properties take at most ${propertiesBytesMax} characters`)
  }
  const effective = { ttl: String(defaultTtlSeconds), ...Object.fromEntries(given) }
  for (const name of ['ttl', 'generation'] as const) {
    const text = (effective as TopicProperties)[name]
    const number = numberOf(text)
    const isRight = name === 'ttl' ? number > 0 && number <= ttlSecondsMax : isGeneration(number)
    if (isRight || text === undefined) continue
    throw invalidArgument(`the property '${name}' must be a whole number, got ${shown(text)}`)
  }
  return effective
}

/** A copy of properties, by name. `ERR_INVALID_ARGUMENT` unless all values are strings. */
export function checkedProperties(properties: unknown): [name: string, value: string][] {
  checkObject(properties, 'properties', "{ ttl: '60' }")
  const given = readArguments(() => Object.entries(properties as Record<string, unknown>))
  return given.map(([name, value]) => {
    if (typeof value === 'string') return [name, value]
    throw invalidArgument(`the property '${name}' must be a string, got ${shown(value)}`)
  })
}

/** Writes the metadata value of a topic: a JSON object of strings with its keys sorted. */
export function encodeTopicProperties(properties: TopicProperties): Buffer {
  const sorted = Object.entries(properties).sort(([a], [b]) => (a < b ? -1 : 1))
  return Buffer.from(JSON.stringify(Object.fromEntries(sorted)), 'utf8')
}

/**
 * Reads a metadata value. Undefined unless the value is a JSON object with a valid generation, and
 * with either no ttl or a whole number of seconds above 0. Such a topic counts as unknown and is
 * never pruned. A topic without ttl keeps its messages forever.
 */
export function parseTopicMetadata(value: Uint8Array): TopicMetadata | undefined {
  let properties: Record<string, string> | null
  try {
    properties = JSON.parse(Buffer.from(value).toString('utf8')) as typeof properties
  } catch {
    return undefined
  }
  if (typeof properties !== 'object' || properties === null) return undefined
  const { generation: generationText, ttl } = properties
  const generation = numberOf(generationText)
  const seconds = ttl === undefined ? Infinity : numberOf(ttl)
  if (!isGeneration(generation) || !(seconds > 0)) return undefined
  return { properties, generation, ttlMilliseconds: seconds * 1000 }
}

function isGeneration(number: number): boolean {
  return number !== 0 && Math.abs(number) <= generationMax
}

function numberOf(text: unknown): number {
  return typeof text === 'string' && /^[+-]?[0-9]{1,15}$/.test(text) ? Number(text) : NaN
}

/**
 * The current topics of a metadata table, including deleted ones. Synchronous, because a job needs
 * the topics at its start. Nothing is cached, because tables also change by truncation, bulk load
 * and restored snapshots, which no observer of mutations sees. Rows of other forms and topics with
 * malformed metadata are left out: they count as unknown.
 */
export function readTopics(metadata: SyncTable): TopicRecord[] {
  checkMethods(metadata, 'the metadata table', ['scanSync'])
  const records: TopicRecord[] = []
  for (const result of metadata.scanSync({ columns: [metadataColumn] })) {
    const found = readTopic(result)
    if (found === undefined) continue
    const { id, generation, ttlMilliseconds } = found
    records.push({ id, generation, ttlMilliseconds })
  }
  return records
}

/** The topic of a row of the metadata table; undefined if there is none. */
export function readTopic(result: Result): (TopicMetadata & { readonly id: TopicId }) | undefined {
  const id = parseTopicPrefix(result.row!)
  const metadata = parseTopicMetadata(result.value(metadataColumn)!)
  return id && metadata && { id, ...metadata }
}
