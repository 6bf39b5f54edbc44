/** A running index: it follows the writes of records and runs builds. */
import {
  assert,
  checkArray,
  checkMethods,
  checkText,
  declareOptions,
  integer,
  type OptionsOf,
} from '../../../api/index.js'
import type { SearchQuery, SearchResult } from '../../search/search-backend.js'
import { invalidArgument } from '../errors.js'
import type { DeadLetter, RecordEvent } from '../events/subscription-state.js'
import { newest, type Subscription } from '../events/subscription.js'
import { forgetDrop, notedDrops } from '../manager/dropped-tables.js'
import type { RepositoryManager } from '../manager/repository-manager.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import type { FieldType } from '../schema/types.js'
import { errorOf } from '../thrown.js'
import { BatchBuild, type BuildProgress } from './batch-build.js'
import { possibleSources, spanOf, type FieldSources } from './definition/field-sources.js'
import { LateTexts } from './documents/content-extraction.js'
import { IndexCounts, RecordSource, type IndexContext, type IndexParts } from './index-context.js'
import { subscriptionOf, type BuildArguments, type BuildReport } from './index-definition.js'
import type { ExtractionFailure, RefusedDocument } from './index-rows.js'
import { IndexWriter } from './index-writer.js'
import { allDocuments, RecordIndexer } from './record-indexer.js'
import { presence, ShownSources, tagOfDocument } from './shown-sources.js'

const failureOptions = declareOptions('failures of extraction', {
  /** Maximum number of failures. Default 1,000. */
  limit: integer({ min: 0, default: 1000 }),
})

/** Selects extraction failures. */
interface FailureOptions extends OptionsOf<typeof failureOptions> {}

/** The attribute of a write that excludes it from indexes, with the value 'false'. */
const indexingAttribute = 'lily.mq'

/** A running index; returned by `SearchIndexes.index`. */
export class SearchIndex {
  /** Name of the definition. */
  readonly name: string
  readonly #manager: RepositoryManager
  readonly #context: IndexContext
  readonly #indexer: RecordIndexer
  /** Texts that the documents of a write still lack, by the sequence of the write. */
  readonly #lateOfWrites = new Map<number, Promise<void>>()
  #handled = 0
  readonly #stop = new AbortController()
  #subscription: Subscription | undefined
  /** Writes up to this sequence may have been handled partly before the index was opened. */
  #recovery = 0
  #build: BatchBuild | undefined
  #building: Promise<BuildReport | undefined> = Promise.resolve(undefined)
  #buildFailure: Error | undefined

