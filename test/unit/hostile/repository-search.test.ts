/**
 * The entry `cellardb/repository` with values that no caller should give: blobs, search,
 * subscriptions, maintenance, imports, and rows for readers.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/index.js'
import * as repository from '../../../src/repository/index.js'
import { checkEntry } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { checkMembers } from './hostile-members.js'
import { searchSide, searchSideOfManager } from './repository-sides.js'

t.setTimeout(1_800_000)

const upload = { mediaType: 'text/plain' }
const configuration = {
  recordFilter: { includes: [{ versionTags: ['last'] }] },
  fields: [{ name: 'title_t', value: '{n}title' }],
}

/** Answers every request with 200 and the same text. */
async function serverOf(t: Test, text: string): Promise<string> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      response.writeHead(200, { connection: 'close' })
      response.end(text)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

interface Opened extends LiveObjects {
  readonly manager: repository.RepositoryManager
  readonly database: Database
  readonly indexes: repository.SearchIndexes
}

async function openManager(): Promise<{
  readonly database: Database
  readonly manager: repository.RepositoryManager
}> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await repository.RepositoryManager.open(database)
  const { types } = manager
  await types.createFieldType({ name: '{n}title', valueType: 'STRING', scope: 'VERSIONED' })
  await types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  const fields = [{ name: '{n}title' as const }, { name: '{n}file' as const }]
  await types.createRecordType({ name: '{n}r', fields })
  const file = await manager.blobs.upload(Buffer.alloc(6000), upload)
  const table = manager.repository().table()
  await table.create({ id: 'USER.a', type: '{n}r', fields: { '{n}title': 'one', '{n}file': file } })
  return { database, manager }
}

async function openAll(solr: string, s3: string): Promise<Opened> {
  const { database, manager } = await openManager()
  const indexes = await repository.SearchIndexes.open(manager, {
    backend: ({ name }) => repository.EmbeddedSearch.open(database, { name }),
    retryMilliseconds: 0,
  })
  const index = await indexes.create({ name: 'i', configuration, build: true })
  await index.built()
  const search = await repository.EmbeddedSearch.open(database, { name: 'own' })
  await search.update({ documents: [{ key: 'k', fields: { title_t: ['one'] } }] })
  await search.commit()
  const subscription = await manager.subscribe('s', () => undefined)
  const maintenance = repository.RepositoryMaintenance.start(manager)
  const blobTable = database.table('repository.blobdata')
  const credentials = { accessKeyId: 'a', secretAccessKey: 's' }
  const extraction = new repository.TextExtraction({ threads: 1 })
  const s3Store = new repository.S3BlobStore({
    ...{ endpoint: s3, region: 'local', bucket: 'b', credentials },
    ...{ forcePathStyle: true, attemptsMax: 1 },
  })
  const ofManager = searchSideOfManager.map((callee) => {
    const name = callee.slice('manager.'.length) as 'subscribe'
    return [name, (...values: unknown[]) => manager[name](...(values as [string, () => void]))]
  })
  const objects = {
    manager: Object.fromEntries(ofManager) as object,
    blobs: manager.blobs,
    subscription,
    indexes,
    index,
    search,
    maintenance,
    extraction,
    solr: new repository.SolrSearch({ url: solr }),
    'file store': new repository.FileBlobStore(new MemoryFileSystem(), '/blobs'),
    'table store': new repository.TableBlobStore(blobTable, 'SYNC_WAL'),
    's3 store': s3Store,
  }
  const close = async (): Promise<void> => {
    await maintenance.close()
    await extraction.close()
    s3Store.close()
    await indexes.close()
    await search.close()
    await manager.close()
    await database.close()
  }
  return { objects, close, manager, database, indexes }
}

const own = Object.fromEntries(
  Object.entries(repository).filter(([name]) => searchSide.includes(name)),
)

void t.test('blobs, search and all that stands beside records', async (t) => {
  t.strictSame(Object.keys(own).sort(), [...searchSide].sort(), 'every name is an export')
  const solr = await serverOf(t, '{"response":{"numFound":0,"docs":[]}}')
  const s3 = await serverOf(t, '')
  await checkEntry(t, {
    exports: own,
    open: () => openAll(solr, s3),
    except: {
      'new EmbeddedSearch': 'is private; EmbeddedSearch.open checks what it gets',
      'new RepositoryMaintenance': 'is private; RepositoryMaintenance.start checks what it gets',
      'new SearchIndexes': 'is private; SearchIndexes.open checks what it gets',
    },
  })
})

void t.test('options and other arguments beside records', async (t) => {
  await checkMembers(t, {})
})
