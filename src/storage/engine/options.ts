/** Options of a database, with their defaults and bounds. */
import { checkChoice, checkText, readArguments, shown } from '../../base/arguments.js'
import { invalidArgument } from '../../base/errors.js'
import { systemClock, timerMillisecondsMax, type Clock } from '../../base/clock.js'
import { availableMemoryBytes, memtableBytesFor } from '../../base/machine-memory.js'
import {
  boolean,
  callback,
  checked,
  choice,
  implementation,
  integer,
  number,
  type GivenOptions,
  type Option,
  type Settings,
} from '../../base/options.js'
import { systemRandomBytes, type RandomBytes } from '../../base/random-bytes.js'
import type { FileSystem } from '../fs/types.js'
import { cellBytesMaxDefault } from '../cell/limits.js'

const kibibyte = 1024
const mebibyte = 1024 * kibibyte

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

/** The option `fileSystem`, of a database and of all that reads and writes files. */
export const fileSystemOption = implementation<FileSystem>(fileSystemMethods)

/** A rate of compactions in bytes per second. */
export const rateOption = number({ min: kibibyte, default: Infinity })

function checkRest(milliseconds: unknown, what: string): number {
  if (milliseconds === Infinity) return milliseconds
  if (typeof milliseconds === 'number' && milliseconds >= 1 && milliseconds <= timerMillisecondsMax)
    return milliseconds
  const range = `from 1 to ${timerMillisecondsMax}, or Infinity`
  throw invalidArgument(`${what} must be ${range}, got ${shown(milliseconds)}`)
}

const executors = ['auto', 'worker', 'inline'] as const

/** The environment variable `CELLAR_EXECUTOR` chooses for databases without the option. */
const executorOption: Option<(typeof executors)[number], (typeof executors)[number]> = {
  read: (value, name) => {
    return checkChoice(
      value ?? process.env['CELLAR_EXECUTOR'] ?? 'auto',
      `option ${name}`,
      executors,
    )
  },
}

