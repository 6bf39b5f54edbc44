/** `cellar repository`: the command line of the content repository, on a database of its own. */
import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { Database } from '../entries/index.js'
import {
  describeRow,
  importRecords,
  maintain,
  NameReader,
  NameWriter,
  parseJson,
  recordToJson,
  RecordId,
  RepositoryManager,
  retryAll,
  rowHtml,
  rowText,
  scanFromJson,
  type SearchIndexes,
  type BuildReport,
  type ImportCounts,
  type IndexConfiguration,
  type RecordScan,
  type RecordTable,
} from '../systems/repository/index.js'
import { openSearch } from '../entries/repository-search.js'
import { ConfigurationFile, type CellarConfiguration } from '../server/configuration.js'

/** Options of all verbs. */
interface Common {
  readonly directory: string
  readonly repository: string
  readonly table: string
  readonly configuration?: string
}

type Verb<T> = (
  manager: RepositoryManager,
  options: T & Common,
  database: Database,
  configuration: CellarConfiguration,
) => Promise<void>

/** Output of the verbs. */
export interface CommandOutput {
  /** Takes results. */
  readonly write: (text: string) => void
  /** Takes errors that do not end the verb; the process then exits with a failure. */
  readonly complain: (text: string) => void
}

const processOutput: CommandOutput = {
  write: (text) => void process.stdout.write(text),
  complain: (text) => {
    process.stderr.write(text)
    process.exitCode = 1
  },
}

/** Runs a verb with the repositories of a directory, which no other process may have open. */
async function opened<T>(options: T & Common, verb: Verb<T>): Promise<void> {
  const file = await ConfigurationFile.read(options.configuration)
  const database = await Database.open(options.directory)
  try {
    const configuration = await file.for(database)
    const manager = await RepositoryManager.open(database, configuration.repository)
    try {
      await verb(manager, options, database, configuration)
    } finally {
      await manager.close()
    }
  } finally {
    await database.close()
  }
}

function tableOf(manager: RepositoryManager, { repository, table }: Common): RecordTable {
  return manager.repository(repository).table(table)
}

function numberOf(text: string, what: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new Error(`${what} must be a whole number, got '${text}'`)
}

/** Adds the command `repository` with its verbs. */
export function addRepositoryCommands(
  cellar: Command,
  output: CommandOutput = processOutput,
): void {
  const repository = cellar
    .command('repository')
    .description('records of a database that is not open elsewhere')
  const verb = (usage: string, description: string): Command => {
    return repository
      .command(usage)
      .description(description)
      .option('-d, --directory <path>', 'directory of the database', 'data/cellar')
      .option('-r, --repository <name>', 'the repository', 'default')
      .option('-t, --table <name>', 'the record table', 'record')
      .option('--configuration <file>', 'module with blob stores, search servers, hooks, times')
  }
  const say = (text: string): void => output.write(`${text}\n`)
  const verbs: Verbs = { verb, say, output }
  addImport(verbs)
  addScan(verbs)
  addTables(verbs)
  addSweep(verbs)
  addTools(verbs)
  addIndexes(verbs)
  addIndexList(verbs)
}

/** Shared parts of all verbs. */
interface Verbs {
  readonly verb: (usage: string, description: string) => Command
  /** Writes a line. */
  readonly say: (text: string) => void
  readonly output: CommandOutput
}

interface ImportWords {
  readonly format: string
  readonly workers: string
  readonly schemaOnly?: boolean
  readonly quiet?: boolean
  readonly ignoreEmptyFields?: boolean
  readonly ignoreAndDeleteEmptyFields?: boolean
  readonly maxErrors: string
}

function addImport({ verb, say, output }: Verbs): void {
  verb('import', 'make types and records of a JSON file')
    .argument('<file>', "JSON; '-' for the standard input")
    .option('-f, --format <name>', "'json', or 'json_lines' for a record a line", 'json')
    .option('-w, --workers <number>', 'records that are written at the same time', '4')
    .option('-s, --schema-only', 'make types only')
    .option('-q, --quiet', 'say errors only')
    .option('--ignore-empty-fields', 'empty texts, lists and records count as absent')
    .option('--ignore-and-delete-empty-fields', 'empty ones remove the field that is stored')
    .option('--max-errors <number>', 'records that fail before the import stops', '1')
    .action((file: string, options: ImportWords & Common) => {
      return opened(options, async (manager) => {
        const counts = await runImport(manager, file, options, output)
        if (options.quiet === true) return
        const { fieldTypes, recordTypes, created, updated, unchanged, failed } = counts
        say(`types: ${fieldTypes} of fields, ${recordTypes} of records`)
        const written = `${created} created, ${updated} updated, ${unchanged} as they were`
        say(`records: ${written}, ${failed} failed`)
      })
    })
}

