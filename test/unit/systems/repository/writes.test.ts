/** Writes of records: what counts is the input as of the call, batches, races, closed handles. */
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../../src/entries/index.js'
import {
  Link,
  RecordId,
  RepositoryManager,
  type RecordEvent,
  type RecordInput,
  type RecordTable,
  type RepositoryHook,
  type RepositoryOptions,
} from '../../../../src/systems/repository/index.js'

const type = '{n}r'

interface Opened {
  readonly database: Database
  readonly manager: RepositoryManager
  readonly table: RecordTable
}

async function open(t: Test, options: RepositoryOptions = {}): Promise<Opened> {
  const fileSystem = new MemoryFileSystem()
  const database = await Database.open('/database', { fileSystem, executor: 'inline' })
  const manager = await RepositoryManager.open(database, options)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  const { types } = manager
  await types.createFieldType({ name: '{n}text' })
  await types.createFieldType({ name: '{n}bytes', valueType: 'BYTEARRAY' })
  await types.createFieldType({ name: '{n}times', valueType: 'LIST<DATETIME>' })
  await types.createFieldType({ name: '{n}price', valueType: 'DECIMAL' })
  await types.createFieldType({ name: '{n}count', valueType: 'INTEGER' })
  await types.createRecordType({ name: type })
  return { database, manager, table: manager.repository().table() }
}

/** Input with parts that can change, and what changes all of them. */
function changeable(id: string): {
  input: Parameters<RecordTable['create']>[0]
  spoil: () => void
} {
  const bytes = Buffer.from('before')
  const time = new Date(1000)
  const times = [time]
  const fields: Record<string, unknown> = { '{n}bytes': bytes, '{n}times': times, '{n}text': 'a' }
  const metadata = { '{n}text': { raw: Buffer.from('before') } }
  const fieldsToDelete = ['{n}price']
  const attributes: Record<string, string> = { by: 'ann' }
  return {
    input: { id, type, fields, metadata, fieldsToDelete, attributes },
    spoil: () => {
      bytes.write('spoilt')
      time.setTime(9)
      times.push(new Date(9))
      fields['{n}text'] = 'spoilt'
      metadata['{n}text'].raw.write('spoilt')
      fieldsToDelete.push('{n}count')
      attributes['by'] = 'spoilt'
    },
  }
}

const hook: RepositoryHook = {
  name: 'slow',
  beforeCreate: async (input) => {
    await new Promise(setImmediate)
    return input
  },
  beforeUpdate: async (input) => {
    await new Promise(setImmediate)
    return input
  },
}

for (const hooks of [[], [hook]]) {
  void t.test(`arguments count as of the call, with ${hooks.length} hooks`, async (t) => {
    const { table, manager } = await open(t, { hooks })
    const told: unknown[] = []
    const subscription = await manager.subscribe(
      's',
      ({ event }) => void told.push(event.attributes),
      {
        from: 'now',
      },
    )
    const check = async (id: string): Promise<void> => {
      const { fields, metadata } = await table.read(id)
      t.equal(String(fields['{n}bytes']), 'before', id)
      t.same(fields['{n}times'], [new Date(1000)])
      t.equal(fields['{n}text'], 'a')
      t.equal(String(metadata['{n}text']['raw']), 'before')
    }
    const base = { type, fields: { '{n}price': '1', '{n}count': 1 } }
    const writes: [string, (input: Parameters<RecordTable['create']>[0]) => Promise<unknown>][] = [
      ['USER.create', (input) => table.create(input)],
      ['USER.update', (input) => table.update(input)],
      ['USER.retried', (input) => table.update(input, { retries: 3 })],
      ['USER.either', (input) => table.createOrUpdate(input)],
      ['USER.batch', (input) => table.batch([{ update: input }])],
    ]
    for (const [id, write] of writes) {
      if (id !== 'USER.create') await table.create({ ...base, id })
      const { input, spoil } = changeable(id)
      // A race, so that the retried write runs twice.
      const price = { id, fields: { '{n}price': '2' } }
      const racing = id === 'USER.retried' && table.update(price, { retries: 3 })
      const writing = write(input)
      spoil()
      await Promise.all([writing, racing])
      await check(id)
      if (id !== 'USER.create') t.equal((await table.read(id)).fields['{n}count'], 1, 'kept')
    }
    await subscription.caughtUp()
    t.notOk(JSON.stringify(told).includes('spoilt'), 'nor did attributes change')
    const id = 'USER.update'
    const wanted = Buffer.from('before')
    const conditions = [{ field: '{n}bytes', value: wanted }]
    const updating = table.update({ id, fields: { '{n}text': 'b' } }, { conditions })
    wanted.write('spoilt')
    conditions.pop()
    t.equal((await updating).status, 'UPDATED', 'nor conditions')
    const start = Buffer.from(RecordId.of('USER.update').bytes)
    const scan = table.scan({ startId: start })
    start.fill(0xff)
    t.equal((await scan.next()).value?.id.text, 'USER.update', 'nor scans')
    await scan.return()
  })
}

