/**
 * The suite `compaction`: merging beside RocksDB in C++, random ingest without end, what each
 * policy costs, and what cell hooks cost. Parts: merge, ingest, policies, hooks.
 */
import { UsageError } from '../harness/options.js'
import type { LeftOut, ResultRecord } from '../harness/report/record.js'
import type { Suite, SuiteContext, SuiteOutcome } from '../harness/suite.js'
import { measureHooks } from './hooks.js'
import { measureIngest } from './ingest.js'
import { mergeCellar, mergeRocksDb } from './merge.js'
import { measurePolicy, measuredPolicies } from './policies.js'

/** Length of the steady ingest, without the option. */
const secondsDefault = 20
const parts = ['merge', 'ingest', 'policies', 'hooks']

async function run({ options, directory }: SuiteContext): Promise<SuiteOutcome> {
  const { seed, isQuick, repeat } = options
  for (const part of options.parts) {
    if (!parts.includes(part)) throw new UsageError(`there is no part ${part}`)
  }
  const wanted = (part: string): boolean =>
    options.parts.length === 0 || options.parts.includes(part)
  const records = options.records ?? (isQuick ? 10_000 : 1_000_000)
  const results: ResultRecord[] = []
  const leftOut: LeftOut[] = []
  if (wanted('merge')) {
    for (const verify of [false, true]) {
      results.push(await mergeCellar(directory, records, seed, verify, repeat))
    }
    const peer = mergeRocksDb(directory, records, repeat)
    if (typeof peer === 'string') leftOut.push({ engine: 'rocksdb-cpp', reason: peer })
    else results.push(peer)
  }
  if (wanted('ingest')) {
    const seconds = options.seconds ?? (isQuick ? 0.2 : secondsDefault)
    results.push(...(await measureIngest(directory, records, seconds, seed)))
  }
  if (wanted('policies')) {
    for (const compaction of measuredPolicies) {
      results.push(await measurePolicy(directory, compaction, records, seed))
    }
  }
  if (wanted('hooks')) {
    results.push(...(await measureHooks(directory, records, seed, options.repeat)))
  }
  return { results, engines: {}, leftOut, failures: [] }
}

/** See the file header. */
export const suite: Suite = {
  name: 'compaction',
  summary: 'merging, ingest without end; parts are merge, ingest, policies, hooks',
  run,
}
