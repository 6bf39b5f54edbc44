/**
 * The conformance suite of messaging and transactions, for any backend of tables with atomic
 * batches. The public entry `cellardb/conformance/messaging`.
 *
 *     import t from 'tap'
 *     import { runMessagingSuite } from 'cellardb/conformance/messaging'
 *
 *     await runMessagingSuite(t, { name: 'mine', open: async (clock) => myDatabase(clock) })
 *
 * Each case is one test, named by its number in the specification of CDAP's messaging and Tephra.
 */
import { Fixture, SuiteClock, type MessagingBackend, type SuiteTest } from './case.js'
import { messagingCases } from './cases.js'

export type { MessagingBackend, SuiteDatabase, SuiteTest } from './case.js'

/** What a run of the suite did. */
export interface MessagingSuiteCounts {
  /** Numbered cases that were run. */
  readonly run: number
  /** Numbered cases that do not apply to the backend. */
  readonly leftOut: number
}

/** Runs all numbered cases; says at the end how many there were. */
export async function runMessagingSuite(
  t: SuiteTest,
  backend: MessagingBackend,
): Promise<MessagingSuiteCounts> {
  let run = 0
  let leftOut = 0
  for (const each of messagingCases) {
    const name = `messaging ${each.number}: ${each.name}`
    const skip = await skipReason(backend, each.needs)
    if (skip !== undefined) {
      leftOut++
      await t.test(name, { skip }, async () => undefined)
      continue
    }
    run++
    await t.test(name, {}, async (t) => {
      const clock = new SuiteClock()
      const fixture = new Fixture(await backend.open(clock), clock)
      try {
        await each.run(fixture)
        t.equal(await fixture.endAll(), undefined)
      } finally {
        await fixture.endAll()
        await fixture.suite.close()
      }
    })
  }
  t.comment(`messaging over ${backend.name}: ${run} numbered cases run, ${leftOut} left out`)
  return { run, leftOut }
}

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
  const open = await backend.open(new SuiteClock())
  await open.close()
  return open[needs] === undefined ? reasons[needs] : undefined
}
