/**
 * The conformance suite of the content repository, for any backend of tables with atomic batches.
 * The public entry `cellardb/conformance/repository`.
 *
 *     import t from 'tap'
 *     import { runRepositorySuite } from 'cellardb/conformance/repository'
 *
 *     await runRepositorySuite(t, { name: 'mine', open: async (clock) => myDatabase(clock) })
 *
 * Each case is one test, named by its number in the specification of the repository.
 */
import { Fixture, SuiteClock, type RepositoryBackend, type SuiteTest } from './case.js'
import { repositoryCases } from './cases.js'

export type { RepositoryBackend, SuiteDatabase, SuiteTest } from './case.js'
export { runSearchSuite, type SearchSuiteBackend, type SuiteSearch } from './search-cases.js'

/** What a run of the suite did. */
export interface RepositorySuiteCounts {
  /** Numbered cases that were run. */
  readonly run: number
}

/** Runs all numbered cases; says at the end how many there were. */
export async function runRepositorySuite(
  t: SuiteTest,
  backend: RepositoryBackend,
): Promise<RepositorySuiteCounts> {
  for (const each of repositoryCases) {
    await t.test(`repository ${each.number}: ${each.name}`, {}, async () => {
      const clock = new SuiteClock()
      const fixture = new Fixture(await backend.open(clock), clock)
      try {
        await each.run(fixture)
      } finally {
        await fixture.end()
        await fixture.suite.close()
      }
    })
  }
  const run = repositoryCases.length
  t.comment(`repository over ${backend.name}: ${run} numbered cases run`)
  return { run }
}
