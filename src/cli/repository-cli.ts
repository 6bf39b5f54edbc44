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
  scanFromJson,
  type Repository,
  type SearchIndex,
  type SearchIndexes,
  type IndexConfiguration,
  type RecordScan,
  type RecordTable,
} from '../systems/repository/index.js'
import { openSearch } from '../entries/repository-search.js'
import { readConfiguration, type CellarConfiguration } from '../server/configuration.js'

/** Options of all verbs. */
interface Common {
  readonly directory: string
  readonly repository: string
  readonly table: string
  readonly configuration?: string
}

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

/** The open repositories of a directory, with the output. */
interface Session {
  readonly database: Database
  readonly configuration: CellarConfiguration
  readonly manager: RepositoryManager
  /** The repository of `--repository`. */
  readonly repository: Repository
  /** The record table of `--table`. */
  readonly table: RecordTable
  readonly output: CommandOutput
  /** Writes a line. */
  readonly say: (text: string) => void
}

/** Runs with the repositories of a directory, which no other process may have open. */
async function opened(
  options: Common,
  output: CommandOutput,
  run: (session: Session) => unknown,
): Promise<void> {
  const file = await readConfiguration(options.configuration)
  const database = await Database.open(options.directory)
  try {
    const configuration = await file.for(database)
    const manager = await RepositoryManager.open(database, configuration.repository)
    const say = (text: string): void => output.write(`${text}\n`)
    try {
      await run({
        ...{ database, configuration, manager, output, say },
        get repository() {
          return manager.repository(options.repository)
        },
        get table() {
          return manager.repository(options.repository).table(options.table)
        },
      })
    } finally {
      await manager.close()
    }
  } finally {
    await database.close()
  }
}

function numberOf(text: string, what: string): number {
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  throw new Error(`${what} must be a whole number, got '${text}'`)
}

/** An option: its flags, its description, and its default. */
type Flag = readonly [flags: string, description: string, missing?: string]

/** Runs a verb with its options, and its arguments in their order. */
type Run<T> = (session: Session, options: T & Common, ...words: string[]) => unknown

/** Adds a verb: its name with its arguments, a description and its options. */
type AddVerb = <T = unknown>(
  usage: string,
  description: string,
  flags: readonly Flag[],
  run: Run<T>,
) => void

const commonFlags: readonly Flag[] = [
  ['-d, --directory <path>', 'directory of the database', 'data/cellar'],
  ['-r, --repository <name>', 'the repository', 'default'],
  ['-t, --table <name>', 'the record table', 'record'],
  ['--configuration <file>', 'module with blob stores, search servers, hooks, times'],
]

