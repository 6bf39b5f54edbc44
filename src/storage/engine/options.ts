/** Options of a database, with their defaults and bounds. */
import { checkBoolean, checkChoice, checkObject, checkText, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { systemClock, type Clock } from '../../base/clock.js'
import { cacheBytesFor, machineMemoryBytes } from '../../base/machine-memory.js'
import { systemRandomBytes, type RandomBytes } from '../../base/random-bytes.js'
import type { FileSystem } from '../fs/types.js'
import { cellBytesMaxDefault } from '../cell/limits.js'

/** Options of `Database.open`. Sizes are in bytes; bounds are inclusive. */
export interface DatabaseOptions {
  /**
   * Opens the directory as it is at this moment and writes nothing to it, not even a lock. So the
   * directory may be write-protected, and another process may have it open. Later changes by that
   * process do not become visible. Mutations in the log are read into memory. Mutations, flushes
   * and changes of tables fail with `ERR_READ_ONLY`. Default false.
   */
  readonly readOnly?: boolean | undefined
  /**
   * Whether to create a database if the directory is missing or empty. Has no effect with
   * `readOnly`. Default true.
   */
  readonly createIfMissing?: boolean | undefined
  /**
   * How to treat the torn tail that a crash can leave in log and manifest. 'tornTail' cuts it off
   * and reports it (`Database.recovery`). 'strict' refuses it with `ERR_CORRUPTION`. All other
   * damage is refused in both cases. Default 'tornTail'.
   */
  readonly recovery?: 'tornTail' | 'strict' | undefined
  /**
   * Budget of all memtables together, frozen ones included. Above three quarters of the budget the
   * largest memtables are frozen and flushed. Above the budget writers wait. Default 128 MiB, at
   * least 256 KiB.
   */
  readonly memtableBytesMax?: number | undefined
  /**
   * Size at which a memtable is frozen and flushed. Default 32 MiB, at least 64 KiB; larger values
   * than half of `memtableBytesMax` count as that half.
   */
  readonly flushBytes?: number | undefined
  /**
   * Budget of the cache of decompressed blocks; 0 caches none. Default: a sixteenth of the memory
   * that the process may use (the machine's, or the limit of its control group), at least 32 MiB
   * and at most 1 GiB. `statistics().blockCache` shows the chosen size.
   */
  readonly blockCacheBytesMax?: number | undefined
  /**
   * Length of the log above which the stores that need its oldest segment are flushed. Default 256
   * MiB, at least 64 KiB.
   */
  readonly logBytesMax?: number | undefined
  /**
   * Bytes of log segments to keep although their mutations are all in SSTables, so that
   * `Database.changes` can start there. A running feed keeps the segments that it has not read in
   * any case. Default 0.
   */
  readonly logRetentionBytes?: number | undefined
  /**
   * The manifest is replaced by a new one when it is longer than this option and longer than four
   * times its own length when it was new. Default 4 MiB, at least 1 KiB.
   */
  readonly manifestBytesMax?: number | undefined
  /**
   * Whether policies start compactions in the background (HBase: compaction_switch). If false, only
   * `Database.compact` compacts. Default true.
   */
  readonly compactionEnabled?: boolean | undefined
  /**
   * Whether a compaction reads its output files back and checks every byte before they replace the
   * inputs. Default true.
   */
  readonly compactionVerify?: boolean | undefined
  /**
   * Merges of at least this many bytes into a level deeper than 0 are cut into two jobs. Each job
   * merges a part of the rows, and both run in parallel in worker threads. Default 64 MiB, at least
   * 1.
   */
  readonly compactionSplitBytesMin?: number | undefined
  /**
   * Time after which a family that got no new file is at rest; the engine notices after at most
   * twice the time. The policy of a family at rest may remove stale data that it would otherwise
   * leave until there is more. Default 5000, from 1 to 2^31 - 1; Infinity = never.
   */
  readonly compactionRestMilliseconds?: number | undefined
  /**
   * Bytes per second that all compactions together may read and write; see also
   * `Database.limitCompaction`. Default Infinity, at least 1024.
   */
  readonly compactionBytesPerSecondMax?: number | undefined
  /**
   * Number of sorted runs of a family, beyond those that its policy keeps at rest, at which awaited
   * mutations stop until runs were merged. From half of it, mutations are slowed down. Default 24,
   * at least 2.
   */
  readonly compactionDebtRunsMax?: number | undefined
  /**
   * The same limit for the bytes of all families that wait to be merged. Default 1 GiB, at least 1.
   */
  readonly compactionDebtBytesMax?: number | undefined
  /**
   * Size of a value file (family option `mob`) after which a job begins another one. Default 256
   * MiB, at least
   * 1. A job writes at most 64 value files.
   */
  readonly valueFileBytesMax?: number | undefined
  /**
   * Where flushes and compactions run. 'worker': in threads of piscina. 'inline': on the event
   * loop, in short slices. 'auto': in threads if piscina is installed and threads are possible,
   * else inline. Default: the environment variable `CELLAR_EXECUTOR`, else 'auto'.
   */
  readonly executor?: 'auto' | 'worker' | 'inline' | undefined
  /**
   * Whether to use the LZ4 codec in TypeScript even if lz4-napi is installed. Default: true if the
   * environment variable `CELLAR_NATIVE_FREE` is `1`, else false.
   */
  readonly nativeFree?: boolean | undefined
  /**
   * Largest cell (row, family, qualifier, value and 20 bytes); larger ones are refused with
   * `ERR_TOO_LARGE`. 0 = no limit. Default 10 MiB.
   */
  readonly cellBytesMax?: number | undefined
  /**
   * Timestamps further ahead of the clock than this are refused with `ERR_FAILED_SANITY_CHECK`
   * (HBase: hbase.hregion.keyvalue.timestamp.slop.millisecs). At least 0. Default Infinity: no
   * check.
   */
  readonly timestampSlopMilliseconds?: number | undefined
  /**
   * Time limit for one call of a coprocessor's cell hook in a worker thread. A longer call ends the
   * thread, and the job fails with `ERR_COPROCESSOR`. The inline executor cannot interrupt a hook.
   * Default 30,000, at least 100.
   */
  readonly cellHookMillisecondsMax?: number | undefined
  /**
   * Duration from which an operation raises the event `slowOperation`. Every operation is then
   * timed, not only one in 64. At least 0. Default Infinity: none.
   */
  readonly slowOperationMilliseconds?: number | undefined
  /** Clock for timestamps and expiry. Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /**
   * Makes the 16 bytes that identify a new database. Default: the cryptographic generator of the
   * operating system.
   */
  readonly randomBytes?: RandomBytes | undefined
  /** The file system that holds the directory. Default: the machine's. */
  readonly fileSystem?: FileSystem | undefined
}

/**
 * The names of {@link DatabaseOptions}, to be checked together with the options of other layers.
 */
export const databaseOptionNames = {
  recovery: true,
  readOnly: true,
  createIfMissing: true,
  memtableBytesMax: true,
  flushBytes: true,
  blockCacheBytesMax: true,
  logBytesMax: true,
  logRetentionBytes: true,
  manifestBytesMax: true,
  compactionEnabled: true,
  compactionVerify: true,
  compactionSplitBytesMin: true,
  compactionRestMilliseconds: true,
  compactionBytesPerSecondMax: true,
  compactionDebtRunsMax: true,
  compactionDebtBytesMax: true,
  valueFileBytesMax: true,
  executor: true,
  nativeFree: true,
  cellBytesMax: true,
  timestampSlopMilliseconds: true,
  cellHookMillisecondsMax: true,
  slowOperationMilliseconds: true,
  clock: true,
  randomBytes: true,
  fileSystem: true,
} as const satisfies Record<keyof DatabaseOptions, true>

/** Options with every default filled in. */
export interface ResolvedOptions {
  readonly readOnly: boolean
  readonly createIfMissing: boolean
  readonly recovery: 'tornTail' | 'strict'
  readonly memtableBytesMax: number
  readonly flushBytes: number
  readonly blockCacheBytesMax: number
  /** Memory from which the cache size was derived; undefined if the size was given. */
  readonly blockCacheSizedForBytes: number | undefined
  readonly logBytesMax: number
  readonly logRetentionBytes: number
  readonly manifestBytesMax: number
  readonly compactionEnabled: boolean
  readonly compactionVerify: boolean
  readonly compactionSplitBytesMin: number
  readonly compactionRestMilliseconds: number
  readonly compactionBytesPerSecondMax: number
  readonly compactionDebtRunsMax: number
  readonly compactionDebtBytesMax: number
  readonly valueFileBytesMax: number
  readonly executor: 'auto' | 'worker' | 'inline'
  readonly nativeFree: boolean
  readonly cellBytesMax: number
  readonly timestampSlopMilliseconds: number
  /** Infinity: no operation is slow. */
  readonly slowOperationMilliseconds: number
  readonly cellHookMillisecondsMax: number
  readonly clock: Clock
  readonly randomBytes: RandomBytes
}

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

type BytesOption =
  | 'memtableBytesMax'
  | 'flushBytes'
  | 'blockCacheBytesMax'
  | 'logBytesMax'
  | 'logRetentionBytes'
  | 'manifestBytesMax'
  | 'compactionSplitBytesMin'
  | 'compactionDebtBytesMax'
  | 'valueFileBytesMax'
  | 'cellBytesMax'

function bytesOption(
  options: DatabaseOptions,
  name: BytesOption,
  fallback: number,
  min: number,
): number {
  const value = options[name]
  if (value === undefined) return fallback
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < min) {
    throw invalidArgument(
      `option ${name} must be an integer >= ${min} (bytes), got ${shown(value)}`,
    )
  }
  return value
}

