/**
 * What can be seen of a database, as data for JSON: for the verbs of the command that look into a
 * directory, and for a server that answers in its place. Options are words, as on a command line.
 */
import { FirstKeyOnlyFilter, parseFilter } from '../../api/filters.js'
import {
  invalidArgument,
  type Cell,
  type Database,
  type Result,
  type Scan,
  type TableDescription,
} from '../../api/index.js'
import type { MonitoredStatistics } from '../../metrics/index.js'
import { bytesToJson, parseBinary, type JsonBytes } from './json.js'

/** The statistics of one family, as far as views show them. */
interface ShownFamily {
  readonly files: number
  readonly fileBytes: number
  readonly valueFiles: number
  readonly valueFileBytes: number
  readonly entries: number
  readonly memtableEntries: number
  readonly runs: number
  readonly levels: readonly { readonly files: number; readonly fileBytes: number }[]
}

/** The statistics of a database, as far as views show them. */
export interface ShownStatistics extends MonitoredStatistics {
  readonly tables: Readonly<
    Record<
      string,
      MonitoredStatistics['tables'][string] & {
        readonly families: Readonly<Record<string, ShownFamily>>
      }
    >
  >
  readonly lastSequence: number
  readonly valueFiles: number
  readonly recovery: {
    readonly closedCleanly: boolean
    readonly mutationsReplayed: number
    readonly cuts: readonly {
      readonly file: string
      readonly offset: number
      readonly bytesLost: number
    }[]
  }
}

/** A snapshot of a table. */
export interface ShownSnapshot {
  readonly name: string
  readonly table: string
  readonly sequence: number
  readonly createdMilliseconds: number
  readonly fileBytes: number
}

/** An open database that can be looked at. */
export interface SeenDatabase extends Pick<Database, 'table'> {
  /** The path of its directory. */
  readonly directory: string
  /** The names of its tables, in their order. */
  listTables(): string[]
  /** The schema of a table; `ERR_NO_SUCH_TABLE` if there is none. */
  describeTable(name: string): TableDescription
  /** All figures. */
  statistics(): ShownStatistics
  /** The part of its administration that is shown. */
  readonly admin: {
    /** The snapshots of its tables. */
    listSnapshots(): readonly ShownSnapshot[]
  }
}

/** Options of `get`. */
export interface ReadWords {
  readonly columns?: readonly string[]
  readonly versions?: string
  readonly timeRange?: string
  readonly filter?: string
}

/** Options of `scan` and `count`. */
export interface ScanWords extends ReadWords {
  readonly from?: string
  readonly to?: string
  readonly prefix?: string
  readonly limit?: string
  readonly reversed?: boolean
  readonly raw?: boolean
}

/** A row in JSON. */
export interface JsonRow {
  readonly row: JsonBytes
  readonly cells: readonly JsonCell[]
}

/** A cell in JSON: a put has a value, another cell its type. */
export interface JsonCell {
  readonly family: string
  readonly qualifier: JsonBytes
  readonly timestamp: number | string
  readonly value?: JsonBytes
  readonly type?: string
}

/** What verbs ask of a database, in this process or of a server. */
export interface DatabaseView {
  tables(): Promise<TablesView>
  describe(table: string): Promise<TableDescription>
  statistics(): Promise<ShownStatistics>
  /** Undefined if there is no such row. */
  row(table: string, row: string, words: ReadWords): Promise<JsonRow | undefined>
  rows(table: string, words: ScanWords): AsyncGenerator<JsonRow, void>
  count(table: string, words: ScanWords, signal?: AbortSignal): Promise<number>
}

/** The tables and snapshots of a database with their sizes. */
export interface TablesView {
  readonly tables: readonly {
    readonly table: string
    readonly families: readonly string[]
    readonly files: number
    readonly bytes: number
    readonly entries: number
  }[]
  readonly snapshots: readonly ShownSnapshot[]
}

/** What a compaction did: bytes of all SSTables of the database. */
export interface Compacted {
  /** The compacted table; null: all. */
  readonly table: string | null
  readonly bytesBefore: number
  readonly bytesAfter: number
}

