/**
 * Queries of an index. An entry is checked against its row, so a row that has changed in a way that
 * the index does not see (its cells expired, the table was truncated) is not returned.
 */
import {
  checkArray,
  checkInteger,
  checkObject,
  checkText,
  readArguments,
} from '../../base/arguments.js'
import { toBytes } from '../../base/bytes.js'
import { CellarError, ErrorCode, invalidArgument } from '../../base/errors.js'
import { boolean, declareOptions, text, unchecked, type GivenOptions } from '../../base/options.js'
import type { Awaitable } from '../../api/database.js'
import type { BytesLike, ColumnName } from '../../storage/cell/column-name.js'
import type { RowSpan, Snapshot } from '../../api/reads.js'
import type { Result } from '../../api/results/result.js'
import { getByKeys, type SyncTable, type Table } from '../../api/table.js'
import { eachRow } from '../tables.js'
import { keyRangeMembers, rowsOfRange, type KeyRange } from '../keys/key-range.js'
import type { KeyParts, LeadingValues } from '../keys/row-key.js'
import type { IndexState, KeptIndex } from './catalog.js'
import { unionOf } from './declaration.js'
import { entriesOf, type Entry } from './entries.js'
import { compareEntries } from './entry-check.js'
import { entriesAtOnce, readEntries } from './entry-pages.js'
import { entryColumn, entryFamily, partsOfKey, readEntry, storedValues } from './entry-values.js'
import { fits, rowOfEntry } from './found-entry.js'
import type { Indexes } from './indexes.js'

const queryMembers = {
  /** Whether the greatest keys come first; `startKey` is then the greatest. Default false. */
  reversed: boolean(false),
  /** Most rows of the answer, from 1. Default: all. */
  limit: unchecked<number>(),
  /** The `next` of the answer before, to continue after it. */
  page: text<undefined>(undefined),
}

const countOptions = declareOptions('a count by an index', { ...keyRangeMembers })
const entryOptions = declareOptions('a query of entries', { ...keyRangeMembers, ...queryMembers })
const rowMembers = {
  ...keyRangeMembers,
  ...queryMembers,
  /** Columns and families of the rows in the answer. Default: all. */
  columns: unchecked<readonly ColumnName[]>(),
}

const rowOptions = declareOptions('a query by an index', rowMembers)

/** Some leading parts of a key by name, such as `{ mail: 'ada@example.com' }`. */
export type IndexKey = LeadingValues<KeyParts>

/**
 * A range of an index by its leading parts; without members the whole index. `startsWith`,
 * `startKey` and `stopKey` continue the `prefix`, whose parts they do not repeat.
 */
export interface IndexRange extends KeyRange<KeyParts> {}

/** A query of entries: a range, a direction and a page. */
export interface EntryQuery extends IndexRange, GivenOptions<typeof queryMembers> {}

/** A query of rows. */
export interface RowQuery extends EntryQuery {
  /** Columns and families of the rows in the answer. Default: all. */
  readonly columns?: readonly ColumnName[] | undefined
}

/** Part of an answer, and the token for the next part. */
export interface IndexPage<T> {
  /** In the order of the index. A row with several keys in the range appears once for each. */
  readonly rows: T[]
  /** The `page` of the next query; undefined if there is nothing after it. Safe in URLs. */
  readonly next: string | undefined
}

/** An entry as a query without the rows returns it. */
export interface IndexEntry {
  /** Key of the row. */
  readonly row: Buffer
  /** The parts of the key by name. */
  readonly key: Readonly<Record<string, unknown>>
  /** The values of the stored columns that the row has, by `'family:qualifier'`. */
  readonly stored: Readonly<Record<string, Buffer>>
}

/** What `verify` found; both lists are empty for an index that fits its table. */
export interface IndexFindings {
  /** Rows of the data that lack an entry, or whose entry has other stored values. */
  readonly rowsWithoutEntry: readonly Buffer[]
  /** Entries whose row has not their key. */
  readonly entriesWithoutRow: readonly StrayEntry[]
}