type FlagOption = 'createIfMissing' | 'compactionEnabled' | 'compactionVerify'

function booleanOption(options: DatabaseOptions, name: FlagOption): boolean {
  return checkBoolean(options[name], `option ${name}`, true)
}

/** Checks a rate of compactions in bytes per second. Throws `ERR_INVALID_ARGUMENT`. */
export function checkRate(bytesPerSecondMax: unknown): number {
  if (typeof bytesPerSecondMax === 'number' && bytesPerSecondMax >= kibibyte) {
    return bytesPerSecondMax
  }
  const name = 'compactionBytesPerSecondMax'
  throw invalidArgument(`option ${name} must be a number >= 1024, got ${shown(bytesPerSecondMax)}`)
}

function checkRuns(runs: unknown): number {
  if (typeof runs === 'number' && runs >= 2) return runs
  throw invalidArgument(`option compactionDebtRunsMax must be a number >= 2, got ${shown(runs)}`)
}

function checkClock(clock: Clock | undefined): Clock | undefined {
  if (clock === undefined) return undefined
  if (typeof checkObject(clock, 'option clock').now === 'function') return clock
  throw invalidArgument('option clock must be an object with a method now')
}

/** Methods that a file system must have. One that lacks a method is refused before it is used. */
const fileSystemMethods = [
  'join',
  'openSync',
  'listSync',
  'statSync',
  'makeDirectorySync',
  'renameSync',
  'linkSync',
  'unlinkSync',
  'unlink',
  'syncDirectorySync',
  'syncDirectory',
  'lock',
] as const satisfies readonly (keyof FileSystem)[]

