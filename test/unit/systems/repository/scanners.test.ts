/** Scans that go on call by call: how many there may be, and what they mean after a rename. */
import t from 'tap'
import { ManualClock } from '../../../../src/base/clock.js'
import { Database, MemoryFileSystem, type Table } from '../../../../src/entries/index.js'
import { RepositoryManager } from '../../../../src/systems/repository/index.js'
import { withMembers } from '../../../helpers/planted.js'

async function openDatabase(): Promise<Database> {
  return Database.open('/d', { fileSystem: new MemoryFileSystem(), executor: 'inline' })
}

void t.test('scanners are counted by their owner, without reading all of them', async (t) => {
  const plain = await openDatabase()
  let scans = 0
  const database = withMembers(plain, {
    table: (name: string) => {
      const table = plain.table(name)
      if (!name.endsWith('.scanners')) return table
      const scan: Table['scan'] = (options) => {
        scans++
        return table.scan(options)
      }
      return withMembers(table, { scan })
    },
  })
  const clock = new ManualClock()
  const options = { clock, scannersMax: 10 }
  const manager = await RepositoryManager.open(database, options)
  const table = manager.repository().table()
  const { scanners } = manager
  const busy = { code: 'ERR_TOO_MANY_SCANNERS' }
  const all = Array.from({ length: 15 }, () => scanners.open(table, {}, { owner: 'a' }))
  const outcomes = await Promise.allSettled(all)
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 10, 'at the same time')
  await t.rejects(scanners.open(table, {}, { owner: 'a' }), busy)
  const other = await scanners.open(table, {}, { owner: 'b' })
  await scanners.open(table)
  t.equal(scans, 1, 'the rows are read once')
  t.equal(await scanners.count(), 12)
  await scanners.close(await (all[0] ?? ''), { owner: 'a' })
  const next = await scanners.open(table, {}, { owner: 'a' })
  await t.rejects(scanners.open(table, {}, { owner: 'a' }), busy)

  clock.milliseconds += 40_000
  await scanners.next(next, 1, { owner: 'a' })
  clock.milliseconds += 40_000
  for (let count = 0; count < 9; count++) await scanners.open(table, {}, { owner: 'a' })
  await t.rejects(scanners.open(table, {}, { owner: 'a' }), busy, 'one lease goes on')
  t.equal(await scanners.count(), 10, 'those of others have ended too')
  await t.rejects(scanners.next(other, 1, { owner: 'b' }), { code: 'ERR_SCANNER_NOT_FOUND' })
  await manager.close()
  const again = await RepositoryManager.open(database, options)
  const again_ = again.repository().table()
  await t.rejects(again.scanners.open(again_, {}, { owner: 'a' }), busy, 'after a new start')
  await again.scanners.open(again_, {}, { owner: 'b' })
  await again.close()
})

void t.test('a scan does not go on with another field of the same name', async (t) => {
  const database = await openDatabase()
  const manager = await RepositoryManager.open(database)
  const { types, scanners } = manager
  const open = await types.createFieldType({ name: '{n}open' })
  const hidden = await types.createFieldType({ name: '{n}hidden' })
  const fields = [{ field: open.id }, { field: hidden.id }]
  await types.createRecordType({ name: '{n}page', fields })
  const table = manager.repository().table()
  for (const id of ['USER.a', 'USER.b']) {
    const values = { '{n}open': 'x', '{n}hidden': 'y' }
    await table.create({ id, type: '{n}page', fields: values })
  }
  const filter = { all: [{ any: [{ field: '{n}open', value: 'x' }] }] }
  const filtered = await scanners.open(table, { filter })
  const chosen = await scanners.open(table, { fields: ['{n}open'] })
  const plain = await scanners.open(table)
  for (const token of [filtered, chosen, plain]) t.equal((await scanners.next(token))?.length, 1)
  await types.updateFieldType({ id: open.id, name: '{n}other' })
  await types.updateFieldType({ id: hidden.id, name: '{n}open' })
  const gone = { code: 'ERR_SCANNER_NOT_FOUND', message: /another name/ }
  await t.rejects(scanners.next(filtered), gone)
  await t.rejects(scanners.next(chosen), gone)
  t.equal((await scanners.next(plain))?.length, 1)
  await manager.close()
})
