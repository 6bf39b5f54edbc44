/**
 * The end of an owned database: nothing is under way behind it, and it does not take long.
 *
 * @runs long
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import type { Database } from '../../../../src/api/index.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'

/** An object whose method of a name runs after `before`. */
function delayed<T extends object>(object: T, method: string, before: () => Promise<void>): T {
  return new Proxy(object, {
    get: (inner, name) => {
      const value: unknown = Reflect.get(inner, name, inner)
      if (typeof value !== 'function') return value
      const call = (...given: unknown[]): unknown => Reflect.apply(value, inner, given)
      return name === method
        ? async (...given: unknown[]) => (await before(), call(...given))
        : call
    },
  })
}

void t.test('heartbeats on a slow store do not pile up', async (t) => {
  const rows = reduceToRows(await openMemoryDatabase())
  let changes = 0
  let pause = 0
  const store: Database = {
    ...rows,
    table: (name) => {
      return delayed(rows.table(name), 'checkAndMutate', async () => {
        changes++
        await sleep(pause)
      })
    },
  }
  const owner = await ownDatabase(store, { name: 'n', heartbeatMilliseconds: 10 })
  pause = 100
  await sleep(1_000)
  const before = changes
  await owner.close()
  t.ok(changes - before <= 3, `${changes - before} changes of the log during the close`)
})

void t.test('a drop that is under way ends before the ownership is given up', async (t) => {
  const rows = reduceToRows(await openMemoryDatabase())
  const admin = delayed(rows.admin, 'deleteTable', () => sleep(200))
  const owner = await ownDatabase({ ...rows, admin }, { name: 'n' })
  await owner.createTable('a', { families: { f: {} } })
  const dropped = owner.admin.deleteTable('a')
  await sleep(10)
  await owner.close()
  const next = await ownDatabase(rows, { name: 'n' })
  await next.admin.ensureTable('a', { families: { f: {} } })
  await next.table('a').put({ row: 'r', cells: { 'f:q': 'v' } })
  await dropped
  t.equal((await next.table('a').get({ row: 'r' })).value('f:q', 'utf8'), 'v')
  await next.close()
})

void t.test('no table is made behind the close', async (t) => {
  const rows = reduceToRows(await openMemoryDatabase())
  const owner = await ownDatabase(rows, { name: 'n' })
  await owner.close()
  const options = { families: { f: {} } }
  await t.rejects(owner.admin.createTable('late', options), { code: 'ERR_CLOSED' })
  await t.rejects(owner.admin.ensureTable('late', options), { code: 'ERR_CLOSED' })
  t.equal(await rows.admin.tableExists('late'), false)
})

void t.test('calls that fail late are repeated for retryMilliseconds as well', async (t) => {
  const rows = reduceToRows(await openMemoryDatabase())
  let isDown = false
  const store: Database = {
    ...rows,
    table: (name) => {
      return delayed(rows.table(name), 'checkAndMutate', async () => {
        if (!isDown) return
        await sleep(300)
        throw new Error('down')
      })
    },
  }
  const owner = await ownDatabase(store, { name: 'n', retryMilliseconds: 1_000 })
  const table = await owner.createTable('a', { families: { f: {} } })
  isDown = true
  const start = performance.now()
  await t.rejects(table.put({ row: 'r', cells: { 'f:q': 'v' } }), { code: 'ERR_POISONED' })
  const passed = performance.now() - start
  t.ok(passed > 600 && passed < 2_500, `${passed} ms`)
  await owner.close()
})

void t.test('a truncation waits for a batch that is on its way into the log', async (t) => {
  for (let turns = 0; turns < 40; turns += 4) {
    const rows = reduceToRows(await openMemoryDatabase())
    const options = { name: 'n', takeoverMilliseconds: 20, heartbeatMilliseconds: 10_000 }
    const owner = await ownDatabase(rows, options)
    const table = await owner.createTable('a', { families: { f: {} } })
    await table.put({ row: 'other', cells: { 'f:q': 'v' } })
    const put = table.put({ row: 'r', cells: { 'f:q': 'v' } })
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    await Promise.all([put, owner.admin.truncateTable('a')])
    const { isEmpty } = await table.get({ row: 'r' })
    const next = await ownDatabase(rows, options)
    const later = await next.table('a').get({ row: 'r' })
    t.equal(later.isEmpty, isEmpty, `after ${turns} turns, the next owner has what was there`)
    await next.close()
    await owner.close()
  }
})
