/**
 * Reads of the tables of one store, of the newest state or of a snapshot, and the cache of the
 * newest nodes.
 */
import {
  type Database,
  type Result,
  type RowSpan,
  type Snapshot,
  type Table,
} from '../../../../api/index.js'
import { eachRow, openTable } from '../../../../comfort/tables.js'
import { childOf, parentOf } from '../../metadata/paths.js'
import {
  absentNode,
  childRange,
  childRows,
  childrenColumn,
  countersOf,
  descendantRows,
  indexedName,
  indexRange,
  isAbsent,
  nodeOf,
  nodeRow,
  ownedPath,
  pathOfRow,
  plainColumn,
  recordColumn,
  recordOf,
  tableNames,
  tableOptions,
  type Node,
  type RowRange,
  type TableName,
} from './rows.js'
import { Generations } from '../../kernel/generations.js'
import { uint64 } from '../../kernel/numbers.js'
import { decodeRecord, type PlacedRecord, type StoredRecord } from './record-format.js'
import type { IndexScan } from '../../metadata/types.js'
import type { WorkingState } from './working-state.js'

/** The state that a read sees: a snapshot of the database, or the newest state. */
export interface View {
  readonly snapshot?: Snapshot | undefined
}

/** A page of records in the order of their rows, and the last row of the page. */
export interface RecordPage {
  readonly records: readonly PlacedRecord[]
  /** The next page starts after this row; undefined = this is the last page. */
  readonly last: Buffer | undefined
}

/** The records of a tree or a session that one commit removes. */
export interface Removal {
  /** Children before their parents. */
  readonly paths: readonly string[]
  /** Whether the removal is complete. */
  readonly isWhole: boolean
}

/** The tables of a store. */
export type Tables = Readonly<Record<TableName, Table>>

const newest: View = {}
const recordColumns = [recordColumn]
const childrenColumns = [childrenColumn]
/** Rows of a page of a streamed scan. */
const pageRows = 128
/** Rows of one read of a group: bounds the memory of each read. */
const loadRows = 4096
/** Rows of a page of a listing. */
const listingRows = 1024

/** The tables of a store, created if they do not exist. */
export async function openTables(
  database: Database,
  prefix: string,
  feedSeconds: number,
): Promise<Tables> {
  const tables: Partial<Record<TableName, Table>> = {}
  for (const name of tableNames) {
    const full = `${prefix}.${name}`
    tables[name] = await openTable(database, full, tableOptions(name, feedSeconds))
  }
  return tables as Tables
}

/**
 * The recently used nodes of the writer. A write needs its node, and the parent of a new node; most
 * writes find both in this cache and read nothing.
 *
 * Invariant: a cached node equals the node in the tables. The store has one writer, which adds the
 * changes of a commit when the commit is durable, and clears the cache after a failure.
 */
export class NodeCache {
  readonly #nodes = new Generations<Node>(8 * 1024 * 1024)

  /** The cached node; undefined if it has to be read from the table. */
  get(path: string): Node | undefined {
    return this.#nodes.get(path, bytesOf)
  }

  set(path: string, node: Node): void {
    const kept = isAbsent(node) ? absentNode : withOwnCell(node)
    this.#nodes.set(path, kept, bytesOf(kept))
  }

  clear(): void {
    this.#nodes.clear()
  }
}

/** Approximate size of a node. */
function bytesOf({ record }: Node): number {
  return 200 + (record?.cell.length ?? 0)
}

/** Copies a cell that is a view of a larger buffer, which the cache must not keep alive. */
function withOwnCell(node: Node): Node {
  const { record, children } = node
  if (record === undefined) return node
  const { cell } = record
  const isOwn = cell.buffer.byteLength <= Math.max(Buffer.poolSize, 2 * cell.length)
  return isOwn ? node : { record: decodeRecord(Buffer.from(cell)), children }
}

/** The reads; see the file header. */
export class NodeTable {
  /** Recently used nodes, for writes. */
  readonly cache = new NodeCache()
  readonly #tables: Tables

  constructor(tables: Tables) {
    this.#tables = tables
  }

