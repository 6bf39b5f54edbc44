/**
 * The numbered conformance cases of HBase, each in the states in which it must hold. Odd cases run
 * the promise forms, even ones the synchronous forms.
 */
import t from 'tap'
import { TestDatabase } from '../../helpers/test-database.js'
import type { HBaseCase, State } from './case.js'
import { versionCases } from './a-versions.js'
import { nameCases } from './b-names.js'
import { deleteCases } from './c-deletes.js'
import { keptDeleteCases } from './d-kept-deletes.js'
import { minVersionCases } from './d-min-versions.js'
import { writeOrderCases } from './e-write-order.js'
import { scanCases } from './f-scans.js'
import { checkCases } from './h-checks.js'
import { updateCases } from './i-updates.js'
import { canRun, runCase } from './run-case.js'

const cases: readonly HBaseCase[] = [
  ...versionCases,
  ...nameCases,
  ...deleteCases,
  ...keptDeleteCases,
  ...minVersionCases,
  ...writeOrderCases,
  ...scanCases,
  ...checkCases,
  ...updateCases,
]

/** Cases in the specification's list. */
const numberedCases = 112

void t.test('HBase cases', async (t) => {
  const probe = await TestDatabase.open()
  const { canCompact } = probe
  await probe.close()
  const numbers = new Set<number>()
  const states = new Set<State>()
  for (const each of cases) {
    for (const state of each.states) {
      if (!canRun(each, state, canCompact)) continue
      numbers.add(each.number)
      states.add(state)
      const title = `HBase case ${each.number} [${state}]: ${each.title} (${each.source})`
      await t.test(title, async (t) => {
        await runCase(t, each, state, each.number % 2 === 0 ? 'sync' : 'async')
      })
    }
  }
  const counts = `${numbers.size} of ${numberedCases} numbered cases run, ${states.size} states`
  t.comment(`HBase cases: ${counts}`)
})
