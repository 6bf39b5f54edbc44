/**
 * Keys of topics and subscriptions.
 *
 * The key of a topic is its name. The key of a subscription is the topic, U+0001 and the
 * subscriber, as in Hedwig. Within topics, U+0000, U+0001 and U+0002 are escaped as U+0002 and a
 * letter, as are names that are not UTF-8. So keys are unique, and the subscriptions of a topic are
 * exactly the keys between `topic U+0001` and `topic U+0002`. Hedwig does not escape: topic `a`
 * with subscriber `b^Ac` collides with topic `a^Ab` and subscriber `c`.
 *
 * A subscriber is any bytes. Each byte is encoded as the character of the same number, U+0000 to
 * U+00FF. The encoding is lossless and orders the subscriptions of a topic by their bytes. ASCII is
 * stored as in Hedwig; every other byte takes two bytes in the stored key.
 *
 * The key of a topic's fence is the topic and U+0000, outside of the range of its subscriptions.
 */
import { checkBytesLike, isText } from '../../../api/index.js'
import { unexpectedCondition } from '../errors.js'

/** The name of a topic: text, or any bytes. A string and its UTF-8 bytes are the same topic. */
export type TopicName = string | Uint8Array

/** A subscriber: text, or any bytes. A string and its UTF-8 bytes are the same subscriber. */
export type SubscriberId = string | Uint8Array

const escape = '\u0002'
const control = /[\u0000-\u0002]/g
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The key of a topic. `UNEXPECTED_CONDITION` unless the name is bytes or has a UTF-8 form. */
export function topicKey(topic: TopicName): string {
  if (typeof topic === 'string') return escapeText(checkText(topic, 'topic'))
  checkBytes(topic, 'topic')
  try {
    return escapeText(strictUtf8.decode(topic))
  } catch {
    return escapeBytes(topic)
  }
}

/** The name of the topic of a key. `UNEXPECTED_CONDITION` if it is not the key of a topic. */
export function topicOfKey(key: string): Buffer {
  if (key.startsWith(`${escape}x`)) {
    const name = Buffer.from(key.slice(2), 'hex')
    if (escapeBytes(name) === key) return name
  } else {
    const name = key.replace(/\u0002([a-c])/g, (_, letter: string) =>
      String.fromCharCode(letter.charCodeAt(0) - 0x61),
    )
    if (escapeText(name) === key) return Buffer.from(name)
  }
  throw unexpectedCondition(`${JSON.stringify(key)} is not the key of a topic`)
}

/** Prefix of the keys of a topic's subscriptions. */
export function subscriptionPrefix(topic: TopicName): string {
  return `${topicKey(topic)}\u0001`
}

/** Exclusive end of the keys of a topic's subscriptions. */
export function subscriptionEnd(topic: TopicName): string {
  return `${topicKey(topic)}\u0002`
}

/** The key of a topic's fence. */
export function fenceKey(topic: TopicName): string {
  return `${topicKey(topic)}\u0000`
}

/**
 * The key of a subscription. `UNEXPECTED_CONDITION` unless the subscriber is bytes or has a UTF-8
 * form.
 */
export function subscriptionKey(topic: TopicName, subscriber: SubscriberId): string {
  return subscriptionPrefix(topic) + bytesOf(subscriber).toString('latin1')
}

/** The subscriber of a key that begins with `prefix`. */
export function subscriberOfKey(key: string, prefix: string): Buffer {
  return Buffer.from(key.slice(prefix.length), 'latin1')
}

function bytesOf(subscriber: SubscriberId): Buffer {
  if (typeof subscriber === 'string') return Buffer.from(checkText(subscriber, 'subscriber'))
  checkBytes(subscriber, 'subscriber')
  return Buffer.from(subscriber.buffer, subscriber.byteOffset, subscriber.byteLength)
}

function checkBytes(bytes: Uint8Array, what: string): void {
  try {
    checkBytesLike(bytes, `a ${what}`)
  } catch (error) {
    throw unexpectedCondition(`a ${what} is a string or bytes`, error)
  }
}

function checkText(text: string, what: string): string {
  if (typeof text !== 'string') throw unexpectedCondition(`a ${what} is a string`)
  if (!isText(text)) throw unexpectedCondition(`a ${what} has no UTF-8 form`)
  return text
}

/** Escapes U+0000 to U+0002 as U+0002 and `a` to `c`, which keeps the order of topics. */
function escapeText(name: string): string {
  return name.replace(control, (character) => {
    return escape + String.fromCharCode(0x61 + character.charCodeAt(0))
  })
}

function escapeBytes(name: Uint8Array): string {
  return `${escape}x${Buffer.from(name).toString('hex')}`
}
