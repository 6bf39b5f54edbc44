/**
 * Queries by field indexes: values of the leading fields, one range, the order of the index, and
 * pages with a token for the next one. Each page is read from one snapshot.
 */
import {
  OptionNames,
  readArguments,
  requireCapability,
  shown,
  type Snapshot,
} from '../../../api/index.js'
import { corrupt, invalidArgument } from '../errors.js'
import { RecordId } from '../record-id.js'
import {
  prepareFilter,
  type PreparedFilter,
  type RecordFilter,
} from '../records/reads/record-filters.js'
import { wantedFields } from '../records/reads/record-scanner.js'
import { decodeHead, headColumn, type RecordState } from '../records/record-state.js'
import type { StoredRecord } from '../records/record.js'
import type { TableContext } from '../records/table-context.js'
import type { IndexedField } from './field-index.js'
import { indexRows } from './index-rows.js'
import { planQuery, type QueryPlan } from './query-plan.js'

/** A range of values of a field. Records without a value are in no range. */
export interface FieldRange {
  /** Qualified name of the field, `{namespace}local`. */
  readonly field: string
  /** Default: the smallest value. */
  readonly from?: unknown
  /** Default true. */
  readonly fromInclusive?: boolean | undefined
  /** Default: the greatest value. */
  readonly to?: unknown
  /** Default false. */
  readonly toInclusive?: boolean | undefined
}

/** A query: the records to be found, and their order. */
export interface FieldQuery {
  /** Name of the index. Default: the first index that fits. */
  readonly index?: string | undefined
  /** Values of the first fields of the index; null = no value. For a list, one of its elements. */
  readonly equals?: Readonly<Record<string, unknown>> | undefined
  /** A range of the field after those of `equals` in the index. */
  readonly range?: FieldRange | undefined
  /** The next fields of the index, all in the directions of the index or all reversed. */
  readonly sort?: readonly (string | IndexedField)[] | undefined
  /** An additional filter. */
  readonly filter?: RecordFilter | undefined
  /** Fields to return: their names, `'all'` (the default) or `'none'`. */
  readonly fields?: readonly string[] | 'all' | 'none' | undefined
  /** Limit of records in a page, 1 to 10,000. Default 100. */
  readonly limit?: number | undefined
  /** `next` of the previous page. */
  readonly page?: string | undefined
}

/** A page of a query. */
export interface RecordPage {
  /** The records of the page, in the order of the index. */
  readonly records: StoredRecord[]
  /**
   * The `page` of the next call; undefined on the last page. Safe in URLs, and it does not expire.
   */
  readonly next: string | undefined
}

const names = new OptionNames<FieldQuery>('a query of records', {
  index: true,
  equals: true,
  range: true,
  sort: true,
  filter: true,
  fields: true,
  limit: true,
  page: true,
})
const limitMax = 10_000
const rowsAtOnce = 256

/** Reads a page. Errors of {@link planQuery}, `ERR_UNSUPPORTED` without snapshots. */
export async function queryRecords(context: TableContext, given: FieldQuery): Promise<RecordPage> {
  context.checkOpen()
  const query = readArguments(() => names.copy(given))
  const { limit = 100 } = query
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > limitMax) {
    throw invalidArgument(`limit is a whole number from 1 to ${limitMax}, got ${shown(limit)}`)
  }
  requireCapability(context.database.capabilities, 'snapshots', 'a query of records')
  const { schema } = context
  const filter = query.filter === undefined ? undefined : prepareFilter(query.filter, schema)
  const wanted = wantedFields(context, query.fields)
  const plan = readArguments(() => planQuery(query, context))
  const snapshot = context.database.snapshot()
  try {
    const pages = new PageReader(context, plan, filter, snapshot)
    const { heads, next } = await pages.read(limit, query.page)
    const { views } = context
    return { records: heads.map(({ id, bytes }) => views.newest(id, bytes, wanted)), next }
  } finally {
    snapshot.close()
  }
}

