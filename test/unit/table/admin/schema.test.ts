import t from 'tap'
import { TestDatabase } from '../../../helpers/test-database.js'
import { contentOf, fill, makeTable } from './support.js'

const families = { f: {} }

void t.test('tables live in namespaces, which stay after a reopen', async (t) => {
  const test = await TestDatabase.open()
  let { admin } = test.database
  await t.rejects(admin.createTable('n:t', { families }), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  await admin.createNamespace('n', { owner: 'me' })
  await t.rejects(admin.createNamespace('n'), { code: 'ERR_NAMESPACE_EXISTS' })
  const table = await admin.createTable('n:t', { families })
  await admin.createTable('t', { families })
  await table.put({ row: 'r', cells: { 'f:q': '1' } })
  await admin.modifyNamespace('n', { owner: null, purpose: 'tests' })
  await test.reopen()
  admin = test.database.admin
  t.strictSame(admin.listNamespaces(), ['default', 'hbase', 'n'])
  t.strictSame(admin.getNamespaceDescriptor('n'), {
    name: 'n',
    properties: { purpose: 'tests' },
  })
  t.strictSame(admin.listTableNamesByNamespace('n'), ['n:t'])
  t.strictSame(admin.listTableNamesByNamespace('default'), ['t'])
  t.equal(contentOf(test.database.table('n:t')).length, 1)
  t.equal(contentOf(test.database.table('t')).length, 0)
  await t.rejects(admin.deleteNamespace('n'), { code: 'ERR_NAMESPACE_NOT_EMPTY' })
  await admin.deleteTable('n:t')
  await admin.deleteNamespace('n')
  await test.reopen()
  admin = test.database.admin
  t.strictSame(admin.listNamespaces(), ['default', 'hbase'])
  t.throws(() => admin.getNamespaceDescriptor('n'), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  t.throws(() => admin.listTableNamesByNamespace('n'), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  await test.close()
})

void t.test('the default namespace need not be written', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await admin.createTable('default:t', { families })
  t.strictSame(admin.listTableNames(), ['t'])
  t.ok(admin.tableExists('default:t'))
  t.equal(test.database.table('default:t').name, 't')
  await t.rejects(admin.createTable('t', { families }), { code: 'ERR_TABLE_EXISTS' })
  await admin.deleteTable('default:t')
  t.notOk(admin.tableExists('t'))
  await test.close()
})

void t.test('names that HBase refuses are refused', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const wrong = { code: 'ERR_INVALID_ARGUMENT' }
  for (const name of ['', 'a b', 'a-b', 'a.b', 'a:b', 'ü', 'default', 'hbase']) {
    await t.rejects(admin.createNamespace(name), wrong, `namespace '${name}'`)
  }
  for (const name of ['', 'a b', '.a', '-a', 'a:b:c', ':t', 'n:', 'a.b:t', 'ü', 'hbase:meta']) {
    await t.rejects(admin.createTable(name, { families }), wrong, `table '${name}'`)
  }
  await t.rejects(admin.createNamespace(7 as never), wrong)
  await t.rejects(admin.createNamespace('n', { a: 7 } as never), wrong)
  await t.rejects(admin.modifyNamespace('default', {}), wrong)
  await t.rejects(admin.modifyNamespace('n', {}), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  await t.rejects(admin.deleteNamespace('n'), { code: 'ERR_NAMESPACE_NOT_FOUND' })
  t.strictSame(admin.listNamespaces(), ['default', 'hbase'])
  t.strictSame(admin.listTableNames(), [])
  await test.close()
})

void t.test('families are added, changed and deleted one by one', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 3, 'one')
  await admin.addColumnFamily('t', 'c', { versions: 5 })
  t.equal(admin.getDescriptor('t').families.c.versions, 5)
  await t.rejects(admin.addColumnFamily('t', 'a'), { code: 'ERR_COLUMN_FAMILY_EXISTS' })
  await admin.modifyColumnFamily('t', 'a', { versions: 9 })
  t.equal(admin.getDescriptor('t').families.a.versions, 9)
  const missing = { code: 'ERR_NO_SUCH_COLUMN_FAMILY' }
  await t.rejects(admin.modifyColumnFamily('t', 'z', { versions: 9 }), missing)
  await t.rejects(admin.deleteColumnFamily('t', 'z'), missing)
  await admin.deleteColumnFamily('t', 'a')
  t.strictSame(Object.keys(admin.getDescriptor('t').families), ['b', 'c'])
  t.equal(contentOf(table).length, 3)
  await test.close()
})

