/**
 * The entry `cellardb/repository` with values that no caller should give: blobs, search,
 * subscriptions, maintenance, imports, and rows for readers.
 *
 * @runs campaign, long
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import * as repository from '../../../src/systems/repository/index.js'
import { checkEntry, isCellarError } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { hostileValues } from '../table/arguments/hostile-values.js'
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

void t.test('options and other arguments of blobs, subscriptions and imports', async (t) => {
  const url = await serverOf(t, '')
  const { database, manager } = await openManager()
  const table = manager.repository().table()
  const blob = await manager.blobs.upload(Buffer.alloc(6000), upload)
  const extraction = new repository.TextExtraction({ threads: 1 })
  const store = new repository.TableBlobStore(database.table('repository.blobdata'), 'SYNC_WAL')
  const key = Buffer.alloc(16, 7)
  await store.put(
    key,
    (async function* () {
      yield Buffer.from('abc')
    })(),
  )
  const all = async (pieces: AsyncIterable<unknown>): Promise<void> => {
    for await (const piece of pieces) t.ok(piece)
  }
  let failures = 0
  await checkMembers(t, {
    upload: {
      call: (...given: [Uint8Array[], repository.BlobUpload]) => manager.blobs.upload(...given),
      values: [[Buffer.from('ab'), Buffer.from('c')], { ...upload, name: 'a.txt', size: 3 }],
    },
    'read of a blob': {
      call: (...given: [repository.Blob, repository.ByteRange]) => {
        return all(manager.blobs.read(...given))
      },
      values: [
        { ...blob, name: 'a.txt' },
        { start: 1, end: 5 },
      ],
    },
    sweep: {
      call: (options: repository.SweepOptions) => manager.blobs.sweep(options),
      values: [{ ageMillisecondsMin: 3_600_000, signal: undefined }],
    },
    'blob store of files': {
      call: (...given: ConstructorParameters<typeof repository.FileBlobStore>) => {
        return new repository.FileBlobStore(...given)
      },
      values: [new MemoryFileSystem(), '/blobs'],
    },
    'blob store of S3': {
      call: (options: repository.S3Options) => new repository.S3BlobStore(options).close(),
      values: [
        {
          ...{ bucket: 'b', prefix: 'p', endpoint: url, region: 'r', forcePathStyle: true },
          ...{ credentials: { accessKeyId: 'a', secretAccessKey: 's', sessionToken: 't' } },
          ...{ partBytes: 5 * 2 ** 20, attemptsMax: 1 },
        },
      ],
    },
    'read of a store': {
      call: (...given: [Buffer, number, number]) => all(store.read(...given)),
      values: [key, 0, 3],
    },
    subscription: {
      call: async (...given: [string, () => void, repository.SubscriptionOptions]) => {
        const made = await manager.subscribe(...given)
        await made.close()
      },
      values: [
        's',
        () => undefined,
        {
          ...{ retriesMax: 1, retryMilliseconds: 1, lanes: 2, from: 'now' },
          beforePosition: async () => undefined,
        },
      ],
    },
    'options of extraction': {
      call: async (options: repository.TextExtractionOptions) => {
        await new repository.TextExtraction(options).close()
      },
      values: [
        {
          ...{ threads: 1, charactersMax: 5, timeMillisecondsMax: 5000, heapMebibytesMax: 64 },
          ...{ contentBytesMax: 500, inflatedBytesMax: 500, modules: { 'a/b': 'file:///none' } },
        },
      ],
    },
    extraction: {
      call: (...given: Parameters<repository.TextExtraction['extractText']>) => {
        return extraction.extractText(...given)
      },
      values: [Buffer.from('abc'), 'text/plain', 'a.txt', undefined],
    },
    maintenance: {
      call: (options: repository.MaintenanceOptions) => {
        return repository.RepositoryMaintenance.start(manager, options).close()
      },
      values: [
        {
          ...{ intervalMilliseconds: 5, firstMilliseconds: 5, uploadMillisecondsMax: 3_600_000 },
          onFailure: () => undefined,
        },
      ],
    },
    'a run of maintenance': {
      call: (run: repository.MaintenanceRun) => repository.maintain(manager, run),
      values: [{ uploadMillisecondsMax: 3_600_000, signal: undefined }],
    },
    import: {
      call: (source: Iterable<string>, options: repository.ImportOptions) => {
        return repository.importRecords(manager.types, table, source, options)
      },
      values: [
        ['{"records":[{"id":"USER.x","type":"{n}r",', '"fields":{"{n}title":"x"}}]}'],
        {
          ...{ format: 'object', schemaOnly: false, ignoreEmptyFields: true },
          ...{ ignoreAndDeleteEmptyFields: true, workers: 2, failuresMax: 2 },
          failed: () => void failures++,
        },
      ],
    },
  })
  t.equal(failures, 0, 'no record of the import fails')
  await extraction.close()
  await manager.close()
  await database.close()
})

void t.test('options and other arguments of search', async (t) => {
  const url = await serverOf(t, '{"response":{"numFound":0,"docs":[]}}')
  const { database, manager } = await openManager()
  const indexes = await repository.SearchIndexes.open(manager, {
    backend: ({ name }) => repository.EmbeddedSearch.open(database, { name }),
    retryMilliseconds: 0,
  })
  await indexes.create({ name: 'i', configuration })
  const search = await repository.EmbeddedSearch.open(database, { name: 'own' })
  const solr = new repository.SolrSearch({ url })
  const query = {
    ...{ query: 'title_t:one', filters: ['*:*'], defaultField: 'title_t' },
    ...{ sort: [{ field: 'name_s', descending: true }], offset: 0, limit: 10 },
  }
  const changes = {
    documents: [{ key: 'k', fields: { title_t: ['one'], name_s: ['n'] } }],
    removedKeys: ['other'],
    removedRecords: [{ table: 'record', id: 'USER.x' }],
  }
  await checkMembers(t, {
    'options of indexes': {
      call: async (options: repository.SearchIndexesOptions) => {
        await (await repository.SearchIndexes.open(manager, options)).close()
      },
      values: [
        {
          backend: () => new repository.SolrSearch({ url }),
          ...{ configurations: { i: configuration }, formatters: { mine: () => [] } },
          ...{ extract: async () => '', onExtractionFailure: () => undefined },
          ...{ lanes: 1, retryMilliseconds: 1, commitMilliseconds: 1, textMilliseconds: 1 },
        },
      ],
    },
    'an index': {
      call: async (input: repository.SearchIndexInput) => {
        try {
          const index = await indexes.create(input)
          await index.built()
        } finally {
          for (const { name } of await indexes.list()) if (name !== 'i') await indexes.delete(name)
        }
      },
      values: [
        {
          ...{ name: 'n', repository: 'default', incremental: 'DO_NOT_SUBSCRIBE', build: true },
          configuration: {
            recordFilter: {
              includes: [
                {
                  ...{ recordType: '{n}r', instanceOf: '{n}r', variant: '*', tables: ['record'] },
                  ...{ field: { name: '{n}title', equals: 'one' }, versionTags: ['last'] },
                },
              ],
              excludes: [{ field: { name: '{n}title', notEquals: 'one' } }],
            },
            ...{ formatters: { f: 'default' }, defaultFormatter: 'f', dereference: true },
            fields: [
              { name: 'title_t', value: '{n}title', extractContent: false, formatter: 'f' },
              { match: { recordType: '{n}r' }, fields: [{ name: 'm_t', value: '{n}title' }] },
              { forEach: 'master', fields: [{ name: 'e_t', value: '{n}title' }] },
            ],
            dynamicFields: [
              {
                ...{ matchNamespace: 'n', matchName: '*', matchType: 'STRING', continue: true },
                ...{ matchScope: ['VERSIONED'], name: '${name}_t', extractContent: false },
                formatter: 'f',
              },
            ],
          },
          backend: { any: ['json', 1, null] },
          defaultBuild: {
            ...{ clear: true, tables: ['record'], startId: 'USER.a', stopId: 'USER.b' },
            filter: { type: 'recordType', recordType: '{n}r' },
          },
        },
      ],
    },
    'an update of an index': {
      call: async (update: repository.SearchIndexUpdate) => {
        await indexes.update('i', update)
        await indexes.index('i').built()
      },
      values: [
        {
          ...{ version: undefined, configuration, incremental: 'DO_NOT_SUBSCRIBE', build: true },
          ...{ backend: null, defaultBuild: { clear: false }, buildArguments: { clear: false } },
        },
      ],
    },
    'options of a search index': {
      call: async (options: repository.EmbeddedSearchOptions) => {
        const opened = await repository.EmbeddedSearch.open(database, options)
        try {
          await opened.update(changes)
          await opened.commit()
        } finally {
          await opened.close()
          await repository.EmbeddedSearch.remove(database, options)
        }
      },
      values: [
        {
          ...{ tablePrefix: 'p', name: 'n', fields: { '*_t': 'text', name_s: 'literal' } },
          ...{ otherFields: 'refused', clock: { now: () => Date.now() }, durability: 'SYNC_WAL' },
          ...{ bufferBytesMax: 1000, cacheBytesMax: 1000 },
        },
      ],
    },
    'changes of a search index': {
      call: async (given: repository.SearchChanges) => {
        await search.update(given)
        await search.commit()
      },
      values: [changes],
    },
    'a search': {
      call: (given: repository.SearchQuery) => search.search(given),
      values: [query],
    },
    'options of Solr': {
      call: (options: repository.SolrSearchOptions) => new repository.SolrSearch(options),
      values: [{ url, keyField: 'key', headers: { a: 'b' }, timeoutMilliseconds: 1000 }],
    },
    'changes of Solr': {
      call: (given: repository.SearchChanges) => solr.update(given),
      values: [changes],
    },
    'a search of Solr': {
      call: (given: repository.SearchQuery) => solr.search(given),
      values: [query],
    },
    'a query': {
      call: (text: string, field: string) => repository.parseQuery(text, field),
      values: ['a AND b:c', 'f'],
    },
  })
  t.equal((await search.search({ query: '*:*' })).total, 1, 'the search goes on')
  await indexes.close()
  await search.close()
  await manager.close()
  await database.close()
})

/** A function that gives or throws a value, made anew for each call. */
function answering(make: () => unknown, throws: boolean): () => Promise<never> {
  return async () => {
    if (throws) throw make()
    return make() as never
  }
}

