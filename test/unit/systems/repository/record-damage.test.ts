/** Damaged rows of record tables: corruption that names the record, and never "not found". */
import t, { type Test } from 'tap'
import { type Database } from '../../../../src/entries/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import {
  RecordId,
  RepositoryManager,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'
import {
  decodeHead,
  encodeHead,
  headColumn,
  versionColumn,
  type RecordState,
} from '../../../../src/systems/repository/records/record-state.js'

const id = 'USER.a'
const row = RecordId.parse(id).bytes
const name = '{n}title'

interface Opened {
  readonly database: Database
  readonly table: RecordTable
  /** Changes the stored head, by a rule that no write has. */
  readonly changeHead: (change: Partial<RecordState>) => Promise<void>
}

/** A record with three versions. */
async function open(t: Test): Promise<Opened> {
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database)
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  await manager.types.createFieldType({ name, scope: 'VERSIONED' })
  await manager.types.createFieldType({ name: '{n}note', scope: 'VERSIONED_MUTABLE' })
  await manager.types.createRecordType({ name: '{n}r', fields: [{ name }] })
  const table = manager.repository().table()
  await table.create({ id, type: '{n}r', fields: { [name]: '1' } })
  for (const text of ['2', '3']) await table.update({ id, fields: { [name]: text } })
  const raw = table.context.table
  const sound = (await raw.get({ row })).value(headColumn)!
  const changeHead = async (change: Partial<RecordState>): Promise<void> => {
    const state = { ...decodeHead(sound, RecordId.parse(id)), ...change }
    await raw.put({ row, cells: { [headColumn]: encodeHead(state) }, timestamp: 1 })
  }
  return { database, table, changeHead }
}

void t.test('a version whose cell is missing is corruption for every call', async (t) => {
  const { table } = await open(t)
  await table.context.table.delete({ row, columns: [{ ...versionColumn(2), timestamp: 1 }] })
  const expected = { code: 'ERR_CORRUPTION', message: /the record USER.a lacks its version 2/ }
  const input = { id, fields: { '{n}note': 'x' } }
  await t.rejects(table.read(id, { version: 2 }), expected)
  await t.rejects(table.readVersions(id, {}), expected)
  await t.rejects(table.diff(id, 1, 2), expected)
  await t.rejects(table.diff(id, 2, 3), expected)
  await t.rejects(table.restore(id, 2), expected)
  await t.rejects(table.update(input, { version: 2 }), expected)
  await t.rejects(table.update(input, { version: 1 }), expected, 'a change that reaches it')
  t.equal((await table.diff(id, 1, 3)).length, 1, 'the others can be read')
  await table.pruneVersions(id)
  t.equal((await table.readVersions(id, {})).length, 1, 'and it can be pruned')
})

void t.test('heads with impossible versions are corruption', async (t) => {
  const { table, changeHead } = await open(t)
  const billions = 2 ** 40
  const changes: Partial<RecordState>[] = [
    { first: 4 },
    { first: 0 },
    { last: 2 },
    { version: 2 ** 47, last: 2 ** 47 },
    { autosave: 2 },
  ]
  for (const change of changes) {
    await changeHead(change)
    const expected = { code: 'ERR_CORRUPTION', message: /the record USER.a is damaged/ }
    const text = JSON.stringify(change)
    await t.rejects(table.read(id), expected, text)
    await t.rejects(table.readVersions(id, {}), expected, text)
    await t.rejects(table.read(id, { version: 1 }), expected, text)
    await t.rejects(table.update({ id, fields: { [name]: 'x' } }), expected, text)
    await t.rejects(table.delete(id), expected, text)
  }
  // Possible, but not there: the end comes after one read, not after all that the head says.
  await changeHead({ version: billions, last: billions })
  const lacks = { code: 'ERR_CORRUPTION', message: /the record USER.a lacks its version/ }
  await t.rejects(table.readVersions(id, {}), lacks)
  await t.rejects(table.readAt(id, Date.now()), lacks)
  await t.rejects(table.pruneVersions(id), lacks)
  await t.rejects(table.delete(id), lacks)
  await changeHead({})
  t.equal((await table.readVersions(id, {})).length, 3, 'the sound head')
})

void t.test('damage names its record, in scans too', async (t) => {
  const { table } = await open(t)
  await table.create({ id: 'USER.b', type: '{n}r', fields: { [name]: '1' } })
  const expected = { code: 'ERR_CORRUPTION', message: /the record USER.a / }
  for (const cut of [0, 1, 3, 8]) {
    const head = (await table.context.table.get({ row })).value(headColumn)!.subarray(0, cut)
    await table.context.table.put({ row, cells: { [headColumn]: head }, timestamp: 1 })
    await t.rejects(table.scan().next(), expected)
    await t.rejects(table.readList(['USER.b', id]), expected)
    await t.rejects(table.diff(id, 1, 2), expected)
    await t.rejects(table.update({ id, fields: { [name]: '4' } }), expected)
  }
})

void t.test('a damaged value is no other text, and takes no bytes of its neighbours', async (t) => {
  const { table } = await open(t)
  const value = 'über alles'
  await table.update({ id, fields: { [name]: value, '{n}note': 'a note' } })
  const raw = table.context.table
  const head = (await raw.get({ row })).value(headColumn)!
  const at = head.indexOf(value)
  const changes: [number, number, string][] = [
    [at, 0xff, 'no UTF-8'],
    [at + 1, 0x41, 'a lead byte alone'],
    [at - 1, Buffer.byteLength(value) - 1, 'a text that is shorter than its value'],
    [at - 1, Buffer.byteLength(value) + 1, 'a text that is longer than its value'],
  ]
  for (const [place, byte, what] of changes) {
    const damaged = Buffer.from(head)
    damaged[place] = byte
    await raw.put({ row, cells: { [headColumn]: damaged }, timestamp: 1 })
    const expected = { code: 'ERR_CORRUPTION', message: /the record USER.a is damaged/ }
    await t.rejects(table.read(id), expected, what)
    await t.rejects(table.diff(id, 3, 4), { code: 'ERR_CORRUPTION' }, what)
    const filter = { field: name, operator: 'GREATER', value: 'a' } as const
    await t.rejects(table.scan({ filter }).next(), { code: 'ERR_CORRUPTION' }, what)
  }
})
