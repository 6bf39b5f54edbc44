/**
 * Brings the documents of a record up to date with the record.
 *
 * A document depends on the state of its record alone, never on the content of an event. An event
 * only selects the documents that have to be built again. So events may be repeated or late.
 */
import { assert, KeyedQueue } from '../../../api/index.js'
import type { StoredEvent } from '../records/writes/commit.js'
import type { StoredRecord } from '../records/record.js'
import type { FieldType } from '../schema/types.js'
import type { SearchDocument } from '../../search/search-backend.js'
import { ChainWalk, versionOfRecord } from './documents/chain-walk.js'
import { DocumentDraft } from './documents/document-builder.js'
import { documentKey, placeKey, type Dependant, type IndexEntry, type Place } from './index-rows.js'
import { SourceSet } from './definition/field-sources.js'
import { fitsPattern } from './definition/record-matcher.js'
import type { IndexContext } from './index-context.js'
import { presence, tagOfDocument } from './shown-sources.js'
import { RecordId } from '../record-id.js'

/** Selects the documents of a record to be built again. */
export interface UpdateScope {
  /** Whether the document of a tag, which shows this version, is stale. */
  readonly isStale: (tag: FieldType, version: number) => boolean
  /** Whether the server may have documents of the record without an entry here. */
  readonly removesUnknown: boolean
}

/** All documents of a record. */
export const allDocuments: UpdateScope = { isStale: () => true, removesUnknown: true }

const dependantsAtOnce = 32

