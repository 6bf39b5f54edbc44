/**
 * What `statistics()` says of memory that is held goes back to where it was, once the scans,
 * snapshots, feeds and calls that held it have ended.
 */
import t from 'tap'
import type { DatabaseStatistics } from '../../../src/entries/index.js'
import { TestDatabase } from '../../helpers/test-database.js'

const valueBytes = 20_000
const rows = 100

/** The counters of memory that somebody holds. */
function heldOf(test: TestDatabase): Partial<DatabaseStatistics> {
  const { memtableBytes, pinnedMemtableBytes, waitingCalls, waitingArgumentBytes, openSnapshots } =
    test.database.statistics()
  return { memtableBytes, pinnedMemtableBytes, waitingCalls, waitingArgumentBytes, openSnapshots }
}

const nothing = {
  memtableBytes: 0,
  pinnedMemtableBytes: 0,
  waitingCalls: 0,
  waitingArgumentBytes: 0,
  openSnapshots: 0,
}

void t.test('memory counters return to zero', async (t) => {
  const test = await TestDatabase.open()
  const { database } = test
  const table = await database.createTable('t', { families: { f: {} } })
  t.same(heldOf(test), nothing, 'of a new database')
  const putAll = (byte: number): Promise<unknown>[] =>
    Array.from({ length: rows }, (_, i) =>
      table.put({ row: `r${i}`, cells: { 'f:v': Buffer.alloc(valueBytes, byte) } }),
    )
  const puts = putAll(1)
  const held = database.statistics()
  t.ok(held.waitingCalls > 0, 'calls wait for memory')
  t.ok(held.waitingArgumentBytes >= held.waitingCalls * valueBytes)
  t.ok(held.memtableBytes > 0)
  await Promise.all(puts)
  const ended = heldOf(test)
  t.equal(ended.waitingCalls, 0)
  t.equal(ended.waitingArgumentBytes, 0)

  const snapshot = database.snapshot()
  const changes = database.changes({ fromSequence: 1 })
  await changes.next()
  const scans = [table.scan(), table.scan({ snapshot }), table.scan({ reversed: true })]
  const scansSync = [table.scanSync(), table.scanSync({ raw: true, versions: 'all' })]
  for (const scan of scans) await scan.next()
  for (const scan of scansSync) scan.next()
  await Promise.all(putAll(2))
  await database.flush()
  t.equal(database.statistics().openSnapshots, 1)
  // One is read to its end, the others are given up.
  for await (const result of scans[0]) if (result.isEmpty) break
  for (const scan of scans) scan.close()
  for (const scan of scansSync) scan.close()
  await changes.return?.(undefined)
  snapshot.close()
  await database.flush()
  t.same(heldOf(test), nothing, 'when all have ended')
  const { idleArenaBytes, blockCache } = database.statistics()
  t.ok(idleArenaBytes <= 2 * (1.25 * 64 * 1024 + 4096 + 1024 * 1024), 'two arenas at most')
  t.ok(blockCache.bytesUsed <= blockCache.bytesMax)
  await test.close()
})
