/**
 * Topics: their names, and the prefixes of their rows (FORMAT.md).
 *
 * A topic is named by a namespace and a name inside it. All its rows in all tables begin with
 * `namespace:name:`. Names cannot contain a colon, so the prefixes of two topics never overlap.
 */
import { invalidArgument, checkObject, readArguments, shown } from '../../../api/index.js'

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
