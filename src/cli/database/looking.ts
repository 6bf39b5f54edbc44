/** The verbs that look at tables and rows: tables, describe, stats, get, scan, count. */
import { shownBytes } from '../../api/results/display.js'
import { RemoteDatabase } from '../../server/database/client.js'
import { bytesFromJson, type JsonBytes } from '../../server/database/json.js'
import {
  viewOf,
  type DatabaseView,
  type JsonRow,
  type ReadWords,
  type ScanWords,
} from '../../server/database/views.js'
import { tokenOf } from '../messaging-cli.js'
import { looking, type DirectoryWords } from './open.js'
import { Output, shownSize } from './output.js'
import { Progress } from './progress.js'

/** Options of the verbs that look: a directory, or a server that has it open. */
export interface LookingWords extends DirectoryWords {
  readonly url?: string
  readonly tokenFile?: string
}

/** Runs with a view of a directory, or of the database of a server. */
async function viewing<T>(
  words: LookingWords,
  run: (view: DatabaseView) => Promise<T>,
  onRow?: (rows: number) => void,
): Promise<T> {
  if (words.url !== undefined) return run(new RemoteDatabase(words.url, await tokenOf(words)))
  return looking(words, (database) => run(viewOf(database, onRow)))
}

function outputOf({ json }: DirectoryWords): Output {
  return new Output(json === true)
}

/** `cellar tables`: names, families and sizes of all tables, and the snapshots. */
export async function showTables(words: LookingWords): Promise<void> {
  const output = outputOf(words)
  await viewing(words, async (view) => {
    const { tables: rows, snapshots } = await view.tables()
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
export async function describeTable(table: string, words: LookingWords): Promise<void> {
  const output = outputOf(words)
  await viewing(words, async (view) => {
    const { name, families, coprocessors, ...settings } = await view.describe(table)
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
  words: LookingWords,
): Promise<void> {
  const output = outputOf(words)
  await viewing(words, async (view) => {
    const statistics = await view.statistics()
    const tables = await tablesNamed(view, table)
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

/** The table of that name, or all. `ERR_TABLE_NOT_FOUND`. */
async function tablesNamed(view: DatabaseView, table: string | undefined): Promise<string[]> {
  if (table !== undefined) return [(await view.describe(table)).name]
  return (await view.tables()).tables.map((each) => each.table)
}

/** `cellar get TABLE ROW [COLUMN...]`: the cells of one row. */
export async function getRow(
  table: string,
  row: string,
  columns: readonly string[],
  words: LookingWords & ReadWords,
): Promise<void> {
  const output = outputOf(words)
  const { versions, timeRange, filter } = words
  const options = definedOf({ columns, versions, timeRange, filter })
  await viewing(words, async (view) => {
    const found = await view.row(table, row, options)
    if (found !== undefined) await showRow(output, found)
    else if (output.json) await output.value(null)
    else output.note(`no row ${row} in ${table}`)
  })
}

function scanWordsOf(words: ScanWords): ScanWords {
  const { columns, versions, timeRange, filter, from, to, prefix, limit, reversed, raw } = words
  const options = { columns, versions, timeRange, filter, from, to, prefix, limit, reversed, raw }
  return definedOf(options)
}

/** Without the members that are undefined. */
function definedOf<T extends object>(words: T): { [Name in keyof T]: Exclude<T[Name], undefined> } {
  const pairs = Object.entries(words).filter(([, value]) => value !== undefined)
  return Object.fromEntries(pairs) as { [Name in keyof T]: Exclude<T[Name], undefined> }
}

/** `cellar scan TABLE`: rows in order, as lines. */
export async function scanRows(table: string, words: LookingWords & ScanWords): Promise<void> {
  const output = outputOf(words)
  await viewing(words, async (view) => {
    for await (const row of view.rows(table, scanWordsOf(words))) await showRow(output, row)
  })
}

/** `cellar count TABLE`: the number of rows. */
export async function countRows(table: string, words: LookingWords & ScanWords): Promise<void> {
  const output = outputOf(words)
  const progress = new Progress('counting')
  const onRow = (rows: number): void => progress.show(() => `${rows} rows`)
  const count = (view: DatabaseView): Promise<number> => view.count(table, scanWordsOf(words))
  const rows = await viewing(words, count, onRow).finally(() => progress.end())
  await (output.json ? output.value({ table, rows }) : output.line(String(rows)))
}

async function showRow(output: Output, found: JsonRow): Promise<void> {
  if (output.json) {
    await output.value(found)
    return
  }
  const shown = (bytes: JsonBytes): string => shownBytes(bytesFromJson(bytes, 'a part of a row'))
  for (const { family, qualifier, timestamp, value, type } of found.cells) {
    const column = `${family}:${shown(qualifier)}`
    const content = value === undefined ? type : shown(value)
    await output.line(`${shown(found.row)}  ${column}  ${timestamp}  ${content}`)
  }
}
