/** The program of the library: packages as records, and what a reader may do with them. */
import { join } from 'node:path'
import { Database, NodeFileSystem } from '../../src/index.js'
import {
  applySchema,
  defineRecordType,
  EmbeddedSearch,
  FileBlobStore,
  Link,
  RecordId,
  RepositoryManager,
  SearchIndexes,
  type Blob,
  type IndexConfiguration,
  type RecordInput,
  type RecordTable,
  type Subscription,
} from '../../src/repository/index.js'
import type { Package } from './packages.js'

const namespace = 'npm'
/** The name of a field. */
export const field = (local: string): `{npm}${string}` => `{${namespace}}${local}`

const packageType = defineRecordType('{npm}package', {
  name: { type: 'STRING', mandatory: true, unique: true },
  release: { type: 'STRING', scope: 'VERSIONED' },
  description: { type: 'STRING', scope: 'VERSIONED' },
  licence: { type: 'STRING' },
  keywords: { type: 'LIST<STRING>', scope: 'VERSIONED' },
  needs: { type: 'LIST<LINK>', scope: 'VERSIONED' },
  needsCount: { type: 'INTEGER', scope: 'VERSIONED' },
  readme: { type: 'BLOB', scope: 'VERSIONED' },
})

/** Indexes of the library, by name. */
export const indexNames = ['keywords', 'licences', 'needs'] as const

/** Name of the search index. */
export const searchName = 'packages'

/** What is searched: the words of a package, and those of the packages that it needs. */
const documents: IndexConfiguration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [
    { name: 'name_s', value: field('name') },
    { name: 'description_t', value: field('description') },
    { name: 'keywords_s_mv', value: field('keywords') },
    { name: 'needs_t_mv', value: `${field('needs')}=>${field('description')}` },
  ],
}

/** An open library. */
export interface Library {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
  /** Keeps the links. */
  readonly following: Subscription
  /** Finds packages by words, also by those of the packages that they need. */
  readonly searches: SearchIndexes
  close(): Promise<void>
}

/** Opens the library of a directory, and makes what is missing. */
export async function openLibrary(directory: string): Promise<Library> {
  const database = await Database.open(join(directory, 'database'), { flushBytes: 1 << 20 })
  const store = new FileBlobStore(new NodeFileSystem(), join(directory, 'blobs'))
  const manager = await RepositoryManager.open(database, {
    blobStores: [{ store, bytesMax: Infinity }],
    inlineBlobBytesMax: 500,
  })
  await applySchema(manager.types, [packageType])
  const table = manager.repository().table()
  const { indexes } = table
  await indexes.create({ name: 'keywords', fields: [field('keywords'), field('name')] })
  await indexes.create({ name: 'licences', fields: [field('licence'), field('name')] })
  const most = { field: field('needsCount'), order: 'DESCENDING' } as const
  await indexes.create({ name: 'needs', fields: [most] })
  const following = await manager.followLinks({ lanes: 4 })
  const searches = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
  })
  if ((await searches.list()).length === 0) {
    await searches.create({ name: searchName, configuration: documents })
  }
  const close = async (): Promise<void> => {
    await searches.close()
    await manager.close()
    await database.close()
  }
  return { database, manager, table, following, searches, close }
}

/** The record of a package. */
export function idOf(name: string): RecordId {
  return RecordId.user(name)
}

async function uploadReadme(manager: RepositoryManager, bytes: Buffer): Promise<Blob> {
  return manager.blobs.upload(bytes, { mediaType: 'text/markdown', name: 'README.md' })
}

/** Writes the record of a package, whether it is there or not. */
export async function write(library: Library, each: Package, readme?: Buffer): Promise<void> {
  const { manager, table } = library
  const bytes = readme ?? each.readme
  const fields = {
    [field('name')]: each.name,
    [field('release')]: each.release,
    [field('description')]: each.description,
    [field('licence')]: each.licence,
    [field('keywords')]: each.keywords,
    [field('needs')]: each.dependencies.map((name) => Link.to(idOf(name))),
    [field('needsCount')]: each.dependencies.length,
    ...(bytes === undefined ? {} : { [field('readme')]: await uploadReadme(manager, bytes) }),
  }
  const input: RecordInput = { id: idOf(each.name), type: packageType.name, fields }
  await table.createOrUpdate(input, { retries: 5 })
}

/** One random change of a package that is there or was deleted. */
export async function change(
  library: Library,
  packages: readonly Package[],
  random: () => number,
): Promise<void> {
  const { table } = library
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]
  const own = pick(packages)
  const id = idOf(own.name)
  const kind = random()
  if (!(await table.exists(id))) return write(library, own)
  if (kind < 0.3) {
    const keywords = [...own.keywords.slice(0, 3), pick(packages).name, 'changed']
    await table.update({ id, fields: { [field('keywords')]: keywords } })
  } else if (kind < 0.5) {
    const names = [pick(packages).name, pick(packages).name]
    const dependencies = [...new Set([...own.dependencies.slice(1), ...names])]
    await write(library, { ...own, dependencies }, Buffer.from(`# ${own.name} ${random()}`))
  } else if (kind < 0.7) {
    const text = `${own.name} ${random()}\n`.repeat(1 + Math.floor(random() * 500))
    await write(library, own, Buffer.from(text))
  } else if (kind < 0.8) {
    const { version = 1 } = await table.read(id)
    await table.restore(id, Math.max(1, version - 1)).catch(isExpected)
  } else if (kind < 0.9) await table.pruneVersions(id, { keep: 3 })
  else await table.delete(id)
}

/** A version that was pruned cannot be restored; that is not what this program is about. */
function isExpected(error: unknown): void {
  if ((error as { code?: string }).code !== 'ERR_VERSION_NOT_FOUND') throw error
}
