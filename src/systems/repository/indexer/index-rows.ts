/**
 * Rows of the table of one index (`src/systems/repository/FORMAT.md`): the documents of each record
 * with their dependencies, the same by dependency, the sources of document fields, and refused
 * documents.
 */
import type { AtomicMutation, Database, Table } from '../../../api/index.js'
import { RecordId } from '../record-id.js'
import { isStoredSources, type StoredSources } from './definition/field-sources.js'
import type { VariantPattern } from './definition/record-matcher.js'
import type { FailedExtraction } from './documents/content-extraction.js'
import { terminated } from '../../../comfort/keys/key-parts.js'
import { placeBytes, readPlace } from '../links/link-rows.js'
import { hasMembers, storedJson } from '../stored-cells.js'

/** The family of the tables of indexes. */
export const indexFamily = 'x'
const valueColumn = `${indexFamily}:v`

/** A record of the repository of an index. */
export interface Place {
  readonly table: string
  readonly id: RecordId
}

/** The key of the document of a record at a version tag. */
export function documentKey({ table, id }: Place, tagId: string): string {
  return `${table}-${id.text}-${tagId}`
}

/** The text of a place, for use as a map key. */
export function placeKey({ table, id }: Place): string {
  return `${table}/${id.text}`
}

/** A dependency of a document: records of a master, and the fields of theirs that it shows. */
export interface Dependency {
  readonly table: string
  /** Text of the master's id. */
  readonly master: string
  readonly pattern: VariantPattern
  /** Sorted ids of fields; also `version` and `type` for the record itself. */
  readonly fields: readonly string[]
}

/** The state of a record in the index at one version tag. */
export interface IndexEntry {
  /** The version that the tag points to; 0 without a version. */
  readonly version: number
  /** Whether there is a document; a document without fields is not indexed. */
  readonly hasDocument: boolean
  readonly dependencies: readonly Dependency[]
  /** Blobs whose text the document lacks; absent if none. */
  readonly failures?: readonly FailedExtraction[]
}

/** A document that lacks the text of blobs. */
export interface ExtractionFailure {
  /** Key of the document. */
  readonly key: string
  /** Name of the record table. */
  readonly table: string
  /** Text of the record's id. */
  readonly id: string
  /** The blobs of the document whose text is missing. */
  readonly blobs: readonly FailedExtraction[]
}

/** Entries by the id of the version tag. */
export type IndexEntries = Readonly<Record<string, IndexEntry>>

/** A document that depends on a record. */
export interface Dependant {
  readonly table: string
  readonly id: string
  /** Id of the version tag. */
  readonly tag: string
  readonly pattern: VariantPattern
  readonly fields: readonly string[]
}

/** A document that the search server refuses. */
export interface RefusedDocument {
  /** Key of the document in the index. */
  readonly key: string
  /** Name of the record table. */
  readonly table: string
  /** Text of the record's id. */
  readonly id: string
  /** Why the server refused, or the document could not be built. */
  readonly reason: string
  /** Time of the refusal, in milliseconds since the Unix epoch. */
  readonly time: number
}

/** The first byte of each kind of row. */
const kinds = {
  entry: Buffer.from('e'),
  backward: Buffer.from('b'),
  refused: Buffer.from('r'),
  failure: Buffer.from('f'),
  sources: Buffer.from('s'),
}

function placeRow(kind: Buffer, place: Place, ...more: readonly Buffer[]): Buffer {
  return Buffer.concat([kind, placeBytes(place), ...more])
}

function placeOfRow(row: Buffer): Place {
  return readPlace({ source: row, at: 1 })
}

/** The table of one index. */
export class IndexRows {
  readonly #database: Database
  readonly #name: string
  /** Keys of the refused documents, by {@link placeKey}. */
  readonly #refused = new Map<string, Set<string>>()

  constructor(database: Database, name: string) {
    this.#database = database
    this.#name = name
  }

  async create(): Promise<void> {
    const families = { [indexFamily]: { newVersionBehavior: true } }
    await this.#database.admin.ensureTable(this.#name, { families })
    for (const { table, id, key } of await this.refused()) {
      this.#refusedOf({ table, id: RecordId.parse(id) }).add(key)
    }
  }

