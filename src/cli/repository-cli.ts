/** `cellar repository`: the command line of the content repository, on a database of its own. */
import { constants, createReadStream } from 'node:fs'
import { access, readFile, stat } from 'node:fs/promises'
import type { Command } from 'commander'
import { invalidArgument } from '../api/index.js'
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
  type ImportOptions,
  type IndexConfiguration,
  type RecordScan,
  type RecordTable,
} from '../systems/repository/index.js'
import { repositoryError } from '../systems/repository/errors.js'
import { importOptions } from '../systems/repository/import/import.js'
import { hasRepository } from '../systems/repository/manager/repository-manager.js'
import {
  checkRepositoryName,
  checkTableName,
} from '../systems/repository/manager/repository-rows.js'
import { openSearch } from '../entries/repository-search.js'
import { readConfiguration, type CellarConfiguration } from '../server/configuration.js'

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

/** The options of a verb by name; a flag without a value is true. */
type Given = Readonly<Record<string, string | true | undefined>>

/** The open repositories of a directory, with the options and the output of a verb. */
interface Session {
  readonly database: Database
  readonly configuration: CellarConfiguration
  readonly manager: RepositoryManager
  readonly repository: Repository
  readonly table: RecordTable
  readonly given: Given
  readonly output: CommandOutput
  readonly say: (text: string) => void
}

/** Runs a verb, with its arguments in their order. */
type Run = (session: Session, ...words: string[]) => unknown

/** Refuses words before a database is opened, or made. */
type Check = (given: Given, ...words: string[]) => unknown

/** Verbs that make a database where there is none; all others need one. */
const creating = new Set(['import', 'create-table', 'add-repository'])

/** Runs with the repositories of a directory, which no other process may have open. */
async function opened(
  verb: string,
  given: Given & { readonly repository: string; readonly table: string },
  output: CommandOutput,
  run: (session: Session) => unknown,
): Promise<void> {
  const file = await readConfiguration(given['configuration'] as string | undefined)
  const createIfMissing = creating.has(verb)
  const database = await Database.open(String(given['directory']), { createIfMissing })
  try {
    if (!createIfMissing && !(await hasRepository(database, 'repository'))) {
      const message = `${database.directory} is a database without a repository`
      throw repositoryError('repositoryNotFound', message)
    }
    const configuration = await file.for(database)
    const manager = await RepositoryManager.open(database, configuration.repository)
    const say = (text: string): void => output.write(`${text}\n`)
    try {
      await run({
        ...{ database, configuration, manager, given, output, say },
        get repository() {
          return manager.repository(given.repository)
        },
        get table() {
          return this.repository.table(given.table)
        },
      })
    } finally {
      await manager.close()
    }
  } finally {
    await database.close()
  }
}

function numberOf(given: Given, name: string): number {
  const text = String(given[name])
  if (/^[0-9]{1,15}$/.test(text)) return Number(text)
  const option = name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
  throw invalidArgument(`${option} must be a whole number, got '${text}'`)
}

/** An option: its flags, its description, and its default. */
type Flag = readonly [flags: string, description: string, missing?: string]

/** Adds a verb: its name with its arguments, a description and its options. */
type AddVerb = (
  usage: string,
  description: string,
  flags: readonly Flag[],
  run: Run,
  check?: Check,
) => void

const commonFlags: readonly Flag[] = [
  ['-d, --directory <path>', 'directory of the database', 'data/cellar'],
  ['-r, --repository <name>', 'the repository', 'default'],
  ['-t, --table <name>', 'the record table', 'record'],
  ['--configuration <file>', 'module with blob stores, search servers, hooks, times'],
]
const importFlags: readonly Flag[] = [
  ['-f, --format <name>', "'json', or 'json_lines' for a record a line", 'json'],
  ['-w, --workers <number>', 'records that are written at the same time', '4'],
  ['-s, --schema-only', 'make types only'],
  ['-q, --quiet', 'say errors only'],
  ['--ignore-empty-fields', 'empty texts, lists and records count as absent'],
  ['--ignore-and-delete-empty-fields', 'empty ones remove the field that is stored'],
  ['--max-errors <number>', 'records that fail before the import stops', '1'],
]
const scanFlags: readonly Flag[] = [
  ['-c, --count', 'say how many there are (the default)'],
  ['-p, --print', 'print them'],
  ['-l, --limit <number>', 'most records'],
  ['--start <id>', 'first id'],
  ['--stop <id>', 'where to stop; this id is no longer shown'],
  ['--record-type <name>', '{namespace}local'],
  ['--config <file>', 'a scan as JSON, for filters and fields'],
]
const linkFlags: readonly Flag[] = [
  ['--forward', 'the records to which it leads'],
  ['--tag <name>', 'version tag', 'last'],
  ['--field <name>', '{namespace}local of the field with the link'],
]

