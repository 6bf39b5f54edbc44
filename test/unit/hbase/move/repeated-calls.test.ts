/** Calls of a move after another one: other tables, and families that came meanwhile. */
import t from 'tap'
import { CellarError, type Database, type Result, type Scan } from '../../../../src/api/index.js'
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

void t.test('a family that came during a move is moved too', async (t) => {
  const source = await openMemoryDatabase()
  const target = await openMemoryDatabase()
  const table = await source.createTable('a', { families: { f: {} } })
  await table.put({ row: 'r1', cells: { 'f:q': '1' } })
  const stopWrites = async (): Promise<void> => {
    await source.admin.modifyTable('a', { families: { g: {} } })
    await table.put({ row: 'r2', cells: { 'g:q': '2' } })
  }
  await moveDatabase(source, target, { stopWrites })
  t.equal((await target.table('a').get({ row: 'r2' })).value('g:q', 'utf8'), '2')
})

void t.test('a call that another one has taken over deletes nothing', async (t) => {
  const source = await openMemoryDatabase()
  const store = await openMemoryDatabase()
  const table = await source.createTable('a', { families: { f: {} } })
  await table.put({ row: 'r1', cells: { 'f:q': '1' } })
  let isTaken = false
  const slow = new Proxy(store, {
    get: (inner, name) => {
      const value: unknown = Reflect.get(inner, name, inner)
      if (name !== 'table')
        return typeof value === 'function' ? (value.bind(inner) as unknown) : value
      return (of: string) => {
        const own = inner.table(of)
        if (of !== 'a' || isTaken) return own
        return Object.assign(Object.create(own) as object, {
          batch: own.batch.bind(own),
          get: own.get.bind(own),
          getList: own.getList.bind(own),
          scan: (scan: Scan) => {
            const results = own.scan(scan)
            const after = async function* (): AsyncGenerator<Result, void> {
              if (scan.versions === 'all') {
                isTaken = true
                await table.put({ row: 'r2', cells: { 'f:q': '2' } })
                await moveDatabase(source, store)
              }
              yield* own.scan(scan)
            }
            return Object.assign(after(), { close: () => results.close() })
          },
        })
      }
    },
  })
  await t.rejects(moveDatabase(source, slow), { code: 'ERR_LOCKED' })
  t.equal((await store.table('a').get({ row: 'r2' })).value('f:q', 'utf8'), '2')
})

void t.test('a call that is taken over while it empties tables empties no more', async (t) => {
  const source = await openMemoryDatabase()
  const store = await openMemoryDatabase()
  for (const name of ['a', 'b']) {
    const table = await source.createTable(name, { families: { f: {} } })
    await table.put({ row: 'r', cells: { 'f:q': name } })
  }
  const forgetful = new Proxy<Database>(source, {
    get: (inner, name) => {
      const value: unknown = Reflect.get(inner, name, inner)
      if (name === 'changes') {
        return async function* (): AsyncGenerator<never, void> {
          throw new CellarError('ERR_CHANGES_GONE', 'the log begins later')
        }
      }
      return typeof value === 'function' ? (value.bind(inner) as unknown) : value
    },
  })
  const truncate = store.admin.truncateTable.bind(store.admin)
  let truncated = 0
  store.admin.truncateTable = async (name) => {
    await truncate(name)
    if (++truncated === 1) await moveDatabase(source, store)
  }
  await t.rejects(moveDatabase(forgetful, store), { code: 'ERR_LOCKED' })
  t.equal(truncated, 1)
  for (const name of ['a', 'b']) {
    t.equal((await store.table(name).get({ row: 'r' })).value('f:q', 'utf8'), name)
  }
})
