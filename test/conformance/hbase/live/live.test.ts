/**
 * `cellardb/hbase` on a live HBase, which the test starts. Skipped by name where Java, Maven or the
 * artifacts are missing.
 *
 * @runs alone
 */
import t from 'tap'
import { connectHBase } from '../../../../src/entries/hbase.js'
import { findHBase, LiveHBase } from '../../../helpers/live-hbase.js'
import { testCalls } from './calls.js'

const installation = findHBase()
if ('obstacle' in installation) {
  void t.test('cellardb/hbase on a live HBase', { skip: installation.obstacle }, () => undefined)
} else {
  const live = await LiveHBase.start(installation.classPath)
  t.teardown(() => live.stop())
  const database = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => database.close())
  void t.test('calls', (t) => testCalls(t, database))
}
