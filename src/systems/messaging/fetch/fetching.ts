/** Fetches: readers over topics, and waits for the next message. */
import { decodeMessageId, parseMessageId, type MessageIdParts } from '../message-id.js'
import type { ServiceParts } from '../live/topic-registry.js'
import { CellarError } from '../../../api/index.js'
import { MessagingErrorCode, topicNotFound } from '../errors.js'
import { messageIterator } from './message-iterator.js'
import { idAfter, MessageReader } from './message-reader.js'
import { checkedFetch, type CheckedFetch, type FetchOptions } from '../options.js'
import { checkExists } from '../publish/publishing.js'
import type { TopicState } from '../live/topic-state.js'
import type { TopicId } from '../topics/topic.js'
import type { Message, MessageIterator } from '../types.js'

const pollLimitDefault = 1000

/** `Messaging.fetch`. */
export async function fetchMessages(
  parts: ServiceParts,
  id: TopicId,
  given: FetchOptions,
): Promise<MessageIterator> {
  const options = checkedFetch(given)
  const topic = parts.topics.find(id)
  const { limit = Infinity, signal, waitMilliseconds } = options
  let reader = readerOf(parts, topic, options)
  if (waitMilliseconds > 0) {
    await waitFor(parts, topic, options, async () => {
      return (await readAll(readerOf(parts, topic, options), 1)).length > 0
    })
    reader = readerOf(parts, topic, options)
  }
  return messageIterator(reader, limit, signal)
}

/** `Messaging.poll`. */
export async function pollMessages(
  parts: ServiceParts,
  id: TopicId,
  given: FetchOptions,
): Promise<Message[]> {
  const options = checkedFetch(given)
  const topic = parts.topics.find(id)
  const limit = Math.min(options.limit ?? pollLimitDefault, parts.settings.pollMessagesMax)
  let messages: Message[] = []
  const look = async (): Promise<boolean> => {
    messages = await readAll(readerOf(parts, topic, options), limit)
    return messages.length > 0
  }
  if (!(await look()) && options.waitMilliseconds > 0) await waitFor(parts, topic, options, look)
  return messages
}

function readerOf(parts: ServiceParts, topic: TopicState, options: CheckedFetch): MessageReader {
  checkExists(topic)
  topic.statistics.fetches++
  const oldest = Math.max(0, parts.settings.clock.now() - topic.ttlMilliseconds)
  return new MessageReader(parts, topic, startOfFetch(options, oldest), options.transaction)
}

/** Waits until `look` finds a message, the time has passed, or the signal fires. */
async function waitFor(
  parts: ServiceParts,
  topic: TopicState,
  { waitMilliseconds, signal }: CheckedFetch,
  look: () => Promise<boolean>,
): Promise<void> {
  const { waitMillisecondsMax, waitersMax } = parts.settings
  // Not a timer that wakes the topic: each end of a wait would make all readers look again.
  const end = performance.now() + Math.min(waitMilliseconds, waitMillisecondsMax)
  for (;;) {
    const { readable } = topic
    const left = end - performance.now()
    if ((await look()) || left <= 0 || parts.isClosed || signal?.aborted === true) return
    if (topic.readable !== readable) continue
    if (topic.waiting >= waitersMax) {
      throw new CellarError(MessagingErrorCode.busy, 'too many readers wait')
    }
    await topic.changed(left, signal)
    if (!topic.exists) throw topicNotFound(topic.name)
  }
}

/** The first id of a fetch, no earlier than `oldest`. `ERR_INVALID_ARGUMENT` for a malformed id. */
function startOfFetch(options: CheckedFetch, oldest: number): MessageIdParts {
  const { from, time = 0, inclusive } = options
  if (from !== undefined) {
    const id = decodeMessageId(typeof from === 'string' ? parseMessageId(from) : from)
    if (id.publishTimestamp >= oldest) return inclusive ? id : idAfter(id)
  }
  const first = inclusive || options.time === undefined ? time : time + 1
  return {
    publishTimestamp: Math.max(oldest, first),
    sequenceId: 0,
    payloadWriteTimestamp: 0,
    payloadSequenceId: 0,
  }
}

async function readAll(reader: MessageReader, limit: number): Promise<Message[]> {
  let messages: Message[] = []
  while (!reader.isDone && messages.length < limit) {
    const step = await reader.step(limit - messages.length)
    if (messages.length === 0) messages = step
    else for (const message of step) messages.push(message)
  }
  if (reader.isHeld) reader.topic.statistics.fetchesHeld++
  return messages
}
