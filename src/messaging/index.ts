/** The messaging tables and their prunings. The public entry `cellardb/messaging`. */
export {
  decodeMessageRow,
  decodePayloadRow,
  decodePointer,
  encodeMessageRow,
  encodePayloadRow,
  encodePointer,
  type MessageRow,
  type PayloadRow,
} from './rows.js'
export {
  messagingFamily,
  metadataQualifier,
  payloadQualifier,
  pointerQualifier,
  storedPayloadQualifier,
} from './prune-job/row-layout.js'
export {
  encodeTopicProperties,
  parseTopicPrefix,
  parseTopicState,
  topicPrefix,
  type TopicId,
  type TopicRecord,
  type TopicState,
} from './topic.js'
export { isOlderGeneration } from './prune-job/prune-rules.js'
export { readTopics } from './topic-table.js'
export { inactiveBound, pruneUpperBound, type TransactionSnapshot } from '../transactions/index.js'
export { messagingPruning, type MessagingPruningOptions, type PrunedJob } from './prune-observer.js'
export type { PruneCounts, PrunedRows } from './prune-job/prune-hook.js'
export { PruneState, type PruneRecord, type PruneStateOptions } from '../transactions/index.js'
