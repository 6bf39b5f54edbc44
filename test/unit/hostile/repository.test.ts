/**
 * The records of `cellardb/repository` with values that no caller should give.
 *
 * @runs campaign
 */
import t from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import * as repository from '../../../src/systems/repository/index.js'
import { checkEntry, isCellarError, isOfCalledClass } from './check-entry.js'
import type { LiveObjects } from './hostile-calls.js'
import { checkMembers } from './hostile-members.js'
import { searchSide, searchSideOfManager } from './repository-sides.js'

t.setTimeout(1_800_000)

const title = '{n}title'
const type = '{n}r'

async function openManager(): Promise<[Database, repository.RepositoryManager]> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/d', { fileSystem, executor: 'inline' })
  const manager = await repository.RepositoryManager.open(database)
  const { types } = manager
  await types.createFieldType({ name: title, scope: 'VERSIONED' })
  await types.createFieldType({ name: '{n}file', valueType: 'BLOB' })
  await types.createFieldType({ name: '{n}next', valueType: 'LINK' })
  await types.createFieldType({ name: '{n}times', valueType: 'LIST<DATETIME>' })
  await types.createFieldType({ name: '{n}bytes', valueType: 'BYTEARRAY' })
  await types.createFieldType({ name: '{n}inner', valueType: 'RECORD' })
  const names = ['title', 'file', 'next', 'times', 'bytes', 'inner']
  await types.createRecordType({
    name: type,
    fields: names.map((name) => ({ name: `{n}${name}` })),
  })
  const table = manager.repository().table()
  await table.create({ id: 'USER.a', type, fields: { [title]: 'one' } })
  await table.update({ id: 'USER.a', fields: { [title]: 'two' } })
  await table.indexes.create({ name: 'i', fields: [title] })
  return [database, manager]
}

const definition = repository.defineRecordType('{n}defined', {
  defined: { type: 'STRING', mandatory: true },
})

async function open(): Promise<LiveObjects> {
  const [database, manager] = await openManager()
  await repository.applySchema(manager.types, [definition])
  const one = manager.repository()
  const table = one.table()
  const objects = {
    manager,
    types: manager.types,
    links: manager.links,
    scanners: manager.scanners,
    repository: one,
    table,
    'field indexes': table.indexes,
    'typed records': table.typed(definition),
    scan: table.scan(),
    id: repository.RecordId.user('a'),
    link: repository.Link.to('USER.a'),
    draft: new repository.RecordDraft(),
    'reader of names': new repository.NameReader([['n', 'n']]),
    'writer of names': new repository.NameWriter(),
    number: new repository.JsonNumber('1'),
  }
  const close = async (): Promise<void> => {
    await manager.close()
    await database.close()
  }
  return { objects, close }
}

function except(names: readonly string[], reason: string): Record<string, string> {
  return Object.fromEntries(names.map((name) => [name, reason]))
}

const ofSearch = new Set(searchSide)
const ofRecords = Object.fromEntries(
  Object.entries(repository).filter(([name]) => !ofSearch.has(name)),
)

/** Values that records have. */
const plausible = [
  ...['USER.a', 'record', title, type, '{n}next', 'i', 'STRING', 1, 1n],
  ...[{ id: 'USER.a' }, { [title]: 'x' }, { id: 'USER.a', fields: { [title]: 'x' } }],
]

void t.test('the repository', (t) =>
  checkEntry(
    t,
    {
      exports: ofRecords,
      open,
      except: {
        ...except(searchSideOfManager, 'is of the other part'),
        ...except(['new RecordId', 'new RepositoryManager'], 'is private'),
      },
      plausible,
    },
    (error) => isCellarError(error) || isOfCalledClass(error),
  ),
)

