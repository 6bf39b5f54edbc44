/** Cellar's content repository, with the defaults; and what only this engine is asked for. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Database, NodeFileSystem } from '../../src/entries/index.js'
import {
  EmbeddedSearch,
  FileBlobStore,
  Link,
  RepositoryManager,
  SearchIndexes,
  type Blob,
  type RecordTable,
  type StoredRecord,
} from '../../src/systems/repository/index.js'
import { idOf, type BenchDocument } from './documents.js'
import type { OwnWorkload, Subject, SubjectEntry } from './subject.js'

const name = (local: string): `{bench}${string}` => `{bench}${local}`
const [title, body, year, score, tags, author, counter] = [
  'title',
  'body',
  'year',
  'score',
  'tags',
  'author',
  'counter',
].map(name)
const type = name('document')
const recordId = (id: string): string => `USER.${id}`

const fieldTypes = [
  { name: title, valueType: 'STRING', scope: 'VERSIONED' },
  { name: body, valueType: 'STRING' },
  { name: year, valueType: 'INTEGER' },
  { name: score, valueType: 'DOUBLE' },
  { name: tags, valueType: 'LIST<STRING>' },
  { name: author, valueType: 'STRING' },
  { name: counter, valueType: 'INTEGER' },
] as const

async function createTypes({ types }: RepositoryManager): Promise<void> {
  for (const field of fieldTypes) await types.createFieldType(field)
  await types.createFieldType({ name: name('to'), valueType: 'LINK' })
  await types.createFieldType({ name: name('blob'), valueType: 'BLOB' })
  await types.createRecordType({
    name: type,
    fields: fieldTypes.map((field) => ({ name: field.name })),
  })
}

function fieldsOf(document: BenchDocument): Record<string, unknown> {
  return {
    [title]: document.title,
    [body]: document.body,
    [year]: document.year,
    [score]: document.score,
    [tags]: document.tags,
    [author]: document.author,
    [counter]: document.counter,
  }
}

function documentOf(read: unknown): BenchDocument | undefined {
  const { id, fields } = read as StoredRecord
  return {
    id: id.text.slice('USER.'.length),
    title: fields[title] as string,
    body: fields[body] as string,
    year: fields[year] as number,
    score: fields[score] as number,
    tags: fields[tags] as string[],
    author: fields[author] as string,
    counter: fields[counter] as number,
  }
}

/** From a write until the link index has it. */
function indexLag(manager: RepositoryManager, table: RecordTable, count: number): OwnWorkload {
  return {
    name: 'link-index-lag',
    run: async (call) => {
      const following = await manager.followLinks({ from: 'now' })
      await following.caughtUp()
      for (let i = 0; i < count; i++) {
        await call(async () => {
          const fields = { [name('to')]: Link.to(recordId(idOf(i))) }
          const { sequence } = await table.update({ id: recordId(idOf(i + 1)), fields })
          await following.caughtUp(sequence)
        })
      }
      await following.close()
      return count
    },
  }
}

/** Opens the search indexes with the embedded backend; nothing is committed by a timer. */
function openSearch(database: Database, manager: RepositoryManager): Promise<SearchIndexes> {
  return SearchIndexes.open(manager, {
    backend: ({ name: index }) => EmbeddedSearch.open(database, { name: index }),
    commitMilliseconds: 0,
  })
}

/** Records that show a field of one record: from its update until searches see all of them. */
function fanOut(
  database: Database,
  manager: RepositoryManager,
  count: number,
  rounds: number,
): OwnWorkload {
  return {
    name: 'fan-out-to-dependants',
    run: async (call) => {
      const table = await manager.repository().createTable('fans')
      const target = recordId('target')
      await table.create({ id: target, type, fields: { [title]: 'first' } })
      for (let i = 0; i < count; i++) {
        const fields = { [counter]: i, [name('to')]: Link.to(target) }
        await table.create({ id: recordId(`fan-${i}`), type, fields })
      }
      const indexes = await openSearch(database, manager)
      const index = await indexes.create({
        name: 'fans',
        configuration: {
          recordFilter: { includes: [{ tables: ['fans'], versionTags: ['last'] }] },
          fields: [{ name: 'target_t', value: `${name('to')}=>${title}` }],
        },
        build: true,
      })
      await index.built()
      for (let round = 0; round < rounds; round++) {
        await call(async () => {
          const fields = { [title]: `round${round}` }
          const { sequence } = await table.update({ id: target, fields })
          await index.waitFor(sequence)
        })
        const { total } = await index.search({ query: `target_t:round${round}`, limit: 1 })
        if (total !== count) throw new Error(`${total} dependants of ${count} have changed`)
      }
      await indexes.close()
      return rounds * count
    },
  }
}

/** From a write until searches see the record. */
function searchLag(database: Database, manager: RepositoryManager, count: number): OwnWorkload {
  return {
    name: 'search-index-lag',
    run: async (call) => {
      const table = await manager.repository().createTable('lag')
      const indexes = await openSearch(database, manager)
      const index = await indexes.create({
        name: 'lag',
        configuration: {
          recordFilter: { includes: [{ tables: ['lag'], versionTags: ['last'] }] },
          fields: [{ name: 'body_t', value: body }],
        },
      })
      for (let i = 0; i < count; i++) {
        await call(async () => {
          const fields = { [body]: `lag${i}` }
          const { sequence } = await table.create({ id: recordId(`${i}`), type, fields })
          await index.waitFor(sequence)
        })
      }
      const { total } = await index.search({ query: `body_t:lag${count - 1}`, limit: 1 })
      if (total !== 1) throw new Error('the last record is not found')
      await indexes.close()
      return count
    },
  }
}