  async drop(): Promise<void> {
    const { admin } = this.#database
    if (await admin.tableExists(this.#name)) await admin.deleteTable(this.#name)
  }

  /** The entries of a record; undefined if the index has none. */
  async entries(place: Place): Promise<IndexEntries | undefined> {
    const row = await this.table.get({ row: placeRow(kinds.entry, place), columns: [valueColumn] })
    return storedJson(row, valueColumn, 'the entries of a record in an index', areEntries)
  }

  /**
   * Replaces the entries of a record, together with the rows by dependency and the rows of missing
   * texts.
   */
  async replace(
    place: Place,
    before: IndexEntries | undefined,
    after: IndexEntries | undefined,
  ): Promise<void> {
    const old = derivedValues(place, before)
    const mutations: AtomicMutation[] = []
    if (JSON.stringify(before) !== JSON.stringify(after)) {
      mutations.push(this.#mutation(placeRow(kinds.entry, place), after))
    }
    for (const [row, value] of derivedValues(place, after)) {
      const known = old.get(row)
      old.delete(row)
      if (JSON.stringify(known) === JSON.stringify(value)) continue
      mutations.push(this.#mutation(Buffer.from(row, 'latin1'), value))
    }
    for (const row of old.keys()) {
      mutations.push(this.#mutation(Buffer.from(row, 'latin1'), undefined))
    }
    if (mutations.length > 0) await this.#database.atomic({ mutations })
  }

  /** Documents that depend on records of a table: on any, or on those of a master. */
  async dependants(table: string, master?: RecordId): Promise<Dependant[]> {
    const prefix =
      master === undefined
        ? Buffer.concat([kinds.backward, terminated(Buffer.from(table))])
        : placeRow(kinds.backward, { table, id: master })
    return (await this.#values(prefix, areDependants)).flat()
  }

  /** Records with entries: all, or those of a table. */
  async *places(table?: string): AsyncGenerator<Place, void> {
    const inTable = table === undefined ? [] : [terminated(Buffer.from(table))]
    const prefix = Buffer.concat([kinds.entry, ...inTable])
    for await (const { row } of this.table.scan({ prefix })) yield placeOfRow(row!)
  }

  /** Names of the tables that have records with entries. */
  async tables(): Promise<string[]> {
    const found: string[] = []
    let startRow: Buffer = kinds.entry
    for (;;) {
      const stopRow = Buffer.from([kinds.entry[0] + 1])
      const [next] = await this.table.scan({ startRow, stopRow, limit: 1 }).all()
      if ((next as typeof next | undefined) === undefined) return found
      const { table } = placeOfRow(next.row!)
      found.push(table)
      // The first row after the last record of the table: 00 01 terminates its name.
      startRow = Buffer.concat([kinds.entry, terminated(Buffer.from(table))])
      startRow[startRow.length - 1]++
    }
  }

  /** Notes a document of a record as refused at a time; `reason` is for people. */
  addRefused(place: Place, key: string, reason: string, time: number): Promise<void> {
    this.#refusedOf(place).add(key)
    const { table, id } = place
    return this.#put(kinds.refused, key, { key, table, id: id.text, reason, time })
  }

  /** Removes the refusals of a record, except those of documents that are still refused. */
  async forgetRefused(place: Place, stillRefused: ReadonlySet<string>): Promise<void> {
    for (const key of this.#refused.get(placeKey(place)) ?? []) {
      if (stillRefused.has(key)) continue
      this.#refusedOf(place).delete(key)
      await this.#put(kinds.refused, key, undefined)
    }
  }

  refused(): Promise<RefusedDocument[]> {
    return this.#values(kinds.refused, isRefused)
  }

  /** Documents that lack the text of blobs, in the order of their records; default all of them. */
  extractionFailures(limit?: number): Promise<ExtractionFailure[]> {
    return this.#values(kinds.failure, isFailure, limit)
  }

  async sources(): Promise<[name: string, StoredSources][]> {
    const rows = await this.table.scan({ prefix: kinds.sources }).all()
    return rows.map((row) => {
      const sources = storedJson(row, valueColumn, 'the sources of a field', isStoredSources)!
      return [row.row!.toString('utf8', 1), sources]
    })
  }

  putSources(name: string, sources: StoredSources): Promise<void> {
    return this.#put(kinds.sources, name, sources)
  }

  async clear(): Promise<void> {
    this.#refused.clear()
    for await (const { row } of this.table.scan()) {
      await this.table.delete({ row: row!, families: [{ family: indexFamily, timestamp: 1 }] })
    }
  }

  /**
   * All rows of records as text, for checks. Rows of sources are left out: they depend on history.
   */
  async all(): Promise<string[]> {
    const rows = await this.table.scan({ stopRow: kinds.sources }).all()
    return rows.map((row) => `${row.row!.toString('latin1')} ${row.value(valueColumn, 'utf8')}`)
  }

  #refusedOf(place: Place): Set<string> {
    const name = placeKey(place)
    const keys = this.#refused.get(name) ?? new Set()
    this.#refused.set(name, keys)
    return keys
  }

  get table(): Table {
    return this.#database.table(this.#name)
  }

  async #values<T>(
    prefix: Buffer,
    isOne: (value: unknown) => value is T,
    limit?: number,
  ): Promise<T[]> {
    const rows = await this.table.scan({ prefix, limit }).all()
    return rows.map((row) => storedJson(row, valueColumn, 'a row of an index', isOne)!)
  }

  async #put(kind: Buffer, key: string, value: unknown): Promise<void> {
    const row = Buffer.concat([kind, Buffer.from(key)])
    await this.#database.atomic({ mutations: [this.#mutation(row, value)] })
  }

  #mutation(row: Buffer, value: unknown): AtomicMutation {
    const families = [{ family: indexFamily, timestamp: 1 }]
    const mutation =
      value === undefined
        ? { delete: { families } }
        : { put: { cells: { [valueColumn]: JSON.stringify(value) }, timestamp: 1 } }
    return { table: this.#name, row, mutations: [mutation] }
  }
}

/** The rows derived from entries, by row key as a text with one character per byte. */
function derivedValues(
  place: Place,
  entries: IndexEntries | undefined,
): Map<string, ExtractionFailure | Dependant[]> {
  const { table, id } = place
  const failed = new Map<string, ExtractionFailure>()
  const rows = new Map<string, Dependant[]>()
  const own = placeRow(Buffer.alloc(0), place)
  for (const [tag, { dependencies, failures }] of Object.entries(entries ?? {})) {
    if (failures !== undefined) {
      const row = placeRow(kinds.failure, place, Buffer.from(tag)).toString('latin1')
      failed.set(row, { key: documentKey(place, tag), table, id: id.text, blobs: failures })
    }
    for (const { table: target, master, pattern, fields } of dependencies) {
      const at = { table: target, id: RecordId.parse(master) }
      const row = placeRow(kinds.backward, at, own).toString('latin1')
      const dependants = rows.get(row) ?? []
      dependants.push({ table, id: id.text, tag, pattern, fields })
      rows.set(row, dependants)
    }
  }
  return new Map<string, ExtractionFailure | Dependant[]>([...rows, ...failed])
}

const ofRecord = { table: 'string', id: 'string' }

function areEntries(value: unknown): value is IndexEntries {
  if (!hasMembers(value, {})) return false
  return Object.values(value as object).every((entry: unknown) => {
    const members = { version: 'number', hasDocument: 'boolean', dependencies: 'array' }
    if (!hasMembers(entry, members)) return false
    const ofDependency = { table: 'string', master: 'string', pattern: 'object', fields: 'array' }
    return (entry as IndexEntry).dependencies.every((each) => hasMembers(each, ofDependency))
  })
}

function areDependants(value: unknown): value is readonly Dependant[] {
  const members = { ...ofRecord, tag: 'string', pattern: 'object', fields: 'array' }
  return Array.isArray(value) && value.every((each) => hasMembers(each, members))
}

function isRefused(value: unknown): value is RefusedDocument {
  return hasMembers(value, { ...ofRecord, key: 'string', reason: 'string', time: 'number' })
}

function isFailure(value: unknown): value is ExtractionFailure {
  return hasMembers(value, { ...ofRecord, key: 'string', blobs: 'array' })
}