/** Adds the command `repository` with its verbs. */
export function addRepositoryCommands(
  cellar: Command,
  output: CommandOutput = processOutput,
): void {
  const repository = cellar
    .command('repository')
    .description('records of a database that is not open elsewhere')
  const add: AddVerb = (usage, description, flags, run) => {
    const command = repository.command(usage).description(description)
    for (const flag of [...commonFlags, ...flags]) command.option(...flag)
    command.action((...given: unknown[]) => {
      // The options and the command follow the arguments.
      const words = given.slice(0, -2) as string[]
      const options = given.at(-2) as Parameters<typeof run>[1]
      return opened(options, output, (session) => run(session, options, ...words))
    })
  }
  addRecordVerbs(add)
  addTableVerbs(add)
  addTools(add)
  addIndexVerbs(add)
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

interface ScanWords {
  readonly count?: boolean
  readonly print?: boolean
  readonly limit?: string
  readonly start?: string
  readonly stop?: string
  readonly recordType?: string
  readonly config?: string
}

function addRecordVerbs(add: AddVerb): void {
  add<ImportWords>(
    'import <file>',
    "make types and records of a JSON file; '-' for the standard input",
    [
      ['-f, --format <name>', "'json', or 'json_lines' for a record a line", 'json'],
      ['-w, --workers <number>', 'records that are written at the same time', '4'],
      ['-s, --schema-only', 'make types only'],
      ['-q, --quiet', 'say errors only'],
      ['--ignore-empty-fields', 'empty texts, lists and records count as absent'],
      ['--ignore-and-delete-empty-fields', 'empty ones remove the field that is stored'],
      ['--max-errors <number>', 'records that fail before the import stops', '1'],
    ],
    runImport,
  )
  add<ScanWords>(
    'scan-records',
    'count records, or print them as JSON, one a line',
    [
      ['-c, --count', 'say how many there are (the default)'],
      ['-p, --print', 'print them'],
      ['-l, --limit <number>', 'most records'],
      ['--start <id>', 'first id'],
      ['--stop <id>', 'where to stop; this id is no longer shown'],
      ['--record-type <name>', '{namespace}local'],
      ['--config <file>', 'a scan as JSON, for filters and fields'],
    ],
    runScan,
  )
}

async function runImport(
  { manager, table, say, output }: Session,
  options: ImportWords,
  file: string,
): Promise<void> {
  const { format, workers, maxErrors, schemaOnly } = options
  if (format !== 'json' && format !== 'json_lines') throw new Error(`no format '${format}'`)
  const source = file === '-' ? process.stdin : createReadStream(file)
  const counts = await importRecords(manager.types, table, source, {
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
  if (options.quiet === true) return
  const { fieldTypes, recordTypes, created, updated, unchanged, failed } = counts
  say(`types: ${fieldTypes} of fields, ${recordTypes} of records`)
  const written = `${created} created, ${updated} updated, ${unchanged} as they were`
  say(`records: ${written}, ${failed} failed`)
}

async function runScan({ manager, table, say }: Session, options: ScanWords): Promise<void> {
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
  for await (const record of table.scan(scan)) {
    count++
    if (options.print !== true) continue
    say(JSON.stringify(recordToJson(record, { schema, names: new NameWriter() })))
  }
  if (options.print !== true || options.count === true) say(`${count} records`)
}

function addTableVerbs(add: AddVerb): void {
  add('list-tables', 'names of the record tables', [], ({ repository, say }) => {
    for (const name of repository.listTables()) say(name)
  })
  add('create-table <name>', 'make a record table', [], ({ repository }, _options, name) => {
    return repository.createTable(name)
  })
  const dropped = 'remove a record table with its records, blobs and links'
  add('drop-table <name>', dropped, [], ({ repository }, _options, name) => {
    return repository.dropTable(name)
  })
  add('list-repositories', 'names of the repositories', [], ({ manager, say }) => {
    for (const name of manager.listRepositories()) say(name)
  })
  add('add-repository <name>', 'make a repository', [], ({ manager }, _options, name) => {
    return manager.createRepository(name)
  })
  const removed = 'remove a repository with its tables'
  add('delete-repository <name>', removed, [], ({ manager }, _options, name) => {
    return manager.deleteRepository(name)
  })
}

interface LinkWords {
  readonly forward?: boolean
  readonly tag: string
  readonly field?: string
}

function addTools(add: AddVerb): void {
  add<{ age: string }>(
    'sweep',
    'remove what nobody needs: uploads without a record, deleted records, drops',
    [['--age <seconds>', 'of uploads that no record has', '3600']],
    async ({ manager, say }, { age }) => {
      const report = await maintain(manager, {
        uploadMillisecondsMax: numberOf(age, 'age') * 1000,
      })
      const { blobsLooked, blobsRemoved, blobsUnreachable } = report
      const unreachable = `${blobsUnreachable} in stores that are not configured`
      say(`blobs: ${blobsRemoved} of ${blobsLooked} removed, ${unreachable}`)
      say(`deleted records: ${report.recordsPurged}; drops finished: ${report.dropsFinished}`)
    },
  )
  add<LinkWords>(
    'query-linkindex <id>',
    'records that lead to a record, or to which it leads',
    [
      ['--forward', 'the records to which it leads'],
      ['--tag <name>', 'version tag', 'last'],
      ['--field <name>', '{namespace}local of the field with the link'],
    ],
    async ({ manager, table, say }, { forward, tag, field }, id) => {
      const following = await manager.followLinks()
      await following.caughtUp()
      const { links } = manager
      const found = await (forward === true
        ? links.linksOf(table, id, { tag, field })
        : links.referrers(table, id, { tag, field }))
      for (const link of found) {
        say(`${link.repository}/${link.table} ${link.id.text} ${link.field}`)
      }
    },
  )
  add<{ html?: boolean }>(
    'visualize-row <id>',
    'the cells of the row of a record',
    [['--html', 'as a page']],
    async ({ table, output }, { html }, id) => {
      const row = await describeRow(table, RecordId.parse(id))
      output.write(html === true ? row.html() : row.text())
    },
  )
}

/** Runs a verb with the indexes of a directory. */
function indexed<T>(
  run: (indexes: SearchIndexes, ...parameters: Parameters<Run<T>>) => unknown,
): Run<T> {
  return async (session, ...rest) => {
    const { manager, database, configuration } = session
    const search = await openSearch(manager, database, configuration)
    try {
      await run(search.indexes, session, ...rest)
    } finally {
      await search.close()
    }
  }
}

/** The configuration of an index in a file: XML, or JSON. */
async function configurationOf(
  file: string,
): Promise<{ readonly xml: string } | { readonly configuration: IndexConfiguration }> {
  const text = await readFile(file, 'utf8')
  if (text.trimStart().startsWith('<')) return { xml: text }
  return { configuration: JSON.parse(text) as IndexConfiguration }
}

/** Says the result of a build, once the build has ended. */
async function sayBuilt({ say }: Session, index: SearchIndex): Promise<void> {
  const report = await index.built()
  say(`${report?.records ?? 0} records indexed, ${report?.failed ?? 0} failed`)
}

function addIndexVerbs(add: AddVerb): void {
  const created = indexed(async (indexes, session, { repository }, name, file) => {
    const given = await configurationOf(file)
    await sayBuilt(session, await indexes.create({ name, repository, build: true, ...given }))
  })
  const make = 'make an index of the records, with a configuration as XML or JSON, and build it'
  add('add-index <name> <file>', make, [], created)
  const updated = indexed(async (indexes, session, _options, name, file) => {
    const given = await configurationOf(file)
    await indexes.update(name, { ...given, build: true, buildArguments: { clear: true } })
    await sayBuilt(session, indexes.index(name))
  })
  const change = 'give an index another configuration, as XML or JSON, and build it again'
  add('update-index <name> <file>', change, [], updated)
  const built = indexed<{ clear?: boolean }>(async (indexes, session, { clear = false }, name) => {
    await indexes.update(name, { build: true, buildArguments: { clear } })
    await sayBuilt(session, indexes.index(name))
  })
  const clear: Flag = ['--clear', 'remove all documents first']
  add('build-index <name>', 'build an index again', [clear], built)
  const deleted = indexed((indexes, _session, _options, name) => indexes.delete(name))
  add('delete-index <name>', 'remove an index with its documents', [], deleted)
  const wait: Flag = ['--wait', 'wait until it has every write']
  const follows = 'how far an index follows, and what it has refused'
  add('index-status <name>', follows, [wait], indexed(sayStatus))
  const retried = indexed(async (indexes, { say }, _options, name) => {
    const { refused, texts, deadLetters } = await retryAll(indexes.index(name))
    say(`now in the index: ${refused} refused documents, ${texts} texts, ${deadLetters} events`)
  })
  const retry = 'try again what an index has refused, and blobs without text'
  add('retry-index <name>', retry, [], retried)
  const listed = indexed(async (indexes, { say }) => {
    for (const { name, repository, incremental, build } of await indexes.list()) {
      // Indexes that do not run are listed too.
      const failure = indexes.failures.get(name)
      const state = failure === undefined ? '' : `, does not run: ${failure.message}`
      say(`${name} of ${repository}: ${incremental}, build ${build}${state}`)
    }
  })
  add('list-indexes', 'names and states of the indexes', [], listed)
}

async function sayStatus(
  indexes: SearchIndexes,
  { say }: Session,
  { wait }: { readonly wait?: boolean },
  name: string,
): Promise<void> {
  const index = indexes.index(name)
  if (wait === true) await index.waitFor()
  const refused = await index.refusedDocuments()
  const { version, lastBuild } = await indexes.get(name)
  const texts = await index.extractionFailures()
  const deadLetters = await index.deadLetters()
  const { lag, failure } = index
  const failures = { failure: failure?.message, refused, texts, deadLetters }
  say(JSON.stringify({ version, lag, ...failures, lastBuild }, undefined, 2))
}
