/**
 * A search index on a table. It consists of immutable segments, which are written at a commit and
 * merged in the background, as in Lucene. `src/systems/search/FORMAT.md` describes the rows.
 *
 * Changes are buffered in memory up to a commit or a number of bytes. Then they become a segment
 * that is invisible until the commit. A commit replaces one row, so after a crash either the old or
 * the new commit is in force. Rows of segments that no commit names are removed at the next open.
 */
import { CellarError, checkDatabase, invalidArgument, type Database } from '../../../api/index.js'
import { CallOrder } from '../../../comfort/call-order.js'
import { claim } from '../../../comfort/claims.js'
import { textTerm, type FieldKinds } from '../field-kinds.js'
import { parseQuery } from '../query-syntax.js'
import {
  changesOptions,
  searchOptions,
  type RejectedDocument,
  type SearchBackend,
  type SearchChanges,
  type SearchQuery,
  type SearchResult,
} from '../search-backend.js'
import { ByteCache } from './segments/byte-cache.js'
import {
  embeddedSettings,
  type EmbeddedSearchOptions,
  type EmbeddedSearchSettings,
} from './embedded-options.js'
import { Manifest, type Commit } from './segments/manifest.js'
import { chooseMerge, liveDocs, mergeSegments } from './segments/merge.js'
import { noDocs, union } from './doc-sets.js'
import { PendingChanges, rejection } from './pending-changes.js'
import { Planner } from './plan.js'
import { searchSegments } from './search-run.js'
import { buildSegment } from './segments/segment-builder.js'
import { fieldsMax } from './segments/segment-format.js'
import { SegmentReader, type SegmentView } from './segments/segment-reader.js'
import { searchFamilies, SegmentRows } from './segments/segment-rows.js'
import { topHits } from './top-hits.js'

/** Above this number of segments a commit waits for merges. */
const segmentsMax = 48

/** Statistics of an index. */
export interface EmbeddedSearchStatus {
  /** Documents of the last commit. */
  readonly documents: number
  /** Documents that were removed or replaced, and not yet dropped by a merge. */
  readonly removedDocuments: number
  /** Number of segments, each of which a search reads; merges keep the number low. */
  readonly segments: number
  /** Estimated bytes of uncommitted changes. */
  readonly pendingBytes: number
  /** Estimated bytes of cached segment parts. */
  readonly cacheBytes: number
}

/** A search index in a table of a database. */
export class EmbeddedSearch implements SearchBackend {
  readonly #settings: EmbeddedSearchSettings
  readonly #release: () => void
  readonly #manifest: Manifest
  /** The committed segments, which searches read. */
  #committed: readonly SegmentView[]
  /** The segments of the next commit, without the pending changes. */
  #working: readonly SegmentView[]
  #nextSegment: number
  #pending = new PendingChanges()
  readonly #writes = new CallOrder()
  #merging: Promise<void> | undefined
  #mergeError: Error | undefined
  /** Reads of segments and removals of their rows, which {@link close} waits for. */
  readonly #running = new Set<Promise<unknown>>()
  #closing: Promise<void> | undefined

  private constructor(
    settings: EmbeddedSearchSettings,
    release: () => void,
    manifest: Manifest,
    { views, nextSegment }: Commit,
  ) {
    this.#settings = settings
    this.#release = release
    this.#manifest = manifest
    this.#committed = views
    this.#working = views
    this.#nextSegment = nextSegment
  }

  /**
   * Opens an index, and creates its table if there is none. The caller still owns the database.
   * `ERR_INVALID_ARGUMENT`, also if the index is open already or has fields of another kind;
   * `ERR_CORRUPTION`.
   */
  static async open(
    database: Database,
    options: EmbeddedSearchOptions = {},
  ): Promise<EmbeddedSearch> {
    checkDatabase(database, 'a search index')
    const settings = embeddedSettings(options)
    const release = claimIndex(database, settings.table, 'open already')
    try {
      await database.admin.ensureTable(settings.table, { families: searchFamilies })
      const rows = new SegmentRows(database, settings.table, settings.durability)
      const manifest = new Manifest(rows, new ByteCache(settings.cacheBytesMax))
      const { views, nextSegment } = await manifest.read()
      checkKinds(views, settings.kinds)
      const named = new Set(views.map(({ reader }) => reader.number))
      const found = await rows.segments()
      const next = Math.max(nextSegment, (found.at(-1) ?? -1) + 1)
      await manifest.reserve({ views, nextSegment: next })
      for (const segment of found) if (!named.has(segment)) await rows.remove(segment)
      return new EmbeddedSearch(settings, release, manifest, { views, nextSegment: next })
    } catch (error) {
      release()
      throw error
    }
  }

  /** Removes a closed index with its table; no error if there is none. `ERR_INVALID_ARGUMENT`. */
  static async remove(database: Database, options: EmbeddedSearchOptions = {}): Promise<void> {
    checkDatabase(database, 'a search index')
    const { table } = embeddedSettings(options)
    const release = claimIndex(database, table, 'open')
    try {
      if (await database.admin.tableExists(table)) await database.admin.deleteTable(table)
    } finally {
      release()
    }
  }