/** Adds the command `repository` with its verbs. */
export function addRepositoryCommands(
  cellar: Command,
  output: CommandOutput = processOutput,
): void {
  const repository = cellar
    .command('repository')
    .description('records of a database that is not open elsewhere')
  const add: AddVerb = (usage, description, flags, run, check) => {
    const command = repository.command(usage).description(description)
    for (const flag of [...commonFlags, ...flags]) command.option(...flag)
    command.action(async (...words: unknown[]) => {
      // The options and the command follow the arguments.
      const given = words.at(-2) as Parameters<typeof opened>[1]
      const [verb] = usage.split(' ')
      const own = words.slice(0, -2) as string[]
      await check?.(given, ...own)
      return opened(verb, given, output, (session) => run(session, ...own))
    })
  }
  const importing = "make types and records of a JSON file; '-' for the standard input"
  add('import <file>', importing, importFlags, runImport, checkImport)
  add('scan-records', 'count records, or print them as JSON, one a line', scanFlags, runScan)
  addTableVerbs(add)
  addTools(add)
  addIndexVerbs(add)
}

function importOptionsOf(given: Given): ImportOptions {
  const { format } = given
  if (format !== 'json' && format !== 'json_lines') throw invalidArgument(`no format '${format}'`)
  return {
    format: format === 'json' ? 'object' : 'lines',
    workers: numberOf(given, 'workers'),
    failuresMax: numberOf(given, 'maxErrors'),
    schemaOnly: given['schemaOnly'] === true,
    ignoreEmptyFields: given['ignoreEmptyFields'] === true,
    ignoreAndDeleteEmptyFields: given['ignoreAndDeleteEmptyFields'] === true,
  }
}

async function checkImport(given: Given, file: string): Promise<void> {
  importOptions.read(importOptionsOf(given))
  if (file === '-') return
  await access(file, constants.R_OK)
  if ((await stat(file)).isDirectory()) throw invalidArgument(`${file} is a directory`)
}

async function runImport(
  { manager, table, given, say, output }: Session,
  file: string,
): Promise<void> {
  const source = file === '-' ? process.stdin : createReadStream(file)
  const counts = await importRecords(manager.types, table, source, {
    ...importOptionsOf(given),
    failed: ({ place, id, code, message }) => {
      output.complain(`${place}: ${id ?? 'a record'}: ${code}: ${message}\n`)
    },
  })
  if (given['quiet'] === true) return
  const { fieldTypes, recordTypes, created, updated, unchanged, failed } = counts
  say(`types: ${fieldTypes} of fields, ${recordTypes} of records`)
  const written = `${created} created, ${updated} updated, ${unchanged} as they were`
  say(`records: ${written}, ${failed} failed`)
}

async function runScan({ manager, table, given, say }: Session): Promise<void> {
  const { start, stop, recordType, limit, config, print, count: counted } = given
  const { schema } = manager.types
  const namespaces = new NameReader()
  const file = config === undefined ? undefined : parseJson(await readFile(String(config)))
  const scan = {
    ...(file === undefined ? {} : scanFromJson(file, { schema, namespaces })),
    ...(start === undefined ? {} : { startId: start }),
    ...(stop === undefined ? {} : { stopId: stop }),
    ...(limit === undefined ? {} : { limit: numberOf(given, 'limit') }),
    ...(recordType === undefined ? {} : { filter: { recordType } }),
  } as RecordScan
  let count = 0
  for await (const record of table.scan(scan)) {
    count++
    if (print !== true) continue
    say(JSON.stringify(recordToJson(record, { schema, names: new NameWriter() })))
  }
  if (print !== true || counted === true) say(`${count} records`)
}

function addTableVerbs(add: AddVerb): void {
  add('list-tables', 'names of the record tables', [], ({ repository, say }) => {
    for (const name of repository.listTables()) say(name)
  })
  const make: Run = ({ repository }, name) => repository.createTable(name)
  const checkTable: Check = (_given, name) => checkTableName(name)
  add('create-table <name>', 'make a record table', [], make, checkTable)
  const dropped = 'remove a record table with its records, blobs and links'
  add('drop-table <name>', dropped, [], ({ repository }, name) => {
    return repository.dropTable(name)
  })
  add('list-repositories', 'names of the repositories', [], ({ manager, say }) => {
    for (const name of manager.listRepositories()) say(name)
  })
  const addition: Run = ({ manager }, name) => manager.createRepository(name)
  const checkRepository: Check = (_given, name) => checkRepositoryName(name)
  add('add-repository <name>', 'make a repository', [], addition, checkRepository)
  const removed = 'remove a repository with its tables'
  add('delete-repository <name>', removed, [], ({ manager }, name) => {
    return manager.deleteRepository(name)
  })
}

