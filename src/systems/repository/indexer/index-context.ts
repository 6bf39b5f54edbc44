/** What the parts of one running index share. */
import type { Clock } from '../../../api/index.js'
import type { SearchBackend } from '../../search/search-backend.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { RecordTable } from '../tables/record-table.js'
import type { Blob } from '../values/blob-value.js'
import type { PreparedConfiguration } from './definition/compile.js'
import type { LateTexts } from './documents/late-texts.js'
import type { RecordSource } from './documents/record-source.js'
import type { SearchIndexesSettings } from './index-arguments.js'
import type { IndexDefinition, IndexDefinitions } from './index-definition.js'
import type { IndexRows } from './index-rows.js'
import type { IndexWriter } from './index-writer.js'
import type { ShownSources } from './shown-sources.js'

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
  /** The records of the repository. */
  readonly records: RecordSource
  /** Record tables of the repository. */
  readonly tables: () => readonly RecordTable[]
  readonly readBlob: (blob: Blob) => AsyncIterable<Uint8Array>
  readonly counts: IndexCounts
  readonly shown: ShownSources
  readonly late: LateTexts
  /** Aborted when the index is closed. */
  readonly signal: AbortSignal
}
