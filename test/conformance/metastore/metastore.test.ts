/**
 * The published suite of the MetaStore against both backends.
 *
 * CELLAR_DROPPED_CURSORS: cursors that the case about leaks opens, default 20,000.
 *
 * @runs alone
 */
import t from 'tap'
import { backendsMax } from '../../helpers/length.js'
import { runMetastoreSuite } from '../../suites/metastore/suite.js'
import { cellarBackend, modelBackend } from './backends.js'

/** Cases of the suite. */
const casesExpected = 96

for (const backend of [cellarBackend, modelBackend].slice(0, backendsMax)) {
  void t.test(`MetaStore over ${backend.name}`, async (t) => {
    const { run, skipped } = await runMetastoreSuite(t, backend)
    t.equal(run, casesExpected, 'cases run')
    t.equal(skipped, 0, 'cases left out')
  })
}
