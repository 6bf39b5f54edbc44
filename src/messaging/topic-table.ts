/**
 * The topics of a metadata table (FORMAT.md), read again only after the table has changed.
 *
 * A job must know the topics as they are when it starts, and must not wait: so they are read
 * synchronously, and a coprocessor of the metadata table notices every mutation.
 */
import type { Coprocessor, SyncTable } from '../index.js'
import { messagingFamily, metadataQualifier } from './prune-job/row-layout.js'
import { parseTopicPrefix, parseTopicState, type TopicRecord } from './topic.js'

const metadataColumn = `${messagingFamily}:${metadataQualifier}`

/**
 * The topics of a metadata table as they are now, deleted ones included. Rows that are no topics,
 * and topics whose metadata cannot be understood, are left out: they count as unknown.
 */
export function readTopics(metadata: SyncTable): TopicRecord[] {
  const records: TopicRecord[] = []
  for (const result of metadata.scanSync({ columns: [metadataColumn] })) {
    const id = parseTopicPrefix(result.row!)
    const state = parseTopicState(result.value(metadataColumn)!)
    if (id !== undefined && state !== undefined) records.push({ id, ...state })
  }
  return records
}

/** The topics of a metadata table, always as they are now. */
export interface TopicDirectory {
  /** To be registered with the database; belongs to the metadata table. */
  readonly coprocessor: Coprocessor
  /**
   * The topics, deleted ones included; the same array until the table changes. Empty, so that every
   * topic counts as unknown, while the table is not open.
   */
  readonly topics: () => readonly TopicRecord[]
}

/** Follows the topics of the metadata table of that name. */
export function followTopics(metadataTable: string): TopicDirectory {
  let table: SyncTable | undefined = undefined
  let records: readonly TopicRecord[] | undefined = undefined
  const changed = (): void => {
    records = undefined
  }
  const coprocessor: Coprocessor = {
    name: `topics of ${metadataTable}`,
    tables: [metadataTable],
    observer: {
      postOpen: (context) => {
        table = context.table
        changed()
      },
      preClose: () => {
        table = undefined
        changed()
      },
      postBatchMutate: changed,
    },
  }
  return { coprocessor, topics: () => (records ??= table === undefined ? [] : readTopics(table)) }
}
