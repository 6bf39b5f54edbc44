/**
 * The conformance suite of the BookKeeper MetaStore, for any backend. The public entry
 * `cellardb/conformance/metastore`.
 *
 *     import t from 'tap'
 *     import { runMetastoreSuite } from 'cellardb/conformance/metastore'
 *
 *     await runMetastoreSuite(t, { name: 'mine', create: async () => mySpace() })
 *
 * Each case is one test, named by its number. The cases come from BookKeeper 4.3.2's TestMetaStore,
 * from what its documents promise, and from what its users lean on (the source is in the name).
 */
import { LongVersion, type Occurred, type Version } from '../../../src/systems/metastore/index.js'
import { badInputCases } from './bad-input-cases.js'
import type { Fixture, MetastoreBackend, MetastoreCase, SuiteTest } from './case.js'
import { cursorCases } from './cursor-cases.js'
import { orderCases } from './order-cases.js'
import { rangeCases } from './range-cases.js'
import { rulingCases } from './ruling-cases.js'
import { strictCases } from './strict-cases.js'
import { tableCases } from './table-cases.js'
import { valueCases } from './value-cases.js'

export type { MetastoreBackend, MetastoreCapabilities, MetastoreSpace, SuiteTest } from './case.js'

const cases: readonly MetastoreCase[] = [
  ...tableCases,
  ...orderCases,
  ...rangeCases,
  ...cursorCases,
  ...valueCases,
  ...rulingCases,
  ...strictCases,
  ...badInputCases,
]

/** What a run of the suite did. */
export interface MetastoreSuiteCounts {
  /** Numbered cases that were run. */
  readonly run: number
  /** Numbered cases that the backend's capabilities leave out. */
  readonly skipped: number
}

class ForeignVersion implements Version {
  compare(): Occurred {
    return 'CONCURRENTLY'
  }
}

function fixtureOf(backend: MetastoreBackend): Omit<Fixture, 'store' | 'space' | 'table'> {
  return {
    backend,
    capabilities: {
      scannable: true,
      watchers: true,
      guards: false,
      synchronousReads: true,
      snapshotCursors: true,
      emptyKey: true,
      keyBytesMax: 32_767,
      unissuedVersion: new LongVersion(-1),
      ...backend.capabilities,
    },
    foreignVersion: new ForeignVersion(),
  }
}

/** Why a case cannot run; undefined if it can. */
function obstacle(each: MetastoreCase, fixture: Pick<Fixture, 'backend' | 'capabilities'>): string {
  const { needs } = each
  if (needs === undefined) return ''
  if (needs === 'collectGarbage') {
    return fixture.backend.collectGarbage === undefined ? 'the backend cannot collect garbage' : ''
  }
  const has = fixture.capabilities[needs]
  return has === undefined || has === false ? `the backend does not have ${needs}` : ''
}

/** Fails when the body takes too long: a callback that never comes must not look like success. */
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
export async function runMetastoreSuite(
  t: SuiteTest,
  backend: MetastoreBackend,
): Promise<MetastoreSuiteCounts> {
  const known = fixtureOf(backend)
  const space = await backend.create()
  const store = await space.open()
  const run = new Set<string>()
  const skipped = new Set<string>()
  let tables = 0
  const table: Fixture['table'] = async (name) => {
    const named = name ?? `conformance${++tables}`
    if (known.capabilities.scannable) return store.createScannableTable(named)
    return (await store.createTable(named)) as Awaited<ReturnType<Fixture['table']>>
  }
  try {
    for (const each of cases) {
      const skip = obstacle(each, known)
      ;(skip === '' ? run : skipped).add(each.number)
      const title = `MetaStore ${each.number} [${backend.name}]: ${each.title} (${each.source})`
      await t.test(title, skip === '' ? {} : { skip }, (t) =>
        inTime(each.run(t, { ...known, space, store, table }), backend.caseMilliseconds ?? 60_000),
      )
    }
  } finally {
    await store.close()
    await space.dispose()
  }
  for (const number of run) skipped.delete(number)
  const total = new Set(cases.map(({ number }) => number)).size
  t.comment(`MetaStore cases [${backend.name}]: ${run.size} of ${total} numbered cases run`)
  return { run: run.size, skipped: skipped.size }
}