/** Runs a compaction between two looks at the sizes. */
export async function compactedBy(
  table: string | undefined,
  statistics: () => Promise<ShownStatistics>,
  run: () => Promise<void>,
): Promise<Compacted> {
  const { tableFileBytes: bytesBefore } = await statistics()
  await run()
  const { tableFileBytes: bytesAfter } = await statistics()
  return { table: table ?? null, bytesBefore, bytesAfter }
}

/** The view of an open database. `onRow` gets the number of rows counted so far. */
export function viewOf(database: SeenDatabase, onRow?: (rows: number) => void): DatabaseView {
  return {
    tables: async () => tablesOf(database),
    describe: async (table) => database.describeTable(table),
    statistics: async () => database.statistics(),
    row: async (table, row, words) => {
      const options = { row: parseBinary(row), ...readOptions(words) }
      const result = await database.table(table).get(options)
      return result.isEmpty ? undefined : rowToJson(result)
    },
    rows: (table, words) => rowsOf(database, table, words),
    count: async (table, words, signal) => {
      const scan = { filter: new FirstKeyOnlyFilter(), ...scanOptions(words), signal } as Scan
      let rows = 0
      for await (const result of database.table(table).scan(scan)) {
        if (!result.partial) rows++
        onRow?.(rows)
      }
      return rows
    },
  }
}

function tablesOf(database: SeenDatabase): TablesView {
  const { tables } = database.statistics()
  const shown = database.listTables().map((table) => {
    const families = Object.entries(tables[table].families)
    const sum = (figure: (family: ShownFamily) => number): number =>
      families.reduce((total, [, family]) => total + figure(family), 0)
    return {
      table,
      families: families.map(([family]) => family),
      files: sum(({ files, valueFiles }) => files + valueFiles),
      bytes: sum(({ fileBytes, valueFileBytes }) => fileBytes + valueFileBytes),
      entries: sum(({ entries, memtableEntries }) => entries + memtableEntries),
    }
  })
  return { tables: shown, snapshots: database.admin.listSnapshots() }
}

async function* rowsOf(
  database: SeenDatabase,
  table: string,
  words: ScanWords,
): AsyncGenerator<JsonRow, void> {
  for await (const result of database.table(table).scan(scanOptions(words))) {
    yield rowToJson(result)
  }
}

/** A whole number of the command line. `ERR_INVALID_ARGUMENT`. */
export function parseCount(word: string, name: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(word)) return Number(word)
  throw invalidArgument(`${name} must be a whole number above 0, got '${word}'`)
}

function readOptions({ columns, versions, timeRange, filter }: ReadWords): Partial<Scan> {
  return {
    ...(columns !== undefined && columns.length > 0 && { columns }),
    ...(versions !== undefined && {
      versions: versions === 'all' ? ('all' as const) : parseCount(versions, '--versions'),
    }),
    ...(timeRange !== undefined && { timeRange: parseTimeRange(timeRange) }),
    ...(filter !== undefined && { filter: parseFilter(filter) }),
  }
}

function parseTimeRange(word: string): [bigint, bigint] {
  const [, from, to] = /^(\d{1,19}):(\d{1,19})$/.exec(word) ?? []
  if (to !== undefined) return [BigInt(from), BigInt(to)]
  throw invalidArgument(`--time-range must be MIN:MAX in milliseconds, got '${word}'`)
}

function scanOptions(words: ScanWords): Scan {
  const { from, to, prefix, limit, reversed, raw } = words
  return {
    ...readOptions(words),
    ...(from !== undefined && { startRow: parseBinary(from) }),
    ...(to !== undefined && { stopRow: parseBinary(to) }),
    ...(prefix !== undefined && { prefix: parseBinary(prefix) }),
    ...(limit !== undefined && { limit: parseCount(limit, '--limit') }),
    ...(reversed === true && { reversed }),
    ...(raw === true && { raw }),
    cacheBlocks: false,
  } as Scan
}

function rowToJson(result: Result): JsonRow {
  return { row: bytesToJson(result.row!), cells: result.cells().map(cellToJson) }
}

function cellToJson({ family, qualifier, timestamp, timestampExact, type, value }: Cell): JsonCell {
  return {
    family,
    qualifier: bytesToJson(qualifier),
    timestamp: Number.isSafeInteger(timestamp) ? timestamp : timestampExact.toString(),
    ...(type === 'Put' ? { value: bytesToJson(value) } : { type }),
  }
}
