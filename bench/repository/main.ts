/**
 * `npm run bench -- repository`: records of the content repository beside documents in
 * better-sqlite3 (JSON, FTS5) and PouchDB, and MiniSearch for the words; each engine in a process
 * of its own. `--records` is the number of records.
 */
import { join } from 'node:path'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { measureInChild } from '../harness/processes/subject-process.js'
import { compareSubjects } from '../harness/subjects.js'
import type { SubjectTask } from './child.js'
import { subjectEntries } from './subjects.js'
import type { Sizes } from './workloads.js'

const suiteName = 'repository'
const script = join(import.meta.dirname, 'child.js')

const small: Sizes = {
  records: 1000,
  calls: 1000,
  versions: 10,
  searches: 100,
  blobBytes: 2 ** 20,
  phaseSecondsMax: 0,
}

function sizesOf(records: number, phaseSecondsMax: number): Sizes {
  return {
    records,
    calls: Math.min(50_000, Math.max(1000, Math.floor(records / 2))),
    versions: 10,
    searches: 1000,
    blobBytes: 64 * 2 ** 20,
    phaseSecondsMax,
  }
}

function run(context: SuiteContext): Promise<SuiteOutcome> {
  const { records = 100_000, isQuick, phaseSecondsMax } = context.options
  const sizes = isQuick ? small : sizesOf(records, phaseSecondsMax)
  return compareSubjects(
    {
      suite: suiteName,
      subjects: subjectEntries(isQuick),
      records: sizes.records,
      durabilityOf: ({ name }) => (name === 'minisearch' ? 'none' : 'buffered'),
      measure({ name }, directory) {
        const task = { subject: name, directory, isQuick, sizes, warmUp: small }
        return measureInChild<SubjectTask>(script, task)
      },
    },
    context,
  )
}

/** The suite. */
export const suite: Suite = {
  name: suiteName,
  summary: 'records beside better-sqlite3 with JSON and FTS5, PouchDB and MiniSearch',
  run,
}
