/** Metrics of messaging in the text format of Prometheus. */
import { familiesText, family, type Sample } from '../../../metrics/text.js'
import {
  MessagingService,
  StandbyMessaging,
  type Messaging,
  type TopicStatistics,
} from '../index.js'

const counters: readonly (readonly [keyof TopicStatistics, string])[] = [
  ['publishRequested', 'persist_requested'],
  ['publishSucceeded', 'persist_success'],
  ['publishFailed', 'persist_failure'],
  ['messagesPublished', 'messages_published'],
  ['bytesPublished', 'bytes_published'],
  ['payloadsStored', 'payloads_stored'],
  ['rolledBack', 'messages_rolled_back'],
  ['fetches', 'fetches'],
  ['fetchesHeld', 'fetches_held'],
  ['messagesFetched', 'messages_fetched'],
]

/**
 * The lines; empty if the messaging is not a service of this process, or another process leads. The
 * lag of a consumer is the time between the message at its position and the newest message.
 */
export async function messagingMetrics(messaging: Messaging): Promise<string> {
  const service = messaging instanceof StandbyMessaging ? messaging.leading : messaging
  if (!(service instanceof MessagingService)) return ''
  const numbers = service.statistics()
  const topics = service.topicCounters().map(({ id, counts }) => {
    return { id, counts, labels: { namespace: id.namespace, topic: id.topic } }
  })
  const lags: Sample[] = []
  for (const { id, labels } of topics) {
    for (const { consumer, lagMilliseconds } of await service.listPositions(id)) {
      lags.push([{ ...labels, consumer }, lagMilliseconds / 1000])
    }
  }
  return familiesText('cellar_messaging_', [
    family('gauge', 'topics', numbers.topics),
    family('gauge', 'readers_waiting', numbers.waiting),
    family('gauge', 'persist_queue_bytes', numbers.queueBytes),
    family('gauge', 'cache_bytes', numbers.cacheBytes),
    family('gauge', 'cache_entries', numbers.cacheEntries),
    ...counters.map(([field, name]) => {
      const samples = topics.map(({ labels, counts }): Sample => [labels, counts[field]])
      return family('counter', `${name}_total`, samples)
    }),
    family('gauge', 'consumer_lag_seconds', lags),
  ])
}
