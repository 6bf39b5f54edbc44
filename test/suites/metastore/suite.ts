/**
 * The conformance suite of the BookKeeper MetaStore, for any backend. The public entry
 * `cellardb/conformance/metastore`.
 *
 *     import t from 'tap'
 *     import { runMetastoreSuite } from 'cellardb/conformance/metastore'
 *
 *     await runMetastoreSuite(t, { name: 'mine', create: async () => mySpace() })
 *
 * Each case is one test. The cases come from BookKeeper 4.3.2's TestMetaStore, from the promises of
 * its documents, and from the needs of its users.
 */
import { LongVersion, type Occurred, type Version } from '../../../src/systems/metastore/index.js'
import { badInputCases } from './bad-input-cases.js'
import { runCases, type SuiteCounts, type SuiteTest } from '../kit.js'
import type { Fixture, MetastoreBackend, MetastoreCase } from './case.js'
import { cursorCases } from './cursor-cases.js'
import { orderCases } from './order-cases.js'
import { rangeCases } from './range-cases.js'
import { rulingCases } from './ruling-cases.js'
import { strictCases } from './strict-cases.js'
import { tableCases } from './table-cases.js'
import { valueCases } from './value-cases.js'

export type { SuiteCounts, SuiteTest } from '../kit.js'
export type { MetastoreBackend, MetastoreCapabilities, MetastoreSpace } from './case.js'

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
function obstacle(
  { needs }: MetastoreCase,
  { backend, capabilities }: Pick<Fixture, 'backend' | 'capabilities'>,
): string | undefined {
  if (needs === undefined) return undefined
  if (needs === 'collectGarbage') {
    return backend.collectGarbage === undefined ? 'the backend cannot collect garbage' : undefined
  }
  const has = capabilities[needs]
  return has === undefined || has === false ? `the backend does not have ${needs}` : undefined
}

/** Runs all cases against a backend, as tests below `t`, one after the other. */
export async function runMetastoreSuite(
  t: SuiteTest,
  backend: MetastoreBackend,
): Promise<SuiteCounts> {
  const known = fixtureOf(backend)
  const space = await backend.create()
  const store = await space.open()
  let tables = 0
  const table: Fixture['table'] = async (name) => {
    const named = name ?? `conformance${++tables}`
    if (known.capabilities.scannable) return store.createScannableTable(named)
    return (await store.createTable(named)) as Awaited<ReturnType<Fixture['table']>>
  }
  try {
    return await runCases(t, {
      suite: 'MetaStore',
      backend: backend.name,
      cases,
      caseMilliseconds: backend.caseMilliseconds,
      obstacle: (each) => obstacle(each, known),
      run: (t, each) => each.run(t, { ...known, space, store, table }),
    })
  } finally {
    await store.close()
    await space.dispose()
  }
}