  /** Statistics of the index. */
  get status(): EmbeddedSearchStatus {
    let documents = 0
    let all = 0
    for (const view of this.#committed) {
      documents += liveDocs(view)
      all += view.reader.docs
    }
    return {
      documents,
      removedDocuments: all - documents,
      segments: this.#committed.length,
      pendingBytes: this.#pending.bytes,
      cacheBytes: this.#manifest.cache.bytes,
    }
  }

  /** See {@link SearchBackend.update}; a crash loses uncommitted changes. */
  async update(changes: SearchChanges): Promise<RejectedDocument[]> {
    this.#checkOpen()
    const { documents, removedKeys, removedRecords } = changesOptions.read(changes)
    return this.#exclusive(async () => {
      const pending = this.#pending
      const { kinds, clock, bufferBytesMax } = this.#settings
      for (const key of removedKeys) pending.removeKey(key)
      for (const record of removedRecords) pending.removeRecord(record)
      const rejected: RejectedDocument[] = []
      const now = clock.now()
      const names = new Set(pending.fields)
      for (const { reader } of this.#working) {
        for (const { name } of reader.header.fields) names.add(name)
      }
      for (const document of documents) {
        const { key, fields } = document
        const more = Object.keys(fields).filter((name) => !names.has(name))
        const isTooMuch = names.size + more.length > fieldsMax
        const reason = isTooMuch
          ? { key, reason: `the index would have more than ${fieldsMax} fields` }
          : rejection(document, kinds, now)
        if (reason === undefined) {
          pending.add(document)
          for (const name of more) names.add(name)
        } else rejected.push(reason)
      }
      if (pending.bytes > bufferBytesMax) await this.#flush()
      return rejected
    })
  }

  /** See {@link SearchBackend.commit}. Also rejects with the error of a failed background merge. */
  async commit(): Promise<void> {
    this.#checkOpen()
    await this.#exclusive(async () => {
      await this.#flush()
      if (this.#working !== this.#committed) await this.#publish(this.#working, this.#working)
    })
    this.#startMerge()
    if (this.#committed.length > segmentsMax) await this.#merging
    const error = this.#mergeError
    this.#mergeError = undefined
    if (error !== undefined) throw error
  }

  async search(query: SearchQuery): Promise<SearchResult> {
    this.#checkOpen()
    const { defaultField, sort, offset, limit, ...texts } = searchOptions.read(query)
    const { kinds, clock } = this.#settings
    const now = clock.now()
    const plans = [texts.query, ...texts.filters].map((text) => {
      const node = parseQuery(text, defaultField)
      return new Planner(kinds, now).plan(node, 1) ?? ({ type: 'none' } as const)
    })
    for (const { field } of sort) {
      if (field === 'score') continue
      const kind = kinds.of(field)
      if (kind !== undefined && kind !== 'text') continue
      throw invalidArgument(`${field} cannot sort: it is ${kind ?? 'no field of the index'}`)
    }
    const views = this.#committed
    return this.#using(views, async () => {
      const found = await searchSegments(views, plans, limit > 0)
      return topHits(found, views, { sort, offset, limit })
    })
  }

  async clear(): Promise<void> {
    this.#checkOpen()
    await this.#exclusive(async () => {
      this.#pending = new PendingChanges()
      await this.#publish([], [])
    })
  }

  /** Merges all segments into one, for the fastest searches. Waits for running merges. */
  async merge(): Promise<void> {
    while (this.#merging !== undefined) await this.#merging
    this.#checkOpen()
    if (this.#committed.length < 2 && this.status.removedDocuments === 0) return
    this.#merging = this.#mergeViews(this.#committed).finally(() => {
      this.#merging = undefined
    })
    await this.#merging
  }

  /** Closes the index after its searches, once for all calls. Uncommitted changes are lost. */
  close(): Promise<void> {
    return (this.#closing ??= this.#writes
      .run(() => undefined)
      .then(async () => {
        await this.#merging?.catch(() => undefined)
        while (this.#running.size > 0) await Promise.all(this.#running)
        this.#release()
      }))
  }

  /** Pins the rows of segments while `work` reads them. */
  async #using<T>(views: readonly SegmentView[], work: () => Promise<T>): Promise<T> {
    for (const { reader } of views) reader.pin()
    const reading = work()
    this.#run(reading)
    try {
      return await reading
    } finally {
      for (const { reader } of views) this.#unpin(reader)
    }
  }

  #run(work: Promise<unknown>): void {
    const ended = work.catch(() => undefined)
    this.#running.add(ended)
    void ended.then(() => this.#running.delete(ended))
  }

  #checkOpen(): void {
    if (this.#closing === undefined) return
    throw new CellarError('ERR_REPOSITORY_CLOSED', 'the search index is closed')
  }

  /** Runs writing work exclusively, in the order of the calls. */
  #exclusive<T>(work: () => Promise<T>): Promise<T> {
    return this.#writes.run(() => {
      this.#checkOpen()
      return work()
    })
  }

  /** Writes the pending changes as a segment. After an error they stay pending. */
  async #flush(): Promise<void> {
    const pending = this.#pending
    if (pending.isEmpty) return
    const views: SegmentView[] = []
    for (const view of this.#working) {
      const { reader } = view
      const docs = Int32Array.from(new Set(await pending.removedFrom(reader))).sort()
      const removed = union([view.removed, docs], reader.docs)
      if (removed.length === view.removed.length) views.push(view)
      else if (removed.length < reader.docs) views.push({ reader, removed })
    }
    const isEmptied = views.length < this.#working.length
    if (pending.documents.size > 0) {
      const number = this.#nextSegment++
      const sorted = [...pending.documents.values()]
        .map((document) => ({ document, term: textTerm(document.key) }))
        .sort((a, b) => (a.term < b.term ? -1 : 1))
        .map(({ document }) => document)
      const { kinds, clock } = this.#settings
      const { rows, cache } = this.#manifest
      const header = await buildSegment(rows, number, sorted, { kinds, now: clock.now() })
      const reader = new SegmentReader(number, header, rows, cache)
      views.push({ reader, removed: noDocs })
    }
    const nextSegment = this.#nextSegment
    if (isEmptied) await this.#manifest.reserve({ views: this.#committed, nextSegment })
    this.#pending = new PendingChanges()
    this.#replace(this.#committed, views)
  }

  async #publish(
    committed: readonly SegmentView[],
    working: readonly SegmentView[],
  ): Promise<void> {
    await this.#manifest.write({ views: committed, nextSegment: this.#nextSegment })
    this.#replace(committed, working)
  }

  #replace(committed: readonly SegmentView[], working: readonly SegmentView[]): void {
    const old = new Set([...this.#committed, ...this.#working].map(({ reader }) => reader))
    this.#committed = committed
    this.#working = working
    for (const { reader } of [...committed, ...working]) old.delete(reader)
    for (const reader of old) this.#unpin(reader)
  }

  /** Ends a use of a segment; the last removes its rows, or leaves them to the next open. */
  #unpin(reader: SegmentReader): void {
    const removal = reader.unpin()
    if (removal !== undefined) this.#run(removal)
  }

  #startMerge(): void {
    if (this.#merging !== undefined || chooseMerge(this.#committed).length === 0) return
    const merge = async (): Promise<void> => {
      try {
        for (;;) {
          const views = chooseMerge(this.#committed)
          if (views.length === 0 || this.#closing !== undefined) return
          await this.#mergeViews(views)
        }
      } catch (error) {
        if (this.#closing === undefined) this.#mergeError = error as Error
      } finally {
        this.#merging = undefined
      }
    }
    this.#merging = merge()
  }

  /**
   * Merges committed segments. Documents removed during the merge are marked removed in its result.
   */
  async #mergeViews(sources: readonly SegmentView[]): Promise<void> {
    const number = this.#nextSegment++
    const merged = await this.#using(sources, () => {
      return mergeSegments(sources, this.#manifest.rows, number, () => this.#closing !== undefined)
    })
    if (merged === undefined) return
    const { header, places } = merged
    await this.#exclusive(async () => {
      const reader = new SegmentReader(number, header, this.#manifest.rows, this.#manifest.cache)
      const replaced = (views: readonly SegmentView[]): SegmentView[] => {
        const removed = sources.flatMap((source, index) => {
          const now = views.find((view) => view.reader === source.reader)
          const docs = now === undefined ? places[index].keys() : now.removed
          return Array.from(docs, (doc) => places[index][doc]).filter((place) => place >= 0)
        })
        const rest = views.filter((view) => sources.every(({ reader }) => reader !== view.reader))
        if (removed.length === reader.docs) return rest
        return [{ reader, removed: Int32Array.from(removed).sort() }, ...rest]
      }
      const committed = replaced(this.#committed)
      const working = this.#working === this.#committed ? committed : replaced(this.#working)
      await this.#publish(committed, working)
      if ([...committed, ...working].every((view) => view.reader !== reader)) this.#unpin(reader)
    })
  }
}

/** Claims the table of an index, which has one writer. Returns the function that releases it. */
function claimIndex(database: Database, table: string, state: string): () => void {
  const release = claim(database, table)
  if (release === undefined) throw invalidArgument(`the search index ${table} is ${state}`)
  return release
}

function checkKinds(views: readonly SegmentView[], kinds: FieldKinds): void {
  for (const { reader } of views) {
    for (const { name, kind } of reader.header.fields) {
      const declared = kinds.of(name)
      if (declared === kind) continue
      throw invalidArgument(
        `the index has the field ${name} as ${kind}, which is declared as ${declared ?? 'none'}; ` +
          'EmbeddedSearch.remove makes room for a new index',
      )
    }
  }
}