  /** @internal */
  constructor(manager: RepositoryManager, parts: IndexParts) {
    const { rows, backend, settings } = parts
    const { name, repository } = parts.definition
    const { signal } = this.#stop
    this.name = name
    this.#manager = manager
    const records = new RecordSource((table) => manager.findTable(repository, table))
    this.#context = {
      ...parts,
      name,
      schema: manager.types.schema,
      clock: manager.settings.clock,
      writer: new IndexWriter(backend, settings),
      records,
      tables: () => manager.tablesOf(repository).flatMap((table) => records.table(table) ?? []),
      readBlob: (blob) => manager.blobs.read(blob),
      counts: new IndexCounts(),
      shown: new ShownSources(rows),
      late: new LateTexts(
        settings.textMilliseconds,
        (place) => this.#indexer.update(place, allDocuments),
        signal,
      ),
      signal,
    }
    this.#indexer = new RecordIndexer(this.#context)
  }

  /** Starts to follow writes, and resumes an interrupted build. @internal */
  async start(): Promise<void> {
    const { definition, settings, rows, shown, records, writer } = this.#context
    await rows.create()
    await shown.load()
    const gone = (await rows.tables()).filter((table) => records.table(table) === undefined)
    for (const table of new Set([...gone, ...(await notedDrops(rows.table))])) {
      await this.removeTable(table)
    }
    if (definition.incremental === 'SUBSCRIBE_AND_CONSUME') {
      const { lanes, retryMilliseconds } = settings
      this.#recovery = newest(this.#manager.database)
      const handler = (event: RecordEvent): Promise<void> => this.#handle(event)
      this.#subscription = await this.#manager.subscribe(subscriptionOf(this.name), handler, {
        lanes,
        retryMilliseconds,
        from: 'now',
        beforePosition: () => writer.commit(),
      })
    }
    for (const { table, id, blobs } of await rows.extractionFailures()) {
      if (!blobs.some(({ isPending }) => isPending === true)) continue
      const place = { table, id: RecordId.parse(id) }
      void this.#indexer.update(place, allDocuments).catch(() => undefined)
    }
    if (definition.build === 'BUILDING') {
      this.#startBuild(definition.buildArguments ?? definition.defaultBuild)
    }
  }

  /** Name of the repository whose records are indexed. */
  get repository(): string {
    return this.#context.definition.repository
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
    return { ...this.#context.counts }
  }

  /**
   * The last failure: one of the search server that is being retried, or the one that stopped the
   * index from following writes. Undefined without a failure.
   */
  get failure(): Error | undefined {
    return this.#subscription?.failure ?? this.#context.writer.failure ?? this.#buildFailure
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
    await this.#context.writer.commit()
  }

  /** Searches. `ERR_INVALID_ARGUMENT` for a malformed query. */
  search(query: SearchQuery): Promise<SearchResult> {
    return this.#context.backend.search(query)
  }

  /**
   * The record fields that a document field derives from, over all documents of the index;
   * undefined if no document has the field. Documents that become visible later may add more.
   */
  fieldSources(name: string): FieldSources | undefined {
    checkText(name, 'the name of a field')
    const { configuration, schema, shown: all } = this.#context
    const possible = possibleSources(configuration, schema, name)
    const shown = all.of(name)
    if (possible === undefined || shown === undefined) return possible ?? shown
    possible.merge(shown)
    return possible
  }

  /** Ids of the fields that decide, or have decided, which records are indexed. */
  get filterFields(): ReadonlySet<string> {
    const { configuration, shown } = this.#context
    return new Set([...configuration.filterFields, ...shown.ownOf(presence)])
  }

  /** Names of the configured fields without variables, in configured order. */
  get plainFields(): readonly string[] {
    const spans = this.#context.configuration.fields.map(({ name }) => spanOf(name))
    return spans.flatMap(({ start, end }) => (end === undefined ? [start] : []))
  }

  /** Version tags at which records are indexed, or have been since the index was cleared. */
  get versionTags(): readonly FieldType[] {
    const { configuration, schema, shown } = this.#context
    const ids = new Set([...configuration.versionTags, ...shown.ownOf(tagOfDocument)])
    return [...ids].map((id) => schema.fieldById(id))
  }

  /** Builds the documents of some records again, and commits them. `ERR_INVALID_ARGUMENT`. */
  async reindex(table: string, ids: readonly RecordIdLike[]): Promise<void> {
    checkText(table, 'the name of a record table')
    const all = checkArray(ids, 'the ids of records').map((id) => RecordId.of(id))
    for (const id of all) await this.#indexer.update({ table, id }, allDocuments)
    await this.#settle()
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
    await this.#context.writer.commit()
    return handled
  }

  /** Documents that the server refused, and records whose documents a build could not make. */
  refusedDocuments(): Promise<RefusedDocument[]> {
    return this.#context.rows.refused()
  }

  /** Builds the refused documents again; returns the number of those accepted now. */
  retryRefusedDocuments(): Promise<number> {
    return this.#retry(() => this.#context.rows.refused())
  }

  /**
   * Documents that lack the text of blobs, with the reasons, by key; at most `limit`, default
   * 1,000. `ERR_INVALID_ARGUMENT`.
   */
  async extractionFailures(options: FailureOptions = {}): Promise<ExtractionFailure[]> {
    const { limit } = failureOptions.read(options)
    return this.#context.rows.extractionFailures(limit)
  }

  /** Builds the documents that lack texts again; returns the number of those complete now. */
  retryExtractions(): Promise<number> {
    return this.#retry(() => this.#context.rows.extractionFailures())
  }

  /** The stored rows of the indexed records, for checks. */
  storedRows(): Promise<string[]> {
    return this.#context.rows.all()
  }

  /**
   * Removes the documents of a table, and rebuilds the documents that show its records. @internal
   */
  async removeTable(table: string): Promise<void> {
    checkText(table, 'the name of a record table')
    const { rows, writer } = this.#context
    // They may have read a record before the drop, and have no rows yet.
    await this.#indexer.settled()
    for await (const place of rows.places(table)) await this.#indexer.update(place, allDocuments)
    await this.#indexer.updateDependants(await rows.dependants(table))
    await writer.commit()
    await forgetDrop(rows.table, table)
  }

  /** Closes the index and its server; an interrupted build resumes at the next start. @internal */
  async close(): Promise<void> {
    this.#stop.abort()
    this.#context.writer.stopRetrying()
    await Promise.all([this.#building.catch(() => undefined), this.#subscription?.close()])
    await this.#context.late.settled()
    await this.#context.backend.close()
  }

  /** Resolves when searches see all updates with the texts of their blobs. */
  async #settle(): Promise<void> {
    await this.#context.late.settled()
    await this.#context.writer.commit()
  }

  /** Builds stored failures again; returns how many there are less. */
  async #retry(
    failures: () => Promise<readonly { readonly table: string; readonly id: string }[]>,
  ): Promise<number> {
    const failed = await failures()
    for (const { table, id } of failed) {
      // A record that fails again keeps its row.
      const updated = this.#indexer.update({ table, id: RecordId.parse(id) }, allDocuments)
      await updated.catch(() => undefined)
    }
    await this.#settle()
    return Math.max(0, failed.length - (await failures()).length)
  }

  #startBuild(args: BuildArguments): void {
    assert(this.#build === undefined, 'an index has one build at a time')
    const { name, definitions } = this.#context
    const build = new BatchBuild(this.#context, this.#indexer)
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

  async #handle({ event, sequence, isReplay }: RecordEvent): Promise<void> {
    if (event.repository !== this.#context.definition.repository) return
    // A replayed event describes the last write only; an earlier write may be one to be indexed.
    if (!isReplay && event.attributes?.[indexingAttribute] === 'false') {
      this.#context.counts.eventsSkipped++
      return
    }
    await this.#indexer.handle(event, isReplay || sequence <= this.#recovery)
    this.#handled = Math.max(this.#handled, sequence)
    const late = this.#context.late.of({ table: event.table, id: RecordId.parse(event.id) })
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