/** Checks the option `fileSystem`. */
export function checkFileSystem(fileSystem: FileSystem | undefined): FileSystem | undefined {
  if (fileSystem === undefined) return undefined
  checkObject(fileSystem, 'option fileSystem')
  for (const method of fileSystemMethods) {
    if (typeof fileSystem[method] === 'function') continue
    throw invalidArgument(`option fileSystem lacks the method ${method}`)
  }
  return fileSystem
}

/** Checks the path of a directory. */
export function checkDirectory(directory: string): void {
  checkText(directory, 'the directory')
  if (directory !== '' && !directory.includes('\0')) return
  throw invalidArgument('the directory must be a path: not empty, and without a zero character')
}

function checkRecovery(recovery: unknown): 'tornTail' | 'strict' {
  if (recovery === 'tornTail' || recovery === 'strict') return recovery
  throw invalidArgument(`option recovery must be 'tornTail' or 'strict', got ${String(recovery)}`)
}

/** Longest delay of a timer. */
const timerMillisecondsMax = 2 ** 31 - 1

function checkRest(milliseconds: unknown): number {
  if (milliseconds === Infinity) return milliseconds
  if (typeof milliseconds === 'number' && milliseconds >= 1 && milliseconds <= timerMillisecondsMax)
    return milliseconds
  const range = `from 1 to ${timerMillisecondsMax}, or Infinity`
  throw invalidArgument(
    `option compactionRestMilliseconds must be ${range}, got ${shown(milliseconds)}`,
  )
}

/**
 * The executor that `CELLAR_EXECUTOR` chooses for databases without the option, so that a test run
 * can force one.
 */
function executorOfEnvironment(): ResolvedOptions['executor'] {
  return (process.env['CELLAR_EXECUTOR'] ?? 'auto') as ResolvedOptions['executor']
}

