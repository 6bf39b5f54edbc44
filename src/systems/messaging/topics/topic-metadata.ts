/**
 * The metadata of topics: a JSON object of strings in the metadata table (FORMAT.md). Two
 * properties are reserved, `ttl` and `generation`; others are kept unchanged.
 */
import { messagingFamily, metadataQualifier } from '../prune-job/row-layout.js'
import {
  invalidArgument,
  checkObject,
  readArguments,
  shown,
  checkMethods,
  type Result,
  type SyncTable,
} from '../../../api/index.js'
import type { TopicProperties } from '../types.js'
import { parseTopicPrefix, type TopicId } from './topic.js'

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
