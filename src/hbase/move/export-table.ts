/** The HFiles of a table that moves: made once, however often the move is interrupted. */
import type { Database } from '../../api/index.js'
import { NodeFileSystem } from '../../storage/fs/node-fs.js'
import { exportWithId } from '../hfile/export-hfiles.js'
import { ExportDirectory } from '../hfile/file-list.js'
import type { HFileExportOptions } from '../hfile/options.js'

/** Where the files of a move lie. */
export interface MoveFiles {
  readonly directory: string
  /** Of the move and its moment. */
  readonly id: string
  readonly options: HFileExportOptions
}

/** The exported files of one table. */
export interface ExportedTable {
  readonly directory: string
  readonly cells: number
}

/**
 * Exports a table, unless an earlier call with the same id has. `ERR_DIRECTORY_NOT_EMPTY` if the
 * files there have another id.
 */
export async function exportTable(
  source: Database,
  table: string,
  { directory: all, id, options }: MoveFiles,
): Promise<ExportedTable> {
  const fileSystem = new NodeFileSystem()
  // HDFS has no colons in paths, and names of tables no equals signs.
  const directory = fileSystem.join(all, table.replace(':', '='))
  const found = new ExportDirectory(fileSystem, directory).finished(id)
  if (found === undefined) return exportWithId(source, table, directory, id, options)
  return { directory, cells: found.reduce((sum, { cells }) => sum + cells, 0) }
}
