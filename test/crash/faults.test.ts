/**
 * Every call of the file system fails once in every scenario, and from then on.
 *
 * CELLAR_FAULT_STEP: only every n-th call, default 1.
 */
import t from 'tap'
import { faultKinds, faultScenarios, runWithFault } from './faults-runner.js'

const step = Number(process.env.CELLAR_FAULT_STEP ?? 1)

/** More calls than any scenario makes. */
const callsMax = 2000

const unhandled: unknown[] = []
process.on('unhandledRejection', (reason) => unhandled.push(reason))

for (const scenario of faultScenarios) {
  void t.test(`a failing call is told and loses nothing: ${scenario.name}`, async (t) => {
    let runs = 0
    const complaints = new Map<string, number>()
    for (const kind of faultKinds) {
      for (let failAt = 1; failAt < callsMax; failAt += step) {
        const outcome = await runWithFault(scenario, kind, failAt)
        if (outcome.failures === 0) break
        runs++
        for (const complaint of outcome.complaints) {
          const text = `${kind.name}: ${complaint}`
          if (!complaints.has(text)) complaints.set(text, failAt)
        }
        await new Promise((resolve) => setImmediate(resolve))
      }
    }
    t.comment(`${runs} runs with a failing call`)
    t.ok(runs > 0, 'calls failed')
    const shown = [...complaints].slice(0, 8).map(([text, failAt]) => `call ${failAt}, ${text}`)
    t.strictSame(shown, [], `${complaints.size} complaints`)
    t.strictSame(unhandled.splice(0).map(String), [], 'no rejection stays unhandled')
  })
}
