/**
 * `cellardb/hbase` on a live HBase, which the test starts. Skipped by name where Java, Maven or the
 * artifacts are missing.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { connectHBase } from '../../../../src/entries/hbase.js'
import { findHBase, LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import type { TableSpace } from '../../../suites/table/case.js'
import { runTableSuite } from '../../../suites/table/suite.js'
import { testCalls } from './calls.js'
import { testLostAnswers, testRestart } from './faults.js'
import { testHFiles } from './hfiles.js'
import { testHistories } from './histories.js'
import { openLiveSpace } from './live-space.js'
import { testMove } from './move.js'
import { testOverhead } from './overhead.js'
import { testSystems } from './systems.js'

const installation = findHBase()
if ('obstacle' in installation) {
  void t.test('cellardb/hbase on a live HBase', { skip: installation.obstacle }, () => undefined)
} else {
  const live = await LiveHBase.start(installation.classPath, {
    // Bulk loads check the order and the family of all cells.
    'hbase.hstore.bulkload.verify': 'true',
  })
  t.teardown(() => live.stop())
  const database = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => database.close())
  void t.test('calls', (t) => testCalls(t, database))
  void t.test('random histories beside the embedded engine', (t) => testHistories(t, database))
  void t.test('lost answers', (t) => testLostAnswers(t, live))
  void t.test('cost over bare calls', (t) => testOverhead(t, live))
  void t.test('systems on owned databases', (t) => testSystems(t, live))
  void t.test('HFiles', (t) => testHFiles(t, live))
  void t.test('the suite of tables', async (t) => {
    const open = async (): Promise<TableSpace> => openLiveSpace(database)
    const { passed, failed } = await runTableSuite(t, { name: 'live HBase', statesMax: 1, open })
    t.strictSame(failed, [])
    t.ok(passed.length >= 44, `${passed.length} cases hold`)
  })
  // Last, since they end the connections of all others.
  void t.test('moves of a database', (t) => testMove(t, live))
  void t.test('a gateway that is killed and started again', (t) => testRestart(t, live))
}
