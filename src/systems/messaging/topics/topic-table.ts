/**
 * Reads the topics of a metadata table (FORMAT.md), at once: a job must know them as they are when
 * it starts, and does not wait. Nothing is remembered, because tables also change by truncation,
 * bulk load and restored snapshots, which no observer of mutations sees.
 */
import { checkMethods, type SyncTable } from '../../../api/index.js'
import { messagingFamily, metadataQualifier } from '../prune-job/row-layout.js'
import { parseTopicPrefix, parseTopicState, type TopicRecord } from './topic.js'

const metadataColumn = `${messagingFamily}:${metadataQualifier}`

/**
 * The topics of a metadata table as they are now, deleted ones included. Rows that are no topics,
 * and topics whose metadata cannot be understood, are left out: they count as unknown.
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
