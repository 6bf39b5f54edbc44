/** Reads of an owned database: closed snapshots, read-only tables, arguments that are none. */
import { getEventListeners } from 'node:events'
import t from 'tap'
import { FilterBase, FilterCode } from '../../../../src/api/filters.js'
import { openMemoryDatabase } from '../../../../src/entries/memory.js'
import { ownDatabase } from '../../../../src/hbase/owned/own-database.js'
import type { OwnedDatabase } from '../../../../src/hbase/owned/owned-database.js'
import type { OwnedTable } from '../../../../src/hbase/owned/owned-table.js'
import { reduceToRows } from '../../../helpers/row-atomic.js'
import { pause } from '../../../suites/kit.js'

async function open(): Promise<{ owner: OwnedDatabase; table: OwnedTable }> {
  const owner = await ownDatabase(reduceToRows(await openMemoryDatabase()), { name: 'n' })
  const table = await owner.createTable('a', { families: { f: {} } })
  await table.put({ row: 'r1', cells: { 'f:q': 'v' } })
  await table.put({ row: 'r2', cells: { 'f:q': 'v' } })
  return { owner, table }
}

void t.test('a scan through a closed snapshot does not show the newest state', async (t) => {
  const { owner, table } = await open()
  const snapshot = owner.snapshot()
  const scan = table.scan({ snapshot })
  t.equal(String((await scan.next()).value?.row), 'r1')
  snapshot.close()
  await t.rejects(scan.next(), { code: 'ERR_CLOSED' })
  await t.rejects(table.scan({ snapshot }).toArray(), { code: 'ERR_CLOSED' })
  await owner.close()
})

void t.test('a feed leaves no listeners on its signal', async (t) => {
  const { owner, table } = await open()
  const abort = new AbortController()
  const feed = owner.changes({ signal: abort.signal })
  for (let i = 0; i < 20; i++) {
    const next = feed.next()
    await table.put({ row: 'r1', cells: { 'f:q': `${i}` } })
    await next
  }
  t.equal(getEventListeners(abort.signal, 'abort').length, 0)
  const next = feed.next()
  setImmediate(() => abort.abort())
  await t.rejects(next, { code: 'ERR_ABORTED' })
  await owner.close()
})

void t.test('the return of a feed ends a request that waits', async (t) => {
  const { owner, table } = await open()
  const feed = owner.changes()
  const next = feed.next()
  const late = pause(5_000).then(() => 'late')
  t.strictSame(await Promise.race([feed.return(), late]), { done: true, value: undefined })
  t.strictSame(await next, { done: true, value: undefined })
  const again = owner.changes()
  const first = again.next()
  await table.put({ row: 'r1', cells: { 'f:q': 'w' } })
  t.equal((await first).value?.cells.length, 1)
  await again.return()
  t.strictSame(await again.next(), { done: true, value: undefined })
  await owner.close()
})

void t.test('a scan that is closed while it reads is at its end', async (t) => {
  const { owner, table } = await open()
  const scan = table.scan()
  const next = scan.next()
  scan.close()
  t.equal((await next).done, true)
  await owner.close()
})

class Everything extends FilterBase {
  constructor() {
    super(false)
  }

  override filterCell(): FilterCode {
    return FilterCode.include
  }
}

void t.test('a read-only table is read with filters that the store refuses', async (t) => {
  const { owner, table } = await open()
  await owner.admin.modifyTable('a', { readOnly: true })
  const filter = new Everything()
  t.equal((await table.get({ row: 'r1', filter })).size, 1)
  t.equal((await table.scan({ filter }).toArray()).length, 2)
  const put = table.put({ row: 'r1', cells: { 'f:q': 'v' } })
  await t.rejects(put, { code: 'ERR_READ_ONLY' })
  const check = { row: 'r1', column: 'f:q', equals: 'v' } as const
  await t.rejects(table.checkAndMutate(check, { delete: {} }), { code: 'ERR_READ_ONLY' })
  await owner.close()
})

void t.test('reads refuse arguments that are no objects', async (t) => {
  const { owner, table } = await open()
  const code = 'ERR_INVALID_ARGUMENT'
  const none = null as never
  await t.rejects(table.get(none), { code })
  await t.rejects(table.getList([none]), { code })
  await t.rejects(table.exists(none), { code })
  await t.rejects(table.existsList([none]), { code })
  t.throws(() => table.scan(none), { code })
  await owner.close()
})
