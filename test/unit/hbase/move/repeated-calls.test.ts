/** Calls of a move after another one: other tables, and families that came meanwhile. */
import t from 'tap'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { moveDatabase } from '../../../../src/hbase/move/move-database.js'

void t.test('a call with other tables than the move is refused', async (t) => {
  const source = await openMemoryDatabase()
  const target = await openMemoryDatabase()
  for (const name of ['a', 'b']) {
    const table = await source.createTable(name, { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:q': name } })
  }
  await moveDatabase(source, target, { tables: ['a'] })
  const code = 'ERR_MOVE_REFUSED'
  await t.rejects(moveDatabase(source, target, { tables: ['b'] }), { code, message: /tables: a/ })
  await t.rejects(moveDatabase(source, target, { tables: ['a', 'b'] }), { code })
  t.equal(target.admin.tableExists('b'), false)
  await moveDatabase(source, target, { tables: ['a', 'a'] })
  await moveDatabase(source, target, { tables: ['b'], stateTable: 'second' })
  t.equal((await target.table('b').get({ row: 'r' })).value('f:q', 'utf8'), 'b')
})
