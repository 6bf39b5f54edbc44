/** Routes of indexes: definitions, builds, and searches. */
import {
  RecordId,
  recordToJson,
  reservedFields,
  retryAll,
  type BuildArguments,
  type IncrementalState,
  type IndexConfiguration,
  type IndexDefinition,
  type Json,
  type SearchHit,
  type SearchIndex,
  type SearchIndexes,
  type SearchQuery,
  type SearchSort,
  type StoredRecord,
} from '../index.js'
import { hasCode, repositoryError } from '../errors.js'
import { booleanOf, countOf, membersOf, objectOf, plainJson, textOf } from '../json/json-shapes.js'
import { forbidden } from '../../../http/errors.js'
import { SearchAccess } from './search-access.js'
import { CellarError, ErrorCode, invalidArgument } from '../../../api/index.js'
import type { Call } from './call.js'
import {
  changing,
  queryCount,
  queryFlag,
  queryText,
  route,
  schemas,
  showing,
  type Route,
} from './declarations.js'
import type { Source } from '../../../http/server-system.js'

/** The source of the indexes; undefined while another process leads. */
export type IndexesSource = Source<SearchIndexes>

/** Finds the indexes; undefined if the server has none. */
export type FindIndexes = (() => SearchIndexes | undefined) | undefined

const searching = {
  q: queryText('a query in the language of Lucene'),
  filter: queryText('a query that must hold and does not count for the order'),
  field: queryText('the field of words that name none; default: the first of the index'),
  sort: queryText('fields with commas, with - for falling order; default: the score'),
  offset: queryCount(0, 'hits that are left out'),
  limit: queryCount(10, 'most hits', [0, 1000]),
  wait: queryFlag(false, 'whether to wait for the newest write'),
  ...showing,
}
const listing: Partial<Route> = {
  needs: 'indexes',
  query: { limit: queryCount(100, 'most of each kind', [1, 10_000]) },
}
const changes: Partial<Route> = { ...changing, needs: 'indexes' }

/** The routes of the indexes of one server. */
export function indexRoutes(find: FindIndexes): readonly Route[] {
  const indexes = (): SearchIndexes => {
    if (find === undefined) throw repositoryError('indexNotFound', 'the server has no indexes')
    const found = find()
    if (found !== undefined) return found
    throw repositoryError('closed', 'another process serves the indexes')
  }
  return [
    route('get /index', 'list indexes', {}, async (call) => {
      return { results: (await searchableIndexes(call, indexes())).map(shortForm) }
    }),
    route('post /index', 'create index', { ...changes, body: schemas.named }, (call) => {
      return createIndex(call, indexes())
    }),
    route('get /index/:name', 'read index', {}, (call) => readIndex(call, indexes())),
    route('put /index/:name', 'put index', { ...changes, body: schemas.any }, (call) => {
      return updateIndex(call, indexes())
    }),
    route('delete /index/:name', 'delete index', { needs: 'indexes' }, (call) => {
      return indexes().delete(call.parameter('name'))
    }),
    route(
      'get /index/:name/search',
      'search index',
      { query: searching, required: ['q'] },
      (call) => search(call, indexes),
    ),
    route('get /index/:name/failures', 'list index failures', listing, (call) => {
      return listFailures(indexes().index(call.parameter('name')), call.number('limit'))
    }),
    route('post /index/:name/failures', 'retry index failures', { needs: 'indexes' }, (call) => {
      return retryAll(indexes().index(call.parameter('name')))
    }),
  ]
}

/** The indexes that the principal may search, by name; others have no part in it. */
async function searchableIndexes(
  { principal }: Call,
  indexes: SearchIndexes,
): Promise<IndexDefinition[]> {
  if (principal.administrator === true) return indexes.list()
  const found: IndexDefinition[] = []
  for (const name of [...new Set(principal.search)].sort()) {
    try {
      found.push(await indexes.get(name))
    } catch (error) {
      // A principal may have any text as the name of an index.
      const code = error instanceof CellarError ? error.code : ''
      if (code !== ErrorCode.invalidArgument && !hasCode(error, 'indexNotFound')) throw error
    }
  }
  return found
}