function addTools(add: AddVerb): void {
  const age: Flag = ['--age <seconds>', 'of uploads that no record has', '3600']
  const sweep = 'remove what nobody needs: uploads without a record, deleted records, drops'
  add('sweep', sweep, [age], async ({ manager, given, say }) => {
    const uploadMillisecondsMax = numberOf(given, 'age') * 1000
    const report = await maintain(manager, { uploadMillisecondsMax })
    const { blobsExamined, blobsRemoved, blobsUnreachable } = report
    const unreachable = `${blobsUnreachable} in stores that are not configured`
    say(`blobs: ${blobsRemoved} of ${blobsExamined} removed, ${unreachable}`)
    say(`deleted records: ${report.recordsPurged}; drops finished: ${report.dropsFinished}`)
  })
  const query = 'records that lead to a record, or to which it leads'
  add('query-linkindex <id>', query, linkFlags, async ({ manager, table, given, say }, id) => {
    await (await manager.followLinks()).caughtUp()
    const { tag, field, forward } = given as { tag: string; field?: string; forward?: true }
    const direction = forward === true ? 'linksOf' : 'referrers'
    for (const link of await manager.links[direction](table, id, { tag, field })) {
      say(`${link.repository}/${link.table} ${link.id.text} ${link.field}`)
    }
  })
  const html: Flag = ['--html', 'as a page']
  const cells = 'the cells of the row of a record'
  add('visualize-row <id>', cells, [html], async ({ table, given, output }, id) => {
    const row = await describeRow(table, RecordId.parse(id))
    output.write(given['html'] === true ? row.html() : row.text())
  })
}

/** Runs a verb with the indexes of a directory. */
function indexed(run: (indexes: SearchIndexes, ...parameters: Parameters<Run>) => unknown): Run {
  return async (session, ...words) => {
    const { manager, database, configuration } = session
    const search = await openSearch(manager, database, configuration)
    try {
      await run(search.indexes, session, ...words)
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
  try {
    return { configuration: JSON.parse(text) as IndexConfiguration }
  } catch (error) {
    throw invalidArgument(`${file} holds neither XML nor JSON: ${(error as Error).message}`)
  }
}

/** Says the result of a build, once the build has ended. */
async function sayBuilt({ say }: Session, index: SearchIndex): Promise<void> {
  const report = await index.built()
  say(`${report?.records ?? 0} records indexed, ${report?.failed ?? 0} failed`)
}

function addIndexVerbs(add: AddVerb): void {
  const created = indexed(async (indexes, session, name, file) => {
    const repository = String(session.given['repository'])
    const given = await configurationOf(file)
    await sayBuilt(session, await indexes.create({ name, repository, build: true, ...given }))
  })
  const make = 'make an index of the records, with a configuration as XML or JSON, and build it'
  add('add-index <name> <file>', make, [], created)
  const updated = indexed(async (indexes, session, name, file) => {
    const given = await configurationOf(file)
    await indexes.update(name, { ...given, build: true, buildArguments: { clear: true } })
    await sayBuilt(session, indexes.index(name))
  })
  const change = 'give an index another configuration, as XML or JSON, and build it again'
  add('update-index <name> <file>', change, [], updated)
  const built = indexed(async (indexes, session, name) => {
    const clear = session.given['clear'] === true
    await indexes.update(name, { build: true, buildArguments: { clear } })
    await sayBuilt(session, indexes.index(name))
  })
  const clear: Flag = ['--clear', 'remove all documents first']
  add('build-index <name>', 'build an index again', [clear], built)
  const deleted = indexed((indexes, _session, name) => indexes.delete(name))
  add('delete-index <name>', 'remove an index with its documents', [], deleted)
  const wait: Flag = ['--wait', 'wait until it has every write']
  const follows = 'how far an index follows, and what it has refused'
  add('index-status <name>', follows, [wait], indexed(sayStatus))
  const retried = indexed(async (indexes, { say }, name) => {
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
  { say, given }: Session,
  name: string,
): Promise<void> {
  const index = indexes.index(name)
  if (given['wait'] === true) await index.waitFor()
  const refused = await index.refusedDocuments()
  const { version, lastBuild } = await indexes.get(name)
  const texts = await index.extractionFailures()
  const deadLetters = await index.deadLetters()
  const { lag, failure } = index
  const failures = { failure: failure?.message, refused, texts, deadLetters }
  say(JSON.stringify({ version, lag, ...failures, lastBuild }, undefined, 2))
}
