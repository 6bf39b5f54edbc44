/** Metrics of messaging in the text format of Prometheus. */
import {
  MessagingService,
  StandbyMessaging,
  type Messaging,
  type TopicStatistics,
} from '../../systems/messaging/index.js'

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
  const lines: string[] = []
  const family = (name: string, kind: 'counter' | 'gauge', samples: readonly Sample[]): void => {
    const full = `cellar_messaging_${name}`
    lines.push(`# TYPE ${full} ${kind}`)
    for (const [labels, value] of samples) lines.push(`${full}${labels} ${value}`)
  }
  const numbers = service.statistics()
  family('topics', 'gauge', [['', numbers.topics]])
  family('readers_waiting', 'gauge', [['', numbers.waiting]])
  family('persist_queue_bytes', 'gauge', [['', numbers.queueBytes]])
  family('cache_bytes', 'gauge', [['', numbers.cacheBytes]])
  family('cache_entries', 'gauge', [['', numbers.cacheEntries]])
  const topics = service.topicCounters().map(({ id, counts }) => {
    return { id, counts, labels: `namespace="${id.namespace}",topic="${id.topic}"` }
  })
  for (const [field, name] of counters) {
    const samples = topics.map(({ labels, counts }): Sample => [`{${labels}}`, counts[field]])
    family(`${name}_total`, 'counter', samples)
  }
  const lags: Sample[] = []
  for (const { id, labels } of topics) {
    for (const { consumer, lagMilliseconds } of await service.listPositions(id)) {
      const name = consumer.replace(/[\\"\n]/g, '_')
      lags.push([`{${labels},consumer="${name}"}`, lagMilliseconds / 1000])
    }
  }
  family('consumer_lag_seconds', 'gauge', lags)
  return `${lines.join('\n')}\n`
}

type Sample = readonly [labels: string, value: number]
