/** Options of the content repository, with their defaults. */
import {
  checkArray,
  checkChoice,
  checkFunction,
  checkMethods,
  checkObject,
  OptionNames,
  readArguments,
  shown,
  systemClock,
  type Clock,
  type DurabilityOption,
} from '../../api/index.js'
import type { BlobRoute } from './blobs/blobs.js'
import { invalidArgument } from './errors.js'
import type { RepositoryHook } from './hooks.js'
import type { ValueTypeFactory } from './values/value-type.js'

/** Options of `RepositoryManager.open`. */
export interface RepositoryOptions {
  /** Names of the tables begin with it. Default 'repository'. */
  readonly tablePrefix?: string
  /** Default: the machine's clock. */
  readonly clock?: Clock
  /** Source of ids. Default: that of the operating system. */
  readonly randomBytes?: (length: number) => Uint8Array
  /** Of writes of records. Default 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk. */
  readonly durability?: DurabilityOption
  /** Milliseconds in which a deleted record can be brought back. Default 0: not at all. */
  readonly undeleteMilliseconds?: number
  /** Value types beside the built-in ones, by name. */
  readonly valueTypes?: Readonly<Record<string, ValueTypeFactory>>
  /** Bytes up to which a blob is stored in the record itself. Default 5,000. */
  readonly inlineBlobBytesMax?: number
  /**
   * Stores for blobs of up to so many bytes, smallest first; the last takes all others. Default:
   * a table of the database for all.
   */
  readonly blobStores?: readonly BlobRoute[]
  /** Milliseconds after its last use at which a scanner of `scanners` ends. Default 60 s. */
  readonly scannerLeaseMilliseconds?: number
  /** Scanners that `scanners` has at once for each owner. Default 1,000. */
  readonly scannersMax?: number
  /** Run in this order. */
  readonly hooks?: readonly RepositoryHook[]
}

/** The options with their defaults. */
export type RepositorySettings = Required<RepositoryOptions>

const names = new OptionNames<RepositoryOptions>('a repository', {
  tablePrefix: true,
  clock: true,
  randomBytes: true,
  durability: true,
  undeleteMilliseconds: true,
  valueTypes: true,
  inlineBlobBytesMax: true,
  blobStores: true,
  scannerLeaseMilliseconds: true,
  scannersMax: true,
  hooks: true,
})

const durabilities: readonly DurabilityOption[] = [
  'USE_DEFAULT',
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
]

function checkRequired(value: unknown, what: string): void {
  if (typeof value !== 'function') {
    throw invalidArgument(`the value type ${what} is made by a function, got ${shown(value)}`)
  }
}

function checkHook(hook: RepositoryHook): RepositoryHook {
  checkObject(hook, 'a hook')
  for (const name of ['beforeCreate', 'beforeUpdate', 'beforeDelete'] as const) {
    const call: unknown = Reflect.get(hook, name)
    checkFunction(call, `${name} of a hook`)
  }
  return hook
}

function systemRandomBytes(length: number): Uint8Array {
  return process.getBuiltinModule('node:crypto').randomBytes(length)
}

/** Checks options and fills in defaults. `ERR_INVALID_ARGUMENT`. */
export function repositorySettings(given: RepositoryOptions): RepositorySettings {
  return readArguments(() => settingsOf(names.copy(given)))
}

function settingsOf(options: RepositoryOptions): RepositorySettings {
  const {
    tablePrefix = 'repository',
    clock = systemClock,
    randomBytes = systemRandomBytes,
    durability = 'SYNC_WAL',
    undeleteMilliseconds = 0,
    valueTypes = {},
    inlineBlobBytesMax = 5000,
    blobStores = [],
    scannerLeaseMilliseconds = 60_000,
    scannersMax = 1000,
    hooks = [],
  } = options
  if (typeof tablePrefix !== 'string' || !/^[A-Za-z0-9_][\w-]*$/.test(tablePrefix)) {
    throw invalidArgument(`tablePrefix cannot be ${shown(tablePrefix)}`)
  }
  checkMethods(clock, 'clock', ['now'])
  checkFunction(randomBytes, 'randomBytes')
  checkChoice(durability, 'durability', durabilities)
  const factories = { ...checkObject(valueTypes, 'valueTypes') }
  for (const [name, factory] of Object.entries(factories)) checkRequired(factory, name)
  const counts = {
    undeleteMilliseconds,
    inlineBlobBytesMax,
    scannerLeaseMilliseconds,
    scannersMax,
  }
  for (const [name, value] of Object.entries(counts)) {
    if (Number.isSafeInteger(value) && value >= 0) continue
    throw invalidArgument(`${name} must be a whole number, 0 or more, got ${shown(value)}`)
  }
  return {
    tablePrefix,
    clock,
    randomBytes,
    durability,
    undeleteMilliseconds,
    valueTypes: factories,
    inlineBlobBytesMax,
    blobStores: checkArray(blobStores, 'blobStores'),
    scannerLeaseMilliseconds,
    scannersMax,
    hooks: checkArray(hooks, 'hooks').map(checkHook),
  }
}
