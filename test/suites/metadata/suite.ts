/**
 * The conformance suite of metadata stores, for any backend. The public entry
 * `cellardb/conformance/metadata`.
 *
 *     import t from 'tap'
 *     import { runMetadataSuite } from 'cellardb/conformance/metadata'
 *
 *     await runMetadataSuite(t, { name: 'mine', create: async () => mySpace() })
 *
 * Each case is one test. The cases restate the tests of Pulsar's metadata module, and add those of
 * the extensions of this package.
 */
import { runCases, type SuiteCounts, type SuiteTest } from '../kit.js'
import { cacheCases } from './cache-cases.js'
import type { Fixture, MetadataBackend, MetadataCase, MetadataSuiteCapabilities } from './case.js'
import { configurationCases } from './configuration-cases.js'
import { coordinationCases } from './coordination-cases.js'
import { scanCases } from './scan-cases.js'
import { sessionCases } from './session-cases.js'
import { storeCases } from './store-cases.js'
import type { CachingStore } from '../../../src/entries/metastore-pulsar.js'

export type { SuiteCounts, SuiteTest } from '../kit.js'
export type { MetadataBackend, MetadataSpace, MetadataSuiteCapabilities } from './case.js'

const cases: readonly MetadataCase[] = [
  ...storeCases,
  ...scanCases,
  ...cacheCases,
  ...coordinationCases,
  ...sessionCases,
  ...configurationCases,
]

const everything: Required<MetadataSuiteCapabilities> = {
  persistent: true,
  expireSession: true,
  disconnect: true,
  extensions: true,
}

/** Runs all cases against a backend, as tests below `t`, one after the other. */
export async function runMetadataSuite(
  t: SuiteTest,
  backend: MetadataBackend,
): Promise<SuiteCounts> {
  const capabilities = { ...everything, ...backend.capabilities }
  const space = await backend.create()
  const store = await space.open()
  let paths = 0
  try {
    return await runCases(t, {
      suite: 'Metadata',
      backend: backend.name,
      cases,
      only: backend.only,
      caseMilliseconds: backend.caseMilliseconds,
      obstacle: ({ needs }) =>
        needs === undefined || capabilities[needs]
          ? undefined
          : `the backend does not have ${needs}`,
      run: async (t, each) => {
        const opened: CachingStore[] = []
        const fixture: Fixture = {
          space,
          store,
          open: async (configuration) => {
            const handle = await space.open(configuration)
            opened.push(handle)
            return handle
          },
          fresh: () => `/key-${++paths}`,
        }
        try {
          await each.run(t, fixture)
        } finally {
          await Promise.allSettled(opened.map((handle) => handle.close()))
        }
      },
    })
  } finally {
    await store.close()
    await space.dispose()
  }
}