/**
 * The size of the block cache and, if the size was not given, the memory from which it was derived.
 */
function blockCacheOptions(
  options: DatabaseOptions,
): Pick<ResolvedOptions, 'blockCacheBytesMax' | 'blockCacheSizedForBytes'> {
  if (options.blockCacheBytesMax !== undefined) {
    const blockCacheBytesMax = bytesOption(options, 'blockCacheBytesMax', 0, 0)
    return { blockCacheBytesMax, blockCacheSizedForBytes: undefined }
  }
  const memoryBytes = machineMemoryBytes()
  return {
    blockCacheBytesMax: cacheBytesFor(memoryBytes),
    blockCacheSizedForBytes: memoryBytes,
  }
}

function checkSlow(value: number): number {
  if (typeof value === 'number' && value >= 0) return value
  throw invalidArgument(
    `option slowOperationMilliseconds must be a number >= 0, got ${shown(value)}`,
  )
}

/**
 * Checks options and fills in defaults. Throws `ERR_INVALID_ARGUMENT`, whose message names the
 * option.
 */
export function resolveOptions(options: DatabaseOptions): ResolvedOptions {
  const executor = options.executor ?? executorOfEnvironment()
  checkChoice(executor, 'option executor', ['auto', 'worker', 'inline'])
  const cellHookMillisecondsMax = options.cellHookMillisecondsMax ?? 30_000
  if (!Number.isInteger(cellHookMillisecondsMax) || cellHookMillisecondsMax < 100) {
    const message = 'option cellHookMillisecondsMax must be an integer >= 100'
    throw invalidArgument(`${message}, got ${shown(cellHookMillisecondsMax)}`)
  }
  const slop = options.timestampSlopMilliseconds ?? Infinity
  if (typeof slop !== 'number' || !(slop >= 0)) {
    throw invalidArgument(
      `option timestampSlopMilliseconds must be a number >= 0, got ${shown(slop)}`,
    )
  }
  const memtableBytesMax = bytesOption(options, 'memtableBytesMax', 128 * mebibyte, 256 * kibibyte)
  const readOnly = checkBoolean(options.readOnly, 'option readOnly', false)
  const createIfMissing = booleanOption(options, 'createIfMissing')
  return {
    readOnly,
    createIfMissing: createIfMissing && !readOnly,
    recovery: checkRecovery(options.recovery ?? 'tornTail'),
    memtableBytesMax,
    flushBytes: Math.min(
      bytesOption(options, 'flushBytes', 32 * mebibyte, 64 * kibibyte),
      Math.floor(memtableBytesMax / 2),
    ),
    ...blockCacheOptions(options),
    logBytesMax: bytesOption(options, 'logBytesMax', 256 * mebibyte, 64 * kibibyte),
    logRetentionBytes: bytesOption(options, 'logRetentionBytes', 0, 0),
    manifestBytesMax: bytesOption(options, 'manifestBytesMax', 4 * mebibyte, kibibyte),
    compactionEnabled: booleanOption(options, 'compactionEnabled'),
    compactionVerify: booleanOption(options, 'compactionVerify'),
    compactionSplitBytesMin: bytesOption(options, 'compactionSplitBytesMin', 64 * mebibyte, 1),
    compactionRestMilliseconds: checkRest(options.compactionRestMilliseconds ?? 5000),
    compactionBytesPerSecondMax: checkRate(options.compactionBytesPerSecondMax ?? Infinity),
    compactionDebtRunsMax: checkRuns(options.compactionDebtRunsMax ?? 24),
    compactionDebtBytesMax: bytesOption(options, 'compactionDebtBytesMax', 1024 * mebibyte, 1),
    valueFileBytesMax: bytesOption(options, 'valueFileBytesMax', 256 * mebibyte, 1),
    executor,
    nativeFree: checkBoolean(
      options.nativeFree,
      'option nativeFree',
      process.env['CELLAR_NATIVE_FREE'] === '1',
    ),
    cellBytesMax: bytesOption(options, 'cellBytesMax', cellBytesMaxDefault, 0),
    timestampSlopMilliseconds: slop,
    cellHookMillisecondsMax,
    slowOperationMilliseconds: checkSlow(options.slowOperationMilliseconds ?? Infinity),
    clock: checkClock(options.clock) ?? systemClock,
    randomBytes: options.randomBytes ?? systemRandomBytes,
  }
}
