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
  /** Very short runs, to see that everything works; the figures mean nothing. */
  readonly isQuick: boolean
  readonly help: boolean
}

const mebibyte = 1024 * 1024

/** The part of the usage text that does not depend on the suites. */
export const optionsUsage = `options
  --out FILE          write the results as JSON and, beside it, a page with plots (.html);
                      for the suite all, a directory that gets one file a suite
  --engines A,B       only these engines; lmdb/row names one layout, ./mine.js a module
  --records N         records in the store (default: a size that takes two minutes)
  --seconds N         length of the steady ingest of the suite compaction (default: 20)
  --durability D      none, buffered or sync (default: buffered, except where a workload says)
  --seed N            seed of all random choices, 0 to 4294967295 (default: 301)
  --repeat N          how often every engine runs, alternately with the others (default: 3)
  --cache-mebibytes N memory for cached blocks or pages (default: 128)
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
        'cache-mebibytes': { type: 'string', default: '128' },
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
export function parseOptions(words: readonly string[]): BenchOptions {
  const { values, positionals } = parseWords(words)
  const [suite, ...parts] = positionals
  if (suite === undefined && !values.help) throw new UsageError('no suite is named')
  const engines = values.engines.split(',').filter((name) => name !== '')
  const isQuick = values.quick
  return {
    suite: suite ?? '',
    parts,
    outPath: notEmpty('out', values.out),
    engines,
    records: values.records === undefined ? undefined : integer('records', values.records, 1, 1e9),
    seconds: values.seconds === undefined ? undefined : integer('seconds', values.seconds, 1, 1e6),
    durability: durabilityOf(values.durability),
    seed: integer('seed', values.seed, 0, 0xffffffff),
    repeat: integer('repeat', values.repeat ?? (isQuick ? '1' : '3'), 1, 1000),
    cacheBytes: integer('cache-mebibytes', values['cache-mebibytes'], 1, 1e6) * mebibyte,
    directory: notEmpty('directory', values.directory),
    isQuick,
    help: values.help,
  }
}