async function runImport(
  manager: RepositoryManager,
  file: string,
  options: ImportWords & Common,
  output: CommandOutput,
): Promise<ImportCounts> {
  const { format, workers, maxErrors, schemaOnly } = options
  if (format !== 'json' && format !== 'json_lines') throw new Error(`no format '${format}'`)
  const source = file === '-' ? process.stdin : createReadStream(file)
  const counts = await importRecords(manager.types, tableOf(manager, options), source, {
    format: format === 'json' ? 'object' : 'lines',
    workers: numberOf(workers, 'workers'),
    failuresMax: numberOf(maxErrors, 'max-errors'),
    schemaOnly,
    ignoreEmptyFields: options.ignoreEmptyFields,
    ignoreAndDeleteEmptyFields: options.ignoreAndDeleteEmptyFields,
    failed: ({ place, id, code, message }) => {
      output.complain(`${place}: ${id ?? 'a record'}: ${code}: ${message}\n`)
    },
  })
  return counts
}

interface ScanWords {
  readonly count?: boolean
  readonly print?: boolean
  readonly limit?: string
  readonly start?: string
  readonly stop?: string
  readonly recordType?: string
  readonly config?: string
}

function addScan({ verb, say }: Verbs): void {
  verb('scan-records', 'count records, or print them as JSON, one a line')
    .option('-c, --count', 'say how many there are (the default)')
    .option('-p, --print', 'print them')
    .option('-l, --limit <number>', 'most records')
    .option('--start <id>', 'first id')
    .option('--stop <id>', 'where to stop; this id is no longer shown')
    .option('--record-type <name>', '{namespace}local')
    .option('--config <file>', 'a scan as JSON, for filters and fields')
    .action((options: ScanWords & Common) => {
      return opened(options, (manager) => runScan(manager, options, say))
    })
}

async function runScan(
  manager: RepositoryManager,
  options: ScanWords & Common,
  say: Verbs['say'],
): Promise<void> {
  const { start, stop, recordType, limit, config } = options
  const { schema } = manager.types
  const namespaces = new NameReader()
  const given: RecordScan =
    config === undefined
      ? {}
      : scanFromJson(parseJson(await readFile(config)), { schema, namespaces })
  const scan: RecordScan = {
    ...given,
    ...(start === undefined ? {} : { startId: start }),
    ...(stop === undefined ? {} : { stopId: stop }),
    ...(limit === undefined ? {} : { limit: numberOf(limit, 'limit') }),
    ...(recordType === undefined ? {} : { filter: { recordType } }),
  }
  let count = 0
  for await (const record of tableOf(manager, options).scan(scan)) {
    count++
    if (options.print !== true) continue
    say(JSON.stringify(recordToJson(record, { schema, names: new NameWriter() })))
  }
  if (options.print !== true || options.count === true) say(`${count} records`)
}

function addTables({ verb, say }: Verbs): void {
  verb('list-tables', 'names of the record tables').action((options: Common) => {
    return opened(options, async (manager) => {
      for (const name of manager.repository(options.repository).listTables()) say(name)
    })
  })
  verb('create-table', 'make a record table')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return opened(options, async (manager) => {
        await manager.repository(options.repository).createTable(name)
      })
    })
  verb('drop-table', 'remove a record table with its records, blobs and links')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return opened(options, (manager) => manager.repository(options.repository).dropTable(name))
    })
  verb('list-repositories', 'names of the repositories').action((options: Common) => {
    return opened(options, async (manager) => {
      for (const name of manager.listRepositories()) say(name)
    })
  })
  verb('add-repository', 'make a repository')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return opened(options, async (manager) => {
        await manager.createRepository(name)
      })
    })
  verb('delete-repository', 'remove a repository with its tables')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return opened(options, (manager) => manager.deleteRepository(name))
    })
}

function addSweep({ verb, say }: Verbs): void {
  verb('sweep', 'remove what nobody needs: uploads without a record, deleted records, drops')
    .option('--age <seconds>', 'of uploads that no record has', '3600')
    .action((options: { age: string } & Common) => {
      return opened(options, async (manager) => {
        const uploadMillisecondsMax = numberOf(options.age, 'age') * 1000
        const report = await maintain(manager, { uploadMillisecondsMax })
        const { blobsLooked, blobsRemoved, blobsUnreachable } = report
        const unreachable = `${blobsUnreachable} in stores that are not configured`
        say(`blobs: ${blobsRemoved} of ${blobsLooked} removed, ${unreachable}`)
        say(`deleted records: ${report.recordsPurged}; drops finished: ${report.dropsFinished}`)
      })
    })
}

function addTools({ verb, say, output }: Verbs): void {
  verb('query-linkindex', 'records that lead to a record, or to which it leads')
    .argument('<id>', 'the id of a record')
    .option('--forward', 'the records to which it leads')
    .option('--tag <name>', 'version tag', 'last')
    .option('--field <name>', '{namespace}local of the field with the link')
    .action((id: string, options: LinkWords & Common) => {
      return opened(options, (manager) => runLinks(manager, id, options, say))
    })
  verb('visualize-row', 'the cells of the row of a record')
    .argument('<id>', 'the id of a record')
    .option('--html', 'as a page')
    .action((id: string, options: { html?: boolean } & Common) => {
      return opened(options, async (manager) => {
        const row = await describeRow(tableOf(manager, options), RecordId.parse(id))
        output.write(options.html === true ? rowHtml(row) : rowText(row))
      })
    })
}

