/** The verbs that look at tables and rows: tables, describe, stats, get, scan, count. */
import { FirstKeyOnlyFilter, parseFilter, type Database } from '../../entries/index.js'
import { CellarError, ErrorCode, type Cell, type Result, type Scan } from '../../api/index.js'
import { shownBytes } from '../../api/results/display.js'
import { bytesToJson, parseBinary } from './binary-text.js'
import { looking, type DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

function outputOf({ json }: DirectoryWords): Output {
  return new Output(json === true)
}

/** `cellar tables`: names, families and sizes of all tables, and the snapshots. */
export async function showTables(words: DirectoryWords): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    const { tables } = database.statistics()
    const rows = database.listTables().map((name) => {
      const families = Object.entries(tables[name].families)
      const sum = (figure: (family: (typeof families)[number][1]) => number): number =>
        families.reduce((total, [, family]) => total + figure(family), 0)
      return {
        table: name,
        families: families.map(([family]) => family),
        files: sum(({ files, valueFiles }) => files + valueFiles),
        bytes: sum(({ fileBytes, valueFileBytes }) => fileBytes + valueFileBytes),
        entries: sum(({ entries, memtableEntries }) => entries + memtableEntries),
      }
    })
    const snapshots = database.admin.listSnapshots()
    if (output.json) {
      await output.value({ tables: rows, snapshots })
      return
    }
    await output.table(
      ['table', 'families', 'files', 'size', 'entries'],
      rows.map(({ table, families, files, bytes, entries }) => {
        return [table, families.join(','), files, shownSize(bytes), entries]
      }),
    )
    for (const { name, table, sequence, createdMilliseconds, fileBytes } of snapshots) {
      const created = new Date(createdMilliseconds).toISOString()
      const what = `snapshot ${name} of ${table}`
      await output.line(`${what}: sequence ${sequence}, ${created}, ${shownSize(fileBytes)}`)
    }
  })
}

/** `cellar describe TABLE`: the options of a table and its families. */
export async function describeTable(table: string, words: DirectoryWords): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    const { name, families, coprocessors, ...settings } = database.describeTable(table)
    if (output.json) {
      await output.value({ name, ...settings, families, coprocessors })
      return
    }
    await output.line(`table ${name}: ${shownOptions(settings)}`)
    for (const [family, options] of Object.entries(families)) {
      await output.line(`  family ${family}: ${shownOptions(options)}`)
    }
    for (const coprocessor of coprocessors ?? []) {
      await output.line(`  coprocessor ${JSON.stringify(coprocessor)}`)
    }
  })
}

