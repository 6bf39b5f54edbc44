/** What the store looks like: files, bytes, memory, caches, and what the writes have cost. */
import { readdirSync, statSync } from 'node:fs'
import { extname, join } from 'node:path'
import type { Database } from '../../src/entries/index.js'
import { formatBytes, formatCount, type Reporter, type TableRow } from './report.js'

/** Prints the tables and the memory of an open database. */
export function reportStore(database: Database, reporter: Reporter): void {
  const statistics = database.statistics()
  const rows: TableRow[] = []
  for (const [name, table] of Object.entries(statistics.tables)) {
    for (const [family, figures] of Object.entries(table.families)) {
      rows.push([
        `${name}:${family}`,
        figures.files,
        formatBytes(figures.fileBytes),
        figures.entries,
        figures.memtableEntries,
        formatBytes(figures.memtableBytes),
      ])
    }
  }
  reporter.table(['family', 'files', 'on disk', 'cells', 'in memtables', 'memory'], rows)
  reporter.line(
    `SSTables: ${statistics.tableFiles} with ${formatBytes(statistics.tableFileBytes)}; ` +
      `log: ${statistics.logSegments} segments with ${formatBytes(statistics.logBytes)}; ` +
      `memtables: ${formatBytes(statistics.memtableBytes)}; ` +
      `indexes and filters: ${formatBytes(statistics.pinnedBytes)}`,
  )
}

/** Prints what has been written since the database was opened. */
export function reportWrites(database: Database, reporter: Reporter): void {
  const statistics = database.statistics()
  reporter.line(
    `written: ${formatBytes(statistics.userBytes)} of cells, ` +
      `write amplification ${statistics.writeAmplification.toFixed(2)}; ` +
      `${statistics.flushes} flushes with ${formatCount(statistics.flushedEntries)} cells and ` +
      `${formatBytes(statistics.flushedBytes)}, ` +
      `${formatCount(statistics.droppedEntries)} cells dropped; ${statistics.stalls} stalls; ` +
      `jobs: ${statistics.executor}, LZ4: ${statistics.lz4}`,
  )
}

/** Prints how the reads since the database was opened were served. */
export function reportReads(database: Database, reporter: Reporter): void {
  const { blockCache, blocksRead, blockBytesRead, ...statistics } = database.statistics()
  const lookups = blockCache.hits + blockCache.misses
  const share = lookups === 0 ? 0 : (100 * blockCache.hits) / lookups
  reporter.line(
    `block cache: ${formatCount(blockCache.hits)} hits of ${formatCount(lookups)} ` +
      `(${share.toFixed(1)} %), ${formatBytes(blockCache.bytesUsed)} of ` +
      `${formatBytes(blockCache.bytesMax)} used; ` +
      `${formatCount(blocksRead)} blocks with ${formatBytes(blockBytesRead)} read from disk; ` +
      `filters: ${formatCount(statistics.filterNegatives)} of ` +
      `${formatCount(statistics.filterChecks)} questions answered with no`,
  )
}

/** Prints the files of a directory by kind. */
export function reportFiles(directory: string, reporter: Reporter): void {
  const kinds = new Map<string, { count: number; bytes: number }>()
  for (const name of readdirSync(directory)) {
    const { size } = statSync(join(directory, name))
    const key = extname(name) === '' ? name.replace(/[-\d]+$/, '') : extname(name)
    const kind = kinds.get(key) ?? { count: 0, bytes: 0 }
    kind.count++
    kind.bytes += size
    kinds.set(key, kind)
  }
  const rows = [...kinds].sort().map(([key, { count, bytes }]) => [key, count, formatBytes(bytes)])
  const bytes = [...kinds.values()].reduce((sum, kind) => sum + kind.bytes, 0)
  reporter.table(['kind', 'files', 'bytes'], rows)
  reporter.line(`${formatBytes(bytes)} in ${directory}`)
}
