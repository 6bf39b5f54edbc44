/** `cellar move`: tables from a directory to HBase, or from HBase to a directory. */
import { existsSync, readdirSync, statSync } from 'node:fs'
import { CellarError, hasCode, invalidArgument, type Database } from '../../api/index.js'
import {
  connectHBase,
  inspectMove,
  moveDatabase,
  ownDatabase,
  type BulkLoadOptions,
  type MoveInspection,
  type MoveOptions,
  type MoveReport,
  type TableHFiles,
} from '../../entries/hbase.js'
import { openMemoryDatabase } from '../../entries/memory.js'
import { checkMove } from '../../hbase/move/inspect-move.js'
import { isIgnoredName } from '../../storage/version/file-names.js'
import { looking, writing } from './open.js'
import { Output } from './output.js'
import { Progress } from './progress.js'

/** The code of the error that ends the first command; its details are the files to load. */
const loadFirst = 'LOAD_FIRST'

/** Options of `cellar move`. */
export interface MoveWords {
  readonly tables?: readonly string[]
  readonly stateTable?: string
  readonly hfiles?: string
  readonly loaded?: true
  readonly owned?: string
  readonly framed?: true
  readonly tls?: true
  readonly dryRun?: true
  readonly json?: true
}

/**
 * Moves tables, and makes those of the source read-only. A move that was interrupted continues with
 * the same words. With `dryRun` it only says what the move would meet. With `hfiles` the copy goes
 * by files: the first command writes them, the second, with `loaded`, continues.
 */
export async function move(source: string, target: string, words: MoveWords): Promise<void> {
  checkWords([source, target], words)
  const output = new Output(words.json === true)
  const abort = new AbortController()
  const interrupt = (): void => abort.abort()
  const progress = new Progress('moving')
  const options: MoveOptions = {
    ...(words.tables && { tables: words.tables }),
    ...(words.stateTable !== undefined && { stateTable: words.stateTable }),
    ...(words.hfiles !== undefined && { bulkLoad: bulkLoadOf(words.hfiles, words) }),
    signal: abort.signal,
    onProgress: ({ phase, cells }) => progress.show(() => `${phase}, ${cells} cells`),
  }
  try {
    await withPlace(source, words, 'source', async (from) => {
      // A move that is refused makes no database.
      if (words.dryRun !== true && isVacant(target)) {
        await using(await openMemoryDatabase(), (none) => checkMove(from, none, options))
      }
      await withPlace(target, words, 'target', async (to) => {
        if (words.dryRun === true) {
          await tellInspection(output, await inspectMove(from, to, options))
          return
        }
        // Until here an interruption ends the process, also if a gateway never answers.
        process.once('SIGINT', interrupt)
        const report = await moveDatabase(from, to, options)
        progress.end()
        await tellReport(output, source, from, report)
      })
    })
  } catch (error) {
    if (!hasCode(error, loadFirst)) throw error
    progress.end()
    await tellLoads(output, error.details as readonly TableHFiles[])
  } finally {
    process.off('SIGINT', interrupt)
    progress.end()
  }
}

/** Refuses options that would do nothing. `ERR_INVALID_ARGUMENT`. */
function checkWords(places: readonly string[], words: MoveWords): void {
  const { hfiles, loaded, owned, framed, tls } = words
  if (loaded === true && hfiles === undefined) {
    throw invalidArgument('--loaded continues a move with --hfiles: give both')
  }
  if (owned !== undefined && !isAddress(places[0])) {
    throw invalidArgument('--owned names a database in HBase, but the source is a directory')
  }
  if ((framed === true || tls === true) && !places.some(isAddress)) {
    throw invalidArgument('--framed and --tls are of a gateway of HBase: give its address')
  }
}

/** Whether a place is a directory in which an open would make a database. */
function isVacant(place: string): boolean {
  if (isAddress(place)) return false
  if (!existsSync(place)) return true
  return statSync(place).isDirectory() && readdirSync(place).every(isIgnoredName)
}

function isAddress(place: string): boolean {
  return /^[a-z+]+:\/\//.test(place)
}

