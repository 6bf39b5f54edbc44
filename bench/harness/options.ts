/**
 * The command line of the benchmarks.
 *
 * Everything that is wrong with it ends in a {@link UsageError}, before anything is run.
 */
import { parseArgs } from 'node:util'
import { durabilities, type Durability } from './engine.js'

/** The command line is wrong; the message says how. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** What was asked for, defaults filled in. */
export interface BenchOptions {
  /** A name, or the path of a module that exports `suite`. */
  readonly suite: string
  /** Parts of the suite: workloads, or structures of `micro`. Empty: all. */
  readonly parts: readonly string[]
  /** File for the results as JSON; for `all` a directory with one file a suite. */
  readonly outPath: string | undefined
  /** Names of engines, with `/layout` for one of their layouts, or paths of modules; empty: all. */
  readonly engines: readonly string[]
  /** Undefined: the default of the suite. */
  readonly records: number | undefined
  /** Undefined: the default of the workload, in most cases `buffered`. */
  readonly durability: Durability | undefined
  /** Length of a measurement that takes as long as one wants; undefined: the suite's default. */
  readonly seconds: number | undefined
  /** 32 bits. */
  readonly seed: number
  /** How often each engine runs each sequence. */
  readonly repeat: number
  /** Memory that an engine may use for blocks or pages. */
  readonly cacheBytes: number
  /** Where the stores are made; undefined: the system's directory for temporary files. */
  readonly directory: string | undefined
  /** Most seconds of a phase that may end early; 0 = no bound. */
  readonly phaseSecondsMax: number
  /** Whether finished steps are taken from the out file. */
  readonly resumes: boolean
  /** Very short runs, to see that everything works; the figures mean nothing. */
  readonly isQuick: boolean
  readonly help: boolean
}

/** What was asked for, without the defaults that differ from suite to suite. */
export type AskedOptions = Omit<BenchOptions, 'repeat' | 'cacheBytes'> & {
  readonly repeat: number | undefined
  readonly cacheBytes: number | undefined
}

/** Defaults of a suite that has its own. */
export interface SuiteDefaults {
  readonly defaultRepeat?: number
  readonly defaultCacheBytes?: number
}

const mebibyte = 1024 * 1024

/** Fills in the defaults of a suite. */
export function fillIn(asked: AskedOptions, suite: SuiteDefaults): BenchOptions {
  const { repeat = asked.isQuick ? 1 : (suite.defaultRepeat ?? 3) } = asked
  const { cacheBytes = suite.defaultCacheBytes ?? 128 * mebibyte } = asked
  return { ...asked, repeat, cacheBytes }
}

/** The part of the usage text that does not depend on the suites. */
export const optionsUsage = `options
  --out FILE          write the results as JSON and, beside it, a page with plots (.html);
                      for the suite all, a directory that gets one file a suite
  --engines A,B       only these engines; lmdb/row names one layout, ./mine.js a module
  --records N         records in the store (default: 1,000,000 for ycsb, db-bench, hbase-pe and
                      scale; --records 10000 is a try of two minutes)
  --phase-seconds N   a workload on a loaded store ends after so many seconds, or when all its
                      operations are done; 0: never early (default: 60)
  --resume            take over what an interrupted run has written to --out
  --seconds N         length of the steady ingest of the suite compaction (default: 20)
  --durability D      none, buffered or sync (default: buffered, except where a workload says)
  --seed N            seed of all random choices, 0 to 4294967295 (default: 301)
  --repeat N          how often every engine runs, alternately with the others (default: 3,
                      and 1 for suites of 1,000,000 records)
  --cache-mebibytes N memory for cached blocks or pages (default: 128; scale: 512)
  --directory DIR     where the stores are made (default: the system's temporary directory)
  --quick             tiny and once: shows that everything works, the figures mean nothing
  --help              this text
`

function integer(name: string, text: string, min: number, max: number): number {
  const value = /^\d+$/.test(text) ? Number(text) : NaN
  if (value >= min && value <= max) return value
  throw new UsageError(`--${name} must be an integer from ${min} to ${max}, not '${text}'`)
}

function durabilityOf(text: string | undefined): Durability | undefined {
  if (text === undefined) return undefined
  const found = durabilities.find((durability) => durability === text)
  if (found === undefined) {
    throw new UsageError(`--durability must be ${durabilities.join(', ')}, not '${text}'`)
  }
  return found
}

function notEmpty(name: string, text: string | undefined): string | undefined {
  if (text === '') throw new UsageError(`--${name} must not be empty`)
  return text
}

function parseWords(words: readonly string[]) {
  try {
    return parseArgs({
      args: [...words],
      allowPositionals: true,
      options: {
        out: { type: 'string' },
        engines: { type: 'string', default: '' },
        records: { type: 'string' },
        seconds: { type: 'string' },
        durability: { type: 'string' },
        seed: { type: 'string', default: '301' },
        repeat: { type: 'string' },
        'cache-mebibytes': { type: 'string' },
        'phase-seconds': { type: 'string', default: '60' },
        resume: { type: 'boolean', default: false },
        directory: { type: 'string' },
        quick: { type: 'boolean', default: false },
        help: { type: 'boolean', short: 'h', default: false },
      },
    })
  } catch (error) {
    throw new UsageError((error as Error).message)
  }
}

/** Parses what follows the script's name. @throws UsageError */
export function parseOptions(words: readonly string[]): AskedOptions {
  const { values, positionals } = parseWords(words)
  const [suite, ...parts] = positionals
  if (suite === undefined && !values.help) throw new UsageError('no suite is named')
  const engines = values.engines.split(',').filter((name) => name !== '')
  const isQuick = values.quick
  const cacheName = 'cache-mebibytes'
  const cache = values[cacheName]
  if (values.resume && values.out === undefined) throw new UsageError('--resume needs --out')
  return {
    suite: suite ?? '',
    parts,
    outPath: notEmpty('out', values.out),
    engines,
    records: values.records === undefined ? undefined : integer('records', values.records, 1, 1e9),
    seconds: values.seconds === undefined ? undefined : integer('seconds', values.seconds, 1, 1e6),
    durability: durabilityOf(values.durability),
    seed: integer('seed', values.seed, 0, 0xffffffff),
    repeat: values.repeat === undefined ? undefined : integer('repeat', values.repeat, 1, 1000),
    cacheBytes: cache === undefined ? undefined : integer(cacheName, cache, 1, 1e6) * mebibyte,
    phaseSecondsMax: integer('phase-seconds', values['phase-seconds'], 0, 1e6),
    resumes: values.resume,
    directory: notEmpty('directory', values.directory),
    isQuick,
    help: values.help,
  }
}