/** The definition of an index, its lag and its build; fields and counts for administrators only. */
async function readIndex(call: Call, indexes: SearchIndexes): Promise<unknown> {
  const name = searchable(call)
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
 * Missing content: documents that the search server refused, blobs without text, and events that
 * failed too often.
 */
async function listFailures(index: SearchIndex, limit: number): Promise<unknown> {
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

async function createIndex(call: Call, indexes: SearchIndexes): Promise<object> {
  const { name: given, repository, configuration, xml, incremental, build } = inputOf(call.json)
  const name = textOf(given, 'name')
  const input = { name, repository, configuration, xml, incremental, build }
  await indexes.create(input)
  return call.created(name, { name })
}

async function updateIndex(call: Call, indexes: SearchIndexes): Promise<unknown> {
  const name = call.parameter('name')
  const { name: given, repository, ...update } = inputOf(call.json)
  if (given !== undefined && given !== name) throw invalidArgument(`the name is ${name}`)
  if (repository !== undefined) throw invalidArgument('the repository of an index stays')
  const { version } = await indexes.update(name, update)
  return { name, version }
}

/**
 * The records of the documents found. `wait=true` waits until the newest write is indexed.
 */
async function search(call: Call, find: () => SearchIndexes): Promise<unknown> {
  const name = searchable(call)
  const indexes = find()
  const { repository } = await indexes.get(name)
  const index = indexes.index(name)
  const names = call.fieldNames
  const accessNow = (): SearchAccess => {
    const tables = call.manager.repository(repository).listTables()
    return new SearchAccess(call.principal, { index, repository, tables, names })
  }
  if (call.flag('wait')) await index.waitFor()
  const before = accessNow()
  const filter = call.text('filter')
  const asked: SearchQuery = {
    query: call.text('q') ?? '',
    limit: call.number('limit'),
    offset: call.number('offset'),
    defaultField: call.text('field') ?? before.defaultField,
    filters: filter === undefined ? undefined : [filter],
    sort: sortOf(call.text('sort')),
  }
  const { total, hits } = await index.search(before.limited(asked))
  const after = accessNow()
  after.limited(asked)
  const isScored = !before.hidesDocuments && !after.hidesDocuments
  const shown = async ({ fields, score }: SearchHit): Promise<object> => {
    const valueOf = (name: string): string | undefined => fields[name]?.[0]
    const id = valueOf(reservedFields.id) ?? ''
    const table = valueOf(reservedFields.table) ?? ''
    // 0 = a record without versions.
    const version = Number(valueOf(reservedFields.version) ?? 0)
    const record = await indexedRecord(call, { repository, table }, id, version)
    const place = { id, repository, table, versionTag: valueOf(reservedFields.versionTag), version }
    // A score depends on the words of all documents, including hidden ones.
    return { ...place, score: isScored ? score : undefined, record }
  }
  return { total, results: await Promise.all(hits.map(shown)) }
}

/**
 * The record of a document in the indexed version; undefined if that version no longer exists, or
 * if the caller may not read the table.
 */
async function indexedRecord(
  call: Call,
  { repository, table: name }: { readonly repository: string; readonly table: string },
  id: string,
  version: number,
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
    if (hasCode(error, 'recordNotFound', 'versionNotFound')) return undefined
    throw error
  }
}

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

function searchable(call: Call): string {
  const name = call.parameter('name')
  const { administrator, search } = call.principal
  if (administrator === true || search?.includes(name) === true) return name
  throw forbidden('the index cannot be searched')
}

function inputOf(json: Json) {
  const objectsOf = (each: Json, at: string): unknown => plainJson(objectOf(each, at))
  const input = membersOf(json, 'index', {
    ...{ name: textOf, repository: textOf, xml: textOf, incremental: textOf },
    ...{ configuration: objectsOf, build: booleanOf, version: countOf, buildArguments: objectsOf },
  })
  return {
    ...input,
    configuration: input.configuration as IndexConfiguration | undefined,
    incremental: input.incremental as IncrementalState | undefined,
    buildArguments: input.buildArguments as BuildArguments | undefined,
  }
}
