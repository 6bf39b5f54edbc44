/**
 * The link index: for each version tag, the targets of a record and the records that link to it.
 *
 * The index follows the events of records. For each event it compares the present links of the
 * record with the index, and writes the difference in both directions, in batches of up to 1,000
 * links. Repeated and late events are harmless.
 */
import {
  checkObject,
  checkText,
  declareOptions,
  readArguments,
  text,
  type AtomicMutation,
  type Database,
  type OptionsOf,
} from '../../../api/index.js'
import { hasCode } from '../errors.js'
import { Link } from '../link.js'
import { lastTag, tagNameOf } from '../qualified-name.js'
import { RecordId, type RecordIdLike } from '../record-id.js'
import type { StoredEvent } from '../records/writes/commit.js'
import { RecordTable } from '../tables/record-table.js'
import type { StoredRecord } from '../records/record.js'
import { isTagField } from '../records/field-values.js'
import type { SchemaCache } from '../schema/schema-cache.js'
import { eachValue, unfitValue } from '../values/nested-types.js'
import type { ValueType } from '../values/value-type.js'
import {
  linkPrefix,
  linkRows,
  parseLinkRow,
  tablePrefix,
  type IndexedLink,
  type RecordPlace,
} from './link-rows.js'

/** A link of the index. */
export interface FoundLink {
  /** Name of its repository. */
  readonly repository: string
  /** Name of its record table. */
  readonly table: string
  /** The record at the other end of the link. */
  readonly id: RecordId
  /** The field of the source that holds the link, directly or in an embedded record. */
  readonly field: string
}

const queryOptions = declareOptions('a query of links', {
  /** Version tag. Default `last`. */
  tag: text(lastTag),
  /** Name of the link field. Default: all fields. */
  field: text(undefined),
})

/** Restrictions of a link query. */
export interface LinkQuery extends OptionsOf<typeof queryOptions> {}

/** Dependencies of a {@link LinkIndex}. */
export interface LinkIndexParts {
  readonly database: Database
  /** Name of the table of the index. */
  readonly table: string
  readonly schema: SchemaCache
  /** Undefined for a table that was dropped. */
  readonly findTable: (repository: string, table: string) => RecordTable | undefined
  readonly allTables: () => RecordTable[]
}

const family = 'l'
const linksPerBatchMax = 1000

/** The link index of a repository manager. */
export class LinkIndex {
  readonly #parts: LinkIndexParts

  /** @internal */
  constructor(parts: LinkIndexParts) {
    this.#parts = parts
  }

  /** The targets of the links of a record. `ERR_FIELD_TYPE_NOT_FOUND`, `ERR_INVALID_ARGUMENT`. */
  linksOf(table: RecordTable, id: RecordIdLike, query: LinkQuery = {}): Promise<FoundLink[]> {
    return this.#find('forward', table, id, query)
  }

  /** The records that link to a record, which need not exist. Errors of {@link linksOf}. */
  referrers(table: RecordTable, id: RecordIdLike, query: LinkQuery = {}): Promise<FoundLink[]> {
    return this.#find('backward', table, id, query)
  }

  /**
   * Updates the links of a record to its present state. For a subscription. `ERR_INVALID_ARGUMENT`.
   */
  async follow(event: StoredEvent): Promise<void> {
    const { repository, table, id } = readArguments(() => ({ ...checkObject(event, 'an event') }))
    checkText(repository, 'the repository of an event')
    checkText(table, 'the table of an event')
    const { findTable } = this.#parts
    const source = { table: `${repository}/${table}`, id: RecordId.parse(id) }
    let recordTable: RecordTable | undefined
    do {
      recordTable = findTable(repository, table)
      await this.#replace(source, recordTable && (await this.#extract(recordTable, id)))
      // A drop of the table may have ended before these links were written.
    } while (recordTable !== findTable(repository, table))
  }

