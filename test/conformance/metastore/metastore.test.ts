/**
 * The published suite of the MetaStore against both backends.
 *
 * CELLAR_DROPPED_CURSORS: cursors that the case about leaks opens, default 20,000.
 *
 * @runs alone
 */
import t from 'tap'
import { runMetastoreSuite } from '../../suites/metastore/suite.js'
import { cellarBackend, modelBackend } from './backends.js'

/** Numbered cases: those of 4.1 and 4.2, rulings, sharing, bad input, strictness, guards. */
const numberedCases = 79

for (const backend of [modelBackend, cellarBackend]) {
  void t.test(`MetaStore over ${backend.name}`, async (t) => {
    const { run, skipped } = await runMetastoreSuite(t, backend)
    t.equal(run, numberedCases, 'cases run')
    t.equal(skipped, 0, 'cases left out')
  })
}
