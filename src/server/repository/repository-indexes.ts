/** Routes of indexes: definitions, builds, and searches. */
import type { FastifyReply } from 'fastify'
import {
  RecordId,
  recordToJson,
  RepositoryError,
  RepositoryErrorCode,
  reservedFields,
  retryAll,
  type BuildArguments,
  type IncrementalState,
  type IndexConfiguration,
  type IndexDefinition,
  type Json,
  type SearchHit,
  type SearchIndexes,
  type SearchQuery,
  type SearchSort,
  type StoredRecord,
} from '../../systems/repository/index.js'
import {
  booleanOf,
  countOf,
  objectOf,
  optional,
  plainJson,
  textOf,
} from '../../systems/repository/json/json-shapes.js'
import { forbidden } from '../http/access.js'
import { SearchAccess } from './search-access.js'
import { invalidArgument } from '../http/http-errors.js'
import type { Call } from './repository-call.js'
import type { Source } from '../source.js'

/** The source of the indexes; undefined while another process leads. */
export type IndexesSource = Source<SearchIndexes>

/** Finds the indexes; undefined if the server has none. */
export type FindIndexes = (() => SearchIndexes | undefined) | undefined

/** The indexes. `ERR_INDEX_NOT_FOUND` without any, `ERR_REPOSITORY_CLOSED` while there are none. */
function indexesOf(find: FindIndexes): SearchIndexes {
  if (find === undefined) {
    throw new RepositoryError(RepositoryErrorCode.indexNotFound, 'the server has no indexes')
  }
  const indexes = find()
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
  readonly #find: FindIndexes

  constructor(find: FindIndexes) {
    this.#find = find
  }

  /** GET of the names and states of all indexes. */
  async list(call: Call): Promise<unknown> {
    const definitions = await indexesOf(this.#find).list()
    const results = definitions.filter(({ name }) => maySearch(call, name)).map(shortForm)
    return { results }
  }

  /**
   * GET of one index: its definition, its lag and its build. Only administrators see its fields and
   * counts.
   */
  async read(call: Call): Promise<unknown> {
    const name = searchable(call)
    const indexes = indexesOf(this.#find)
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
   * GET of missing content: documents that the search server refused, blobs without text, and
   * events that failed too often.
   */
  async failures(call: Call): Promise<unknown> {
    checkChanges(call)
    const index = indexesOf(this.#find).index(call.parameter('name'))
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

  /** POST: retries all failures, and returns the number of successes of each kind. */
  async retryFailures(call: Call): Promise<unknown> {
    checkChanges(call)
    return retryAll(indexesOf(this.#find).index(call.parameter('name')))
  }

  /** POST of a new index. */
  async create(call: Call): Promise<FastifyReply> {
    checkChanges(call)
    const { name: given, repository, configuration, xml, incremental, build } = inputOf(call.json)
    const name = textOf(given, 'name')
    const input = { name, repository, configuration, xml, incremental, build }
    await indexesOf(this.#find).create(input)
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
    const { version } = await indexesOf(this.#find).update(name, update)
    return call.reply.send({ name, version })
  }

  /** DELETE of an index with its documents. */
  async remove(call: Call): Promise<FastifyReply> {
    checkChanges(call)
    await indexesOf(this.#find).delete(call.parameter('name'))
    return call.reply.code(200).send()
  }

  /**
   * GET of a search: the records of the documents found. `wait=true` waits until the newest write
   * is indexed.
   */
  async search(call: Call): Promise<unknown> {
    const name = searchable(call)
    const indexes = indexesOf(this.#find)
    const { repository } = await indexes.get(name)
    const index = indexes.index(name)
    const tables = call.manager.repository(repository).listTables()
    const names = call.fieldNames
    const search = new SearchAccess(call.principal, { index, repository, tables, names })
    const query = call.query('q')
    if (query === undefined) throw invalidArgument('a search needs q')
    const limit = call.count('limit', 10)
    if (limit > hitsMax) throw invalidArgument(`limit is at most ${hitsMax}`)
    const filter = call.query('filter')
    const asked: SearchQuery = {
      query,
      limit,
      offset: call.count('offset', 0),
      defaultField: call.query('field') ?? search.defaultField,
      filters: filter === undefined ? undefined : [filter],
      sort: sortOf(call.query('sort')),
    }
    if (call.flag('wait', false)) await index.waitFor()
    const { total, hits } = await index.search(search.limited(asked))
    search.limited(asked)
    const places = hits.map((hit) => hitPlace(repository, hit))
    const records = await Promise.all(places.map((place) => indexedRecord(call, place)))
    // A score depends on the words of all documents, including hidden ones.
    const shownScore = ({ score }: SearchHit): number | undefined => {
      return search.hidesDocuments ? undefined : score
    }
    const results = places.map((place, at) => {
      const { id, table, versionTag, version } = place
      const score = shownScore(hits[at])
      return { id, repository, table, versionTag, version, score, record: records[at] }
    })
    return { total, results }
  }
}

/** The record and version that a document was made of. */
interface HitPlace {
  readonly repository: string
  readonly id: string
  readonly table: string
  readonly versionTag: string | undefined
  /** The indexed version; 0 = a record without versions. */
  readonly version: number
}

function hitPlace(repository: string, { fields }: SearchHit): HitPlace {
  const valueOf = (name: string): string | undefined => fields[name]?.[0]
  return {
    repository,
    id: valueOf(reservedFields.id) ?? '',
    table: valueOf(reservedFields.table) ?? '',
    versionTag: valueOf(reservedFields.versionTag),
    version: Number(valueOf(reservedFields.version) ?? 0),
  }
}

/** The record of a document in the indexed version; undefined if that version no longer exists. */
async function indexedRecord(
  call: Call,
  { repository, table: name, id, version }: HitPlace,
): Promise<unknown> {
  const { schema } = call.manager.types
  const access = call.accessTo(name, repository)
  if (!access.readsRecords) return undefined
  const { fields } = call
  const table = call.manager.findTable(repository, name)
  if (table === undefined) return undefined
  try {
    const options = version === 0 ? { fields } : { fields, version }
    const record = await table.read(RecordId.parse(id), options)
    const shown = version === 0 ? withoutVersions(record, schema) : record
    return recordToJson(shown, { ...call.output, isReadable: (field) => access.canRead(field) })
  } catch (error) {
    const code = error instanceof RepositoryError ? error.code : undefined
    if (code !== undefined && goneCodes.includes(code)) return undefined
    throw error
  }
}

const goneCodes: readonly string[] = [
  RepositoryErrorCode.recordNotFound,
  RepositoryErrorCode.versionNotFound,
]

/** A record as shown to a principal that may read none of its versions. */
function withoutVersions(record: StoredRecord, schema: Call['output']['schema']): StoredRecord {
  if (record.version === undefined) return record
  const plain = <T>(values: Readonly<Record<string, T>>): Record<string, T> => {
    return Object.fromEntries(
      Object.entries(values).filter(([name]) => schema.field(name).scope === 'NON_VERSIONED'),
    )
  }
  const { fields, metadata } = record
  const none = { version: undefined, versionedType: undefined, mutableType: undefined }
  return { ...record, ...none, fields: plain(fields), metadata: plain(metadata) }
}

/** `title_s,-year_i`: fields, with a minus for descending order. */
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
