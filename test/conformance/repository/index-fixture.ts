/** What the cases of indexes share: types, an index with the embedded search, and its queries. */
import {
  EmbeddedSearch,
  Link,
  reservedFields,
  SearchIndexes,
  type IndexConfiguration,
  type RecordTable,
  type RepositoryManager,
  type SearchBackend,
  type SearchIndex,
  type SearchIndexesOptions,
  type SearchIndexInput,
} from '../../../src/systems/repository/index.js'
import { fieldsOf, q, type Fixture } from './case.js'

/** The name of a version tag. */
export const tag = (local: string): string => `{org.lilyproject.vtag}${local}`
/** The name of a system field. */
export const sys = (local: string): string => `{org.lilyproject.system}${local}`

/** Records of the type `doc` at the newest version. */
export const everyDoc = {
  recordFilter: { includes: [{ recordType: q('doc'), versionTags: ['last'] }] },
} as const

/** An index that follows one record table. */
export interface Indexed {
  readonly manager: RepositoryManager
  readonly table: RecordTable
  readonly indexes: SearchIndexes
  readonly index: SearchIndex
  /** Ids without `USER.`, and tags, of the documents that a query finds, sorted. */
  readonly find: (query: string) => Promise<string[]>
  /** Values of a field of the one document that a query finds. */
  readonly values: (query: string, field: string) => Promise<readonly string[]>
  /** Creates a `doc`; fields by local name. */
  readonly create: (id: string, fields: Record<string, unknown>) => Promise<void>
  readonly update: (id: string, fields: Record<string, unknown>) => Promise<void>
}

/** The types of the cases. */
export async function createIndexTypes({ types }: RepositoryManager): Promise<void> {
  for (const local of ['live', 'preview', 'latest']) {
    await types.createFieldType({ name: tag(local), valueType: 'LONG' })
  }
  const fields = [
    ['name', 'STRING', 'NON_VERSIONED'],
    ['body', 'STRING', 'VERSIONED'],
    ['note', 'STRING', 'VERSIONED_MUTABLE'],
    ['to', 'LINK', 'NON_VERSIONED'],
    ['toV', 'LINK', 'VERSIONED'],
    ['many', 'LIST<LINK>', 'NON_VERSIONED'],
    ['inner', 'RECORD', 'NON_VERSIONED'],
    ['inners', 'LIST<RECORD>', 'NON_VERSIONED'],
    ['path', 'PATH<STRING>', 'NON_VERSIONED'],
    ['list', 'LIST<STRING>', 'NON_VERSIONED'],
    ['lists', 'LIST<LIST<STRING>>', 'NON_VERSIONED'],
    ['size', 'INTEGER', 'NON_VERSIONED'],
    ['day', 'DATE', 'NON_VERSIONED'],
    ['time', 'DATETIME', 'NON_VERSIONED'],
    ['blob', 'BLOB', 'NON_VERSIONED'],
    ['blobs', 'LIST<PATH<BLOB>>', 'NON_VERSIONED'],
  ] as const
  for (const [local, valueType, scope] of fields) {
    await types.createFieldType({ name: q(local), valueType, scope })
  }
  const names = ['name', 'body', 'to', 'path', 'inner', 'size', 'list']
  const part = names.map((local) => ({ name: q(local) }))
  for (const local of ['doc', 'part', 'other', 'top']) {
    await types.createRecordType({ name: q(local), fields: part })
  }
  for (const local of ['left', 'right']) {
    await types.createRecordType({ name: q(local), supertypes: [{ name: q('top') }] })
  }
  const both = [{ name: q('left') }, { name: q('right') }]
  await types.createRecordType({ name: q('bottom'), supertypes: both })
}

/** Opens the indexes of a manager with embedded search servers that need no waiting. */
export function openIndexes(
  fixture: Fixture,
  manager: RepositoryManager,
  options: Partial<SearchIndexesOptions> = {},
): Promise<SearchIndexes> {
  const backend = ({ name }: { readonly name: string }): Promise<SearchBackend> => {
    return EmbeddedSearch.open(fixture.database, { name, clock: fixture.clock })
  }
  const settings = { backend, retryMilliseconds: 0, commitMilliseconds: 0, ...options }
  return SearchIndexes.open(manager, settings)
}

/** A manager with the types of the cases and an index of this configuration, `main`. */
export async function indexed(
  fixture: Fixture,
  configuration: IndexConfiguration | string,
  options: Partial<SearchIndexesOptions> = {},
  input: Partial<SearchIndexInput> = {},
): Promise<Indexed> {
  const manager = await fixture.manager()
  await createIndexTypes(manager)
  const table = manager.repository().table()
  const indexes = await openIndexes(fixture, manager, options)
  fixture.closeLater(indexes)
  const given = typeof configuration === 'string' ? { xml: configuration } : { configuration }
  await indexes.create({ name: 'main', ...given, ...input })
  return {
    manager,
    table,
    indexes,
    get index() {
      return indexes.index('main')
    },
    find: async (query) => {
      const index = indexes.index('main')
      await index.waitFor()
      return findIn(index, query)
    },
    values: async (query, field) => {
      const index = indexes.index('main')
      await index.waitFor()
      const { hits } = await index.search({ query })
      if (hits.length !== 1) throw new Error(`${query} finds ${hits.length} documents`)
      return (hits[0].fields as Record<string, readonly string[] | undefined>)[field] ?? []
    },
    create: async (id, fields) => {
      await table.create({ id: `USER.${id}`, type: q('doc'), fields: fieldsOf(fields) })
    },
    update: async (id, fields) => {
      await table.update({ id: `USER.${id}`, fields: fieldsOf(fields) })
    },
  }
}

/** Ids and tags of the documents that a query finds now. */
export async function findIn(index: SearchIndex, query: string): Promise<string[]> {
  const { hits } = await index.search({ query, limit: 1000 })
  return hits
    .map(({ fields }) => {
      const id = fields[reservedFields.id][0].replace('USER.', '')
      return `${id}@${fields[reservedFields.versionTag][0]}`
    })
    .sort()
}

/** A link to exactly one record, by its id without `USER.`. */
export const linkTo = (id: string, table?: string): Link => Link.to(`USER.${id}`, table)
