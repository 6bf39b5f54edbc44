/**
 * Writes to one cell with one timestamp, through an owner whose store is slow: each check sees the
 * value before, although the store may still have an older one.
 *
 * @runs long
 */
import t from 'tap'
import type { Database, Put } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import { withTableCalls } from '../../../helpers/planted.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

/** A store whose reads and writes of rows take some turns, as calls over a network do. */
function slow(database: Database): Database {
  const names = new Set(['get', 'getList', 'putList', 'deleteList', 'mutateRow'])
  return withTableCalls(database, (call, name) => {
    if (!names.has(name)) return call
    return async (...given): Promise<unknown> => {
      // A read returns what was there when it began, and a write arrives late.
      const isRead = name.startsWith('get')
      const answer = isRead ? await call(...given) : undefined
      for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve))
      return isRead ? answer : call(...given)
    }
  })
}

void t.test('a counter in one cell with one timestamp loses nothing', async (t) => {
  const store = await openMemoryDatabase()
  t.teardown(() => store.close())
  await store.createTable('t', { families: { f: { versions: 3 } } })
  const database = await ownDatabase(slow(reduceToRows(store)), { name: 'counter' })
  const table = database.table('t')
  const put = (value: string): Put => ({ row: 'r', cells: { 'f:n': value }, timestamp: 7 })
  await table.put(put('0'))
  let done = 0
  const work = async (): Promise<void> => {
    while (done < 40) {
      const now = Number((await table.get({ row: 'r' })).value('f:n'))
      const check = { row: 'r', column: 'f:n', equals: String(now) }
      const change = { put: { cells: { 'f:n': String(now + 1) }, timestamp: 7 } }
      const { success } = await table.checkAndMutate(check, change)
      if (success) done++
    }
  }
  await Promise.all([work(), work(), work()])
  t.equal(String((await table.get({ row: 'r' })).value('f:n')), String(done))
  await database.close()
})
