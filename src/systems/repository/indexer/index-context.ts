/** The state that the parts of one running index share, and its source of records. */
import type { Clock } from '../../../api/index.js'
import type { SearchBackend } from '../../search/search-backend.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { RecordTable } from '../tables/record-table.js'
import type { Blob } from '../values/blob-value.js'
import type { PreparedConfiguration } from './definition/compile.js'
import type { LateTexts } from './documents/content-extraction.js'
import type {
  IndexDefinition,
  IndexDefinitions,
  SearchIndexesSettings,
} from './index-definition.js'
import type { IndexRows, Place } from './index-rows.js'
import type { IndexWriter } from './index-writer.js'
import type { ShownSources } from './shown-sources.js'
import { hasCode } from '../errors.js'
import { lastTag } from '../qualified-name.js'
import type { StoredRecord } from '../records/record.js'
import type { FieldType } from '../schema/types.js'

/** Counters of an index since its opening. */
export class IndexCounts {
  /** Documents that the search server accepted. */
  documentsWritten = 0
  /** Documents that were removed one by one; excludes those of deleted records. */
  documentsRemoved = 0
  /** Documents that the search server refused. */
  documentsRefused = 0
  /** Documents that were built because a record that they show has changed. */
  dependantsUpdated = 0
  /** Blobs whose text could not be extracted. */
  extractionFailures = 0
  /** Events that affect no document, neither of their record nor of a dependent one. */
  eventsSkipped = 0
}

/** The parts of an index that its opener makes. */
export interface IndexParts {
  readonly definition: IndexDefinition
  readonly configuration: PreparedConfiguration
  readonly definitions: IndexDefinitions
  readonly rows: IndexRows
  readonly backend: SearchBackend
  readonly settings: SearchIndexesSettings
}

/** The shared state and services of one running index. */
export interface IndexContext extends IndexParts {
  readonly name: string
  readonly schema: SchemaCache
  readonly clock: Clock
  readonly writer: IndexWriter
  readonly records: RecordSource
  readonly tables: () => readonly RecordTable[]
  readonly readBlob: (blob: Blob) => AsyncIterable<Uint8Array>
  readonly counts: IndexCounts
  readonly shown: ShownSources
  readonly late: LateTexts
  /** Aborted when the index is closed. */
  readonly signal: AbortSignal
}

/** The records of one repository. */
export class RecordSource {
  /** A record table of the repository; undefined if there is none of that name. */
  readonly table: (name: string) => RecordTable | undefined

  constructor(table: (name: string) => RecordTable | undefined) {
    this.table = table
  }

  /** The newest version of a record; undefined if the record does not exist. */
  async newest({ table, id }: Place): Promise<StoredRecord | undefined> {
    return ifThere(this.table(table)?.read(id))
  }

  /** The version that a tag of a record points to; 0: no version, undefined: no such tag. */
  versionAt(newest: StoredRecord, tag: FieldType): number | undefined {
    if (tag.name === lastTag) return newest.version ?? 0
    const value = newest.fields[tag.name] as bigint | undefined
    return value === undefined ? undefined : Number(value)
  }

  /** The record at a tag; undefined if the tag, or the version it points to, is absent. */
  async at(place: Place, newest: StoredRecord, tag: FieldType): Promise<StoredRecord | undefined> {
    const version = this.versionAt(newest, tag)
    if (version === undefined) return undefined
    if (version === (newest.version ?? 0)) return newest
    const records = this.table(place.table)
    if (version === 0) return ifThere(records?.readTagged(place.id, tag.name))
    return ifThere(records?.read(place.id, { version }))
  }
}

async function ifThere<T>(reading: Promise<T> | undefined): Promise<T | undefined> {
  try {
    return await reading
  } catch (error) {
    if (hasCode(error, 'recordNotFound', 'versionNotFound')) return undefined
    throw error
  }
}
