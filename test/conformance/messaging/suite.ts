/** The cases of messaging and transactions, over any backend of tables with atomic batches. */
import { runCases, SuiteClock, type SuiteCounts, type SuiteTest } from '../../suites/kit.js'
import { Fixture, type MessagingBackend } from './case.js'
import { messagingCases } from './cases.js'

/** Runs all cases. */
export function runMessagingSuite(t: SuiteTest, backend: MessagingBackend): Promise<SuiteCounts> {
  return runCases(t, {
    suite: 'messaging',
    backend: backend.name,
    cases: messagingCases,
    caseMilliseconds: backend.caseMilliseconds,
    obstacle: ({ needs }) => skipReason(backend, needs),
    run: async (t, each) => {
      const clock = startClock()
      const fixture = new Fixture(await backend.open(clock), clock)
      try {
        await each.run(fixture)
        t.equal(await fixture.endAll(), undefined, 'the parts of the case close')
      } finally {
        await fixture.endAll()
        await fixture.suite.close()
      }
    },
  })
}

const startClock = (): SuiteClock => new SuiteClock(1_489_707_864_000)

const reasons = {
  jobs: 'the backend has no flushes and compactions with hooks',
  openAgain: 'the data of the backend have one opener',
  reopenTorn: 'the backend has no log that could be torn',
} as const

async function skipReason(
  backend: MessagingBackend,
  needs: keyof typeof reasons | undefined,
): Promise<string | undefined> {
  if (needs === undefined) return undefined
  const open = await backend.open(startClock())
  await open.close()
  return open[needs] === undefined ? reasons[needs] : undefined
}
