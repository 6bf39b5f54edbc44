/** Routes of indexes: definitions, builds, and searches. */
import type { FastifyReply } from 'fastify'
import {
  booleanOf,
  countOf,
  objectOf,
  optional,
  plainJson,
  RecordId,
  recordToJson,
  RepositoryError,
  RepositoryErrorCode,
  reservedFields,
  retryAll,
  textOf,
  type BuildArguments,
  type IncrementalState,
  type IndexConfiguration,
  type IndexDefinition,
  type Json,
  type SearchIndexes,
  type SearchSort,
} from '../repository/index.js'
import { forbidden, TableAccess } from './access.js'
import { SearchAccess } from './search-access.js'
import { invalidArgument } from './http-errors.js'
import type { Call } from './repository-call.js'

/** Where the indexes come from; undefined while another process leads. */
export type IndexesSource = SearchIndexes | (() => SearchIndexes | undefined) | undefined

/** The indexes. `ERR_INDEX_NOT_FOUND` without any, `ERR_REPOSITORY_CLOSED` while there are none. */
function indexesOf(source: IndexesSource): SearchIndexes {
  if (source === undefined) {
    throw new RepositoryError(RepositoryErrorCode.indexNotFound, 'the server has no indexes')
  }
  const indexes = typeof source === 'function' ? source() : source
  if (indexes !== undefined) return indexes
  throw new RepositoryError(RepositoryErrorCode.closed, 'another process serves the indexes')
}

const hitsMax = 1000
const failuresMax = 10_000
const definitionNames = [
  'name',
  'repository',
  'configuration',
  'xml',
  'incremental',
  'build',
  'version',
  'buildArguments',
]

/** Handlers of one server. */
export class IndexHandlers {
  readonly #source: IndexesSource

  constructor(source: IndexesSource) {
    this.#source = source
  }

