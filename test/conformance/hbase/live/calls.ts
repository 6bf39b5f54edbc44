/** The calls of a table and of the administration, each on a live HBase. */
import type { Test } from 'tap'
import { parseFilter } from '../../../../src/api/filters.js'
import type { HBaseDatabase } from '../../../../src/entries/hbase.js'
import { outcome } from '../../../suites/kit.js'

/** Runs the calls on tables of their own. */
export async function testCalls(t: Test, database: HBaseDatabase): Promise<void> {
  const families = { f: { versions: 3 }, g: {} }
  const table = await database.createTable('calls', { families, metadata: { owner: 'me' } })
  t.strictSame(table.describe().metadata, { owner: 'me' })
  t.equal(table.describe().families['f'].versions, 3, 'the description is read back')

  await table.put({ row: 'a', cells: { 'f:q': 'one', 'g:': 'empty' } })
  t.strictSame((await table.get({ row: 'a' })).toObject(), { 'f:q': 'one', 'g:': 'empty' })
  t.equal(await table.incrementColumnValue('a', 'f:n', 5n), 5n, 'a counter')
  t.equal(await outcome(table.increment({ row: 'a', columns: { 'f:q': 1 } })), 'ERR_NOT_A_COUNTER')
  const appended = await table.append({ row: 'a', columns: { 'f:q': '!' } })
  t.equal(appended.value('f:q', 'utf8'), 'one!', 'an append')

  const check = { row: 'a', column: 'f:q', equals: 'one!' } as const
  const action = { put: { cells: { 'f:q': 'two' } } }
  t.equal((await table.checkAndMutate(check, action)).success, true, 'a check that holds')
  t.equal((await table.checkAndMutate(check, action)).success, false, 'one that does not')

  await table.put({ row: 't', cells: { 'f:q': { value: 'x', timestamp: 2n ** 62n } } })
  t.equal((await table.get({ row: 't' })).cell('f:q')?.timestampExact, 2n ** 62n, 'any timestamp')
  await table.delete({ row: 'a', columns: ['f:q'], families: ['g'] })
  t.equal((await table.get({ row: 'a' })).size, 1, 'a delete of two kinds')

  const rows = Array.from({ length: 2500 }, (_, i) => `r${String(i).padStart(4, '0')}`)
  await table.putList(rows.map((row) => ({ row, cells: { 'f:q': row } })))
  const found = await table.scan({ prefix: 'r' }).toArray()
  t.strictSame(
    found.map(({ row }) => String(row)),
    rows,
    'a scan of three pages',
  )
  const filtered = table.scan({ filter: parseFilter("PrefixFilter('r000')") })
  t.equal((await filtered.toArray()).length, 10, 'a filter of the filter language')

  t.equal(await outcome(table.get({ row: 'a', columns: ['z'] })), 'ERR_NO_SUCH_COLUMN_FAMILY')
  t.equal(await outcome(database.table('none').get({ row: 'a' })), 'ERR_TABLE_NOT_FOUND')
  t.equal(await outcome(database.createTable('calls', { families })), 'ERR_TABLE_EXISTS')
  await testAdmin(t, database)
}

async function testAdmin(t: Test, { admin }: HBaseDatabase): Promise<void> {
  const after = await admin.modifyTable('calls', {
    families: { h: { ttlMilliseconds: 5000 } },
    dropFamilies: ['g'],
  })
  t.strictSame(Object.keys(after.families), ['f', 'h'])
  t.equal(after.families['h'].ttlMilliseconds, 5000)
  t.equal(after.families['f'].versions, 3, 'options that are not mentioned stay')

  await admin.createNamespace('space')
  t.equal(await outcome(admin.createNamespace('space')), 'ERR_NAMESPACE_EXISTS')
  await admin.createTable('space:t', { families: { f: {} } })
  t.strictSame(await admin.listTableNames(), ['calls', 'space:t'])
  t.equal(await outcome(admin.deleteNamespace('space')), 'ERR_NAMESPACE_NOT_EMPTY')
  await admin.deleteTable('space:t')
  await admin.deleteNamespace('space')
  t.strictSame(await admin.listNamespaces(), ['default', 'hbase'])
  const families = { f: {} }
  t.equal(await outcome(admin.createTable('no:t', { families })), 'ERR_NAMESPACE_NOT_FOUND')

  await admin.truncateTable('calls')
  await admin.disableTable('calls')
  t.equal(await admin.isTableEnabled('calls'), false)
  await admin.enableTable('calls')
  await admin.deleteTable('calls')
  t.equal(await admin.tableExists('calls'), false)
  t.equal(await outcome(admin.deleteTable('calls')), 'ERR_TABLE_NOT_FOUND')
}
