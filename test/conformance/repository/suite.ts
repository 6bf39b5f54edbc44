/** The cases of the content repository, over any backend of tables with atomic batches. */
import { runCases, SuiteClock, type SuiteCounts, type SuiteTest } from '../../suites/kit.js'
import { Fixture, type RepositoryBackend } from './case.js'
import { repositoryCases } from './cases.js'

export { runSearchSuite, type SearchSuiteBackend, type SuiteSearch } from './cases/search-cases.js'

/** Runs all cases. */
export function runRepositorySuite(t: SuiteTest, backend: RepositoryBackend): Promise<SuiteCounts> {
  return runCases(t, {
    suite: 'repository',
    backend: backend.name,
    cases: repositoryCases,
    caseMilliseconds: backend.caseMilliseconds,
    run: async (_, each) => {
      const clock = new SuiteClock(1_700_000_000_000)
      const fixture = new Fixture(await backend.open(clock), clock)
      try {
        await each.run(fixture)
      } finally {
        await fixture.end()
        await fixture.suite.close()
      }
    },
  })
}
