/** Puts results together with where they were measured. */
import { describeEnvironment } from '../../environment.js'
import type { BenchOptions } from '../options.js'
import type { Report } from './record.js'
import type { SuiteOutcome } from '../suite.js'

export type { Report } from './record.js'

/** The report of one suite, with machine, Node version and commit of this moment. */
export function makeReport(suite: string, options: BenchOptions, outcome: SuiteOutcome): Report {
  const { node, commit, date, ...machine } = describeEnvironment()
  return {
    machine,
    node,
    commit,
    date,
    options: describeOptions(suite, options),
    engines: outcome.engines,
    leftOut: outcome.leftOut,
    results: outcome.results,
  }
}

/** The options that figures depend on: neither paths nor defaults that are not known here. */
export function describeOptions(
  suite: string,
  options: BenchOptions,
): Readonly<Record<string, unknown>> {
  const { parts, records, seconds, durability, seed, repeat, cacheBytes, isQuick } = options
  return {
    suite,
    parts,
    records,
    seconds,
    durability,
    seed,
    repeat,
    cacheBytes,
    phaseSecondsMax: options.phaseSecondsMax,
    quick: isQuick,
  }
}
