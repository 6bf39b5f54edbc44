/**
 * The whole suites of the systems on owned databases over a live HBase. They make and drop
 * thousands of tables, each of which takes HBase a second or more, so they run on request:
 *
 *     CELLAR_HBASE_SUITES=metastore,metadata,messaging,repository \
 *       node build/test/conformance/hbase/live/suites.test.js
 *
 * @runs alone, campaign
 */
import t, { type Test } from 'tap'
import { findHBase, LiveHBase } from '../../../../bench/cluster/live-hbase.js'
import { connectHBase } from '../../../../src/entries/hbase.js'
import { runMetadataSuite } from '../../../suites/metadata/suite.js'
import { runMetastoreSuite } from '../../../suites/metastore/suite.js'
import { runMessagingSuite } from '../../messaging/suite.js'
import { databasesOn, metadataOn, metastoreOn, type StoreOpener } from '../../owned/backends.js'
import { runRepositorySuite } from '../../repository/suite.js'
import { openPrefixed } from './prefixed.js'

/** A large state is a few thousand calls, one after the other. */
const caseMilliseconds = 600_000

const suites: Readonly<Record<string, (t: Test, openStore: StoreOpener) => Promise<unknown>>> = {
  metastore: (t, openStore) =>
    runMetastoreSuite(t, { ...metastoreOn(openStore), caseMilliseconds }),
  metadata: (t, openStore) => runMetadataSuite(t, { ...metadataOn(openStore), caseMilliseconds }),
  messaging: (t, openStore) =>
    runMessagingSuite(t, { ...databasesOn(openStore), caseMilliseconds }),
  repository: (t, openStore) =>
    runRepositorySuite(t, { ...databasesOn(openStore), caseMilliseconds }),
}

const wanted = (process.env['CELLAR_HBASE_SUITES'] ?? '').split(',').filter((name) => name !== '')
const installation = findHBase()
if (wanted.length === 0 || 'obstacle' in installation) {
  const reason =
    'obstacle' in installation ? installation.obstacle : 'CELLAR_HBASE_SUITES names none'
  void t.test('suites of systems on a live HBase', { skip: reason }, () => undefined)
} else {
  const live = await LiveHBase.start(installation.classPath)
  t.teardown(() => live.stop())
  const hbase = await connectHBase({ host: '127.0.0.1', port: live.port })
  t.teardown(() => hbase.close())
  for (const name of wanted) {
    void t.test(`${name} on a live HBase`, (t) => suites[name](t, () => openPrefixed(hbase)))
  }
}
