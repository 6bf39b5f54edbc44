/**
 * Random writes: an index that followed them has the documents of one that is built anew.
 *
 * @runs long
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  Link,
  SearchIndexes,
  RepositoryManager,
  type IndexConfiguration,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'
import { PlainSearch } from '../../../helpers/plain-search.js'
import { seededRandom } from '../../../../src/base/random.js'
import { lengthOf } from '../../../helpers/length.js'

const tags = '{org.lilyproject.vtag}'
const versionOf = '{org.lilyproject.system}version'

/** Chains of every kind, fields inside records, dynamic fields, and rules by type and by value. */
const configuration: IndexConfiguration = {
  recordFilter: {
    excludes: [{ field: { name: '{n}title', equals: 'hidden' } }],
    includes: [
      { recordType: '{n}note', tables: ['record'], versionTags: ['last', 'live'] },
      { recordType: '{n}note', variant: '', versionTags: ['live'] },
      { instanceOf: '{n}base', versionTags: ['last', 'live'] },
    ],
  },
  fields: [
    { name: 'title', value: '{n}title' },
    { name: 'linked', value: '{n}one=>{n}title' },
    { name: 'many_body', value: '{n}many=>{n}body' },
    { name: 'far', value: '{n}one=>{n}many=>{n}mutable' },
    { name: 'linked_version', value: `{n}one=>${versionOf}` },
    { name: 'master_title', value: 'master=>{n}title' },
    { name: 'less', value: '-lang=>{n}body' },
    { name: 'more', value: '+lang=>{n}body' },
    { name: 'more_en', value: '+lang=en=>{n}one=>{n}title' },
    { name: 'inner', value: '{n}inner=>{n}one=>{n}title' },
    { name: 'named_${{n}title}', value: '{n}body' },
    {
      forEach: '{n}many',
      fields: [
        {
          match: { field: { name: '{n}body', notEquals: 'b1' } },
          fields: [{ name: 'each_${{n}title}', value: '{n}mutable' }],
        },
      ],
    },
  ],
  dynamicFields: [{ matchNamespace: 'n', matchScope: ['VERSIONED_MUTABLE'], name: 'd_${name}' }],
}

async function createTypes({ types }: RepositoryManager): Promise<void> {
  await types.createFieldType({ name: `${tags}live`, valueType: 'LONG' })
  const fields = [
    ['title', 'STRING', 'NON_VERSIONED'],
    ['body', 'STRING', 'VERSIONED'],
    ['mutable', 'STRING', 'VERSIONED_MUTABLE'],
    ['one', 'LINK', 'NON_VERSIONED'],
    ['many', 'LIST<LINK>', 'VERSIONED'],
    ['inner', 'RECORD', 'VERSIONED'],
  ] as const
  for (const [local, valueType, scope] of fields) {
    await types.createFieldType({ name: `{n}${local}`, valueType, scope })
  }
  await types.createRecordType({ name: '{n}note', fields: [{ name: '{n}one' }] })
  await types.createRecordType({ name: '{n}base', fields: [{ name: '{n}title' }] })
  const supertypes = [{ name: '{n}base' }]
  await types.createRecordType({ name: '{n}sub', supertypes })
}

