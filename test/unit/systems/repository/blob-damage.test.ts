/** Damaged states and descriptions of blobs: the code, the place, and no end of the sweeps. */
import t, { type Test } from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import {
  RecordId,
  RepositoryManager,
  type Blob,
  type RecordTable,
} from '../../../../src/systems/repository/index.js'
import { headColumn } from '../../../../src/systems/repository/records/record-state.js'

const field = '{n}file'

interface Opened {
  readonly clock: ManualClock
  readonly manager: RepositoryManager
  readonly table: RecordTable
  /** Replaces the stored state of a blob; undefined removes it. */
  readonly putState: (blob: Blob, state: Buffer | undefined) => Promise<void>
  readonly upload: () => Promise<Blob>
}

async function open(t: Test): Promise<Opened> {
  const clock = new ManualClock()
  const database = await openMemoryDatabase()
  const manager = await RepositoryManager.open(database, { clock })
  t.teardown(async () => {
    await manager.close()
    await database.close()
  })
  await manager.types.createFieldType({ name: field, valueType: 'BLOB' })
  await manager.types.createRecordType({ name: '{n}r', fields: [{ name: field }] })
  const states = database.table('repository.blobs')
  return {
    clock,
    manager,
    table: manager.repository().table(),
    putState: async ({ key: row }, state) => {
      if (state === undefined) await states.delete({ row })
      else await states.put({ row, cells: { 'b:s': state }, timestamp: 1 })
    },
    upload: () => manager.blobs.upload(Buffer.alloc(70_000, 'a'), { mediaType: 'text/plain' }),
  }
}

const read = async (table: RecordTable, id: string): Promise<number> => {
  let size = 0
  for await (const piece of (await table.readBlob(id, field)).bytes) size += piece.length
  return size
}

void t.test('a blob of a record whose state is lost is damaged, and not "removed"', async (t) => {
  const { table, upload, putState } = await open(t)
  const blob = await upload()
  await table.create({ id: 'USER.a', type: '{n}r', fields: { [field]: blob } })
  t.equal(await read(table, 'USER.a'), 70_000)
  const { bytes } = await table.readBlob('USER.a', field)
  await putState(blob, undefined)
  await t.rejects(read(table, 'USER.a'), { code: 'ERR_BLOB_DAMAGED', message: /state is lost/ })
  await table.update({ id: 'USER.a', fieldsToDelete: [field] })
  await t.rejects(bytes.next(), { code: 'ERR_BLOB_NOT_FOUND' }, 'a write has removed it')
})

void t.test('a damaged state keeps no other blob from a sweep', async (t) => {
  const { clock, manager, table, upload, putState } = await open(t)
  const used = await upload()
  await table.create({ id: 'USER.a', type: '{n}r', fields: { [field]: used } })
  const blobs = [await upload(), await upload(), await upload()]
  blobs.sort((a, b) => Buffer.compare(a.key, b.key))
  await putState(blobs[0], Buffer.of(9, 9))
  clock.milliseconds += 1e7
  const name = blobs[0].key.toString('hex')
  const expected = { code: 'ERR_CORRUPTION', message: new RegExp(`state of the blob ${name}`) }
  await t.rejects(manager.blobs.sweep(), expected)
  await t.rejects(manager.blobs.states(), expected)
  await putState(blobs[0], undefined)
  const left = [...(await manager.blobs.states()).values()].map(({ kind }) => kind)
  t.same(left, ['used'], 'the others were removed')
})

void t.test('a stored description that no blob has is corruption', async (t) => {
  const { table, upload } = await open(t)
  await table.create({ id: 'USER.a', type: '{n}r', fields: { [field]: await upload() } })
  const row = RecordId.parse('USER.a').bytes
  const raw = table.context.table
  const head = (await raw.get({ row })).value(headColumn)!
  const at = head.indexOf('text/plain')
  const changes: [number, number][] = [
    [at, 0x0a],
    [at + 4, 0x20],
    [head.length - 2, 7],
  ]
  for (const [place, byte] of changes) {
    const damaged = Buffer.from(head)
    damaged[place] = byte
    await raw.put({ row, cells: { [headColumn]: damaged }, timestamp: 1 })
    const expected = { code: 'ERR_CORRUPTION', message: /the record USER.a is damaged/ }
    await t.rejects(table.read('USER.a'), expected)
    await t.rejects(read(table, 'USER.a'), expected)
  }
})