/** Keeps the documents of records up to date. Updates of one record are serialized. */
export class RecordIndexer {
  readonly #context: IndexContext
  readonly #updates = new KeyedQueue()
  /** Updates in progress, with the keys of the masters whose records the documents show. */
  readonly #building = new Set<{
    readonly masters: ReadonlySet<string>
    readonly done: Promise<unknown>
  }>()
  #gate: Promise<unknown> | undefined

  constructor(context: IndexContext) {
    this.#context = context
  }

  /**
   * Handles an event: first the documents of its record, then the documents that show the record.
   */
  async handle(event: StoredEvent, isComplete: boolean): Promise<void> {
    const place: Place = { table: event.table, id: RecordId.parse(event.id) }
    const change = effectOf(event, this.#context, isComplete)
    const newest = await this.update(place, change)
    if (!this.#context.configuration.dereferences) return
    const { rows, records, schema } = this.#context
    const { table, id } = place
    // A document in progress may show the old record, and its dependencies are not stored yet.
    const key = placeKey({ table, id: id.master })
    const waiting = [...this.#building].filter(({ masters }) => masters.has(key))
    await Promise.all(waiting.map(({ done }) => done))
    const versionAt = (tagId: string): number | undefined => {
      return newest === undefined ? undefined : records.versionAt(newest, schema.fieldById(tagId))
    }
    const found = await rows.dependants(table, id.master)
    await this.updateDependants(
      found.filter((each) => fitsPattern(each.pattern, id) && change.wakes(each, versionAt)),
    )
  }

  /**
   * Updates documents of a record. Returns its newest version; undefined if the record does not
   * exist.
   */
  update(place: Place, scope: UpdateScope): Promise<StoredRecord | undefined> {
    return this.#updates.run(placeKey(place), () => this.#updateTracked(place, scope))
  }

  /** Resolves when the updates that are in progress have ended. */
  async settled(): Promise<void> {
    await Promise.all([...this.#building].map(({ done }) => done))
  }

  /** Runs `work` while no update is in progress. */
  async exclusive(work: () => Promise<void>): Promise<void> {
    while (this.#gate !== undefined) await this.#gate
    const run = async (): Promise<void> => {
      while (this.#building.size > 0) await this.settled()
      await work()
      assert(this.#building.size === 0, 'no document is built while an index is cleared')
    }
    this.#gate = run().finally(() => (this.#gate = undefined))
    await this.#gate
  }

  async #updateTracked(place: Place, scope: UpdateScope): Promise<StoredRecord | undefined> {
    while (this.#gate !== undefined) await this.#gate.catch(() => undefined)
    const masters = new Set<string>()
    const updated = this.#update(place, scope, masters)
    const building = { masters, done: updated.catch(() => undefined) }
    this.#building.add(building)
    try {
      return await updated
    } finally {
      this.#building.delete(building)
    }
  }

  async #update(
    place: Place,
    { isStale, removesUnknown }: UpdateScope,
    masters: Set<string>,
  ): Promise<StoredRecord | undefined> {
    const { rows, records, configuration, shown } = this.#context
    const before = await rows.entries(place)
    const newest = await records.newest(place)
    const tags = newest && configuration.tagsFor({ ...place, ...newest, type: newest.type.name })
    const after: Record<string, IndexEntry> = {}
    const documents: SearchDocument[] = []
    const removedKeys: string[] = []
    for (const tag of tags ?? []) {
      const old = before?.[tag.id]
      const version = records.versionAt(newest!, tag)
      if (version === undefined) continue
      if (old?.version === version && !isStale(tag, version)) {
        after[tag.id] = old
        continue
      }
      const record = await records.at(place, newest!, tag)
      if (record === undefined) continue
      const walk = new ChainWalk(this.#context, tag, masters)
      const built = await new DocumentDraft(this.#context, { place, tag, record, walk }).build()
      const { document, failures } = built
      const hasDocument = document !== undefined
      // The sources of a document are stored before the document can be found: they decide read
      // access.
      if (hasDocument) {
        const sources = new SourceSet({ own: configuration.filterFields })
        const tags = { names: tagOfDocument, sources: new SourceSet({ own: [tag.id] }) }
        await shown.note([...built.shown, { names: presence, sources }, tags])
      }
      const dependencies = configuration.dereferences ? walk.dependencies : []
      const entry = { version, hasDocument, dependencies }
      after[tag.id] = failures.length === 0 ? entry : { ...entry, failures }
      if (hasDocument) documents.push(document)
      else if (old?.hasDocument === true) removedKeys.push(documentKey(place, tag.id))
    }
    for (const [tagId, { hasDocument }] of Object.entries(before ?? {})) {
      if (hasDocument && !Object.hasOwn(after, tagId)) removedKeys.push(documentKey(place, tagId))
    }
    const rejected = await this.#send(place, documents, removedKeys, removesUnknown)
    const unchanged = Object.keys(after).filter((tagId) => after[tagId] === before?.[tagId])
    for (const tagId of unchanged) rejected.add(documentKey(place, tagId))
    await rows.forgetRefused(place, rejected)
    // Sorted by the ids of the tags, so that equal entries have equal text.
    const sorted = Object.entries(after).sort(([a], [b]) => (a < b ? -1 : 1))
    await rows.replace(place, before, sorted.length === 0 ? undefined : Object.fromEntries(sorted))
    return newest
  }

  /** Sends the documents of a record; returns the keys of those that the server refuses. */
  async #send(
    place: Place,
    documents: readonly SearchDocument[],
    removedKeys: readonly string[],
    removesUnknown: boolean,
  ): Promise<Set<string>> {
    const { writer, rows, clock, counts } = this.#context
    const removedRecords = removesUnknown ? [{ table: place.table, id: place.id.text }] : []
    if (documents.length + removedKeys.length + removedRecords.length === 0) return new Set()
    const rejected = await writer.send({ documents, removedKeys, removedRecords })
    counts.documentsWritten += documents.length - rejected.length
    counts.documentsRemoved += removedKeys.length
    counts.documentsRefused += rejected.length
    const keys = rejected.map(({ key }) => key)
    // The document before it shows what the record was.
    if (keys.length > 0) await writer.send({ removedKeys: keys })
    for (const { key, reason } of rejected) {
      await rows.addRefused(place, key, reason, clock.now())
    }
    return new Set(keys)
  }

  async updateDependants(dependants: readonly Dependant[]): Promise<void> {
    const tags = new Map<string, { readonly place: Place; readonly tags: Set<string> }>()
    for (const { table, id, tag } of dependants) {
      const place = { table, id: RecordId.parse(id) }
      const key = placeKey(place)
      const known = tags.get(key) ?? { place, tags: new Set() }
      known.tags.add(tag)
      tags.set(key, known)
    }
    const failures: unknown[] = []
    await inLanes(tags.values(), dependantsAtOnce, async ({ place, tags: stale }) => {
      const isStale = ({ id }: FieldType): boolean => stale.has(id)
      try {
        await this.update(place, { isStale, removesUnknown: false })
        this.#context.counts.dependantsUpdated += stale.size
      } catch (error) {
        failures.push(error)
      }
    })
    if (failures.length > 0) throw failures[0]
  }
}

/** Runs `work` for each item, in order and for at most `lanes` of them side by side. */
export async function inLanes<T>(
  items: IterableIterator<T>,
  lanes: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const lane = async (): Promise<void> => {
    for (const item of items) await work(item)
  }
  await Promise.all(Array.from({ length: lanes }, lane))
}

/** The effect of an event on documents. */
interface EventEffect extends UpdateScope {
  /** Whether a document that shows the record is stale. */
  wakes(dependant: Dependant, versionAt: (tagId: string) => number | undefined): boolean
}

function effectOf(
  event: StoredEvent,
  { configuration, schema }: IndexContext,
  isComplete: boolean,
): EventEffect {
  const { type, recordTypeChanged = false, versionCreated, versionUpdated, oldestVersion } = event
  const isWhole = isComplete || type !== 'record-updated' || recordTypeChanged
  const fields = event.updatedFields.map((id) => schema.fieldById(id))
  const idsOf = (some: readonly FieldType[]): Set<string> => new Set(some.map(({ id }) => id))
  const always = idsOf(fields.filter(({ scope }) => scope === 'NON_VERSIONED'))
  const versioned = idsOf(fields.filter(({ scope }) => scope !== 'NON_VERSIONED'))
  const used = fields.filter((field) => configuration.usesOwnField(field))
  const usesOwn = used.some(({ id }) => always.has(id))
  const usesOwnVersioned = used.some(({ id }) => versioned.has(id))
  if (versionCreated !== undefined) versioned.add(versionOfRecord)
  // The oldest version that the write may have changed.
  const firstVersion = versionCreated ?? versionUpdated ?? Infinity
  // The version 0 is the record without versions, which stays.
  const isRemoved = (version: number): boolean => version > 0 && version < (oldestVersion ?? 0)
  return {
    removesUnknown: isComplete || type === 'record-deleted',
    // A mutable field set in an old version is inherited by later versions that lack it.
    isStale: (_, version) => {
      if (isWhole || usesOwn || isRemoved(version)) return true
      return usesOwnVersioned && version >= firstVersion
    },
    wakes: ({ tag, fields: shown }, versionAt) => {
      if (isWhole || always.has(tag) || shown.some((field) => always.has(field))) return true
      const version = versionAt(tag)
      if (version !== undefined && isRemoved(version)) return true
      if (!shown.some((field) => versioned.has(field))) return false
      return version === undefined || version >= firstVersion
    },
  }
}
