/**
 * The numbered conformance cases about filters (G), and the cases of other chapters that need one.
 * Odd cases run the promise forms, even ones the synchronous forms.
 */
import t from 'tap'
import { TestDatabase } from '../../helpers/test-database.js'
import { filterCases } from './g-filters.js'
import { filterFixtureCases } from './g-fixture.js'
import { canRun, runCase } from './run-case.js'

const cases = [...filterCases, ...filterFixtureCases]

void t.test('HBase filter cases', async (t) => {
  const probe = await TestDatabase.open()
  const { canCompact } = probe
  await probe.close()
  for (const each of cases) {
    for (const state of each.states) {
      if (!canRun(each, state, canCompact)) continue
      const title = `HBase case ${each.number} [${state}]: ${each.title} (${each.source})`
      await t.test(title, async (t) => {
        await runCase(t, each, state, each.number % 2 === 0 ? 'sync' : 'async')
      })
    }
  }
})