  /** GET of the names and states of all indexes. */
  async list(call: Call): Promise<unknown> {
    const definitions = await indexesOf(this.#source).list()
    const results = definitions.filter(({ name }) => maySearch(call, name)).map(shortForm)
    return { results }
  }

  /**
   * GET of one index: its definition, how far it follows, and its build. Who is no administrator
   * learns neither its fields nor counts.
   */
  async read(call: Call): Promise<unknown> {
    const name = searchable(call)
    const indexes = indexesOf(this.#source)
    const definition = await indexes.get(name)
    const index = indexes.index(name)
    const { isFollowing, lag, counts, failure, buildProgress } = index
    if (call.principal.administrator !== true) {
      return { ...shortForm(definition), status: { isFollowing, lag } }
    }
    const refused = (await index.refusedDocuments()).length
    const status = { isFollowing, lag, counts, refused, failure: failure?.message, buildProgress }
    return { ...definition, status }
  }

  /**
   * GET of what is not in the index: documents that the search server refused, blobs without text,
   * and events that failed too often.
   */
  async failures(call: Call): Promise<unknown> {
    checkChanges(call)
    const index = indexesOf(this.#source).index(call.parameter('name'))
    const limit = call.count('limit', 100)
    if (limit < 1 || limit > failuresMax) throw invalidArgument(`limit is 1 to ${failuresMax}`)
    const [refused, texts, letters] = [
      await index.refusedDocuments(),
      await index.extractionFailures({ limit }),
      await index.deadLetters(),
    ]
    const deadLetters = letters.slice(0, limit).map(({ event, sequence, error, time }) => {
      return { table: event.table, id: event.id, sequence, reason: error, time }
    })
    return { refused: refused.slice(0, limit), texts, deadLetters }
  }

  /** POST: tries all of these again, and says how many of each succeeded. */
  async retryFailures(call: Call): Promise<unknown> {
    checkChanges(call)
    return retryAll(indexesOf(this.#source).index(call.parameter('name')))
  }

  /** POST of a new index. */
  async create(call: Call): Promise<FastifyReply> {
    checkChanges(call)
    const { name: given, repository, configuration, xml, incremental, build } = inputOf(call.json)
    const name = textOf(given, 'name')
    const input = { name, repository, configuration, xml, incremental, build }
    await indexesOf(this.#source).create(input)
    const path = call.request.url.split('?')[0]
    void call.reply.code(201).header('location', `${path}/${encodeURIComponent(name)}`)
    return call.reply.send({ name })
  }

  /** PUT of changes of an index. */
  async update(call: Call): Promise<FastifyReply> {
    checkChanges(call)
    const name = call.parameter('name')
    const { name: given, repository, ...update } = inputOf(call.json)
    if (given !== undefined && given !== name) throw invalidArgument(`the name is ${name}`)
    if (repository !== undefined) throw invalidArgument('the repository of an index stays')
    const { version } = await indexesOf(this.#source).update(name, update)
    return call.reply.send({ name, version })
  }

  /** DELETE of an index with its documents. */
  async remove(call: Call): Promise<FastifyReply> {
    checkChanges(call)
    await indexesOf(this.#source).delete(call.parameter('name'))
    return call.reply.code(200).send()
  }

  /**
   * GET of a search: the records of the documents found. `wait=true` waits until the newest write
   * is seen.
   */
  async search(call: Call): Promise<unknown> {
    const name = searchable(call)
    const indexes = indexesOf(this.#source)
    const { repository } = await indexes.get(name)
    const index = indexes.index(name)
    const tables = call.manager.repository(repository).listTables()
    const search = new SearchAccess(call.principal, { index, repository, tables })
    const query = call.query('q')
    if (query === undefined) throw invalidArgument('a search needs q')
    const limit = call.count('limit', 10)
    if (limit > hitsMax) throw invalidArgument(`limit is at most ${hitsMax}`)
    const filter = call.query('filter')
    const limited = search.limited({
      query,
      limit,
      offset: call.count('offset', 0),
      defaultField: call.query('field'),
      filters: filter === undefined ? undefined : [filter],
      sort: sortOf(call.query('sort')),
    })
    if (call.flag('wait', false)) await index.waitFor()
    const { total, hits } = await index.search(limited)
    const results = []
    for (const { score, fields } of hits) {
      const id = fields[reservedFields.id]?.[0] ?? ''
      const table = fields[reservedFields.table]?.[0] ?? ''
      const versionTag = fields[reservedFields.versionTag]?.[0]
      const access = new TableAccess(call.principal, repository, table)
      if (!access.readsRecords) continue
      const record = await recordOf(call, repository, table, id, access)
      // A score counts the words of all documents, also of those that are hidden.
      const shownScore = search.hidesTables ? undefined : score
      results.push({ id, repository, table, versionTag, score: shownScore, record })
    }
    return { total, results }
  }
}

/** The record of a document as it is now; undefined if it is gone. */
async function recordOf(
  call: Call,
  repository: string,
  table: string,
  id: string,
  access: TableAccess,
): Promise<unknown> {
  const [record] = await call.manager
    .repository(repository)
    .table(table)
    .readList([RecordId.parse(id)], { fields: call.fields })
  if (record === undefined) return undefined
  return recordToJson(record, { ...call.output, isReadable: (field) => access.canRead(field) })
}

/** `title_s,-year_i`: fields, with a minus for falling order. */
function sortOf(text: string | undefined): SearchSort[] | undefined {
  return text?.split(',').map((field) => {
    return field.startsWith('-') ? { field: field.slice(1), descending: true } : { field }
  })
}

function shortForm(definition: IndexDefinition): object {
  const { name, repository, version, state, incremental, build } = definition
  return { name, repository, version, state, incremental, build }
}

function maySearch({ principal }: Call, name: string): boolean {
  return principal.administrator === true || principal.search?.includes(name) === true
}

function searchable(call: Call): string {
  const name = call.parameter('name')
  if (maySearch(call, name)) return name
  throw forbidden('the index cannot be searched')
}

function checkChanges({ principal }: Call): void {
  if (principal.administrator !== true) throw forbidden('indexes cannot be changed')
}

interface IndexInput {
  readonly name: string | undefined
  readonly repository: string | undefined
  readonly configuration: IndexConfiguration | undefined
  readonly xml: string | undefined
  readonly incremental: IncrementalState | undefined
  readonly build: boolean | undefined
  readonly version: number | undefined
  readonly buildArguments: BuildArguments | undefined
}

function inputOf(json: Json): IndexInput {
  const body = objectOf(json, 'index', definitionNames)
  const incremental = optional(body['incremental'], 'index.incremental', textOf)
  return {
    name: optional(body['name'], 'index.name', textOf),
    repository: optional(body['repository'], 'index.repository', textOf),
    configuration: optional(body['configuration'], 'index.configuration', (each, at) => {
      return plainJson(objectOf(each, at)) as IndexConfiguration
    }),
    xml: optional(body['xml'], 'index.xml', textOf),
    incremental: incremental as IncrementalState | undefined,
    build: optional(body['build'], 'index.build', booleanOf),
    version: optional(body['version'], 'index.version', countOf),
    buildArguments: optional(body['buildArguments'], 'index.buildArguments', (each, at) => {
      return plainJson(objectOf(each, at)) as BuildArguments
    }),
  }
}