interface LinkWords {
  readonly forward?: boolean
  readonly tag: string
  readonly field?: string
}

async function runLinks(
  manager: RepositoryManager,
  id: string,
  options: LinkWords & Common,
  say: Verbs['say'],
): Promise<void> {
  const { forward, tag, field } = options
  const following = await manager.followLinks()
  await following.caughtUp()
  const table = tableOf(manager, options)
  const query = { tag, field }
  const found = await (forward === true
    ? manager.links.linksOf(table, id, query)
    : manager.links.referrers(table, id, query))
  for (const link of found) {
    say(`${link.repository}/${link.table} ${link.id.text} ${link.field}`)
  }
}

/** Runs a verb with the indexes of a directory. */
function indexed<T>(
  options: T & Common,
  verb: (indexes: SearchIndexes) => Promise<void>,
): Promise<void> {
  return opened(options, async (manager, _options, database, configuration) => {
    const search = await openSearch(manager, database, configuration)
    try {
      await verb(search.indexes)
    } finally {
      await search.close()
    }
  })
}

/** The configuration of an index in a file: XML, or JSON. */
async function configurationOf(
  file: string,
): Promise<{ readonly xml: string } | { readonly configuration: IndexConfiguration }> {
  const text = await readFile(file, 'utf8')
  if (text.trimStart().startsWith('<')) return { xml: text }
  return { configuration: JSON.parse(text) as IndexConfiguration }
}

function addIndexes({ verb, say }: Verbs): void {
  verb('add-index', 'make an index of the records, and build it')
    .argument('<name>')
    .argument('<file>', 'its configuration as XML or JSON')
    .action((name: string, file: string, options: Common) => {
      return indexed(options, async (indexes) => {
        const { repository } = options
        const given = await configurationOf(file)
        const index = await indexes.create({ name, repository, build: true, ...given })
        say(builtText(await index.built()))
      })
    })
  verb('update-index', 'give an index another configuration, and build it again')
    .argument('<name>')
    .argument('<file>', 'its configuration as XML or JSON')
    .action((name: string, file: string, options: Common) => {
      return indexed(options, async (indexes) => {
        const given = await configurationOf(file)
        await indexes.update(name, { ...given, build: true, buildArguments: { clear: true } })
        say(builtText(await indexes.index(name).built()))
      })
    })
  verb('build-index', 'build an index again')
    .argument('<name>')
    .option('--clear', 'remove all documents first')
    .action((name: string, options: { clear?: boolean } & Common) => {
      return indexed(options, async (indexes) => {
        const buildArguments = { clear: options.clear ?? false }
        await indexes.update(name, { build: true, buildArguments })
        say(builtText(await indexes.index(name).built()))
      })
    })
  verb('delete-index', 'remove an index with its documents')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return indexed(options, (indexes) => indexes.delete(name))
    })
  verb('index-status', 'how far an index follows, and what it has refused')
    .argument('<name>')
    .option('--wait', 'wait until it has every write')
    .action((name: string, options: { wait?: boolean } & Common) => {
      return indexed(options, async (indexes) => {
        const index = indexes.index(name)
        if (options.wait === true) await index.waitFor()
        const refused = await index.refusedDocuments()
        const { version, lastBuild } = await indexes.get(name)
        const texts = await index.extractionFailures()
        const deadLetters = await index.deadLetters()
        const { lag, failure } = index
        const failures = { failure: failure?.message, refused, texts, deadLetters }
        say(JSON.stringify({ version, lag, ...failures, lastBuild }, undefined, 2))
      })
    })
  verb('retry-index', 'try again what an index has refused, and blobs without text')
    .argument('<name>')
    .action((name: string, options: Common) => {
      return indexed(options, async (indexes) => {
        const { refused, texts, deadLetters } = await retryAll(indexes.index(name))
        say(`now in the index: ${refused} refused documents, ${texts} texts, ${deadLetters} events`)
      })
    })
}

/** Lists the indexes, including those that do not run. */
function addIndexList({ verb, say }: Verbs): void {
  verb('list-indexes', 'names and states of the indexes').action((options: Common) => {
    return indexed(options, async (indexes) => {
      for (const { name, repository, incremental, build } of await indexes.list()) {
        const failure = indexes.failures.get(name)
        const state = failure === undefined ? '' : `, does not run: ${failure.message}`
        say(`${name} of ${repository}: ${incremental}, build ${build}${state}`)
      }
    })
  })
}

function builtText(report: BuildReport | undefined): string {
  return `${report?.records ?? 0} records indexed, ${report?.failed ?? 0} failed`
}
