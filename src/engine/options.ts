/** Options of a database, with their defaults and bounds. */
import { checkBoolean, checkChoice, checkObject, checkText, shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import { systemClock, type Clock } from '../base/clock.js'
import { cacheBytesFor, machineMemoryBytes } from '../base/machine-memory.js'
import { systemRandomBytes, type RandomBytes } from '../base/random-bytes.js'
import type { FileSystem } from '../fs/types.js'
import { cellBytesMaxDefault } from '../cell/limits.js'

/** What `Database.open` takes. Sizes are bytes. */
export interface DatabaseOptions {
  /**
   * True opens the directory as it is at this moment, and writes nothing to it: not even a lock, so
   * it may be write-protected, and another process may have it open. The view does not follow what
   * is written later. What the log holds is read into memory. Mutations, flushes and changes of
   * tables fail with `ERR_READ_ONLY`. Default false.
   */
  readonly readOnly?: boolean | undefined
  /**
   * Create the database if the directory is absent or empty; never with `readOnly`. Default true.
   */
  readonly createIfMissing?: boolean | undefined
  /**
   * What becomes of the torn tail that a crash can leave in log and manifest: 'tornTail' cuts it
   * and says so (`Database.recovery`), 'strict' refuses it with `ERR_CORRUPTION`. All other damage
   * is refused in any case. Default 'tornTail'.
   */
  readonly recovery?: 'tornTail' | 'strict' | undefined
  /**
   * Budget of all memtables together, frozen ones included. At three quarters the largest memtable
   * is frozen and flushed; above the budget writers wait. Default 128 MiB, at least 256 KiB.
   */
  readonly memtableBytesMax?: number | undefined
  /** A memtable of this size is frozen and flushed. Default 32 MiB, at least 64 KiB. */
  readonly flushBytes?: number | undefined
  /**
   * Budget of decompressed blocks kept in memory; 0 keeps none. Default: a sixteenth of the memory
   * that the process may use (the machine's, or its control group's), at least 32 MiB and at most 1
   * GiB. `statistics().blockCache` says what came of it.
   */
  readonly blockCacheBytesMax?: number | undefined
  /**
   * Log bytes beyond which the stores that hold back the oldest segment are flushed. Default 256
   * MiB.
   */
  readonly logBytesMax?: number | undefined
  /**
   * Log bytes that are kept although their mutations are all in tables, for `Database.changes` to
   * start from. A feed that is running keeps what it has not read in any case. Default 0.
   */
  readonly logRetentionBytes?: number | undefined
  /**
   * The manifest is replaced by a fresh one when it is longer than this and than four times what
   * the fresh one would hold. Default 4 MiB, at least 1 KiB.
   */
  readonly manifestBytesMax?: number | undefined
  /**
   * Merge files in the background as the policy asks for (HBase: compaction_switch). False leaves
   * it to `Database.compact`. Default true.
   */
  readonly compactionEnabled?: boolean | undefined
  /**
   * Read every file that a compaction has written back, and check it down to the last byte, before
   * it replaces its inputs. Default true.
   */
  readonly compactionVerify?: boolean | undefined
  /**
   * Merges into a level below 0 of at least so many bytes are cut into two jobs, each for a part of
   * the rows, which run side by side in worker threads. Default 64 MiB, at least 1.
   */
  readonly compactionSplitBytesMin?: number | undefined
  /**
   * A family that has got no file for so long (at most twice as long) is at rest: its policy may
   * then remove stale data that it would else leave until there is more of it. Default 5000, at
   * least 1; Infinity = never.
   */
  readonly compactionRestMilliseconds?: number | undefined
  /**
   * Bytes per second that all compactions together may read and write; see also
   * `Database.limitCompaction`. Default Infinity, at least 1024.
   */
  readonly compactionBytesPerSecondMax?: number | undefined
  /**
   * Sorted runs of a family, beyond those that its policy has at rest, at which awaited mutations
   * stop until some are merged; from half of it they are slowed down. Default 24, at least 2.
   */
  readonly compactionDebtRunsMax?: number | undefined
  /** The same for the bytes of all families that wait to be merged. Default 1 GiB. */
  readonly compactionDebtBytesMax?: number | undefined
  /**
   * A job goes on in a new value file (family option `mob`) behind so many bytes. Default 256 MiB,
   * at least 1; a job writes 64 at most.
   */
  readonly valueFileBytesMax?: number | undefined
  /**
   * Where flushes and compactions run: 'worker' (piscina threads), 'inline' (on the event loop, in
   * slices), or 'auto': worker if piscina is installed and threads are allowed. Default:
   * `CELLAR_EXECUTOR`, else 'auto'.
   */
  readonly executor?: 'auto' | 'worker' | 'inline' | undefined
  /**
   * True: use the TypeScript LZ4 even if lz4-napi is installed. Default: `CELLAR_NATIVE_FREE=1`.
   */
  readonly nativeFree?: boolean | undefined
  /** Largest cell (row, family, qualifier, value and overhead). 0 = no limit. Default 10 MiB. */
  readonly cellBytesMax?: number | undefined
  /**
   * Timestamps further ahead of the clock than this are refused with `ERR_FAILED_SANITY_CHECK`
   * (HBase: hbase.hregion.keyvalue.timestamp.slop.millisecs). Default Infinity: no check.
   */
  readonly timestampSlopMilliseconds?: number | undefined
  /**
   * A call of a coprocessor's cell hook that takes longer than this in a worker thread ends the
   * thread, and the job fails with `ERR_COPROCESSOR`. The inline executor cannot interrupt a hook.
   * Default 30 s, at least 100 ms.
   */
  readonly cellHookMillisecondsMax?: number | undefined
  /**
   * Operations that take at least so long raise the event `slowOperation`. Every operation is then
   * timed, not only one in 64. Default Infinity: none; at least 0.
   */
  readonly slowOperationMilliseconds?: number | undefined
  /** Source of timestamps and expiry. Default: the machine's clock. */
  readonly clock?: Clock | undefined
  /**
   * Source of the 16 bytes that become the identity of a new database. Default: the machine's
   * cryptographic generator.
   */
  readonly randomBytes?: RandomBytes | undefined
  /** Where files live. Default: the machine's file system. */
  readonly fileSystem?: FileSystem | undefined
}

/** The names of {@link DatabaseOptions}, to be checked together with those of other layers. */
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
  /** Undefined if the size of the cache was given. */
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
  /** Infinity: none is slow. */
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

/** Checks a rate of compactions, bytes per second; `ERR_INVALID_ARGUMENT`. */
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

/** Methods of a file system, so that one that lacks some is refused before it is used. */
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

/** Longest time that a timer takes. */
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

/** `CELLAR_EXECUTOR` chooses for databases that do not say, so that a test run can force one. */
function executorOfEnvironment(): ResolvedOptions['executor'] {
  return (process.env['CELLAR_EXECUTOR'] ?? 'auto') as ResolvedOptions['executor']
}

/** The size of the block cache, and the memory that it was derived from if it was not given. */
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

/** Checks options and fills in defaults; `ERR_INVALID_ARGUMENT` names the option. */
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