function shownOptions(options: object): string {
  const shown = (value: unknown): string =>
    typeof value === 'string' || value === Infinity ? String(value) : JSON.stringify(value)
  return Object.entries(options)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name}=${shown(value)}`)
    .join(' ')
}

/** `cellar stats [TABLE]`: the figures of the directory, or of the families of a table. */
export async function showStatistics(
  table: string | undefined,
  words: DirectoryWords,
): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    const statistics = database.statistics()
    const tables = table === undefined ? database.listTables() : [database.table(table).name]
    if (output.json) {
      await output.value(table === undefined ? statistics : statistics.tables[tables[0]])
      return
    }
    if (table === undefined) {
      const { lastSequence, logSegments, logBytes, recovery } = statistics
      const { tableFiles, tableFileBytes, valueFiles, valueFileBytes } = statistics
      await output.line(`last sequence      ${lastSequence}`)
      await output.line(`log                ${logSegments} segments, ${shownSize(logBytes)}`)
      await output.line(`SSTables           ${tableFiles} files, ${shownSize(tableFileBytes)}`)
      await output.line(`value files        ${valueFiles} files, ${shownSize(valueFileBytes)}`)
      const { readAmplification, spaceAmplification } = statistics
      await output.line(`read amplification ${readAmplification} runs`)
      await output.line(`space              ${spaceAmplification.toFixed(2)} of the largest runs`)
      const { closedCleanly, mutationsReplayed, cuts } = recovery
      const end = closedCleanly ? 'closed cleanly' : 'not closed, or open now'
      await output.line(`last close         ${end}, ${mutationsReplayed} mutations in the log`)
      for (const { file, offset, bytesLost } of cuts) {
        await output.line(`torn tail          ${file} at ${offset}, ${bytesLost} bytes`)
      }
    }
    const rows = tables.flatMap((name) =>
      Object.entries(statistics.tables[name].families).map(([family, figures]) => {
        const { files, fileBytes, entries, memtableEntries, runs, levels } = figures
        const byLevel = levels.map((level) => level.files).join('/')
        return [
          `${name}:${family}`,
          files,
          shownSize(fileBytes),
          entries,
          memtableEntries,
          runs,
          byLevel,
        ]
      }),
    )
    const names = ['family', 'files', 'size', 'entries', 'in log', 'runs', 'files by level']
    await output.table(names, rows)
  })
}

/** Options of `get` and `scan`. */
export interface ReadWords extends DirectoryWords {
  readonly columns?: readonly string[]
  readonly versions?: string
  readonly timeRange?: string
  readonly filter?: string
}

function usage(message: string): CellarError {
  return new CellarError(ErrorCode.invalidArgument, message)
}

/** A whole number of the command line. */
export function parseCount(word: string, name: string): number {
  if (/^[1-9][0-9]{0,14}$/.test(word)) return Number(word)
  throw usage(`${name} must be a whole number above 0, got '${word}'`)
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
  if (to === undefined) throw usage(`--time-range must be MIN:MAX in milliseconds, got '${word}'`)
  return [BigInt(from), BigInt(to)]
}

/** `cellar get TABLE ROW [COLUMN...]`: the cells of one row. */
export async function getRow(
  table: string,
  row: string,
  columns: readonly string[],
  words: ReadWords,
): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    const { versions, timeRange, filter } = readOptions(words) as Record<string, never>
    const result = await database.table(table).get({
      row: parseBinary(row),
      ...(columns.length > 0 && { columns }),
      ...(versions !== undefined && { versions }),
      ...(timeRange !== undefined && { timeRange }),
      ...(filter !== undefined && { filter }),
    })
    if (!result.isEmpty) await showResult(output, result)
    else if (output.json) await output.value(null)
    else output.note(`no row ${row} in ${table}`)
  })
}

/** Options of `scan` and `count`. */
export interface ScanWords extends ReadWords {
  readonly from?: string
  readonly to?: string
  readonly prefix?: string
  readonly limit?: string
  readonly reversed?: true
  readonly raw?: true
}

function scanOptions(words: ScanWords): Scan {
  const { from, to, prefix, limit, reversed, raw } = words
  return {
    ...readOptions(words),
    ...(from !== undefined && { startRow: parseBinary(from) }),
    ...(to !== undefined && { stopRow: parseBinary(to) }),
    ...(prefix !== undefined && { prefix: parseBinary(prefix) }),
    ...(limit !== undefined && { limit: parseCount(limit, '--limit') }),
    ...(reversed && { reversed }),
    ...(raw && { raw }),
    cacheBlocks: false,
  } as Scan
}

/** `cellar scan TABLE`: rows in order, as lines. */
export async function scanRows(table: string, words: ScanWords): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    for await (const result of database.table(table).scan(scanOptions(words))) {
      await showResult(output, result)
    }
  })
}

/** `cellar count TABLE`: the number of rows. */
export async function countRows(table: string, words: ScanWords): Promise<void> {
  const output = outputOf(words)
  await looking(words, async (database) => {
    const counted = await count(database, table, words)
    await (output.json ? output.value({ table, rows: counted }) : output.line(String(counted)))
  })
}

async function count(database: Database, table: string, words: ScanWords): Promise<number> {
  const options = scanOptions(words)
  const progress = new Progress('counting')
  let rows = 0
  const scan = { filter: new FirstKeyOnlyFilter(), ...options } as Scan
  for await (const result of database.table(table).scan(scan)) {
    if (!result.partial) rows++
    progress.show(() => `${rows} rows`)
  }
  progress.end()
  return rows
}

async function showResult(output: Output, result: Result): Promise<void> {
  const cells = result.cells()
  if (output.json) {
    await output.value({ row: bytesToJson(result.row!), cells: cells.map(cellToJson) })
    return
  }
  for (const cell of cells) {
    const { row, family, qualifier, type, value, timestampExact } = cell
    const column = `${family}:${shownBytes(qualifier)}`
    const shown = type === 'Put' ? shownBytes(value) : type
    await output.line(`${shownBytes(row)}  ${column}  ${timestampExact}  ${shown}`)
  }
}

function cellToJson({ family, qualifier, timestamp, timestampExact, type, value }: Cell): object {
  return {
    family,
    qualifier: bytesToJson(qualifier),
    timestamp: Number.isSafeInteger(timestamp) ? timestamp : timestampExact.toString(),
    ...(type === 'Put' ? { value: bytesToJson(value) } : { type }),
  }
}
