/**
 * Keys of topics and subscriptions.
 *
 * The key of a topic is its name; the key of a subscription is the topic, U+0001 and the
 * subscriber, as in Hedwig. So that no two of them meet and one topic's subscriptions are exactly
 * the keys between `topic U+0001` and `topic U+0002`, a topic's own U+0000, U+0001 and U+0002 are
 * written as U+0002 and a letter, and so are bytes that are not UTF-8. Hedwig does neither: there
 * topic `a` with subscriber `b^Ac` is topic `a^Ab` with subscriber `c`.
 *
 * A subscriber is any bytes. Each byte becomes the character of the same number, U+0000 to U+00FF:
 * nothing is lost, and subscriptions of a topic lie in the order of the bytes. The form of ASCII is
 * that of Hedwig; every other byte takes two in the stored key.
 *
 * The key of a topic's fence is the topic and U+0000, which lies outside of its subscriptions.
 */
import { checkBytesLike } from '../../../api/index.js'
import { unexpectedCondition } from './errors.js'

/** The name of a topic: text, or any bytes. A string and its UTF-8 bytes are the same topic. */
export type TopicName = string | Uint8Array

/** A subscriber: text, or any bytes. A string and its UTF-8 bytes are the same subscriber. */
export type SubscriberId = string | Uint8Array

const escape = '\u0002'
const control = /[\u0000-\u0002]/g
const loneSurrogate = /\p{Surrogate}/u
const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The key of a topic. `UNEXPECTED_CONDITION` if the name is no bytes and has no UTF-8 form. */
export function topicKey(topic: TopicName): string {
  if (typeof topic === 'string') return escapeText(checkText(topic, 'topic'))
  checkBytes(topic, 'topic')
  try {
    return escapeText(strictUtf8.decode(topic))
  } catch {
    return escapeBytes(topic)
  }
}

/** The name of the topic with this key. `UNEXPECTED_CONDITION` if the key is no topic's. */
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

/** What the keys of a topic's subscriptions begin with. */
export function subscriptionPrefix(topic: TopicName): string {
  return `${topicKey(topic)}\u0001`
}

/** Behind all keys of a topic's subscriptions. */
export function subscriptionEnd(topic: TopicName): string {
  return `${topicKey(topic)}\u0002`
}

/** The key of a topic's fence. */
export function fenceKey(topic: TopicName): string {
  return `${topicKey(topic)}\u0000`
}

/**
 * The key of a subscription. `UNEXPECTED_CONDITION` if the subscriber is no bytes and has no UTF-8
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
  if (loneSurrogate.test(text)) throw unexpectedCondition(`a ${what} has no UTF-8 form`)
  return text
}

/** U+0000 to U+0002 become U+0002 and `a` to `c`, which keeps the order of topics. */
function escapeText(name: string): string {
  return name.replace(control, (character) => {
    return escape + String.fromCharCode(0x61 + character.charCodeAt(0))
  })
}

function escapeBytes(name: Uint8Array): string {
  return `${escape}x${Buffer.from(name).toString('hex')}`
}
