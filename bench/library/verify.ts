/** Compares everything that is kept beside the records with what the records say. */
import type { Blob } from '../../src/systems/repository/index.js'
import type { Package } from './packages.js'
import { field, idOf, indexNames, searchName, versionsMin, type Library } from './program.js'

/** What a library has, and what does not agree. */
export interface Findings {
  readonly records: number
  readonly versions: number
  readonly blobs: number
  readonly blobBytes: number
  /** Blobs that no record had: uploads of processes that were killed. */
  readonly sweptBlobs: number
  readonly links: number
  readonly indexRows: number
  readonly documents: number
  readonly problems: readonly string[]
}

async function readAll(library: Library, blob: Blob): Promise<number> {
  let size = 0
  // Behind the last piece the checksum is compared.
  for await (const piece of library.manager.blobs.read(blob)) size += piece.length
  return size
}

/** All documents of the search index, in the order of their keys. */
async function allDocuments({ searches }: Library): Promise<string[]> {
  const { hits } = await searches.index(searchName).search({ query: '*:*', limit: 10_000 })
  return hits.map(({ key, fields }) => `${key} ${JSON.stringify(fields)}`).sort()
}

/** Compares the index that followed every write with one that is built anew. */
async function verifySearch(library: Library, problems: string[]): Promise<number> {
  const { searches } = library
  const index = searches.index(searchName)
  await index.waitFor()
  const letters = await index.deadLetters()
  if (letters.length > 0) problems.push(`${letters.length} records could not be indexed`)
  const followed = await allDocuments(library)
  await searches.update(searchName, { build: true, buildArguments: { clear: true } })
  await searches.index(searchName).built()
  const known = new Set(await allDocuments(library))
  const others = followed.filter((document) => !known.has(document)).length
  if (others > 0 || followed.length !== known.size) {
    problems.push(`${followed.length} documents, ${known.size} of a build, ${others} differ`)
  }
  return followed.length
}

/** Reads all versions with their blobs, and checks indexes, links and the states of blobs. */
export async function verify(library: Library, packages: readonly Package[]): Promise<Findings> {
  const { manager, table, following } = library
  const problems: string[] = []
  for (const { name } of packages) {
    if (!(await table.exists(idOf(name)))) problems.push(`${name} is not there`)
  }
  const keys = new Set<string>()
  let [records, versions, blobBytes, indexRows] = [0, 0, 0, 0]
  for await (const { id, version } of table.scan({ fields: 'none' })) {
    records++
    const all = await table.readVersions(id, { from: 1, to: version })
    versions += all.length
    if (all.length < versionsMin) problems.push(`${id.text} has ${all.length} versions`)
    for (const { fields } of all) {
      const blob = fields[field('readme')] as Blob | undefined
      // Small ones are in the record itself.
      if (blob === undefined || blob.size <= 500 || keys.has(blob.key.toString('hex'))) continue
      keys.add(blob.key.toString('hex'))
      const size = await readAll(library, blob)
      if (size !== blob.size) problems.push(`${id.text} has a blob of ${size} bytes`)
      blobBytes += size
    }
  }
  const swept = await manager.blobs.sweep({ ageMillisecondsMin: 0 })
  const states = await manager.blobs.states()
  for (const key of keys) if (!states.has(key)) problems.push(`the blob ${key} has no state`)
  for (const [key, { kind }] of states) {
    if (kind !== 'used' || !keys.has(key)) problems.push(`the blob ${key} is ${kind}, for nothing`)
  }
  for (const name of indexNames) {
    const { rows, missing, surplus } = await table.indexes.check(name)
    indexRows += rows
    if (missing + surplus > 0) problems.push(`${name}: ${missing} missing, ${surplus} surplus`)
  }
  const documents = await verifySearch(library, problems)
  await following.caughtUp()
  await following.close()
  const followed = await manager.links.rows()
  await manager.links.rebuild()
  const rebuilt = await manager.links.rows()
  if (followed.join() !== rebuilt.join()) problems.push('links differ from those of a rebuild')
  const letters = await following.deadLetters()
  if (letters.length > 0) problems.push(`${letters.length} events could not be handled`)
  return {
    records,
    versions,
    blobs: keys.size,
    blobBytes,
    sweptBlobs: swept.removed,
    links: followed.length / 2,
    indexRows,
    documents,
    problems,
  }
}