void t.test('functions of the program may give and throw anything', async (t) => {
  const unhandled: unknown[] = []
  const note = (error: unknown): void => void unhandled.push(error)
  process.on('unhandledRejection', note)
  const { database, manager } = await openManager()
  const options = { retryMilliseconds: 0, commitMilliseconds: 0 }
  let count = 0
  for (const { name, make } of hostileValues) {
    for (const throws of [false, true]) {
      const what = `${name}, ${throws ? 'thrown' : 'given'}`
      const answer = answering(make, throws)
      // A promise does not resolve with a proxy that cannot be asked for its `then`.
      const rejects = throws || /proxy that throws|revoked/.test(name)
      const subscription = await manager.subscribe(`s${++count}`, answer, { retriesMax: 0 })
      await subscription.caughtUp()
      const letters = rejects ? 1 : 0
      t.equal((await subscription.deadLetters()).length, letters, `a handler: ${what}`)
      await subscription.close()
      await manager.removeSubscription(subscription.name)

      const closed = await repository.SearchIndexes.open(manager, { backend: answer })
      const created = closed.create({ name: 'i', configuration })
      const failed = await created.then(
        () => undefined,
        (error: unknown) => ({ error }),
      )
      t.not(failed, undefined, `a search server: ${what}`)
      if (!rejects) t.ok(isCellarError(failed?.error), what)
      await closed.close()

      const indexes = await repository.SearchIndexes.open(manager, {
        ...options,
        backend: (definition) =>
          repository.EmbeddedSearch.open(database, { name: definition.name }),
        extract: answer,
        onExtractionFailure: (): unknown => answer(),
      })
      const give = (): never => {
        if (throws) throw make()
        return make() as never
      }
      await indexes.delete('i')
      const index = await indexes.create({
        name: `i${count}`,
        configuration: {
          ...configuration,
          fields: [
            { name: 'value_t', value: answer },
            { name: 'format_t', value: '{n}title', formatter: 'f' },
            { name: 'file_t', value: '{n}file', extractContent: true },
          ],
          formatters: { f: give },
        },
        build: true,
      })
      const report = await index.built()
      t.ok(report !== undefined && index.failure === undefined, `a build: ${what}`)
      await indexes.delete(index.name)
      await indexes.close()
    }
  }
  process.off('unhandledRejection', note)
  t.strictSame(unhandled, [], 'no rejection is left unhandled')
  await manager.close()
  await database.close()
})
