/** The verbs for the database itself, with their options. */
import type { Command } from 'commander'
import { requirePackage } from '../../api/index.js'
import { backup, restore } from './backup.js'
import { compact } from './compact.js'
import { dump, load } from './dump.js'
import { exportFiles, loadFiles } from './hfiles.js'
import { inspect } from './inspect.js'
import {
  countRows,
  describeTable,
  getRow,
  scanRows,
  showStatistics,
  showTables,
} from './looking.js'
import { showMetrics } from './metrics.js'
import { move } from './move.js'
import { repair, salvage } from './salvage.js'
import { verify } from './verify.js'

/** Adds a verb of one directory. */
function verb(program: Command, name: string, description: string): Command {
  return program
    .command(name)
    .description(description)
    .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
    .option('--json', 'results as JSON')
}

/** Adds the options of a server that answers in place of a directory. */
function remote(command: Command): Command {
  return command
    .option('--url <address>', 'a server that has it open, such as http://127.0.0.1:11015')
    .option('--token-file <file>', 'token of the server; else of the variable CELLAR_TOKEN')
}

function reading(command: Command): Command {
  return command
    .option('--versions <number>', "versions of each column, or 'all'")
    .option('--time-range <min:max>', 'only cells of this time, in milliseconds')
    .option('--filter <text>', "a filter in HBase's language, such as \"PrefixFilter('a')\"")
}

function scanning(command: Command): Command {
  return reading(command)
    .option('--from <row>', 'first row; \\xNN stands for a byte')
    .option('--to <row>', 'row before which the rows end')
    .option('--prefix <row>', 'only rows that begin so')
    .option('-n, --limit <number>', 'most rows')
    .option('--columns <names...>', 'families and columns')
    .option('--reversed', 'the last row first')
    .option('--raw', 'delete markers and masked cells too')
}

function addLooking(program: Command): void {
  const looking = (name: string, text: string): Command => remote(verb(program, name, text))
  looking('tables', 'tables and snapshots with their sizes').action(showTables)
  looking('describe', 'options of a table and its families')
    .argument('<table>')
    .action(describeTable)
  looking('stats', 'figures of the database, or of one table')
    .argument('[table]')
    .action(showStatistics)
  reading(looking('get', 'the cells of one row'))
    .argument('<table>')
    .argument('<row>', 'text, in which \\xNN stands for a byte, or base64:…')
    .argument('[columns...]', 'families and columns, such as f or f:name')
    .action(getRow)
  scanning(looking('scan', 'rows in order')).argument('<table>').action(scanRows)
  scanning(looking('count', 'number of rows')).argument('<table>').action(countRows)
  looking('metrics', 'figures for Prometheus').action(showMetrics)
}

function addChecking(program: Command): void {
  remote(verb(program, 'inspect', 'manifest, log and files by level, or the blocks of one file'))
    .argument('[directory]', 'directory of the database; default: that of -d')
    .option('--file <number>', 'an SSTable whose blocks are shown')
    .action(inspect)
  remote(verb(program, 'verify', 'read everything and list what is wrong'))
    .option('--backup <path>', 'a backup that is verified too, and compared')
    .option('--bytes-per-second <number>', 'most bytes to read per second')
    .action(verify)
  saving(verb(program, 'salvage', 'save what can be read into a new directory'))
    .argument('<new directory>')
    .action(salvage)
  saving(verb(program, 'repair', 'tell what a repair would do, and do it if asked'))
    .option('--apply', 'change the directory')
    .action(repair)
}

function saving(command: Command): Command {
  const { Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  return command
    .option('--backup <path>', 'a backup whose files take the place of damaged ones')
    .addOption(
      new Option('--log <part>', 'what is saved of a damaged log')
        .choices(['all', 'prefix'])
        .default('all'),
    )
    .option('--bytes-per-second <number>', 'most bytes to read per second')
}

function formatted(command: Command): Command {
  const { Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const formats = new Option('--format <name>', 'form of the text').choices(['json', 'csv'])
  return command.addOption(formats.default('json'))
}

function addTransfer(program: Command): void {
  formatted(verb(program, 'dump', 'all versions of the cells of a table as lines of text'))
    .argument('<table>')
    .option('-o, --output <file>', 'a new file, in place of the standard output')
    .option('--raw', 'delete markers and masked cells too')
    .option('--from <row>', 'first row')
    .option('--to <row>', 'row before which the rows end')
    .action(dump)
  formatted(verb(program, 'load', 'put the cells of a dump into a table'))
    .argument('<file>', "a dump, or '-' for the standard input")
    .option('--table <name>', 'the table; default: the one of the dump, created if absent')
    .action(load)
  const { Option } = requirePackage<typeof import('commander')>('commander', "'cellar'")
  const compressions = new Option('--compression <name>', 'compression of the blocks')
  verb(program, 'export-hfiles', "write a table as files for HBase's completebulkload")
    .argument('<table>')
    .argument('<new directory>')
    .option('--split-keys <rows...>', 'rows at which new files begin')
    .addOption(compressions.choices(['NONE', 'GZ', 'LZ4']).default('NONE'))
    .action(exportFiles)
  verb(program, 'load-hfiles', 'add the cells of HFiles of HBase to a table')
    .argument('<table>', 'the table, created if absent')
    .argument('<directories...>', 'copied regions, or directories of bulk loads')
    .action(loadFiles)
  program
    .command('move')
    .description('move tables to HBase or back, compare them, and make the source read-only')
    .argument('<source>', 'a directory, or hbase://host:port')
    .argument('<target>', 'a directory, or hbase://host:port')
    .option('--tables <names...>', 'only these tables')
    .option('--dry-run', 'say what stands in the way and what stays behind; write nothing')
    .option('--owned <name>', 'take over the owned database of this name in the source')
    .option('--state-table <name>', "table of the move's state; default: cellar_move")
    .option('--hfiles <directory>', "copy by files for HBase's completebulkload")
    .option('--loaded', 'the files of --hfiles are loaded: go on')
    .option('--framed', 'the gateway was started with -f')
    .option('--tls', 'the gateway has TLS')
    .option('--json', 'results as JSON')
    .action(move)
}

function addUpkeep(program: Command): void {
  remote(verb(program, 'backup', 'back up a database that no process has open, or of a server'))
    .argument('<target>', 'directory, or with --url a name; with --keep, a folder of backups')
    .option('--keep <number>', 'make a backup named by its time, and keep so many')
    .option('--verify', 'read the whole backup afterwards')
    .action(backup)
  verb(program, 'restore', 'restore a backup into a new directory')
    .argument('<backup>', 'a backup, or a folder of backups, of which the newest is taken')
    .action(restore)
  remote(verb(program, 'compact', 'merge the files of a table, or of all'))
    .argument('[table]')
    .option('--family <name>', 'only this family')
    .option('--minor', 'only what the policy of the family would merge')
    .action(compact)
}

/** Adds all verbs of the database to the program. */
export function addDatabaseCommands(program: Command): void {
  addLooking(program)
  addChecking(program)
  addTransfer(program)
  addUpkeep(program)
}
