/** Metrics of messaging in the text format of Prometheus. */
import type { MessagingService, TopicStatistics } from '../messaging/index.js'

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

/** The lines; none if the messaging is no service of this process. */
export function messagingMetrics(service: Partial<MessagingService>): string {
  const { statistics, topicCounters } = service
  if (statistics === undefined || topicCounters === undefined) return ''
  const numbers = statistics.call(service)
  const lines = [
    `cellar_messaging_topics ${numbers.topics}`,
    `cellar_messaging_readers_waiting ${numbers.waiting}`,
    `cellar_messaging_persist_queue_bytes ${numbers.queueBytes}`,
    `cellar_messaging_cache_bytes ${numbers.cacheBytes}`,
    `cellar_messaging_cache_entries ${numbers.cacheEntries}`,
  ]
  for (const { id, counts } of topicCounters.call(service)) {
    const labels = `{namespace="${id.namespace}",topic="${id.topic}"}`
    for (const [field, name] of counters) {
      lines.push(`cellar_messaging_${name}_total${labels} ${counts[field]}`)
    }
  }
  return `${lines.join('\n')}\n`
}