/** The declaration of {@link DatabaseOptions}. */
export const databaseOptions = {
  /**
   * Opens the directory as it is at this moment and writes nothing to it, not even a lock. So the
   * directory may be write-protected, and another process may have it open. Later changes by that
   * process do not become visible. Mutations in the log are read into memory. Mutations, flushes
   * and changes of tables fail with `ERR_READ_ONLY`. Default false.
   */
  readOnly: boolean(false),
  /**
   * Whether to create a database if the directory is missing or empty. Has no effect with
   * `readOnly`. Default true.
   */
  createIfMissing: boolean(true),
  /**
   * How to treat the torn tail that a crash can leave in log and manifest. 'tornTail' cuts it off
   * and reports it (`Database.recovery`). 'strict' refuses it with `ERR_CORRUPTION`. All other
   * damage is refused in both cases. Default 'tornTail'.
   */
  recovery: choice(['tornTail', 'strict'], 'tornTail'),
  /**
   * Budget of all memtables together, frozen ones included. Above three quarters of the budget the
   * largest memtables are frozen and flushed. Above the budget writers wait. At least 256 KiB.
   * Default: a sixteenth of the memory that is available to the process when it opens the database,
   * from 32 to 512 MiB.
   */
  memtableBytesMax: integer({ min: 256 * kibibyte, default: undefined }),
  /**
   * Size at which a memtable is frozen and flushed. At least 64 KiB; larger values than half of
   * `memtableBytesMax` count as that half. Default: a quarter of `memtableBytesMax`. At most 2 GiB,
   * because a memtable holds less than 4 GiB.
   */
  flushBytes: integer({ min: 64 * kibibyte, default: undefined }),
  /**
   * Budget of the cache of decompressed blocks; 0 caches none. At most a sixteenth holds rows as
   * gets have put them together. Default: a quarter of the memory that is available to the process
   * (on the machine, or within its control group), at least 32 MiB. The engine looks again every 5
   * seconds, so the cache gives way when memory becomes short. `statistics().blockCache` shows the
   * present size.
   */
  blockCacheBytesMax: integer({ min: 0, default: undefined }),
  /**
   * Whether awaited reads take blocks that are not in the cache from the file at once, as long as
   * such reads are quick: under 100 microseconds on average, since the files are in the memory of
   * the operating system. Slow reads send those of the next second through another thread. So the
   * event loop waits for a slow disk about once in a second; false: never. Default true.
   */
  quickReads: boolean(true),
  /**
   * Length of the log above which the stores that need its oldest segment are flushed. At least 64
   * KiB. Default: twice `memtableBytesMax`, at least 256 MiB.
   */
  logBytesMax: integer({ min: 64 * kibibyte, default: undefined }),
  /**
   * Bytes of log segments to keep although their mutations are all in SSTables, so that
   * `Database.changes` can start there. A running feed keeps the segments that it has not read in
   * any case. Default 0.
   */
  logRetentionBytes: integer({ min: 0, default: 0 }),
  /**
   * The manifest is replaced by a new one when it is longer than this option and longer than four
   * times its own length when it was new. Default 4 MiB, at least 1 KiB.
   */
  manifestBytesMax: integer({ min: kibibyte, default: 4 * mebibyte }),
  /**
   * Whether policies start compactions in the background (HBase: compaction_switch). If false, only
   * `Database.compact` compacts. Default true.
   */
  compactionEnabled: boolean(true),
  /**
   * Whether a compaction reads its output files back and checks every byte before they replace the
   * inputs. Default true.
   */
  compactionVerify: boolean(true),
  /**
   * Merges of at least this many bytes into a level deeper than 0 are cut into two jobs. Each job
   * merges a part of the rows, and both run in parallel in worker threads. Default 64 MiB, at least
   * 1.
   */
  compactionSplitBytesMin: integer({ min: 1, default: 64 * mebibyte }),
  /**
   * Time after which a family that got no new file is at rest; the engine notices after at most
   * twice the time. The policy of a family at rest may remove stale data that it would otherwise
   * leave until there is more. Default 5000, from 1 to 2^31 - 1; Infinity = never.
   */
  compactionRestMilliseconds: checked<number>(checkRest, 5000),
  /**
   * Bytes per second that all compactions together may read and write; see also
   * `Database.limitCompaction`. Default Infinity, at least 1024.
   */
  compactionBytesPerSecondMax: rateOption,
  /**
   * Bytes per second that the scrub reads: it reads all SSTables and value files again and again,
   * and raises the event `damage` for a file that is damaged. 0 = no scrub. Default 0.
   */
  scrubBytesPerSecond: integer({ min: 0, default: 0 }),
  /**
   * Number of sorted runs of a family, beyond those that its policy keeps at rest, at which awaited
   * mutations stop until runs were merged. From half of it, mutations are slowed down. Default 24,
   * at least 2.
   */
  compactionDebtRunsMax: number({ min: 2, default: 24 }),
  /**
   * The same limit for the bytes of all families that wait to be merged. Default 1 GiB, at least 1.
   */
  compactionDebtBytesMax: integer({ min: 1, default: 1024 * mebibyte }),
  /**
   * Size of a value file (family option `mob`) after which a job begins another one. Default 256
   * MiB, at least
   * 1. A job writes at most 64 value files.
   */
  valueFileBytesMax: integer({ min: 1, default: 256 * mebibyte }),
  /**
   * Where flushes and compactions run. 'worker': in threads of piscina. 'inline': on the event
   * loop, in short slices. 'auto': in threads if piscina is installed and threads are possible,
   * else inline. Default: the environment variable `CELLAR_EXECUTOR`, else 'auto'.
   */
  executor: executorOption,
  /**
   * Whether to use the LZ4 codec in TypeScript even if lz4-napi is installed. Default: true if the
   * environment variable `CELLAR_NATIVE_FREE` is `1`, else false.
   */
  nativeFree: boolean(() => process.env['CELLAR_NATIVE_FREE'] === '1'),
  /**
   * Largest cell (row, family, qualifier, value and 20 bytes); larger ones are refused with
   * `ERR_TOO_LARGE`. 0 = no limit but that of the engine, which stores 32 MiB of a cell at most.
   * Default 10 MiB.
   */
  cellBytesMax: integer({ min: 0, default: cellBytesMaxDefault }),
  /**
   * Timestamps further ahead of the clock than this are refused with `ERR_FAILED_SANITY_CHECK`
   * (HBase: hbase.hregion.keyvalue.timestamp.slop.millisecs). At least 0. Default Infinity: no
   * check.
   */
  timestampSlopMilliseconds: number({ min: 0, default: Infinity }),
  /**
   * Time limit for one call of a coprocessor's cell hook in a worker thread. A longer call ends the
   * thread, and the job fails with `ERR_COPROCESSOR`. The inline executor cannot interrupt a hook.
   * Default 30,000, at least 100.
   */
  cellHookMillisecondsMax: integer({ min: 100, default: 30_000 }),
  /**
   * Duration from which an operation raises the event `slowOperation`. Every operation is then
   * timed, not only one in 64. At least 0. Default Infinity: none.
   */
  slowOperationMilliseconds: number({ min: 0, default: Infinity }),
  /** Clock for timestamps and expiry. Default: the machine's clock. */
  clock: implementation<Clock>(['now'], systemClock),
  /**
   * Makes the 16 bytes that identify a new database. Default: the cryptographic generator of the
   * operating system.
   */
  randomBytes: callback<RandomBytes>(systemRandomBytes),
  /** The file system that holds the directory. Default: the machine's. */
  fileSystem: fileSystemOption,
} as const