/** Makes random writes; the codes of those that were refused. */
function writer(random: () => number): (tables: readonly RecordTable[]) => Promise<unknown> {
  const pick = (count: number): number => Math.floor(random() * count)
  const id = (): string => `USER.${pick(3)}${['', '', '.lang=en', '.lang=nl'][pick(4)]}`
  const link = (): Link => {
    const kind = random()
    if (kind < 0.1) return Link.parse('.')
    if (kind < 0.2) return Link.parse(`other:USER.${pick(3)}.!*`)
    return Link.parse(`USER.${pick(3)}${random() < 0.3 ? '.-lang' : ''}`)
  }
  const values = (): Record<string, unknown> => ({
    ...(random() < 0.4 ? { '{n}title': random() < 0.1 ? 'hidden' : `t${pick(4)}` } : {}),
    ...(random() < 0.5 ? { '{n}body': `b${pick(3)}` } : {}),
    ...(random() < 0.3 ? { '{n}mutable': `m${pick(9)}` } : {}),
    ...(random() < 0.4 ? { '{n}one': link() } : {}),
    ...(random() < 0.4 ? { '{n}many': Array.from({ length: pick(4) }, link) } : {}),
    ...(random() < 0.2 ? { '{n}inner': { type: '{n}note', fields: { '{n}one': link() } } } : {}),
  })
  return async (tables) => {
    const table = tables[pick(2)]
    const own = id()
    const kind = random()
    if (kind < 0.4) {
      const fields = { '{n}mutable': `m${pick(9)}`, ...values() }
      const type = ['{n}note', '{n}sub', '{n}base'][pick(3)]
      return table.createOrUpdate({ id: own, type, fields })
    }
    const names = ['title', 'body', 'many', 'inner', 'mutable', 'one']
    if (kind < 0.5) {
      return table.update({ id: own, fieldsToDelete: [`{n}${names[pick(names.length)]}`] })
    }
    if (kind < 0.6) return table.update({ id: own, fields: values() })
    if (kind < 0.7) {
      const fields = { ...values(), '{n}mutable': `m${pick(9)}` }
      return table.update({ id: own, fields }, { version: 1 + pick(3) })
    }
    if (kind < 0.75) return table.update({ id: own, fields: values() }, { autosave: true })
    if (kind < 0.85) return table.tag(own, `${tags}live`, 1 + pick(4))
    if (kind < 0.9) return table.untag(own, `${tags}live`)
    if (kind < 0.94) return table.pruneVersions(own, { keep: 2, keepTagged: random() < 0.5 })
    if (kind < 0.96) return table.undelete(own)
    return table.delete(own)
  }
}

void t.test('documents after random writes are those of a rebuild', async (t) => {
  const seed = Number(process.env['CELLAR_SEED'] ?? 2211)
  t.comment(`seed ${seed}`)
  const random = seededRandom(seed)
  const fileSystem = new MemoryFileSystem()
  const openDatabase = (): Promise<Database> =>
    Database.open('/database', { fileSystem, executor: 'inline' })
  const servers = new Map<string, PlainSearch>()
  const server = (name: string): PlainSearch => {
    const found = servers.get(name) ?? new PlainSearch()
    servers.set(name, found)
    return found
  }
  let database = await openDatabase()
  let manager = await RepositoryManager.open(database, { undeleteMilliseconds: 1e9 })
  await createTypes(manager)
  await manager.repository().createTable('other')
  const openIndexes = (): Promise<SearchIndexes> =>
    SearchIndexes.open(manager, {
      backend: ({ name }) => server(name),
      lanes: 3,
      retryMilliseconds: 0,
      commitMilliseconds: 0,
    })
  let indexes = await openIndexes()
  await indexes.create({ name: 'followed', configuration })
  // Often, because a later write of the same record mends what an earlier one has missed.
  const compare = async (): Promise<number> => {
    const followed = indexes.index('followed')
    await followed.waitFor()
    const built = await indexes.create({ name: 'built', configuration, build: true })
    t.equal((await built.built())?.failed, 0)
    const { documents } = server('followed')
    t.strictSame(server('built').documents, documents, 'no difference')
    t.strictSame(await built.storedRows(), await followed.storedRows())
    await indexes.delete('built')
    return documents.length
  }
  const write = writer(random)
  const codes = new Set<string>()
  const rounds = lengthOf('CELLAR_INDEXER_WRITES', 80, 600)
  for (let round = 0; round < rounds; round++) {
    const tables = ['record', 'other'].map((name) => manager.repository().table(name))
    await write(tables).catch((error: unknown) => codes.add((error as { code: string }).code))
    if (random() < 0.05) server('followed').failures = 2
    if (round % 8 === 7) await compare()
    if (round % 100 !== 50) continue
    // Closed in the middle: what the server had not committed is lost, and comes again.
    await indexes.close()
    await manager.close()
    await database.close()
    database = await openDatabase()
    manager = await RepositoryManager.open(database, { undeleteMilliseconds: 1e9 })
    indexes = await openIndexes()
  }
  t.strictSame(await indexes.index('followed').deadLetters(), [])
  const count = await compare()
  t.ok(count > 5, `${count} documents`)
  const known = ['ERR_INVALID_RECORD', 'ERR_RECORD_NOT_FOUND', 'ERR_VERSION_NOT_FOUND']
  t.strictSame(
    [...codes].filter((code) => !known.includes(code)),
    [],
    'nothing else is refused',
  )
  await indexes.close()
  await manager.close()
  await database.close()
})
