/**
 * Every call of the file system fails once in every scenario, and from then on.
 *
 * CELLAR_FAULT_SECONDS: time for all scenarios, default 14; what does not fit is left out at random
 * and counted. CELLAR_SEED: the seed of that. The campaign leaves out nothing.
 *
 * @runs campaign
 */
import t from 'tap'
import { seed } from '../../unit/storage/version/fixtures.js'
import { faultKinds, faultScenarios, runWithFault } from './faults-runner.js'
import type { FaultKind, FaultScenario } from './faults-runner.js'
import { shuffle } from '../power-cut/power-cut-runner.js'
import { generatorOf } from '../recovery.js'
import { lengthOf } from '../../helpers/length.js'

const milliseconds = 1000 * lengthOf('CELLAR_FAULT_SECONDS', 0.6, 14)

/** Calls that fail in every scenario, however slow the machine is. */
const runsMin = 10

const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))

/** Every call of a scenario with every kind of fault that applies to it. */
async function casesOf(scenario: FaultScenario): Promise<{ kind: FaultKind; failAt: number }[]> {
  const cases: { kind: FaultKind; failAt: number }[] = []
  for (const kind of faultKinds) {
    const { calls } = await runWithFault(scenario, kind, Number.MAX_SAFE_INTEGER)
    for (let failAt = 1; failAt <= calls; failAt++) cases.push({ kind, failAt })
  }
  return cases
}

for (const [index, scenario] of faultScenarios.entries()) {
  const name = `a failing call is told and loses nothing: ${scenario.name} (seed ${seed})`
  void t.test(name, async (t) => {
    const deadline = Date.now() + milliseconds / faultScenarios.length
    const cases = shuffle(await casesOf(scenario), generatorOf(seed, index))
    let runs = 0
    const complaints: string[] = []
    for (const { kind, failAt } of cases) {
      if (runs >= runsMin && Date.now() > deadline) break
      if (complaints.length > 5) break
      const outcome = await runWithFault(scenario, kind, failAt)
      runs++
      const origin = `${kind.name}, call ${failAt}`
      for (const complaint of outcome.complaints) complaints.push(`${origin}: ${complaint}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
    t.comment(`${runs} runs with a failing call, ${cases.length - runs} left out`)
    t.ok(runs >= Math.min(runsMin, cases.length), 'calls failed')
    t.strictSame(complaints, [], 'no complaints')
    t.strictSame(unhandled.splice(0).map(String), [], 'no rejection stays unhandled')
  })
}