const inner = { type, fields: { [title]: 'inner' } }
const input = {
  ...{ id: 'USER.a', version: 1, type: { name: type, version: 1 }, fieldsToDelete: ['{n}file'] },
  fields: {
    ...{ [title]: 'one', '{n}next': repository.Link.to('USER.a'), '{n}times': [new Date(5)] },
    ...{ '{n}bytes': Buffer.of(5), '{n}inner': inner },
  },
  metadata: { [title]: { text: 'x', whole: 1n, time: new Date(5), bytes: Buffer.of(1) } },
  ...{ metadataToDelete: { [title]: ['gone'] }, attributes: { by: 'me' } },
}
const condition = { field: title, operator: 'EQUAL', value: 'two', allowMissing: true }
const filter = {
  all: [
    { any: [{ idPrefix: 'USER.a' }, { variantsOf: 'USER.a', dimensions: { lang: null } }] },
    { any: [{ instanceOf: type }, { recordType: type, version: 1 }] },
    { field: title, operator: 'NOT_EQUAL', value: 'x', filterIfMissing: false },
    { field: '{n}inner', value: inner, filterIfMissing: false },
  ],
}
const scan = { startId: 'USER.a', stopId: 'USER.z', filter, fields: [title], limit: 5 }

/** Writes, and then makes a version again as it was. */
async function undone(table: repository.RecordTable, write: () => Promise<unknown>): Promise<void> {
  await write()
  await table.update({ id: 'USER.a', type, fields: { [title]: 'two' } })
}

void t.test('options of the repository, and arguments of its types', async (t) => {
  const [database, manager] = await openManager()
  const { types } = manager
  const table = manager.repository().table()
  await checkMembers(t, {
    manager: {
      call: async (options: repository.RepositoryOptions) => {
        const opened = await repository.RepositoryManager.open(database, options)
        try {
          const other = opened.repository().table()
          await opened.types.createOrUpdateFieldType({ name: '{n}managed' })
          await opened.types.createOrUpdateRecordType({
            name: '{n}m',
            fields: [{ name: '{n}managed' }],
          })
          await other.createOrUpdate({ id: 'USER.m', type: '{n}m', fields: { '{n}managed': 'x' } })
          await other.create({ type: '{n}m', fields: { '{n}managed': 'x' } })
          await other.delete('USER.m')
        } finally {
          await opened.close()
        }
      },
      values: [
        {
          ...{ tablePrefix: 'other', clock: { now: () => Date.now() }, durability: 'ASYNC_WAL' },
          randomBytes: (length: number) => crypto.getRandomValues(new Uint8Array(length)),
          ...{ undeleteMilliseconds: 0, valueTypes: {}, inlineBlobBytesMax: 5, scannersMax: 5 },
          ...{ scannerLeaseMilliseconds: 5, hooks: [{ name: 'h', beforeCreate: undefined }] },
        },
      ],
    },
    'field type': {
      call: (given: repository.FieldTypeInput) => types.createOrUpdateFieldType(given),
      values: [{ name: '{n}other', valueType: 'LIST<STRING>', scope: 'VERSIONED' }],
    },
    'update of a field type': {
      call: (given: repository.FieldTypeUpdate) => types.updateFieldType(given),
      values: [{ ...types.getFieldType('{n}bytes'), ordinal: undefined, type: undefined }].map(
        ({ id, name, valueType, scope }) => ({ id, name, valueType, scope }),
      ),
    },
    'record type': {
      call: async (
        given: repository.RecordTypeInput,
        options: Parameters<typeof types.updateRecordType>[1],
      ) => {
        await types.createOrUpdateRecordType(given)
        await types.updateRecordType(given, options)
      },
      values: [
        {
          ...{ name: '{n}ruled', strict: true, supertypes: [{ name: type, version: 1 }] },
          fields: [
            { name: title, mandatory: true, pattern: '[a-z]*', values: ['a', 'b'], default: 'a' },
            { field: types.getFieldType('{n}times').id, min: '2000-01-01T00:00:00Z' },
            { name: '{n}next', linkTarget: 'exists' },
            { name: '{n}bytes', unique: true, max: 'AAAA' },
            { name: '{n}inner', default: inner },
          ],
        },
        { refreshSubtypes: true },
      ],
    },
    'definition of a record type': {
      call: (...given: Parameters<typeof repository.defineRecordType>) => {
        return repository.planSchema(types, [repository.defineRecordType(...given)])
      },
      values: [
        '{n}d',
        { title: { type: 'STRING', name: title, scope: 'VERSIONED' } },
        { strict: true },
      ],
    },
    'plan of a schema': {
      call: (given: repository.RecordTypeDefinition[]) => {
        return repository.applySchema(types, given, { dryRun: true })
      },
      values: [[{ ...definition, fields: { ...definition.fields } }]],
    },
  })
  t.equal((await table.read('USER.a')).fields[title], 'two', 'the repository goes on')
  await manager.close()
  await database.close()
})

