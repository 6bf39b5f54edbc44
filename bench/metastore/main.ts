/**
 * `npm run bench -- metastore`: the MetaStore over Cellar, over LMDB and over LevelDB, each in
 * a process of its own; see workloads.ts. `--records` is the number of topics.
 */
import { join } from 'node:path'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { measureInChild } from '../harness/processes/subject-process.js'
import { compareSubjects } from '../harness/subjects.js'
import type { StoreTask } from './child.js'
import { storeEntries } from './stores.js'
import type { Sizes } from './workloads.js'

const suiteName = 'metastore'
const script = join(import.meta.dirname, 'child.js')

function sizesOf(topics: number, isQuick: boolean): Sizes {
  if (isQuick) {
    return { topics: 200, subscribers: 300, ledgers: 500, singlePuts: 20, rounds: 1, reads: 2 }
  }
  const subscribers = 10_000
  return { topics, subscribers, ledgers: topics, singlePuts: 300, rounds: 30, reads: 20 }
}

function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { records = 5000, isQuick, cacheBytes, durability = 'sync' } = context.options
  const sizes = sizesOf(records, isQuick)
  return compareSubjects(
    {
      suite: suiteName,
      subjects: storeEntries,
      records: sizes.topics * 3,
      durabilityOf: () => durability,
      measure({ name }, directory) {
        const settings = { directory, isSync: durability === 'sync', cacheBytes }
        return measureInChild<StoreTask>(script, { store: name, settings, sizes })
      },
    },
    context,
  )
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: "Hedwig's and the ledger manager's calls, over Cellar, LMDB and LevelDB",
  run,
}
