/** The program of the library: packages as records, and what a reader may do with them. */
import { join } from 'node:path'
import { Database, NodeFileSystem } from '../../src/entries/index.js'
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
} from '../../src/systems/repository/index.js'
import type { Note } from './journal.js'
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
  await manager.types.createOrUpdateFieldType({ name: checkedTag, valueType: 'LONG' })
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

/** Tells what was done, at once. */
export type Tell = (note: Note) => void

/** The version tag of texts that somebody has checked. */
const checkedTag = '{org.lilyproject.vtag}checked'

/** Writes the record of a package, whether it is there or not. */
export async function write(
  library: Library,
  each: Package,
  tell: Tell,
  readme?: Buffer,
): Promise<void> {
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
  await tellSaved(library, each.name, tell)
}

/** Tells of the newest version, which nobody else writes. */
async function tellSaved({ table }: Library, name: string, tell: Tell): Promise<void> {
  const { version = 0, fields } = await table.read(idOf(name), { fields: [field('description')] })
  tell({ kind: 'saved', name, version, text: fields[field('description')] as string })
}

/** Drafts of a text, which are saved or tagged at the end, and then drafts of the next one. */
async function draft(
  library: Library,
  own: Package,
  random: () => number,
  tell: Tell,
): Promise<void> {
  const { table } = library
  const id = idOf(own.name)
  const write = async (text: string, autosave: boolean): Promise<void> => {
    await table.update({ id, fields: { [field('description')]: text } }, { autosave })
  }
  const text = `${own.description} ${random()}`
  for (let left = 1 + Math.floor(random() * 3); left > 0; left--) await write(`${random()}`, true)
  await write(text, true)
  if (random() < 0.5) await write(text, false)
  else await table.tag(id, checkedTag)
  await tellSaved(library, own.name, tell)
  await write(`the next after ${text}`, true)
}

/** One random change of a package that is there or was deleted. */
export async function change(
  library: Library,
  packages: readonly Package[],
  random: () => number,
  tell: Tell,
): Promise<void> {
  const { table } = library
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]
  const own = pick(packages)
  const { name } = own
  const id = idOf(name)
  const kind = random()
  if (!(await table.exists(id))) return write(library, own, tell)
  if (kind < 0.2) {
    const keywords = [...own.keywords.slice(0, 3), pick(packages).name, 'changed']
    await table.update({ id, fields: { [field('keywords')]: keywords } })
    await tellSaved(library, name, tell)
  } else if (kind < 0.35) {
    const names = [pick(packages).name, pick(packages).name]
    const dependencies = [...new Set([...own.dependencies.slice(1), ...names])]
    await write(library, { ...own, dependencies }, tell, Buffer.from(`# ${name} ${random()}`))
  } else if (kind < 0.5) {
    const text = `${name} ${random()}\n`.repeat(1 + Math.floor(random() * 500))
    await write(library, own, tell, Buffer.from(text))
  } else if (kind < 0.8) await draft(library, own, random, tell)
  else if (kind < 0.88) {
    const { version = 1 } = await table.read(id)
    await table.restore(id, Math.max(1, version - 1)).catch(isExpected)
    await tellSaved(library, name, tell)
  } else if (kind < 0.95) {
    tell({ kind: 'dropping', name })
    await table.pruneVersions(id, { keep: 3 })
    const [first] = await table.readVersions(id, {}, { fields: [field('name')] })
    tell({ kind: 'dropped', name, first: first?.version ?? 0 })
  } else {
    tell({ kind: 'deleting', name })
    await table.delete(id)
    tell({ kind: 'deleted', name })
  }
}

/** How many versions every package has in the end, at least. */
export const versionsMin = 3

/** Adds a package that is missing, and versions as far as it has too few. */
export async function complete(library: Library, own: Package, tell: Tell): Promise<void> {
  const { table } = library
  const id = idOf(own.name)
  if (!(await table.exists(id))) await write(library, own, tell)
  const versions = await table.readVersions(id, {}, { fields: [field('name')] })
  for (let count = versions.length; count < versionsMin; count++) {
    const text = `${own.description} (${count})`
    await table.update({ id, fields: { [field('description')]: text } })
    await tellSaved(library, own.name, tell)
  }
}

/** A version that was pruned cannot be restored; that is not what this program is about. */
function isExpected(error: unknown): void {
  if ((error as { code?: string }).code !== 'ERR_VERSION_NOT_FOUND') throw error
}