for (const hooks of [[], [hook]]) {
  void t.test(`input need not be a plain object, with ${hooks.length} hooks`, async (t) => {
    const { table, manager } = await open(t, { hooks })
    const told: unknown[] = []
    const tell = ({ event }: RecordEvent): void => void told.push(event.attributes)
    const subscription = await manager.subscribe('s', tell, { from: 'now' })
    class Input {}
    for (const [at, prototype] of [Input.prototype, null].entries()) {
      const make = (parts: RecordInput): RecordInput => {
        return Object.assign(Object.create(prototype) as object, parts)
      }
      const id = `USER.${at}`
      const parts = { id, type, fields: { '{n}text': 'a' }, attributes: { by: 'ann' } }
      await table.create(make({ ...parts, metadata: { '{n}text': { one: 1, two: 2 } } }))
      t.same((await table.read(id)).metadata, { '{n}text': { one: 1, two: 2 } })
      await table.update(make({ ...parts, metadataToDelete: { '{n}text': ['one'] } }))
      t.same((await table.read(id)).metadata, { '{n}text': { two: 2 } })
    }
    await subscription.caughtUp()
    t.same(told, Array(4).fill({ by: 'ann' }))
  })
}

void t.test('a batch tells the truth of each of its writes', async (t) => {
  const { table } = await open(t)
  const create = (id: string, text: string): object => ({ id, type, fields: { '{n}text': text } })
  await table.create({ id: 'USER.a', type, fields: { '{n}text': 'a' } })
  await table.create({ id: 'USER.b', type, fields: { '{n}text': 'b', '{n}count': 1 } })
  const conditions = [{ field: '{n}text', value: 'other' }]
  const results = await table.batch([
    { create: create('USER.c', 'c') },
    { update: { id: 'USER.a', fields: { '{n}text': 'changed' } } },
    { update: { id: 'USER.b', fields: { '{n}text': 'changed' } }, options: { conditions } },
  ])
  t.same(
    results.map(({ status, record, sequence }) => [status, record?.fields, sequence]),
    [
      ['NOT_WRITTEN', undefined, undefined],
      ['NOT_WRITTEN', { '{n}text': 'a' }, undefined],
      ['CONFLICT', { '{n}text': 'b' }, undefined],
    ],
  )
  t.equal((await table.read('USER.a')).fields['{n}text'], 'a')
  const others = await table.batch([
    { update: { id: 'USER.a', fields: { '{n}text': 'a' } } },
    { delete: 'USER.b', options: { conditions } },
  ])
  t.same(
    others.map(({ status }) => status),
    ['UP_TO_DATE', 'CONFLICT'],
  )
  t.notOk(await table.exists('USER.c'))
  const invalid = { code: 'ERR_INVALID_ARGUMENT' }
  const retried = { update: { id: 'USER.a' }, options: { retries: 1 } }
  await t.rejects(table.batch([retried as never]), invalid, 'a batch is repeated as a whole')
  const two = { update: { id: 'USER.a' }, delete: 'USER.b' }
  await t.rejects(table.batch([two]), invalid, 'one write has one kind')
})

void t.test('a batch writes to several tables, all or none', async (t) => {
  const { manager, table } = await open(t)
  const repository = manager.repository()
  const drafts = await repository.createTable('drafts')
  const record = { id: 'USER.a', type, fields: { '{n}text': 'a' } }
  const results = await repository.batch([{ create: record }, { table: 'drafts', create: record }])
  t.equal(results[0].sequence, results[1].sequence)
  t.same([results[0].record?.table, results[1].record?.table], ['record', 'drafts'])
  const moved = { id: 'USER.a', fields: { '{n}text': 'moved' } }
  await t.rejects(
    repository.batch([{ update: moved }, { table: 'drafts', create: record }]),
    { code: 'ERR_RECORD_EXISTS' },
    'none',
  )
  t.equal((await table.read('USER.a')).fields['{n}text'], 'a')
  await repository.batch([{ update: moved }, { table: 'drafts', delete: 'USER.a' }])
  t.equal((await table.read('USER.a')).fields['{n}text'], 'moved')
  t.notOk(await drafts.exists('USER.a'))
  const unknown = repository.batch([{ table: 'none', delete: 'USER.a' }])
  await t.rejects(unknown, { code: 'ERR_RECORD_TABLE_NOT_FOUND' })
  const twice = repository.batch([{ delete: 'USER.a' }, { update: moved }])
  await t.rejects(twice, { code: 'ERR_INVALID_ARGUMENT' })
})