  /** The record of a path; undefined if there is none. */
  async record(path: string, { snapshot } = newest): Promise<StoredRecord | undefined> {
    const get = { row: nodeRow(path), columns: recordColumns, snapshot }
    return recordOf(await this.#tables.nodes.get(get))
  }

  /** Names of the direct children. Does not read rows of deeper descendants. */
  async childNames(path: string, view = newest): Promise<string[]> {
    // Most paths have no children; they cost one read at most.
    if (!(await this.#hasChildren(path, view))) return []
    const prefix = childRows(path)
    const names: string[] = []
    const scanner = this.#tables.nodes.scan({ prefix, snapshot: view.snapshot })
    await eachRow(scanner, listingRows, ({ row }) => {
      names.push(row!.toString('utf8', prefix.length))
      return true
    })
    return names.sort()
  }

  async #hasChildren(path: string, { snapshot }: View): Promise<boolean> {
    const cached = this.cache.get(path)
    if (cached !== undefined) return cached.children > 0
    const get = { row: nodeRow(path), columns: childrenColumns, snapshot }
    return !(await this.#tables.nodes.get(get)).isEmpty
  }

  /** Paths of the records of a session, up to approximately `bytesMax` bytes of changes. */
  async ownedPart(session: number, bytesMax: number): Promise<Removal> {
    const paths: string[] = []
    let bytes = 0
    const scanner = this.#tables.owned.scan({ prefix: uint64(session) })
    const isWhole = await eachRow(scanner, listingRows, ({ row }) => {
      if (bytes >= bytesMax) return false
      const path = ownedPath(row!)
      bytes += removalBytes(path, undefined)
      paths.push(path)
      return true
    })
    return { paths, isWhole }
  }

  /**
   * Loads a path and its descendants, deepest first, up to approximately `bytesMax` bytes of
   * changes. The path itself is part of the last removal.
   */
  async treePart(path: string, state: WorkingState, bytesMax: number): Promise<Removal> {
    const paths: string[] = []
    let bytes = 0
    for (let depth = await this.#depthBelow(path); depth > 0; depth--) {
      const scanner = this.#tables.nodes.scan({ prefix: descendantRows(path, depth) })
      const isWhole = await eachRow(scanner, pageRows, (result) => {
        if (bytes >= bytesMax) return false
        const below = pathOfRow(result.row!)
        const node = nodeOf(result)
        state.load(below, node)
        bytes += removalBytes(below, node)
        paths.push(below)
        return true
      })
      if (!isWhole) return { paths, isWhole }
    }
    paths.push(path)
    return { paths, isWhole: true }
  }

  /** Number of levels below a path. No level is skipped, because implied parents have rows. */
  async #depthBelow(path: string): Promise<number> {
    for (let depth = 0; ; depth++) {
      const scanner = this.#tables.nodes.scan({ prefix: descendantRows(path, depth + 1), limit: 1 })
      if (await eachRow(scanner, 1, () => false)) return depth
    }
  }

  /** A page of the direct children that are records, after a row. */
  async childPage(
    path: string,
    after: Buffer | undefined,
    { snapshot }: View,
  ): Promise<RecordPage> {
    const range = { ...behind(childRange(path), after), limit: pageRows, snapshot }
    const scanned = await this.#tables.nodes.scan({ ...range, columns: recordColumns }).toArray()
    return pageOf(scanned, scanned)
  }

  /** A page of the records of an index, in the order of their keys, after a row of the index. */
  async indexPage(
    scan: IndexScan,
    after: Buffer | undefined,
    { snapshot }: View,
  ): Promise<RecordPage> {
    const { prefix, index, from, to } = scan
    const range = behind(indexRange(index, prefix, from, to), after)
    const entries = await this.#tables.index.scan({ ...range, limit: pageRows, snapshot }).toArray()
    const gets = entries.map((result) => ({
      row: nodeRow(childOf(prefix, indexedName(result.row!))),
      columns: recordColumns,
      snapshot,
    }))
    const found = gets.length === 0 ? [] : await this.#tables.nodes.getList(gets)
    // A record may have been removed between the two reads.
    return pageOf(
      entries,
      found.filter((result) => !result.isEmpty),
    )
  }

  /**
   * Loads nodes and counters. For an absent node, also loads its ancestors up to the first existing
   * one.
   */
  async load(
    state: WorkingState,
    paths: Iterable<string>,
    counters: Iterable<string>,
  ): Promise<void> {
    const unknown = new Set<string>()
    /** Loads a node; a put of an absent node changes its parent, too. */
    const take = (path: string, node: Node): void => {
      state.load(path, node)
      const parent = isAbsent(node) ? parentOf(path) : undefined
      if (parent !== undefined) find(parent)
    }
    const find = (path: string): void => {
      if (state.hasNode(path)) return
      const cached = this.cache.get(path)
      if (cached === undefined) unknown.add(path)
      else take(path, cached)
    }
    for (const path of paths) find(path)
    while (unknown.size > 0) {
      const asked = [...unknown]
      unknown.clear()
      for (let from = 0; from < asked.length; from += loadRows) {
        const part = asked.slice(from, from + loadRows)
        const gets = part.map((path) => ({ row: nodeRow(path) }))
        const results = await this.#tables.nodes.getList(gets)
        for (let i = 0; i < part.length; i++) take(part[i], nodeOf(results[i]))
      }
    }
    const rows = [...new Set(counters)].filter((row) => !state.hasCounter(row))
    if (rows.length === 0) return
    const results = await this.#tables.control.getList(rows.map((row) => ({ row })))
    for (let i = 0; i < rows.length; i++) {
      state.loadCounter(rows[i], results[i].value(plainColumn))
    }
  }

  /** Numbers of a counter. */
  async counter(row: string, { snapshot } = newest): Promise<readonly bigint[]> {
    return countersOf((await this.#tables.control.get({ row, snapshot })).value(plainColumn))
  }
}

/** The part of a range of rows after a row. */
function behind(range: RowRange, after: Buffer | undefined): RowRange & RowSpan {
  return after === undefined ? range : { ...range, startRow: after, startInclusive: false }
}

/** The page of a scan of at most `pageRows` rows. */
function pageOf(scanned: readonly Result[], records: readonly Result[]): RecordPage {
  const last = scanned.length < pageRows ? undefined : scanned.at(-1)!.row!
  return { records: records.map(placed), last }
}

/** Approximate bytes of a removal, written and in memory: node, owner, event and parent. */
function removalBytes(path: string, node: Node | undefined): number {
  return 4 * path.length + 256 + (node?.record?.cell.length ?? 0)
}

function placed(result: Result): PlacedRecord {
  return { path: pathOfRow(result.row!), record: recordOf(result)! }
}