void t.test('arguments of writes and reads of records', async (t) => {
  const [database, manager] = await openManager()
  const one = manager.repository()
  const table = one.table()
  await checkMembers(t, {
    create: {
      call: async (...given: Parameters<typeof table.create>) => {
        await table.delete('USER.b').catch(() => undefined)
        return table.create(...given)
      },
      values: [{ ...input, id: 'USER.b' }, { useLatestRecordType: true }],
    },
    update: {
      call: (...given: Parameters<typeof table.update>) => {
        return undone(table, () => table.createOrUpdate(...given))
      },
      values: [
        { ...input, metadataToDelete: undefined },
        {
          conditions: [condition, { field: repository.versionField, operator: 'LESS', value: 1e6 }],
          ...{ autosave: true, retries: 1, version: undefined, revision: undefined },
        },
      ],
    },
    'mutable update': {
      call: (...given: Parameters<typeof table.update>) => table.update(...given),
      values: [{ id: 'USER.a', fields: {} }, { version: 1 }],
    },
    delete: {
      call: async (...given: Parameters<typeof table.delete>) => {
        await table.createOrUpdate({ id: 'USER.c', type, fields: { [title]: 'two' } })
        return table.delete(...given)
      },
      values: ['USER.c', { conditions: [condition], retries: 1, attributes: { by: 'me' } }],
    },
    batch: {
      call: (given: repository.RepositoryWrite[]) => undone(table, () => one.batch(given)),
      values: [
        [
          { table: 'record', update: { id: 'USER.a', fields: { [title]: 'x' } }, options: {} },
          { create: { type, fields: { [title]: 'x' } }, options: { useLatestRecordType: true } },
        ],
      ],
    },
    read: {
      call: async (...given: Parameters<typeof table.read>) => {
        table.readSync(...given)
        return table.read(...given)
      },
      values: ['USER.a', { version: 1, fields: [title] }],
    },
    'read of a list': {
      call: (...given: Parameters<typeof table.readList>) => table.readList(...given),
      values: [['USER.a'], { fields: [title] }],
    },
    'read of versions': {
      call: (...given: Parameters<typeof table.readVersions>) => table.readVersions(...given),
      values: ['USER.a', { from: 1, to: 2 }, { fields: [title] }],
    },
    'read of a list of versions': {
      call: (...given: Parameters<typeof table.readVersions>) => table.readVersions(...given),
      values: ['USER.a', [1, 2]],
    },
    'read of a tag': {
      call: (...given: Parameters<typeof table.readTagged>) => table.readTagged(...given),
      values: ['USER.a', 'last', { fields: [title] }],
    },
    'read at a time': {
      call: (...given: Parameters<typeof table.readAt>) => table.readAt(...given),
      values: ['USER.a', 1e15, { fields: [title] }],
    },
    prune: {
      call: async (...given: Parameters<typeof table.pruneVersions>) => {
        await table.createOrUpdate({ id: 'USER.p', type, fields: { [title]: 'two' } })
        return table.pruneVersions(...given)
      },
      values: ['USER.p', { keep: 1000, ageMillisecondsMin: 1e9, keepTagged: true }],
    },
    restore: {
      call: async (...given: Parameters<typeof table.restore>) => {
        return undone(table, () => table.restore(...given))
      },
      values: ['USER.a', 2, { revision: undefined }],
    },
    'change of a tag': {
      call: (...given: Parameters<typeof table.tag>) => table.tag(...given),
      values: ['USER.a', repository.lastTag, 1, { revision: undefined }],
    },
    publish: {
      call: (...given: Parameters<typeof table.publish>) => table.publish(...given),
      values: ['USER.a', { by: 'me' }],
    },
  })
  t.equal((await table.read('USER.a')).fields[title], 'two', 'the repository goes on')
  await manager.close()
  await database.close()
})

