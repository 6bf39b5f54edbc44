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
  textOf,
  type BuildArguments,
  type IncrementalState,
  type IndexConfiguration,
  type Json,
  type SearchIndexes,
  type SearchSort,
} from '../repository/index.js'
import { forbidden, TableAccess } from './access.js'
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
    const results = definitions
      .filter(({ name }) => maySearch(call, name))
      .map(({ name, repository, version, state, incremental, build }) => {
        return { name, repository, version, state, incremental, build }
      })
    return { results }
  }

  /** GET of one index: its definition, how far it follows, and its build. */
  async read(call: Call): Promise<unknown> {
    const name = searchable(call)
    const indexes = indexesOf(this.#source)
    const definition = await indexes.get(name)
    const index = indexes.index(name)
    const { isFollowing, lag, counts, failure, buildProgress } = index
    const refused = (await index.refusedDocuments()).length
    const status = { isFollowing, lag, counts, refused, failure: failure?.message, buildProgress }
    return { ...definition, status }
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
    const query = call.query('q')
    if (query === undefined) throw invalidArgument('a search needs q')
    const limit = call.count('limit', 10)
    if (limit > hitsMax) throw invalidArgument(`limit is at most ${hitsMax}`)
    if (call.flag('wait', false)) await index.waitFor()
    const filter = call.query('filter')
    const { total, hits } = await index.search({
      query,
      limit,
      offset: call.count('offset', 0),
      defaultField: call.query('field'),
      filters: filter === undefined ? undefined : [filter],
      sort: sortOf(call.query('sort')),
    })
    const results = []
    for (const { score, fields } of hits) {
      const id = fields[reservedFields.id]?.[0] ?? ''
      const table = fields[reservedFields.table]?.[0] ?? ''
      const versionTag = fields[reservedFields.versionTag]?.[0]
      const access = new TableAccess(call.principal, repository, table)
      if (!access.readsRecords) continue
      const record = await recordOf(call, repository, table, id, access)
      results.push({ id, repository, table, versionTag, score, record })
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
