/** What the texts of an index are made of is stored before a document is sent. */
import type { AtomicBatch } from '../../../../src/api/index.js'
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  RepositoryManager,
  SearchIndexes,
  type SearchBackend,
} from '../../../../src/systems/repository/index.js'
import { withMembers } from '../../../helpers/planted.js'
import { PlainSearch } from '../../../helpers/plain-search.js'

void t.test('no document is sent before it is stored what it shows', async (t) => {
  const fileSystem = new MemoryFileSystem()
  const plainDatabase = await Database.open('/d', { fileSystem, executor: 'inline' })
  // A batch that says what texts are made of takes its time.
  const database = withMembers(plainDatabase, {
    atomic: async (batch: AtomicBatch) => {
      const [{ table, row }] = batch.mutations
      const isSources =
        table === 'repository.x.pages' && Buffer.from(row).toString().startsWith('s')
      if (isSources) await new Promise((resolve) => setTimeout(resolve, 10))
      return plainDatabase.atomic(batch)
    },
  })
  const manager = await RepositoryManager.open(database)
  const names = ['a', 'b', 'c', 'd']
  for (const local of names) await manager.types.createFieldType({ name: `{n}${local}` })
  await manager.types.createFieldType({ name: '{n}box', valueType: 'RECORD' })
  const fields = [...names, 'box'].map((local) => ({ name: `{n}${local}` as const }))
  await manager.types.createRecordType({ name: '{n}page', fields })
  const idOf = (local: string): string => manager.types.getFieldType(`{n}${local}`).id
  let sent = 0
  const plain = new PlainSearch()
  const server = withMembers<SearchBackend>(plain, {
    update: async (changes) => {
      for (const { fields: texts } of changes.documents ?? []) {
        const rows = await database.table('repository.x.pages').scan({ prefix: 's' }).all()
        const row = rows.find((each) => each.row!.toString() === 's["box_t"]')
        const stored = row?.value('x:v', 'json') as { own: string[] } | undefined
        for (const local of names.filter((each) => texts['box_t']?.join(' ').includes(each))) {
          t.ok(stored?.own.includes(idOf(local)), `${local} is known before it is sent`)
          sent++
        }
      }
      return plain.update(changes)
    },
  })
  const indexes = await SearchIndexes.open(manager, { backend: () => server })
  const index = await indexes.create({
    name: 'pages',
    configuration: {
      recordFilter: { includes: [{ versionTags: ['last'] }] },
      fields: [{ name: 'box_t', value: '{n}box' }],
    },
  })
  const table = manager.repository().table()
  // At the same time: one that adds nothing waits for what another one adds.
  await Promise.all(
    names.flatMap((local) => {
      const box = { type: '{n}page', fields: { [`{n}${local}`]: local } }
      return [1, 2, 3].map((number) => {
        const id = `USER.${local}${number}`
        return table.create({ id, type: '{n}page', fields: { '{n}box': box } })
      })
    }),
  )
  await index.waitFor()
  t.equal(sent, 12)
  await indexes.close()
  await manager.close()
  await database.close()
})