void t.test('every record of a batch must be as it was read', async (t) => {
  let disturb: (() => Promise<unknown>) | undefined
  const meanwhile: RepositoryHook = {
    name: 'meanwhile',
    beforeUpdate: async (input, { id }) => {
      const own = disturb
      if (id.text === 'USER.last' && own !== undefined) {
        disturb = undefined
        await own()
      }
      return input
    },
  }
  const { table } = await open(t, { hooks: [meanwhile] })
  const ids = ['USER.a', 'USER.b', 'USER.c', 'USER.last']
  for (const id of ids) await table.create({ id, type, fields: { '{n}text': 'first' } })
  for (const id of ids.slice(0, 3)) {
    disturb = () => table.update({ id, fields: { '{n}count': 7 } })
    const writes = ids.map((each) => ({ update: { id: each, fields: { '{n}text': `by ${id}` } } }))
    const code = 'ERR_CONCURRENT_RECORD_UPDATE'
    await t.rejects(table.batch(writes), { code, message: new RegExp(id) }, id)
    for (const each of ids) t.equal((await table.read(each)).fields['{n}text'], 'first')
  }
})

void t.test('many writers of one record all succeed with a few retries', async (t) => {
  const { table, manager, database } = await open(t)
  const id = 'USER.a'
  await table.create({ id, type, fields: { '{n}count': 0 } })
  const other = await RepositoryManager.open(database)
  const tables = [table, other.repository().table()]
  const writers = Array.from({ length: 40 }, (_, count) => {
    return tables[count % 2].update({ id, fields: { '{n}count': count + 1 } }, { retries: 5 })
  })
  const results = await Promise.all(writers)
  t.ok(results.every(({ status }) => status === 'UPDATED'))
  t.equal((await table.read(id)).revision, 41)
  await other.close()
  for (const retries of [-1, 1.5, NaN]) {
    const given = table.update({ id, fields: { '{n}count': 0 } }, { retries })
    await t.rejects(given, { code: 'ERR_INVALID_ARGUMENT' })
  }
  t.ok(manager.types)
})

void t.test('decimals of one size are equal, wherever they are compared', async (t) => {
  const { table } = await open(t)
  await table.create({ id: 'USER.a', type, fields: { '{n}price': '1.00' } })
  await table.indexes.create({ name: 'price', fields: ['{n}price'] })
  const ids = async (operator: 'EQUAL' | 'NOT_EQUAL', value: string): Promise<number> => {
    const found = []
    for await (const each of table.scan({ filter: { field: '{n}price', operator, value } })) {
      found.push(each)
    }
    return found.length
  }
  t.same([await ids('EQUAL', '1.0'), await ids('NOT_EQUAL', '1')], [1, 0], 'in filters')
  const { records } = await table.query({ equals: { '{n}price': '1.0' } })
  t.equal(records.length, 1, 'in indexes')
  const conditions = [{ field: '{n}price', value: '1.0' }]
  const update = { id: 'USER.a', fields: { '{n}price': '1.000' } }
  t.equal((await table.update(update, { conditions })).status, 'UPDATED', 'in conditions')
  t.equal((await table.read('USER.a')).fields['{n}price'], '1.000', 'and they keep their scale')
})

void t.test('a handle of a closed manager does nothing', async (t) => {
  const { database } = await open(t)
  const manager = await RepositoryManager.open(database)
  const repository = manager.repository()
  const table = repository.table()
  const create = { id: 'USER.a', type, fields: { '{n}text': 'a' } }
  await table.create(create)
  await manager.close()
  const calls: [string, () => unknown][] = [
    ['create', () => table.create({ ...create, id: 'USER.b' })],
    ['update', () => table.update({ id: 'USER.a', fields: { '{n}text': 'b' } })],
    ['createOrUpdate', () => table.createOrUpdate(create)],
    ['delete', () => table.delete('USER.a')],
    ['batch', () => table.batch([{ delete: 'USER.a' }])],
    ['batch of a repository', () => repository.batch([{ delete: 'USER.a' }])],
    ['read', () => table.read('USER.a')],
    ['readList', () => table.readList(['USER.a'])],
    ['readVersions', () => table.readVersions('USER.a', {})],
    ['readTagged', () => table.readTagged('USER.a', 'last')],
    ['readAt', () => table.readAt('USER.a', 1)],
    ['variants', () => table.variants('USER.a')],
    ['exists', () => table.exists('USER.a')],
    ['publish', () => table.publish('USER.a')],
    ['query', () => table.query({})],
    ['diff', () => table.diff('USER.a', 1, 2)],
    ['restore', () => table.restore('USER.a', 1)],
    ['prune', () => table.pruneVersions('USER.a')],
    ['undelete', () => table.undelete('USER.a')],
    ['purge', () => table.purgeDeleted()],
    ['tag', () => table.tag('USER.a', '{org.lilyproject.vtag}last')],
    ['index', () => table.indexes.create({ name: 'i', fields: ['{n}text'] })],
    ['check', () => table.indexes.check('i')],
  ]
  const closed = { code: 'ERR_REPOSITORY_CLOSED' }
  for (const [name, call] of calls) await t.rejects(Promise.resolve().then(call), closed, name)
  t.throws(() => table.scan(), closed)
  t.throws(() => table.readSync('USER.a'), closed)
  t.throws(() => table.indexes.list(), closed)
})

