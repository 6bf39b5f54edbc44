/**
 * Reads the topics of a metadata table (FORMAT.md) synchronously: a job needs the topics at its
 * start, and cannot wait. Nothing is cached, because tables also change by truncation, bulk load
 * and restored snapshots, which no observer of mutations sees.
 */
import { checkMethods, type SyncTable } from '../../../api/index.js'
import { messagingFamily, metadataQualifier } from '../prune-job/row-layout.js'
import { parseTopicPrefix, parseTopicState, type TopicRecord } from './topic.js'

const metadataColumn = `${messagingFamily}:${metadataQualifier}`

/**
 * The current topics of a metadata table, including deleted ones. Rows of other forms and topics
 * with malformed metadata are left out: they count as unknown.
 */
export function readTopics(metadata: SyncTable): TopicRecord[] {
  checkMethods(metadata, 'the metadata table', ['scanSync'])
  const records: TopicRecord[] = []
  for (const result of metadata.scanSync({ columns: [metadataColumn] })) {
    const id = parseTopicPrefix(result.row!)
    const state = parseTopicState(result.value(metadataColumn)!)
    if (id !== undefined && state !== undefined) records.push({ id, ...state })
  }
  return records
}