/** An entry whose row has not its key. */
export interface StrayEntry {
  /** The row in the table of the entries. */
  readonly key: Buffer
  /** The row of the data. */
  readonly row: Buffer
}

/** The rows of an index, and its entries. */
export interface IndexTables {
  readonly data: Table & SyncTable
  readonly entries: Table
}

/**
 * An index of a table; from `Indexes.create` and `Indexes.index`. Queries throw
 * `ERR_INDEX_NOT_READY` while the index is built, and errors of `Table.scan` and `Table.getList`.
 */
export class TableIndex {
  /** Name of the table. */
  readonly table: string
  /** Name of the index. */
  readonly name: string
  readonly #home: Indexes

  /** @internal Made by `Indexes`. */
  constructor(home: Indexes, table: string, name: string) {
    this.#home = home
    this.table = table
    this.name = name
  }

  /** Whether the index is built, answers queries, or could not be built. */
  get state(): IndexState {
    return this.#home.find(this.table, this.name).state
  }

  /**
   * Resolves when the index answers queries. `ERR_UNIQUE_VIOLATION` if rows of a unique index have
   * one key, and other errors of the build; `ERR_INDEX_NOT_READY` if it failed earlier.
   */
  async ready(): Promise<void> {
    await this.#home.settled(this.table, this.name)
    this.#ready()
  }

  /** Rows by their keys in the index, as they are in the table. */
  async rows(query: RowQuery = {}): Promise<IndexPage<Result>> {
    const index = this.#ready()
    const read = readArguments(() => rowOptions.read(checkQuery(index, query)))
    const span = pageSpanOf(index, read)
    const needed = index.plan.columns
    const given = read.columns === undefined ? [] : checkArray(read.columns, 'columns')
    const columns = given.length === 0 ? undefined : unionOf([...given, ...needed])
    const { data } = this.#home.tablesOf(this.table, index)
    return this.#page(index, span, read, async (results, snapshot) => {
      const { plan } = index
      const keys = results.map((entry) => rowOfEntry(plan, entry))
      const rows = await data[getByKeys](keys, { columns, snapshot })
      return rows.map((row, i) => (fits(plan, results[i], row) ? row : undefined))
    })
  }

  /**
   * Entries of the index, without a look at the rows. An entry may outlive its row where cells
   * expire (TTL), where a family has `keepDeletedCells`, and after `truncateTable`,
   * `restoreSnapshot` and imports; `rows` checks that.
   */
  async entries(query: EntryQuery = {}): Promise<IndexPage<IndexEntry>> {
    const index = this.#ready()
    const read = readArguments(() => entryOptions.read(checkQuery(index, query)))
    const span = pageSpanOf(index, read)
    const { plan } = index
    return this.#page(index, span, read, (results) => {
      return results.map((result) => {
        const entry = entryOf(index, result)
        const key = partsOfKey(plan.parts, entry.key)
        return { row: entry.row, key, stored: storedValues(plan, entry) }
      })
    })
  }

  /** Number of entries in a range, without a look at the rows; see {@link entries}. */
  async count(range: IndexRange = {}): Promise<number> {
    const index = this.#ready()
    const read = readArguments(() => countOptions.read(checkQuery(index, range)))
    const rows = spanOf(index, read, false)
    let count = 0
    const scanner = this.#home
      .tablesOf(this.table, index)
      .entries.scan({ ...rows, columns: [entryFamily] })
    await eachRow(scanner, entriesAtOnce, () => ++count > 0)
    return count
  }

  /**
   * Compares all rows of the table with all entries, in one view of both. Reads everything; a
   * finding is repaired by `Indexes.rebuild`.
   */
  async verify(): Promise<IndexFindings> {
    const index = this.#ready()
    const { plan } = index
    const checked = {
      ...this.#home.tablesOf(this.table, index),
      columns: plan.columns,
      prefix: Buffer.alloc(0),
      column: entryColumn,
      entriesOf: (row: Result) => (row.isEmpty ? [] : entriesOf(plan, row.row!, row)),
      entryOf: (result: Result) => entryOf(index, result),
    }
    using snapshot = this.#home.database.snapshot()
    const { missing, surplus } = await compareEntries(checked, snapshot)
    const rows = new Map(missing.map(({ row }) => [row.toString('latin1'), Buffer.from(row)]))
    const strays = surplus.map(({ key, row }) => ({ key: Buffer.from(key), row: Buffer.from(row) }))
    return { rowsWithoutEntry: [...rows.values()], entriesWithoutRow: strays }
  }

  /** One page of what `take` makes of the entries; undefined leaves an entry out. */
  async #page<T>(
    index: KeptIndex,
    span: RowSpan,
    { limit = Infinity, reversed }: PageOptions,
    take: (entries: readonly Result[], snapshot: Snapshot) => Awaitable<(T | undefined)[]>,
  ): Promise<IndexPage<T>> {
    const { entries } = this.#home.tablesOf(this.table, index)
    using snapshot = this.#home.database.snapshot()
    const scanner = entries.scan({ ...span, reversed, columns: entryColumns, snapshot })
    const { rows, last } = await readEntries(scanner, limit, (each) => take(each, snapshot))
    return { rows, next: last && token(last, reversed) }
  }

  #ready(): KeptIndex {
    const index = this.#home.find(this.table, this.name)
    if (index.state === 'ready') return index
    const why =
      index.state === 'building'
        ? 'is being built; await ready()'
        : `could not be built: ${index.reason ?? 'unknown'}; mend that, then Indexes.rebuild`
    const message = `the index '${this.name}' of table '${this.table}' ${why}`
    throw new CellarError(ErrorCode.indexNotReady, message)
  }
}