void t.test('an event of its own never follows the delete of its record', async (t) => {
  const { table } = await open(t)
  for (let ticks = 0; ticks < 40; ticks++) {
    const id = `USER.${ticks}`
    await table.create({ id, type, fields: { '{n}text': 'a' } })
    const deleting = table.delete(id)
    for (let tick = 0; tick < ticks; tick++) await Promise.resolve()
    await Promise.all([deleting, table.publish(id)])
    const row = await table.context.table.get({ row: RecordId.of(id).bytes, columns: ['r:e'] })
    const event = row.value('r:e', 'json') as { type: string }
    t.equal(event.type, 'record-deleted', `${ticks} ticks behind`)
  }
})

void t.test('ids and links cannot change', (t) => {
  const id = RecordId.parse('USER.a.lang=en')
  const rules: Record<string, { kind: 'set'; value: string }> = {
    lang: { kind: 'set', value: 'en' },
  }
  const link = new Link({ master: 'USER.a', rules })
  rules['lang'].value = 'nl'
  t.equal(link.resolve(RecordId.of('USER.b')).text, 'USER.a.lang=en', 'rules are copied')
  const assign = (target: object, name: string): void => {
    t.throws(() => Object.assign(target, { [name]: 'x' }), TypeError, name)
  }
  for (const name of ['text', 'master', 'variantProperties', 'other']) assign(id, name)
  for (const name of ['text', 'table', 'master', 'copyAll', 'rules', 'other']) assign(link, name)
  assign(link.rules, 'lang')
  assign(link.rules['lang'], 'value')
  const bad = { lang: { kind: 'put', value: 'x' } } as never
  t.throws(() => new Link({ rules: bad }), { code: 'ERR_INVALID_ARGUMENT' })
  t.end()
})

void t.test('options of tags, and bytes and places of blobs, count as of the call', async (t) => {
  const { table, manager } = await open(t)
  const { types } = manager
  const tag = '{org.lilyproject.vtag}x'
  await types.createFieldType({ name: tag, valueType: 'LONG' })
  await types.createFieldType({ name: '{n}blob', valueType: 'BLOB' })
  const content = Buffer.from('0123456789')
  const uploading = manager.blobs.upload(content, { mediaType: 'a/b' })
  content.fill('x')
  const blob = await uploading
  const id = 'USER.1'
  const { record } = await table.create({ id, type, fields: { '{n}blob': blob } })
  const options = { revision: record.revision }
  const tagging = table.tag(id, tag, undefined, options)
  options.revision = 99
  t.equal((await tagging).status, 'UPDATED')
  const range = { start: 2, end: 5 }
  const { bytes } = await table.readBlob(id, '{n}blob', { range })
  range.end = 9
  const pieces: Buffer[] = []
  for await (const piece of bytes) pieces.push(piece)
  t.equal(Buffer.concat(pieces).toString(), '234')
})

void t.test('record types that are returned cannot be changed', async (t) => {
  const { table, manager } = await open(t)
  const { types } = manager
  const field = { name: '{n}text', mandatory: true, values: ['a'] }
  await types.createRecordType({ name: '{n}above', fields: [field] })
  const { fields } = types.getRecordType('{n}above')
  const [entry] = types.effectiveFields(types.getRecordType('{n}above')).values()
  t.notOk(Reflect.deleteProperty(fields, 0), 'nor be emptied')
  t.notOk(Reflect.set(entry, 'mandatory', false))
  t.notOk(Reflect.set(entry.values!, 0, 'b'))
  const wrong = { type: '{n}above', fields: { '{n}text': 'b' } }
  await t.rejects(table.create(wrong), { code: 'ERR_INVALID_RECORD' })
})
