/** Reads of the tables of one store, always of the newest state. */
import type { Database, Result, Table } from '../../api/index.js'
import { checkIndexText } from './arguments.js'
import { childOf, parentOf, sortNames } from './paths.js'
import { NodeCache } from './node-cache.js'
import { countersOf } from './planner.js'
import {
  childRows,
  childrenColumn,
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
  type TableName,
} from './rows.js'
import { uint64, type StoredRecord } from './record-format.js'
import type { IndexScan } from './types.js'
import type { WorkingState } from './working-state.js'

/** A record with its path. */
export interface PlacedRecord {
  readonly path: string
  readonly record: StoredRecord
}

const recordColumns = [recordColumn]
const childrenColumns = [childrenColumn]
/** Rows of a page of a streamed scan. */
const pageRows = 128
/** Rows that a group reads at once: what they were read into can go before the next. */
const loadRows = 4096
/** Rows of a page of a listing. */
const listingRows = 1024

/** The tables of a store, created if they do not exist. */
export async function openTables(
  database: Database,
  prefix: string,
  feedSeconds: number,
): Promise<Readonly<Record<TableName, Table>>> {
  const tables: Partial<Record<TableName, Table>> = {}
  for (const name of tableNames) {
    const full = `${prefix}.${name}`
    tables[name] = (await database.admin.tableExists(full))
      ? database.table(full)
      : await database.createTable(full, tableOptions(name, feedSeconds))
  }
  return tables as Record<TableName, Table>
}

export class NodeTable {
  /** What writes need of nodes that were written not long ago. */
  readonly cache = new NodeCache()
  readonly #tables: Readonly<Record<TableName, Table>>

  constructor(tables: Readonly<Record<TableName, Table>>) {
    this.#tables = tables
  }

  /** The record of a path; undefined if there is none. */
  async record(path: string): Promise<StoredRecord | undefined> {
    return recordOf(await this.#tables.nodes.get({ row: nodeRow(path), columns: recordColumns }))
  }

  /** Names of the direct children. Reads their rows and nothing below them. */
  async childNames(path: string): Promise<string[]> {
    // A path without children is the common case, and costs one read at most.
    if (!(await this.#hasChildren(path))) return []
    const prefix = childRows(path)
    const names: string[] = []
    await this.#rows(this.#tables.nodes, prefix, (row) => {
      names.push(row.toString('utf8', prefix.length))
    })
    return sortNames(names)
  }

  async #hasChildren(path: string): Promise<boolean> {
    const cached = this.cache.get(path)
    if (cached !== undefined) return cached.children > 0
    const row = nodeRow(path)
    return !(await this.#tables.nodes.get({ row, columns: childrenColumns })).isEmpty
  }

  /** Paths of the records that end with a session. */
  async ownedPaths(session: number): Promise<string[]> {
    const paths: string[] = []
    await this.#rows(this.#tables.owned, uint64(session), (row) => paths.push(ownedPath(row)))
    return paths
  }

  /** Calls a function with every row that begins with a prefix. */
  async #rows(table: Table, prefix: Buffer, each: (row: Buffer) => unknown): Promise<void> {
    const scanner = table.scan({ prefix })
    try {
      for (;;) {
        const results = await scanner.nextBatch(listingRows)
        for (const result of results) each(result.row!)
        if (results.length < listingRows) return
      }
    } finally {
      scanner.close()
    }
  }

  /** Pages of direct children that are records, in the order of their rows. */
  async *childRecords(path: string): AsyncGenerator<PlacedRecord[], void> {
    const scanner = this.#tables.nodes.scan({ prefix: childRows(path), columns: recordColumns })
    try {
      for (;;) {
        const results = await scanner.nextBatch(pageRows)
        if (results.length > 0) yield results.map(placed)
        if (results.length < pageRows) return
      }
    } finally {
      scanner.close()
    }
  }

  /** Loads a path and everything below it; returns the paths, deepest first. */
  async loadTree(path: string, state: WorkingState): Promise<string[]> {
    const levels: string[][] = []
    if (!state.hasNode(path)) await this.load(state, [path], [])
    for (let depth = 1; ; depth++) {
      const level: string[] = []
      const scanner = this.#tables.nodes.scan({ prefix: descendantRows(path, depth) })
      try {
        for (;;) {
          const results = await scanner.nextBatch(listingRows)
          for (const result of results) {
            const below = pathOfRow(result.row!)
            state.load(below, nodeOf(result))
            level.push(below)
          }
          if (results.length < listingRows) break
        }
      } finally {
        scanner.close()
      }
      if (level.length === 0) break
      levels.push(level)
    }
    return [...levels.reverse().flat(), path]
  }

  /** Pages of records of an index, by the order of their keys. */
  async *indexRecords(scan: IndexScan): AsyncGenerator<PlacedRecord[], void> {
    const { prefix, index, from, to } = scan
    const scanner = this.#tables.index.scan(indexRange(index, prefix, from, to))
    try {
      for (;;) {
        const results = await scanner.nextBatch(pageRows)
        const gets = results.map((result) => ({
          row: nodeRow(childOf(prefix, indexedName(result.row!))),
          columns: recordColumns,
        }))
        const found = gets.length === 0 ? [] : await this.#tables.nodes.getList(gets)
        // A record may have gone between the two reads.
        yield found.filter((result) => !result.isEmpty).map(placed)
        if (results.length < pageRows) return
      }
    } finally {
      scanner.close()
    }
  }

  /** Loads nodes, and of those that are absent the ones above; and counters. */
  async load(
    state: WorkingState,
    paths: Iterable<string>,
    counters: Iterable<string>,
  ): Promise<void> {
    const unknown = new Set<string>()
    /** Takes a node; without it, a put makes a child of the one above. */
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
      state.loadCounter(rows[i], countersOf(results[i].value(plainColumn)))
    }
  }

  /** Numbers of a counter. */
  async counter(row: string): Promise<readonly bigint[]> {
    return countersOf((await this.#tables.control.get({ row })).value(plainColumn))
  }
}

function placed(result: Result): PlacedRecord {
  return { path: pathOfRow(result.row!), record: recordOf(result)! }
}

/** Checks what a scan by index asks for. */
export function checkIndexScan(scan: IndexScan): void {
  checkIndexText(scan.index, 'the name of an index')
  if (scan.from !== undefined && scan.from !== null) checkIndexText(scan.from, 'from')
  if (scan.to !== undefined && scan.to !== null) checkIndexText(scan.to, 'to')
}
