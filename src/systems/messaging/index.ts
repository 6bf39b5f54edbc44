/** The messaging tables and their pruning. The public entry `cellardb/messaging`. */
export { readTopics, type TopicId, type TopicRecord, type TopicState } from './topics/topic.js'
export type { TransactionSnapshot } from '../transactions/index.js'
export { messagingPruning, type MessagingPruningOptions, type PrunedJob } from './prune-observer.js'
export type { PruneCounts, PrunedRows } from './prune-job/prune-hook.js'
export { PruneState, type PruneRecord, type PruneStateOptions } from '../transactions/index.js'
export { MessagingErrorCode } from './errors.js'
export type {
  ConsumerPosition,
  Message,
  MessageIterator,
  Messaging,
  PublishResponse,
  TopicProperties,
} from './types.js'
export type {
  FetchOptions,
  MessageRange,
  Producer,
  PublishRequest,
  SetPositionOptions,
} from './options.js'
export {
  MessagingService,
  type CurrentTopicStatistics,
  type MessagingStatistics,
  type TopicCounters,
} from './service.js'
export type { CommitPublish } from './publish/publishing.js'
export { StandbyMessaging, type Leadership, type StandbyOptions } from './standby.js'
export type { MessagingOptions } from './options.js'
export type { TopicStatistics } from './live/topic-state.js'
export { MessageConsumer } from './consumer.js'
export {
  MessageFetcher,
  MessagePublisher,
  MessagingAdmin,
  prepareFetch,
  type FetchBuilder,
} from './program.js'
export {
  decodeMessageId,
  encodeMessageId,
  messageIdBytes,
  parseMessageId,
  type MessageIdParts,
} from './message-id.js'