/** Options of `Database.open`. Sizes are in bytes; bounds are inclusive. */
export interface DatabaseOptions extends GivenOptions<typeof databaseOptions> {}

/** The options with their defaults, as `Database.open` reads them. */
export type DatabaseSettings = Settings<typeof databaseOptions>

/** Options with every default filled in, those included that depend on each other. */
export interface ResolvedOptions extends Omit<
  DatabaseSettings,
  'fileSystem' | 'blockCacheBytesMax' | SizeByMemory
> {
  /** Undefined: the cache is sized by the memory that is available. */
  readonly blockCacheBytesMax: number | undefined
  readonly memtableBytesMax: number
  readonly flushBytes: number
  readonly logBytesMax: number
}

/** The sizes that follow from the memory that is available. */
type SizeByMemory = 'memtableBytesMax' | 'flushBytes' | 'logBytesMax'

/** The default of `logBytesMax` is at least this. */
const logBytesFloor = 256 * mebibyte

/** A memtable holds less than 4 GiB, and must have room for a mutation behind this size. */
const flushBytesCeiling = 2048 * mebibyte

/** Checks the path of a directory. */
export function checkDirectory(directory: string): void {
  checkText(directory, 'the directory')
  if (directory !== '' && !directory.includes('\0')) return
  throw invalidArgument('the directory must be a path: not empty, and without a zero character')
}

/** Reads the options of a call on directories, after their paths. `ERR_INVALID_ARGUMENT`. */
export function readWithPaths<T>(paths: readonly string[], readOptions: () => T): T {
  return readArguments(() => {
    for (const path of paths) checkDirectory(path)
    return readOptions()
  })
}

/** Derives what depends on other options, or on the memory that is available. */
export function resolveOptions(
  given: DatabaseSettings,
  memoryBytes = availableMemoryBytes(),
): ResolvedOptions {
  const { readOnly, createIfMissing } = given
  const memtableBytesMax = given.memtableBytesMax ?? memtableBytesFor(memoryBytes)
  return {
    ...given,
    createIfMissing: createIfMissing && !readOnly,
    memtableBytesMax,
    flushBytes: Math.min(
      given.flushBytes ?? Math.floor(memtableBytesMax / 4),
      Math.floor(memtableBytesMax / 2),
      flushBytesCeiling,
    ),
    logBytesMax: given.logBytesMax ?? Math.max(logBytesFloor, 2 * memtableBytesMax),
  }
}
