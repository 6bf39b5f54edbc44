/** A running index: it follows the writes of records and runs builds. */
import {
  checkArray,
  checkMethods,
  checkText,
  declareOptions,
  integer,
  type Clock,
  type OptionsOf,
} from '../../../api/index.js'
import { invalidArgument } from '../errors.js'
import type { DeadLetter, RecordEvent } from '../events/subscription-state.js'
import type { Subscription, SubscriptionOptions } from '../events/subscription.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import type { RecordTable } from '../tables/record-table.js'
import type { FieldType } from '../schema/field-type.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import type { SearchBackend, SearchQuery, SearchResult } from '../../search/search-backend.js'
import { tell } from '../told.js'
import type { Blob } from '../values/blob-value.js'
import { BatchBuild, type BuildProgress } from './batch-build.js'
import type { PreparedConfiguration, PreparedField } from './definition/compile.js'
import {
  possibleSources,
  sourcesOfFields,
  spanOf,
  type FieldSources,
} from './definition/field-sources.js'
import type { ContentExtractor } from './documents/content-extraction.js'
import { LateTexts } from './documents/late-texts.js'
import { DocumentBuilder } from './documents/document-builder.js'
import { RecordSource } from './documents/record-source.js'
import type {
  BuildArguments,
  BuildReport,
  IndexDefinition,
  IndexDefinitions,
} from './index-definition.js'
import type { ExtractionFailure, IndexRows, RefusedDocument } from './index-rows.js'
import { IndexWriter } from './index-writer.js'
import { allDocuments, RecordIndexer, type IndexCounts } from './record-indexer.js'
import { presence, ShownSources } from './shown-sources.js'
import { errorOf } from '../thrown.js'

/** The dependencies of an index. */
export interface IndexParts {
  readonly definition: IndexDefinition
  readonly configuration: PreparedConfiguration
  readonly definitions: IndexDefinitions
  readonly rows: IndexRows
  readonly backend: SearchBackend
  readonly schema: SchemaCache
  readonly clock: Clock
  readonly findTable: (name: string) => RecordTable | undefined
  readonly tables: () => readonly RecordTable[]
  readonly readBlob: (blob: Blob) => AsyncIterable<Uint8Array>
  readonly extract: ContentExtractor | undefined
  readonly lanes: number
  readonly retryMilliseconds: number
  readonly commitMilliseconds: number
  readonly textMilliseconds: number
  readonly subscribe: (
    handler: (event: RecordEvent) => Promise<void>,
    options: SubscriptionOptions,
  ) => Promise<Subscription>
  /** Sequence of the newest write of the database. */
  readonly newest: () => number
  readonly onExtractionFailure: ((index: string, blob: Blob, error: unknown) => void) | undefined
}

const failureOptions = declareOptions('failures of extraction', {
  /** Maximum number of failures. Default 1,000. */
  limit: integer({ min: 0, default: 1000 }),
})

/** Selects extraction failures. */
interface FailureOptions extends OptionsOf<typeof failureOptions> {}

/** The attribute of a write that excludes it from indexes, with the value 'false'. */
export const indexingAttribute = 'lily.mq'