function bulkLoadOf(directory: string, { loaded }: MoveWords): BulkLoadOptions {
  return {
    directory,
    load: (details) => {
      if (loaded === true) return
      // Ends the first of the two commands of a move by HFiles.
      throw new CellarError(loadFirst, 'the HFiles have to be loaded', { details })
    },
  }
}

async function tellLoads(output: Output, files: readonly TableHFiles[]): Promise<void> {
  if (output.json) return output.value({ load: files })
  await output.line('the copy is written; load it, and then go on with --loaded:')
  for (const { table, directory } of files) {
    await output.line(`hbase completebulkload ${directory} ${table}`)
  }
}

type Run = (database: Database) => Promise<unknown>

/** Runs with the database of a directory, or of an address `hbase://host:port`. */
async function withPlace(
  place: string,
  words: MoveWords,
  role: 'source' | 'target',
  run: Run,
): Promise<void> {
  if (isAddress(place)) {
    await withHBase(place, words, role === 'source' ? words.owned : undefined, run)
    return
  }
  const directory = { directory: place }
  if (words.dryRun !== true) {
    await writing(directory, run, { createIfMissing: role === 'target' })
  } else if (role === 'source' || !isVacant(place)) {
    await looking(directory, run)
  } else {
    // An empty database stands for the directory that the move would make.
    await using(await openMemoryDatabase(), run)
  }
}

async function withHBase(
  address: string,
  { framed, tls, dryRun }: MoveWords,
  owned: string | undefined,
  run: Run,
): Promise<void> {
  const gateway = gatewayOf(address)
  const transport = framed === true ? 'framed' : 'buffered'
  const hbase = await connectHBase({ ...gateway, transport, tls: tls === true })
  await using(hbase, async () => {
    if (owned === undefined || dryRun === true) await run(hbase)
    else await using(await ownDatabase(hbase, { name: owned }), run)
  })
}

async function using<T extends Database>(
  database: T,
  run: (database: T) => Promise<unknown>,
): Promise<void> {
  try {
    await run(database)
  } finally {
    await database.close()
  }
}

/** The parts of `hbase://host:port`. */
function gatewayOf(address: string): { readonly host: string; readonly port?: number } {
  const found = /^hbase:\/\/(\[[0-9a-fA-F:.]+\]|[^\s/:?#@[\]]+)(?::(\d{1,5}))?\/?$/.exec(address)
  if (found === null) {
    throw invalidArgument(`'${address}' is no address such as hbase://gateway.example:9090`)
  }
  const [, host, port] = found
  const bare = host.replace(/^\[|\]$/g, '')
  return port === undefined ? { host: bare } : { host: bare, port: Number(port) }
}

async function tellInspection(output: Output, inspection: MoveInspection): Promise<void> {
  if (inspection.obstacles.length > 0) process.exitCode = 1
  if (output.json) return output.value(inspection)
  const { tables, obstacles, notes } = inspection
  await output.line(`tables: ${tables.join(', ')}`)
  for (const obstacle of obstacles) await output.line(`obstacle: ${obstacle}`)
  for (const note of notes) await output.line(`note: ${note}`)
  await output.line(obstacles.length === 0 ? 'the move can begin' : 'the move would be refused')
}

async function tellReport(
  output: Output,
  source: string,
  from: Database,
  report: MoveReport,
): Promise<void> {
  if (output.json) return output.value(report)
  const { tables, comparedRows, comparedCells, writtenCells, repairedRows } = report
  await output.line(`tables: ${tables.join(', ')}`)
  await output.line(
    writtenCells + comparedRows === 0
      ? 'no cell was left to move'
      : `${writtenCells} cells written, ${repairedRows} rows copied again; ` +
          `${comparedRows} rows with ${comparedCells} cells compared, all equal`,
  )
  // Of a move that had ended before they may be writable again, or gone.
  for (const name of tables) {
    if (!(await from.admin.tableExists(name))) return
    if (!(await from.admin.getDescriptor(name)).readOnly) return
  }
  await output.line(`these tables of ${source} are read-only now`)
}