/** Refuses what is no query: mostly the parts of a key without their `prefix`. */
function checkQuery<Q extends object>({ plan }: KeptIndex, query: Q): Q {
  checkObject(query, 'a query by an index', plan.form)
  for (const name in query) {
    if (Object.hasOwn(rowMembers, name) || !plan.parts.some((part) => part.name === name)) continue
    throw invalidArgument(
      `'${name}' is a part of the key of the index; write { prefix: { ${name}: … } }`,
    )
  }
  return query
}

const entryColumns = [entryFamily]

function entryOf({ plan }: KeptIndex, result: Result): Entry {
  return readEntry(plan, result.row!, result.value(entryColumn)!)
}

interface PageOptions {
  readonly reversed: boolean
  readonly limit?: number | undefined
  readonly page?: string | undefined
}

/** The rows of a range in the table of the index; its members were read with their defaults. */
function spanOf({ plan }: KeptIndex, range: object, reversed: boolean): RowSpan {
  return readArguments(() => rowsOfRange(plan.key, range as KeyRange<KeyParts>, reversed))
}

function pageSpanOf(index: KeptIndex, query: PageOptions): RowSpan {
  const { reversed, limit, page } = query
  checkInteger(limit, 'limit', 1)
  const span = spanOf(index, query, reversed)
  if (page === undefined) return span
  const startRow = readToken(page, reversed)
  const isInside = (bound: BytesLike | undefined, side: number): boolean =>
    bound === undefined || side * Buffer.compare(startRow, toBytes(bound)) >= 0
  const side = reversed ? -1 : 1
  if (isInside(span.startRow, side) && isInside(span.stopRow, -side)) {
    return { ...span, startRow, startInclusive: false }
  }
  throw invalidArgument('page lies outside of the range of the query')
}

function token(key: Buffer, reversed: boolean): string {
  return Buffer.concat([Buffer.of(reversed ? 1 : 0), key]).toString('base64url')
}

function readToken(page: string, reversed: boolean): Buffer {
  const bytes = Buffer.from(checkText(page, 'page'), 'base64url')
  if (bytes.length > 1 && bytes.toString('base64url') === page && bytes[0] === (reversed ? 1 : 0)) {
    return bytes.subarray(1)
  }
  throw invalidArgument('page must be the next of the page before, in the same direction')
}