void t.test('arguments of scans, queries and links', async (t) => {
  const [database, manager] = await openManager()
  const { links, scanners } = manager
  const one = manager.repository()
  const table = one.table()
  await checkMembers(t, {
    scan: {
      call: async (given: repository.RecordScan) => {
        for await (const record of table.scan(given)) record.id.equals(record.id)
      },
      values: [{ ...scan, signal: undefined }],
    },
    scanner: {
      call: async (given: repository.RecordScan, owner: repository.ScannerOwner) => {
        const token = await scanners.open(table, given, owner)
        await scanners.next(token, 5, owner)
        await scanners.close(token, owner)
      },
      values: [scan, { owner: 'me' }],
    },
    'field index': {
      call: (...given: Parameters<typeof table.indexes.create>) => table.indexes.create(...given),
      values: [
        { name: 'j', fields: ['{n}bytes', { field: '{n}times', order: 'DESCENDING' }] },
        { signal: undefined },
      ],
    },
    query: {
      call: (given: repository.FieldQuery) => table.query(given),
      values: [
        {
          ...{
            index: 'j',
            equals: { '{n}bytes': Buffer.of(5) },
            filter,
            fields: [title],
            limit: 5,
          },
          range: { field: '{n}times', from: new Date(0), toInclusive: true, to: new Date(9) },
          ...{ sort: [{ field: '{n}times', order: 'ASCENDING' }], page: undefined },
        },
      ],
    },
    'query of links': {
      call: (...given: Parameters<typeof links.linksOf>) => links.linksOf(...given),
      values: [table, 'USER.a', { tag: 'last', field: '{n}next' }],
    },
    event: {
      call: (given: repository.StoredEvent) => links.follow(given),
      values: [{ repository: 'default', table: 'record', id: 'USER.a' }],
    },
    populate: {
      call: (...given: Parameters<typeof one.populate>) => one.populate(...given),
      values: [
        [{ id: repository.RecordId.user('a'), table: 'record', fields: input.fields }],
        [['{n}inner', '{n}next'], ['{n}next']],
      ],
    },
    link: {
      call: (given: repository.LinkParts) => new repository.Link(given).resolve('USER.a.lang=en'),
      values: [
        {
          ...{ table: 'record', master: 'USER.a', copyAll: false },
          rules: { lang: { kind: 'set', value: 'en' }, country: { kind: 'copy' } },
        },
      ],
    },
    'typed record': {
      call: (...given: Parameters<ReturnType<typeof table.typed<typeof titled>>['update']>) => {
        return undone(table, () => table.typed(titled).update(...given))
      },
      values: ['USER.a', { title: 'x' }, { retries: 1 }],
    },
  })
  t.equal((await table.read('USER.a')).fields[title], 'two', 'the repository goes on')
  await manager.close()
  await database.close()
})