interface FoundHead {
  readonly id: RecordId
  readonly bytes: Buffer
}

class PageReader {
  readonly #context: TableContext
  readonly #plan: QueryPlan
  readonly #filter: PreparedFilter | undefined
  readonly #snapshot: Snapshot

  constructor(
    context: TableContext,
    plan: QueryPlan,
    filter: PreparedFilter | undefined,
    snapshot: Snapshot,
  ) {
    this.#context = context
    this.#plan = plan
    this.#filter = filter
    this.#snapshot = snapshot
  }

  async read(
    limit: number,
    page: string | undefined,
  ): Promise<{ heads: FoundHead[]; next: string | undefined }> {
    const heads: FoundHead[] = []
    let last = page === undefined ? undefined : this.#rowOfToken(page)
    for (;;) {
      const rows = await this.#rowsBehind(last, Math.min(rowsAtOnce, limit - heads.length + 1))
      if (rows.length === 0) return { heads, next: undefined }
      const found = await this.#headsOf(rows)
      for (const [at, head] of found.entries()) {
        if (head !== undefined) {
          if (heads.length === limit) return { heads, next: last!.toString('base64url') }
          heads.push(head)
        }
        last = rows[at].row
      }
    }
  }

  async #rowsBehind(
    last: Buffer | undefined,
    limit: number,
  ): Promise<{ readonly row: Buffer; readonly id: Buffer }[]> {
    const { database, indexTable } = this.#context
    const { start, stop, isReversed } = this.#plan
    const scan = isReversed
      ? { startRow: last ?? stop, startInclusive: false, stopRow: start, stopInclusive: true }
      : { startRow: last ?? start, startInclusive: last === undefined, stopRow: stop }
    const rows = await database
      .table(indexTable)
      .scan({ ...scan, limit, reversed: isReversed, snapshot: this.#snapshot })
      .all()
    return rows.map((row) => ({ row: row.row!, id: row.value('i:r')! }))
  }

  /** The heads of the records of rows; undefined for rows that the query does not return. */
  async #headsOf(
    rows: readonly { readonly row: Buffer; readonly id: Buffer }[],
  ): Promise<(FoundHead | undefined)[]> {
    const { table } = this.#context
    const snapshot = this.#snapshot
    const gets = rows.map(({ id }) => ({ row: id, columns: [headColumn], snapshot }))
    const results = await table.getList(gets)
    return results.map((result, at) => {
      const bytes = result.value(headColumn)
      const id = RecordId.fromBytes(rows[at].id)
      if (bytes === undefined) throw corrupt(`an index has ${id.text}, which is no record`)
      if (this.#filter === undefined && !this.#plan.isMultiValued) return { id, bytes }
      const state = decodeHead(bytes)
      if (this.#plan.isMultiValued && !this.#isFirst(rows[at].row, id, state)) return undefined
      return this.#filter?.test(id, state) === false ? undefined : { id, bytes }
    })
  }

  /** Whether a row is the first one of its record among the rows of the plan. */
  #isFirst(row: Buffer, id: RecordId, state: RecordState): boolean {
    const { key, schema } = this.#context
    const { index, start, stop, isReversed } = this.#plan
    return indexRows(key, index, id, state, schema).every((other) => {
      const isIn = Buffer.compare(other, start) >= 0 && Buffer.compare(other, stop) < 0
      const order = Buffer.compare(other, row)
      return !isIn || (isReversed ? order <= 0 : order >= 0)
    })
  }

  #rowOfToken(page: unknown): Buffer {
    const row = typeof page === 'string' ? Buffer.from(page, 'base64url') : undefined
    const { start, stop } = this.#plan
    const isOne = row !== undefined && row.toString('base64url') === page
    if (isOne && Buffer.compare(row, start) >= 0 && Buffer.compare(row, stop) < 0) return row
    throw invalidArgument('page must be the next of a page of the same query')
  }
}
