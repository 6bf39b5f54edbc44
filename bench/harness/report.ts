/** Puts results together with where they were measured. */
import { describeEnvironment } from '../environment.js'
import type { BenchOptions } from './options.js'
import type { Report } from './record.js'
import type { SuiteOutcome } from './suite.js'

export type { Report } from './record.js'

/** The report of one suite, with machine, Node version and commit of this moment. */
export function makeReport(suite: string, options: BenchOptions, outcome: SuiteOutcome): Report {
  const { node, commit, date, ...machine } = describeEnvironment()
  const { parts, records, seconds, durability, seed, repeat, cacheBytes, isQuick } = options
  return {
    machine,
    node,
    commit,
    date,
    // Neither paths nor defaults that are not known here.
    options: {
      suite,
      parts,
      records,
      seconds,
      durability,
      seed,
      repeat,
      cacheBytes,
      quick: isQuick,
    },
    engines: outcome.engines,
    leftOut: outcome.leftOut,
    results: outcome.results,
  }
}
