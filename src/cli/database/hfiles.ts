/** `cellar export-hfiles` and `cellar load-hfiles`: tables to files of HBase, and back. */
import { exportHFiles, loadHFiles } from '../../entries/hbase.js'
import { parseBinary } from '../../server/database/json.js'
import { looking, writing, type DirectoryWords } from './open.js'
import { Output } from './output.js'
import { Progress } from './progress.js'

/** Options of `cellar export-hfiles`. */
export interface ExportWords extends DirectoryWords {
  readonly splitKeys?: readonly string[]
  readonly compression: 'NONE' | 'GZ' | 'LZ4'
}

/** Writes a table as HFiles; also while another process has the database open. */
export async function exportFiles(
  table: string,
  target: string,
  { splitKeys = [], compression, ...words }: ExportWords,
): Promise<void> {
  const progress = new Progress('exporting')
  const exported = await looking(words, (database) => {
    return exportHFiles(database, table, target, {
      splitKeys: splitKeys.map(parseBinary),
      compression,
      onProgress: ({ cells }) => progress.show(() => `${cells} cells`),
    })
  }).finally(() => progress.end())
  const output = new Output(words.json === true)
  if (output.json) return output.value(exported)
  const { files, cells, directory } = exported
  await output.line(`${cells} cells in ${files.length} files`)
  await output.line(`hbase completebulkload ${directory} ${table}`)
}

/** Adds the cells of HFiles to a table: all of them, or none. */
export async function loadFiles(
  table: string,
  directories: readonly string[],
  words: DirectoryWords,
): Promise<void> {
  const progress = new Progress('loading')
  const loaded = await writing(words, (database) => {
    return loadHFiles(database, table, directories, {
      onProgress: ({ cells }) => progress.show(() => `${cells} cells`),
    })
  }).finally(() => progress.end())
  const output = new Output(words.json === true)
  if (output.json) return output.value(loaded)
  const { cells, rows, files } = loaded
  await output.line(`${cells} cells of ${rows} rows from ${files} files in ${loaded.table}`)
}