void t.test('arguments of the JSON forms', async (t) => {
  const [database, manager] = await openManager()
  const { types } = manager
  const { schema } = types
  const table = manager.repository().table()
  const namespaces = new repository.NameReader([['n', 'n']])
  const names = new repository.NameWriter()
  const read = {
    schema,
    namespaces,
    checkWrite: undefined,
    ignoresEmpty: false,
    deletesEmpty: false,
  }
  const written = { schema, names, isReadable: undefined, withSchema: true }
  await table.create({ ...input, id: 'USER.b' })
  const stored = { ...(await table.read('USER.b')) }
  await checkMembers(t, {
    'record of JSON': {
      call: repository.recordFromJson,
      values: [
        {
          ...{ id: 'USER.a', type: 'n$r', fieldsToDelete: ['n$file'], attributes: { by: 'me' } },
          metadata: { n$title: { text: 'x', long: { type: 'long', value: '5' } } },
          fields: { n$title: 'x', n$inner: { type: { name: 'n$r' }, fields: { n$title: 'x' } } },
        },
        read,
      ],
    },
    'scan of JSON': {
      call: repository.scanFromJson,
      values: [
        JSON.parse(JSON.stringify(repository.scanToJson(scan as repository.RecordScan, written))),
        read,
      ],
    },
    'conditions of JSON': {
      call: repository.conditionsFromJson,
      values: [[{ field: 'n$title', value: 'x', operator: 'EQUAL', allowMissing: true }], read],
    },
    'type of JSON': {
      call: repository.recordTypeFromJson,
      values: [
        { name: 'n$r', fields: [{ name: 'n$title', default: 'x' }], strict: true },
        namespaces,
      ],
    },
    record: { call: repository.recordToJson, values: [stored, written] },
    'form of a scan': { call: repository.scanToJson, values: [scan, written] },
    'form of a type': {
      call: repository.recordTypeToJson,
      values: [{ ...types.getRecordType(type) }, types, names],
    },
    'form of metadata': { call: repository.metadataToJson, values: [input.metadata[title]] },
  })
  t.equal((await table.read('USER.a')).fields[title], 'two', 'the repository goes on')
  await manager.close()
  await database.close()
})

const titled = repository.defineRecordType(type, {
  title: { type: 'STRING', name: title, scope: 'VERSIONED' },
})

void t.test('what nests without an end ends in a code', async (t) => {
  const [database, manager] = await openManager()
  const table = manager.repository().table()
  const around: { all: unknown[] } = { all: [] }
  around.all.push(around)
  const record: { type: string; fields: Record<string, unknown> } = { type, fields: {} }
  record.fields['{n}inner'] = record
  const json: Record<string, unknown> = { n$inner: {} }
  json['n$inner'] = { type: 'n$r', fields: json }
  const { schema } = manager.types
  const read = { schema, namespaces: new repository.NameReader([['n', 'n']]) }
  const written = { schema, names: new repository.NameWriter() }
  const field = schema.field('{n}inner')
  const code = { code: 'ERR_INVALID_ARGUMENT', message: /deep/ }
  t.throws(() => table.scan({ filter: around as never }), code)
  t.throws(() => repository.filterToJson(around as never, written), code)
  t.throws(() => repository.recordFromJson({ fields: json } as never, read), code)
  t.throws(() => repository.metadataFromJson(json as never, 'metadata'), code)
  const invalid = { code: 'ERR_INVALID_RECORD', message: /deep|itself/ }
  t.throws(() => repository.valueToJson(field.type, record, written), invalid)
  await t.rejects(table.update({ id: 'USER.a', fields: { '{n}inner': record } }), invalid)
  const stored = { ...(await table.read('USER.a')), fields: record.fields }
  await t.rejects(manager.repository().populate([stored], [['{n}inner']]), invalid)
  const deep = '['.repeat(5000)
  t.throws(() => repository.parseJson(deep), code)
  t.throws(() => repository.parseJson('{a:'.repeat(5000)), code)
  await manager.close()
  await database.close()
})

void t.test('a value that does not fit its field has no form', async (t) => {
  const [database, manager] = await openManager()
  const { schema } = manager.types
  const written = { schema, names: new repository.NameWriter() }
  for (const name of ['title', 'file', 'next', 'times', 'bytes']) {
    const { type } = schema.field(`{n}${name}`)
    for (const value of [Symbol('hostile'), null, Object.create(Uint8Array.prototype)]) {
      t.throws(
        () => repository.valueToJson(type, value, written),
        { code: 'ERR_INVALID_RECORD' },
        type.name,
      )
    }
  }
  await manager.close()
  await database.close()
})
