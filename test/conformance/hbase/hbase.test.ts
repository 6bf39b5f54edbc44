/**
 * HBase's numbered conformance cases on both backends, and how many hold: the suite of
 * `cellardb/conformance/table`, and on the embedded engine the cases that look into it.
 *
 * @runs alone
 */
import t from 'tap'
import { runTableSuite, type TableBackend } from '../../suites/table/suite.js'
import { ModelDatabase } from '../../model/reference/model-database.js'
import { backendsMax, lengthOf } from '../../helpers/length.js'
import { openEmbedded } from './embedded-space.js'
import { damageCases } from './f-damage.js'
import { coprocessorCases } from './j-coprocessors.js'
import { recoveryCases } from './k-recovery.js'

const embeddedBackend: TableBackend = {
  name: 'embedded',
  open: openEmbedded,
  cases: [...damageCases, ...coprocessorCases, ...recoveryCases],
}

const memoryBackend: TableBackend = {
  name: 'memory',
  statesMax: lengthOf('CELLAR_MEMORY_STATES', 1, 5),
  open: async ({ clock, timestampSlopMilliseconds }) => {
    const database = await ModelDatabase.open({ clock, timestampSlopMilliseconds })
    return { database, close: () => database.close() }
  },
}

/** Cases that HBase's own tests assert. */
const numberedCases = 112

void t.test('HBase cases on the embedded engine', async (t) => {
  const { passed, failed, notApplicable } = await runTableSuite(t, embeddedBackend)
  t.strictSame(failed, [])
  t.strictSame([...notApplicable.keys()], [161, 167], 'only cases without a counterpart are left')
  const ofHBase = passed.filter((number) => number <= 200)
  t.equal(ofHBase.length + notApplicable.size, numberedCases, 'every numbered case passes')
})

const inMemory = { skip: backendsMax < 2 && 'CELLAR_BACKENDS leaves the model out' }

void t.test('HBase cases in memory', inMemory, async (t) => {
  const { passed, failed, notApplicable } = await runTableSuite(t, memoryBackend)
  t.strictSame(failed, [])
  const left = [104, 151, 152, 154, 155, 157, 158, 160, 161, 163, 164, 166, 167]
  t.strictSame([...notApplicable.keys()], left, 'what needs files, a log or coprocessors')
  const ofHBase = passed.filter((number) => number <= 200)
  t.equal(ofHBase.length + notApplicable.size, numberedCases, 'every other case passes')
})
