/** Records, their blobs and their index together: the embedded index and text extraction. */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  EmbeddedSearch,
  RepositoryManager,
  SearchIndexes,
  TextExtraction,
} from '../../../../src/systems/repository/index.js'
import { eventually } from '../../../suites/kit.js'
import { docxOf, pdfOf } from '../repository/extraction/documents.js'

void t.test(
  'words of records and of their documents are found, also after a restart',
  async (t) => {
    const fileSystem = new MemoryFileSystem()
    const open = (): Promise<Database> =>
      Database.open('/database', { fileSystem, executor: 'inline', compactionEnabled: false })
    let database = await open()
    let manager = await RepositoryManager.open(database)
    const { types } = manager
    await types.createFieldType({ name: '{n}title', valueType: 'STRING' })
    await types.createFieldType({ name: '{n}files', valueType: 'LIST<BLOB>' })
    await types.createRecordType({ name: '{n}note', fields: [{ name: '{n}title' }] })
    const extraction = new TextExtraction()
    t.teardown(() => extraction.close())
    const failed: unknown[] = []
    let search: EmbeddedSearch
    const openIndexes = (): Promise<SearchIndexes> =>
      SearchIndexes.open(manager, {
        backend: async ({ name }) => {
          search = await EmbeddedSearch.open(database, { name })
          return search
        },
        extract: extraction.extract,
        onExtractionFailure: (_, blob) => failed.push(blob.name),
        retryMilliseconds: 0,
        commitMilliseconds: 0,
      })
    let indexes = await openIndexes()
    await indexes.create({
      name: 'notes.all',
      configuration: {
        recordFilter: { includes: [{ recordType: '{n}note', versionTags: ['last'] }] },
        fields: [
          { name: 'title_t', value: '{n}title' },
          { name: 'files_t_mv', value: '{n}files', extractContent: true },
        ],
      },
    })
    const upload = (bytes: Buffer, mediaType: string, name: string): Promise<unknown> =>
      manager.blobs.upload(bytes, { mediaType, name })
    const files = [
      await upload(pdfOf(['The quarterly report']), 'application/pdf', 'a.pdf'),
      await upload(docxOf(['minutes of the', 'annual meeting']), 'application/x', 'b.docx'),
      await upload(Buffer.from('%PDF-1.4 broken'), 'application/pdf', 'c.pdf'),
    ]
    const table = manager.repository().table()
    await table.create({
      id: 'USER.a',
      type: '{n}note',
      fields: { '{n}title': 'Plans', '{n}files': files },
    })
    await table.create({ id: 'USER.b', type: '{n}note', fields: { '{n}title': 'Other plans' } })
    const idsOf = async (query: string): Promise<string> => {
      await indexes.index('notes.all').waitFor()
      const { hits } = await search.search({ query, sort: [{ field: 'lily.id' }] })
      return hits.map(({ fields }) => fields['lily.id'][0]).join(' ')
    }
    t.equal(await idsOf('title_t:plans'), 'USER.a USER.b')
    // A document whose text takes long is indexed without the text first.
    for (const words of ['quarterly report', 'annual meeting']) {
      const query = `files_t_mv:"${words}"`
      t.equal(await eventually(() => idsOf(query), 'USER.a'), 'USER.a')
    }
    t.equal(await idsOf('files_t_mv:"report minutes"'), '', 'not across two documents')
    t.equal(await eventually(() => failed.join(), 'c.pdf'), 'c.pdf', 'only its text is left out')
    await table.update({ id: 'USER.b', fields: { '{n}title': 'Done' } })
    await table.delete('USER.a')
    t.equal(await idsOf('title_t:plans'), '')
    t.equal(await idsOf('title_t:done'), 'USER.b')

    await indexes.close()
    await manager.close()
    await database.close()
    database = await open()
    manager = await RepositoryManager.open(database)
    indexes = await openIndexes()
    t.equal(await idsOf('*:*'), 'USER.b')
    await indexes.close()
    await manager.close()
    await database.close()
  },
)