/** A running index; returned by `SearchIndexes.index`. */
export class SearchIndex {
  /** Name of the definition. */
  readonly name: string
  readonly #parts: IndexParts
  readonly #counts: IndexCounts = {
    documentsWritten: 0,
    documentsRemoved: 0,
    documentsRefused: 0,
    dependantsUpdated: 0,
    extractionFailures: 0,
    eventsSkipped: 0,
  }
  readonly #writer: IndexWriter
  readonly #indexer: RecordIndexer
  readonly #refused = new Set<string>()
  readonly #sources: ReadonlyMap<PreparedField, FieldSources>
  readonly #shown: ShownSources
  readonly #late: LateTexts
  /** Texts that the documents of a write still lack, by the sequence of the write. */
  readonly #lateOfWrites = new Map<number, Promise<void>>()
  /** Sequence of the newest handled write. */
  #handled = 0
  readonly #stop = new AbortController()
  #subscription: Subscription | undefined
  /** Writes up to this sequence may have been handled partly before the index was opened. */
  #recovery = 0
  #build: BatchBuild | undefined
  #building: Promise<BuildReport | undefined> = Promise.resolve(undefined)
  #buildFailure: Error | undefined

  /** @internal */
  constructor(parts: IndexParts) {
    const { backend, retryMilliseconds, commitMilliseconds, configuration, schema } = parts
    this.name = parts.definition.name
    this.#parts = parts
    this.#writer = new IndexWriter(backend, { retryMilliseconds, commitMilliseconds })
    const source = new RecordSource(parts.findTable)
    const onFailure = (blob: Blob, error: unknown): void => {
      this.#counts.extractionFailures++
      tell(parts.onExtractionFailure, this.name, blob, error)
    }
    const { readBlob, extract } = parts
    const { signal } = this.#stop
    this.#late = new LateTexts({
      milliseconds: parts.textMilliseconds,
      again: async (place) => this.#indexer.update(place, allDocuments),
      signal,
    })
    const extraction = { readBlob, extract, onFailure, late: this.#late, signal }
    const sources = sourcesOfFields(configuration.nodes)
    const builder = new DocumentBuilder({ configuration, sources, schema, source, extraction })
    const { rows, clock } = parts
    this.#sources = sources
    this.#shown = new ShownSources(rows)
    const shown = this.#shown
    const counts = this.#counts
    const writer = this.#writer
    const refused = this.#refused
    const common = { configuration, schema, source, builder, rows, writer, clock, counts }
    this.#indexer = new RecordIndexer({ ...common, refused, shown })
  }

  /** Starts to follow writes, and resumes an interrupted build. @internal */
  async start(): Promise<void> {
    const { definition, rows, findTable, lanes, retryMilliseconds } = this.#parts
    await rows.create()
    await this.#shown.load()
    for (const { key } of await rows.refused()) this.#refused.add(key)
    for (const table of await rows.tables()) {
      if (findTable(table) === undefined) await this.removeTable(table)
    }
    if (definition.incremental === 'SUBSCRIBE_AND_CONSUME') {
      this.#recovery = this.#parts.newest()
      this.#subscription = await this.#parts.subscribe((event) => this.#handle(event), {
        lanes,
        retryMilliseconds,
        from: 'now',
        beforePosition: () => this.#writer.commit(),
      })
    }
    for (const { table, id, blobs } of await rows.extractionFailures()) {
      if (!blobs.some(({ isPending }) => isPending === true)) continue
      const place = { table, id: RecordId.parse(id) }
      void this.#indexer.update(place, allDocuments).catch(() => undefined)
    }
    if (definition.build === 'BUILDING') {
      this.startBuild(definition.buildArguments ?? definition.defaultBuild)
    }
  }

  /** Whether the index follows the writes of records. */
  get isFollowing(): boolean {
    return this.#subscription?.isRunning === true
  }

  /** Number of writes between the newest write and the last write that documents reflect. */
  get lag(): number {
    return this.#subscription?.lag ?? 0
  }

  /** Counters since the opening of the index. */
  get counts(): Readonly<IndexCounts> {
    return { ...this.#counts }
  }

  /**
   * The last failure: one of the search server that is being retried, or the one that stopped the
   * index from following writes. Undefined without a failure.
   */
  get failure(): Error | undefined {
    return this.#subscription?.failure ?? this.#writer.failure ?? this.#buildFailure
  }

  /** Progress of the current build; undefined without one. */
  get buildProgress(): BuildProgress | undefined {
    return this.#build?.progress
  }

  /**
   * Resolves when searches see a write with the texts of its blobs. The write is given by its
   * sequence, as in `WriteResult`; the default is the newest one. Texts of earlier writes may still
   * be missing. `ERR_INVALID_ARGUMENT` if the index does not follow the writes of records.
   */
  async waitFor(sequence?: number): Promise<void> {
    if (this.#subscription === undefined) {
      throw invalidArgument(`the index ${this.name} does not follow the writes of records`)
    }
    await this.#subscription.caughtUp(sequence)
    await this.#lateOfWrites.get(sequence ?? this.#handled)
    await this.#writer.commit()
  }

  /** Searches. `ERR_INVALID_ARGUMENT` for a malformed query. */
  search(query: SearchQuery): Promise<SearchResult> {
    return this.#parts.backend.search(query)
  }

  /**
   * The record fields that a document field derives from, over all documents of the index;
   * undefined if no document has the field. Documents that become visible later may add more.
   */
  fieldSources(name: string): FieldSources | undefined {
    checkText(name, 'the name of a field')
    const { configuration, schema } = this.#parts
    const possible = possibleSources(configuration, this.#sources, schema, name)
    const shown = this.#shown.of(name)
    if (possible === undefined || shown === undefined) return possible ?? shown
    possible.merge(shown)
    return possible
  }

  /** Ids of the fields that decide, or have decided, which records are indexed. */
  get filterFields(): ReadonlySet<string> {
    const { filterFields } = this.#parts.configuration
    return new Set([...filterFields, ...(this.#shown.of(presence.start)?.own ?? [])])
  }

  /** Names of the configured fields without variables, in configured order. */
  get plainFields(): readonly string[] {
    return [...this.#sources.keys()].flatMap(({ name }) => {
      const { start, end } = spanOf(name)
      return end === undefined ? [start] : []
    })
  }

  /** Version tags at which records are indexed. */
  get versionTags(): readonly FieldType[] {
    const { configuration, schema } = this.#parts
    return [...configuration.versionTags].map((id) => schema.fieldById(id))
  }

  /** Builds the documents of some records again, and commits them. `ERR_INVALID_ARGUMENT`. */
  async reindex(table: string, ids: readonly RecordIdLike[]): Promise<void> {
    checkText(table, 'the name of a record table')
    const places = checkArray(ids, 'the ids of records').map((id) => ({
      table,
      id: RecordId.of(id),
    }))
    for (const place of places) await this.#indexer.update(place, allDocuments)
    await this.#late.settled()
    await this.#writer.commit()
  }

  /**
   * Resolves at the end of the current build with its report; undefined if the build was
   * interrupted.
   */
  built(): Promise<BuildReport | undefined> {
    return this.#building
  }

  /** Events that failed too often, in the order of their writes. */
  async deadLetters(): Promise<DeadLetter[]> {
    return this.#subscription?.deadLetters() ?? []
  }

  /** Handles the dead letters again; returns the number of successes. */
  async retryDeadLetters(): Promise<number> {
    const handled = (await this.#subscription?.retryDeadLetters()) ?? 0
    await this.#writer.commit()
    return handled
  }

  /** Documents that the server refused, and records whose documents a build could not make. */
  refusedDocuments(): Promise<RefusedDocument[]> {
    return this.#parts.rows.refused()
  }

  /** Builds the refused documents again; returns the number of those accepted now. */
  async retryRefusedDocuments(): Promise<number> {
    const { rows } = this.#parts
    const refused = await rows.refused()
    for (const { table, id } of refused) {
      // A record that fails again keeps its refusal.
      const updated = this.#indexer.update({ table, id: RecordId.parse(id) }, allDocuments)
      await updated.catch(() => undefined)
    }
    await this.#late.settled()
    await this.#writer.commit()
    return Math.max(0, refused.length - (await rows.refused()).length)
  }

  /**
   * Documents that lack the text of blobs, with the reasons, by key; at most `limit`, default
   * 1,000. `ERR_INVALID_ARGUMENT`.
   */
  async extractionFailures(options: FailureOptions = {}): Promise<ExtractionFailure[]> {
    const { limit } = failureOptions.read(options)
    return this.#parts.rows.extractionFailures(limit)
  }

  /** Builds the documents that lack texts again; returns the number of those complete now. */
  async retryExtractions(): Promise<number> {
    const { rows } = this.#parts
    const failed = await rows.extractionFailures()
    for (const { table, id } of failed) {
      const updated = this.#indexer.update({ table, id: RecordId.parse(id) }, allDocuments)
      await updated.catch(() => undefined)
    }
    await this.#late.settled()
    await this.#writer.commit()
    const left = await rows.extractionFailures()
    return Math.max(0, failed.length - left.length)
  }

  /** The stored rows of the indexed records, for checks. */
  storedRows(): Promise<string[]> {
    return this.#parts.rows.all()
  }

  /**
   * Removes the documents of a table, and rebuilds the documents that show its records. @internal
   */
  async removeTable(table: string): Promise<void> {
    checkText(table, 'the name of a record table')
    const { rows } = this.#parts
    for await (const place of rows.places(table)) await this.#indexer.update(place, allDocuments)
    const dependants = await rows.tableDependants(table)
    await this.#indexer.updateTableDependants(dependants)
    await this.#writer.commit()
  }

  /** @internal */
  startBuild(args: BuildArguments): void {
    const { name } = this
    const { definitions } = this.#parts
    const build = new BatchBuild({
      ...this.#parts,
      name,
      indexer: this.#indexer,
      writer: this.#writer,
      refused: this.#refused,
      shown: this.#shown,
      late: this.#late,
      signal: this.#stop.signal,
    })
    this.#build = build
    this.#buildFailure = undefined
    this.#building = build.run(args).then(async (report) => {
      if (report !== undefined) {
        await definitions.change(name, undefined, () => {
          return { build: 'INACTIVE', buildArguments: undefined, lastBuild: report }
        })
        await definitions.setProgress(name, undefined)
      }
      this.#build = undefined
      return report
    })
    this.#building.catch((error: unknown) => {
      this.#buildFailure = errorOf(error)
    })
  }

  /** Closes the index; an interrupted build resumes at the next start. @internal */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#writer.stopRetrying()
    await Promise.all([this.#building.catch(() => undefined), this.#subscription?.close()])
    await this.#late.settled()
  }

  async #handle({ event, sequence, isReplay }: RecordEvent): Promise<void> {
    if (event.repository !== this.#parts.definition.repository) return
    // A replayed event describes the last write only; an earlier write may be one to be indexed.
    if (!isReplay && event.attributes?.[indexingAttribute] === 'false') {
      this.#counts.eventsSkipped++
      return
    }
    await this.#indexer.handle(event, isReplay || sequence <= this.#recovery)
    this.#handled = Math.max(this.#handled, sequence)
    const late = this.#late.of({ table: event.table, id: RecordId.parse(event.id) })
    if (late === undefined) return
    const all = Promise.all([this.#lateOfWrites.get(sequence), late]).then(() => undefined)
    this.#lateOfWrites.set(sequence, all)
    void all.then(() => {
      if (this.#lateOfWrites.get(sequence) === all) this.#lateOfWrites.delete(sequence)
    })
  }
}

/** Number of successful retries of each kind. */
export interface RetryCounts {
  /** Documents that the search server had refused. */
  readonly refused: number
  /** Documents with blobs whose text could not be extracted. */
  readonly texts: number
  /** Events that had become dead letters. */
  readonly deadLetters: number
}

/** Retries everything that failed to be indexed. `ERR_INVALID_ARGUMENT`. */
export async function retryAll(index: SearchIndex): Promise<RetryCounts> {
  checkMethods(index, 'an index', ['retryRefusedDocuments', 'retryExtractions', 'retryDeadLetters'])
  const refused = await index.retryRefusedDocuments()
  const texts = await index.retryExtractions()
  const deadLetters = await index.retryDeadLetters()
  return { refused, texts, deadLetters }
}
