/**
 * The conformance suite of metadata stores, for any backend. The public entry
 * `cellardb/conformance/metadata`.
 *
 *     import t from 'tap'
 *     import { runMetadataSuite } from 'cellardb/conformance/metadata'
 *
 *     await runMetadataSuite(t, { name: 'mine', create: async () => mySpace() })
 *
 * Each case is one test, named by its number. The cases restate the tests of Pulsar's metadata
 * module; `ours` are those of what this package adds.
 */
import { cacheCases } from './cache-cases.js'
import type {
  Fixture,
  MetadataBackend,
  MetadataCase,
  MetadataSuiteCapabilities,
  SuiteTest,
} from './case.js'
import { configurationCases } from './configuration-cases.js'
import { coordinationCases } from './coordination-cases.js'
import { scanCases } from './scan-cases.js'
import { sessionCases } from './session-cases.js'
import { storeCases } from './store-cases.js'
import type { CachingStore } from '../../../src/entries/metastore-pulsar.js'

export type {
  MetadataBackend,
  MetadataSpace,
  MetadataSuiteCapabilities,
  SuiteTest,
} from './case.js'

const cases: readonly MetadataCase[] = [
  ...storeCases,
  ...scanCases,
  ...cacheCases,
  ...coordinationCases,
  ...sessionCases,
  ...configurationCases,
]

/** What a run of the suite did. */
export interface MetadataSuiteCounts {
  /** Numbered cases that were run. */
  readonly run: number
  /** Numbered cases that the backend's capabilities leave out. */
  readonly skipped: number
}

const everything: Required<MetadataSuiteCapabilities> = {
  persistent: true,
  expireSession: true,
  disconnect: true,
  extensions: true,
}

/** Fails when the body takes too long: an event that never comes must not look like success. */
async function inTime(body: Promise<void>, milliseconds: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    const error = new Error(`the case did not end within ${milliseconds} ms`)
    timer = setTimeout(() => reject(error), milliseconds)
  })
  try {
    await Promise.race([body, late])
  } finally {
    clearTimeout(timer)
  }
}

/** Runs all cases against a backend, as tests below `t`, one after the other. */
export async function runMetadataSuite(
  t: SuiteTest,
  backend: MetadataBackend,
): Promise<MetadataSuiteCounts> {
  const capabilities = { ...everything, ...backend.capabilities }
  const space = await backend.create()
  const store = await space.open()
  const { only } = backend
  const chosen = cases.filter(({ number }) => only === undefined || only.includes(number))
  let run = 0
  let skipped = 0
  let paths = 0
  try {
    for (const each of chosen) {
      const { needs } = each
      const isPossible = needs === undefined || capabilities[needs]
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
      if (isPossible) run++
      else skipped++
      const skip = isPossible ? {} : { skip: `the backend does not have ${needs}` }
      const title = `Metadata ${each.number} [${backend.name}]: ${each.title}`
      await t.test(title, skip, async (t) => {
        try {
          await inTime(each.run(t, fixture), backend.caseMilliseconds ?? 60_000)
        } finally {
          await Promise.allSettled(opened.map((handle) => handle.close()))
        }
      })
    }
  } finally {
    await store.close()
    await space.dispose()
  }
  t.comment(`Metadata cases [${backend.name}]: ${run} of ${chosen.length} numbered cases run`)
  return { run, skipped }
}
