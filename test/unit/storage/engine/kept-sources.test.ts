/** What a view reads of a store after compactions and flushes have replaced what was there. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import t from 'tap'
import { SimulatedDisk } from '../../../doubles/simulated-disk.js'
import { type Database, type Snapshot } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const column = { family: 'f', qualifier: 'q' }

/** All cells of the table that a view shows. */
function shown(database: Database, snapshot: Snapshot): string[] {
  const cells: string[] = []
  for (const row of database.table('t').scanSync({ snapshot, raw: true, versions: 'all' })) {
    for (const { row: key, timestamp, value } of row) {
      cells.push(`${String(key)}@${timestamp}=${String(value)}`)
    }
  }
  return cells
}

function put(database: Database, row: string, timestamp: number): void {
  const value = `v${timestamp}`
  database.table('t').putSync({ row, cells: [{ column, timestamp, value }] })
}

void t.test('a view sees what is flushed after a compaction has replaced its files', async (t) => {
  const test = await TestDatabase.open({ options: { compactionEnabled: true } })
  const { database } = test
  await database.createTable('t', { families: { f: { compaction: 'tiered', versions: 3 } } })
  database.pauseCompaction()
  for (let i = 0; i < 8; i++) {
    put(database, `r${i % 4}`, i)
    await database.flush()
  }
  for (let i = 0; i < 100; i++) put(database, `m${i}`, 100 + i)
  const view = database.snapshot()
  const before = shown(database, view)
  t.equal(before.length, 108)
  database.resumeCompaction()
  while (database.statistics().compactionQueue > 0) await nextTurn()
  t.ok(database.statistics().compactions > 0, 'files were replaced')
  t.same(shown(database, view), before, 'behind the compaction')
  put(database, 'later', 300)
  await database.flush()
  t.same(shown(database, view), before, 'behind the flush')
  await database.compact()
  t.same(shown(database, view), before, 'behind a major compaction')
  view.close()
  await test.close()
})

void t.test('a view of the moment in which a flush is published sees what it drops', async (t) => {
  const fileSystem = new SimulatedDisk()
  const test = await TestDatabase.open({ fileSystem })
  const { database } = test
  await database.createTable('t', { families: { f: { versions: 1 } } })
  for (let i = 0; i < 20; i++) {
    put(database, `r${i}`, 1)
    put(database, `r${i}`, 2)
  }
  const views: Snapshot[] = []
  fileSystem.beforeOperation = ({ kind, path }) => {
    if (kind !== 'sync' || !path.includes('MANIFEST')) return
    fileSystem.beforeOperation = undefined
    put(database, 'meanwhile', 3)
    views.push(database.snapshot())
  }
  await database.flush()
  t.equal(views.length, 1)
  t.equal(shown(database, views[0]).length, 41, 'both versions of each row')
  await database.flush()
  await database.compact()
  t.equal(shown(database, views[0]).length, 41)
  const now = database.snapshot()
  t.equal(shown(database, now).length, 21, 'a later view sees what is left')
  for (const view of [...views, now]) view.close()
  await test.close()
})