void t.test('a disabled table refuses reads and writes until it is enabled', async (t) => {
  const test = await TestDatabase.open()
  let { admin } = test.database
  const table = await makeTable(test.database)
  await fill(table, 3, 'one')
  t.ok(admin.isTableEnabled('t'))
  await admin.disableTable('t')
  const disabled = { code: 'ERR_TABLE_NOT_ENABLED' }
  await t.rejects(table.get({ row: 'r' }), disabled)
  await t.rejects(table.put({ row: 'r', cells: { 'a:x': '1' } }), disabled)
  t.throws(() => table.scanSync(), disabled)
  t.throws(() => test.database.table('t').deleteSync({ row: 'r' }), disabled)
  await admin.modifyColumnFamily('t', 'a', { versions: 2 })
  t.ok(admin.isTableDisabled('t'), 'an alteration does not enable it')
  t.equal(table.describe().families.a.versions, 2)
  await test.reopen()
  admin = test.database.admin
  t.ok(admin.isTableDisabled('t'), 'a reopen does not enable it')
  t.throws(() => test.database.table('t').scanSync(), disabled)
  const copy = await admin.cloneTableSchema('t', 'copy')
  await copy.put({ row: 'r', cells: { 'a:x': '1' } })
  await admin.enableTable('t')
  t.equal(contentOf(test.database.table('t')).length, 6)
  await test.close()
})

void t.test('cloneTableSchema copies options and families, and no rows', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  await fill(await makeTable(test.database), 3, 'one')
  const copy = await admin.cloneTableSchema('t', 'copy')
  const { families } = admin.getDescriptor('t')
  t.strictSame(copy.describe().families, families)
  t.strictSame(contentOf(copy), [])
  await t.rejects(admin.cloneTableSchema('none', 'x'), { code: 'ERR_TABLE_NOT_FOUND' })
  await t.rejects(admin.cloneTableSchema('t', 'copy'), { code: 'ERR_TABLE_EXISTS' })
  t.strictSame(admin.listTableNames(/c.*/), ['copy'])
  t.strictSame(
    admin.listTableDescriptors(/t/).map(({ name }) => name),
    ['t'],
  )
  await test.close()
})

void t.test('flush, compact and majorCompact take a table and a family', async (t) => {
  const test = await TestDatabase.open()
  const { admin } = test.database
  const table = await makeTable(test.database)
  const filesOf = (): number[] => {
    const { a, b } = test.database.statistics().tables.t.families
    return [a.files, b.files]
  }
  await fill(table, 3, 'one')
  await admin.flush('t', 'a')
  t.strictSame(filesOf(), [1, 0])
  await fill(table, 3, 'two')
  await admin.flush('t')
  t.strictSame(filesOf(), [2, 1])
  await admin.majorCompact('t', 'a')
  t.strictSame(filesOf(), [1, 1])
  await admin.compact('t')
  admin.rollWALWriter()
  t.equal(admin.compactionSwitch(true), false)
  t.ok(admin.isCompactionEnabled())
  await t.rejects(admin.flush('t', 'z'), { code: 'ERR_NO_SUCH_COLUMN_FAMILY' })
  await t.rejects(admin.flush('none'), { code: 'ERR_TABLE_NOT_FOUND' })
  for (const method of ['flush', 'compact', 'majorCompact'] as const) {
    await t.rejects(admin[method](undefined, 'a'), /'a' is of no table/)
  }
  await test.close()
})
