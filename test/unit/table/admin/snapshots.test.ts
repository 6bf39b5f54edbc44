import t from 'tap'
import { FaultyFileSystem } from '../../../doubles/faulty-fs.js'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { syntheticError, fileError } from '../../../../src/storage/fs/errors.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { contentOf, fill, makeTable, tableFiles } from './support.js'

void t.test('a clone of a snapshot has the rows of that moment', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 20, 'one')
  await admin.flush('t', 'a')
  await fill(table, 10, 'two')
  await table.delete({ row: 'r0015' })
  const snapshot = await admin.snapshot('s', 't')
  const before = contentOf(table, true)
  t.match(snapshot, { name: 's', table: 't', sequence: 31 })
  await fill(table, 20, 'three')
  const clone = await admin.cloneSnapshot('s', 'c')
  t.strictSame(contentOf(clone, true), before)
  await clone.put({ row: 'own', cells: { 'a:x': '1' } })
  await test.reopen()
  t.equal(contentOf(test.database.table('c')).at(0)?.startsWith('own'), true)
  t.equal(contentOf(test.database.table('c'), true).length, before.length + 1)
  t.equal(contentOf(test.database.table('t')).length, 40)
  await test.close()
})

void t.test('a snapshot survives the drop of its table and brings it back', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 20, 'one')
  await admin.snapshot('s', 't')
  const before = contentOf(table)
  await admin.deleteTable('t')
  await test.reopen()
  t.strictSame(
    test.database.admin.listSnapshots().map(({ name }) => name),
    ['s'],
  )
  const restored = await test.database.admin.restoreSnapshot('s')
  t.equal(restored.name, 't')
  t.strictSame(contentOf(restored), before)
  await test.database.admin.deleteSnapshot('s')
  await test.database.compact()
  t.strictSame(contentOf(restored), before, 'what was restored needs no snapshot')
  await test.close()
})

void t.test('restore takes back rows, options and families', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 5, 'one')
  const before = contentOf(table)
  const description = admin.getDescriptor('t')
  await admin.snapshot('s', 't')
  await admin.deleteColumnFamily('t', 'b')
  await admin.addColumnFamily('t', 'c')
  await table.put({ row: 'new', cells: { 'c:x': '1' } })
  const scan = table.scanSync()
  await admin.restoreSnapshot('s')
  t.strictSame(admin.getDescriptor('t'), description)
  t.strictSame(contentOf(table), before, 'the handle of before sees the table of now')
  t.equal([...scan].length, 6, 'a running scan goes on with the rows of before')
  await test.close()
})

void t.test('files go when neither table nor snapshot nor clone needs them', async (t) => {
  const test = await TestDatabase.open()
  const fileSystem = test.fileSystem as SimulatedDisk
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 20, 'one')
  await admin.snapshot('s', 't')
  await admin.cloneSnapshot('s', 'c')
  t.equal(tableFiles(fileSystem).length, 6, 'table, snapshot and clone, two families each')
  await admin.majorCompact()
  await admin.deleteTable('t')
  await admin.deleteTable('c')
  t.equal(tableFiles(fileSystem).length, 2)
  t.equal(contentOf(await admin.cloneSnapshot('s', 'c2')).length, 40)
  await admin.deleteTable('c2')
  await admin.deleteSnapshot('s')
  t.strictSame(tableFiles(fileSystem), [])
  await test.close()
})

void t.test('a snapshot is exact although writers and flushes go on', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  let going = true
  let written = 0
  const writer = (async () => {
    while (going) {
      const text = String(written++).padStart(6, '0')
      await table.put({ row: text, cells: { 'a:x': text.repeat(40), 'b:y': text.repeat(3) } })
      if (written % 50 === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  })()
  for (let i = 0; i < 6; i++) {
    const least = written
    const { sequence } = await admin.snapshot(`s${i}`, 't')
    const clone = await admin.cloneSnapshot(`s${i}`, `c${i}`)
    let rows = 0
    let whole = true
    for (const row of clone.scanSync()) {
      whole &&= row.size === 2
      whole &&= row.row!.toString() === String(rows++).padStart(6, '0')
    }
    t.ok(whole, `rows are whole and have no holes (${rows} rows)`)
    t.ok(rows >= least, 'what was acknowledged before is there')
    t.equal(rows, sequence, 'one mutation a row')
  }
  going = false
  await writer
  await test.close()
})

void t.test('without flush, only what is in files counts', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 3, 'one')
  await admin.flush()
  await fill(table, 9, 'two')
  await admin.snapshot('s', 't', { flush: false })
  t.equal(contentOf(await admin.cloneSnapshot('s', 'c')).length, 6)
  await test.close()
})

void t.test('where there are no links, files are copied', async (t) => {
  class WithoutLinks extends FaultyFileSystem {
    override linkSync(from: string): void {
      throw fileError('link', from, syntheticError('EPERM'))
    }
  }
  const memory = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem: new WithoutLinks(memory) })
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 30, 'one')
  const before = contentOf(table)
  await admin.snapshot('s', 't')
  await admin.deleteTable('t')
  t.strictSame(contentOf(await admin.restoreSnapshot('s')), before)
  await test.close()
})

void t.test('mistakes are told and change nothing', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await makeTable(test.database)
  await admin.snapshot('s', 't')
  await t.rejects(admin.snapshot('s', 't'), { code: 'ERR_SNAPSHOT_EXISTS' })
  await t.rejects(admin.snapshot('s2', 'nothing'), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(admin.snapshot('.s', 't'), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(admin.snapshot('a:b', 't'), { code: 'ERR_INVALID_ARGUMENT' })
  await t.rejects(admin.cloneSnapshot('s', 't'), { code: 'ERR_TABLE_EXISTS' })
  await t.rejects(admin.cloneSnapshot('s', 'x:t'), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  await t.rejects(admin.cloneSnapshot('none', 'c'), { code: 'ERR_SNAPSHOT_NOT_FOUND' })
  await t.rejects(admin.restoreSnapshot('none'), { code: 'ERR_SNAPSHOT_NOT_FOUND' })
  await t.rejects(admin.deleteSnapshot('none'), { code: 'ERR_SNAPSHOT_NOT_FOUND' })
  t.strictSame(admin.listTableNames(), ['t'])
  t.strictSame(
    admin.listTableSnapshots(/t/).map(({ name }) => name),
    ['s'],
  )
  t.strictSame(admin.listSnapshots(/x.*/), [])
  t.strictSame(await admin.deleteSnapshots(/s.*/), ['s'])
  await test.close()
})

void t.test('a clone or restore that an observer refuses leaves no file', async (t) => {
  let refuses = false
  const observer = {
    preOpen(): void {
      if (refuses) throw new Error('refused')
    },
  }
  const fileSystem = new SimulatedDisk()
  const options = { coprocessors: [{ name: 'refusing', observer }] }
  const test = await TestDatabase.open({ fileSystem, options })
  const { admin } = test.database
  await fill(await makeTable(test.database), 5, 'one')
  await admin.snapshot('s', 't')
  await test.database.dropTable('t')
  const files = tableFiles(fileSystem)
  refuses = true
  await t.rejects(admin.cloneSnapshot('s', 'c'), { code: 'ERR_COPROCESSOR' })
  await t.rejects(admin.restoreSnapshot('s'), { code: 'ERR_COPROCESSOR' })
  t.same(tableFiles(fileSystem), files)
  refuses = false
  t.equal(contentOf(await admin.cloneSnapshot('s', 'c')).length, 10)
  await test.database.close()
})