  /** Removes the links of all records of a dropped table. @internal */
  async removeTable(name: string): Promise<void> {
    checkText(name, 'the name of a record table')
    const { database, table } = this.#parts
    for await (const { row } of database.table(table).scan({ prefix: tablePrefix(name) })) {
      await database.atomic({ mutations: this.#removal(row!) })
    }
  }

  /**
   * Removes all rows and builds them again from the records. Must not run while a subscription
   * follows the events.
   */
  async rebuild(): Promise<void> {
    const { database, table, allTables } = this.#parts
    for await (const { row } of database.table(table).scan()) {
      await database.table(table).delete({ row: row!, families: [{ family, timestamp: 1 }] })
    }
    for (const recordTable of allTables()) {
      for await (const { id } of recordTable.scan({ fields: 'none' })) {
        const source = placeOf(recordTable, id)
        await this.#replace(source, await this.#extract(recordTable, id))
      }
    }
  }

  /** Every row of the index, in hexadecimal. For checks. */
  async rows(): Promise<string[]> {
    const rows = await this.#parts.database.table(this.#parts.table).scan().all()
    return rows.map(({ row }) => row!.toString('hex'))
  }

  async #find(
    direction: 'forward' | 'backward',
    of: RecordTable,
    id: RecordIdLike,
    query: LinkQuery,
  ): Promise<FoundLink[]> {
    const place = placeOf(of, RecordId.of(id))
    const { tag, field } = queryOptions.read(query)
    const { schema, database, table } = this.#parts
    const fieldNumber = field === undefined ? undefined : schema.field(field).ordinal
    const prefix = linkPrefix(direction, place, schema.field(tagNameOf(tag)).ordinal, fieldNumber)
    const rows = await database.table(table).scan({ prefix }).all()
    return rows.map(({ row }) => {
      const link = parseLinkRow(row!)
      const other = direction === 'forward' ? link.target : link.source
      const [repository, name] = other.table.split('/')
      const { name: fieldName } = schema.storedFieldAt(link.field)
      return { repository, table: name, id: other.id, field: fieldName }
    })
  }

  /** Writes the difference between the links of a record and the index. */
  async #replace(source: RecordPlace, links: readonly IndexedLink[] = []): Promise<void> {
    const { database, table } = this.#parts
    const wanted = new Map<string, IndexedLink>()
    for (const link of links) wanted.set(linkRows(link)[0].toString('latin1'), link)
    const prefix = linkPrefix('forward', source)
    const mutations: AtomicMutation[] = []
    for await (const { row } of database.table(table).scan({ prefix })) {
      if (wanted.delete(row!.toString('latin1'))) continue
      mutations.push(...this.#removal(row!))
    }
    for (const link of wanted.values()) {
      for (const row of linkRows(link)) {
        const put = { cells: { [`${family}:x`]: '' }, timestamp: 1 }
        mutations.push({ table, row, mutations: [{ put }] })
      }
    }
    // The two rows of a link are neighbours, so every batch holds whole links.
    for (let at = 0; at < mutations.length; at += 2 * linksPerBatchMax) {
      await database.atomic({ mutations: mutations.slice(at, at + 2 * linksPerBatchMax) })
    }
  }

  #removal(row: Buffer): AtomicMutation[] {
    const families = [{ family, timestamp: 1 }]
    return linkRows(parseLinkRow(row)).map((gone) => {
      return { table: this.#parts.table, row: gone, mutations: [{ delete: { families } }] }
    })
  }

  /** The present links of a record for each of its version tags; none if it is gone. */
  async #extract(table: RecordTable, id: RecordIdLike): Promise<IndexedLink[]> {
    let newest: StoredRecord
    try {
      newest = await table.read(id)
    } catch (error) {
      if (hasCode(error, 'recordNotFound')) return []
      throw error
    }
    const { schema } = this.#parts
    const tags = Object.keys(newest.fields).filter((name) => isTagField(schema.field(name)))
    const links = this.#linksIn(table, newest, lastTag)
    for (const tag of tags) {
      const tagged = await table.readTagged(id, tag)
      if (tagged !== undefined) links.push(...this.#linksIn(table, tagged, tag))
    }
    return links
  }

  #linksIn(table: RecordTable, record: StoredRecord, tagName: string): IndexedLink[] {
    const { schema } = this.#parts
    const source = placeOf(table, record.id)
    const tag = schema.field(tagName).ordinal
    const links: IndexedLink[] = []
    for (const [name, value] of Object.entries(record.fields)) {
      const { type, ordinal: field } = schema.field(name)
      eachLink(type, value, schema, (link) => {
        const place = `${table.repository}/${link.table ?? table.name}`
        links.push({ source, target: { table: place, id: link.resolve(record.id) }, tag, field })
      })
    }
    return links
  }
}

function placeOf(given: RecordTable, id: RecordId): RecordPlace {
  const table = RecordTable.check(given)
  return { table: `${table.repository}/${table.name}`, id }
}

/**
 * Calls back for every link of a value, also in embedded records. `ERR_INVALID_RECORD` for a value
 * of another type.
 */
export function eachLink(
  type: ValueType,
  value: unknown,
  schema: SchemaCache,
  callback: (link: Link) => void,
): void {
  const check = (each: unknown, of: ValueType): void => {
    if (of.base !== 'LINK') return
    if (!Link.is(each)) throw unfitValue(of, each)
    callback(each)
  }
  eachValue(type, value, check, schema)
}