/** A database of so many record types with a field each, and the time to open it. */
function manyTypes(directory: string, count: number): OwnWorkload {
  return {
    name: 'open-with-record-types',
    run: async (call) => {
      const path = join(directory, 'types')
      const database = await Database.open(path)
      const manager = await RepositoryManager.open(database)
      for (let i = 0; i < count; i++) {
        await manager.types.createFieldType({ name: name(`field-${i}`) })
        const fields = [{ name: name(`field-${i}`) }]
        await manager.types.createRecordType({ name: name(`type-${i}`), fields })
      }
      await manager.close()
      await database.close()
      const again = await Database.open(path)
      await call(async () => {
        const opened = await RepositoryManager.open(again)
        if (opened.types.getRecordType(name(`type-${count - 1}`)).version !== 1) {
          throw new Error('the last type is not there')
        }
        await opened.close()
      })
      await again.close()
      return count
    },
  }
}

async function open(directory: string, isQuick: boolean, blobStore: string): Promise<Subject> {
  const database = await Database.open(join(directory, 'database'))
  const store = new FileBlobStore(new NodeFileSystem(), join(directory, 'blobs'))
  const manager = await RepositoryManager.open(database, {
    ...(blobStore === 'file' ? { blobStores: [{ store, bytesMax: Infinity }] } : {}),
  })
  await createTypes(manager)
  const table = manager.repository().table()
  const close = async (): Promise<void> => {
    await manager.close()
    await database.close()
  }
  let blobs = 0
  let search: SearchIndexes | undefined
  const blobParts: Pick<Subject, 'writeBlob' | 'readBlob' | 'close'> = {
    writeBlob: async (pieces) => {
      const blob = await manager.blobs.upload(pieces, { mediaType: 'a/b' })
      const id = recordId(`zz-blob-${++blobs}`)
      await table.create({ id, type, fields: { [name('blob')]: blob } })
      return blob
    },
    readBlob: async (blob, piece) => {
      let size = 0
      for await (const bytes of manager.blobs.read(blob as Blob)) {
        size += bytes.length
        piece(bytes)
      }
      return size
    },
    close,
  }
  if (blobStore === 'file') return blobParts
  await table.indexes.create({ name: 'years', fields: [year] })
  const create = (document: BenchDocument): { id: string; type: string; fields: object } => {
    return { id: recordId(document.id), type, fields: fieldsOf(document) }
  }
  return {
    ...blobParts,
    load: async (documents) => {
      for (let from = 0; from < documents.length; from += 100) {
        const writes = documents.slice(from, from + 100)
        await table.batch(writes.map((document) => ({ create: create(document) as never })))
      }
    },
    create: (document) => table.create(create(document) as never),
    read: (id) => table.readSync(recordId(id)),
    documentOf,
    change: async (id, expected, next) => {
      const conditions = [{ field: counter, value: expected }]
      const input = { id: recordId(id), fields: { [counter]: next } }
      return (await table.update(input, { conditions })).status === 'UPDATED'
    },
    addVersion: (id, value) => table.update({ id: recordId(id), fields: { [title]: value } }),
    readVersion: (id, version) => {
      return table.readSync(recordId(id), { version, fields: [title] }).fields[title] as string
    },
    scan: async () => {
      let count = 0
      let years = 0
      for await (const { fields } of table.scan()) {
        if (fields[year] === undefined) continue
        count++
        years += fields[year] as number
      }
      return [count, years] as const
    },
    find: async (from, limit) => {
      const range = { field: year, from }
      const { records } = await table.query({ range, limit, fields: 'none' })
      return records.map(({ id }) => id.text.slice('USER.'.length))
    },
    prepareSearch: async () => {
      search = await openSearch(database, manager)
      const index = await search.create({
        name: 'words',
        configuration: {
          recordFilter: { includes: [{ versionTags: ['last'] }] },
          fields: [
            { name: 'words_t_mv', value: title },
            { name: 'words_t_mv', value: body },
          ],
        },
        build: true,
      })
      await index.built()
    },
    search: async (words) => {
      const query = words.map((word) => `+words_t_mv:${word}`).join(' ')
      // As the peers, which count.
      return (await search!.index('words').search({ query, limit: 0 })).total
    },
    endSearch: async () => {
      // Else it would follow all that comes, in the measurements of others.
      await search?.delete('words')
      await search?.close()
    },
    own: [
      indexLag(manager, table, isQuick ? 20 : 5000),
      searchLag(database, manager, isQuick ? 10 : 500),
      fanOut(database, manager, isQuick ? 20 : 1000, isQuick ? 2 : 5),
      manyTypes(directory, isQuick ? 50 : 20_000),
    ],
  }
}

function version(): string {
  const path = join(import.meta.dirname, '../../../package.json')
  return (JSON.parse(readFileSync(path, 'utf8')) as { version: string }).version
}

/** Cellar, by the number of records; and again with blobs in files. */
export function ownEntries(isQuick: boolean): SubjectEntry[] {
  return ['table', 'file'].map((blobStore) => ({
    name: blobStore === 'table' ? 'cellar' : 'cellar/file',
    isPeer: false,
    version,
    open: (directory) => open(directory, isQuick, blobStore),
  }))
}
