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
  /** Prefix of the table names. Default 'repository'. */
  readonly tablePrefix?: string
  /** Default: the clock of the machine. */
  readonly clock?: Clock
  /** Source of random ids. Default: the operating system. */
  readonly randomBytes?: (length: number) => Uint8Array
  /** Durability of record writes. Default 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk. */
  readonly durability?: DurabilityOption
  /** Milliseconds during which a deleted record can be restored. Default 0: never. */
  readonly undeleteMilliseconds?: number
  /** Value types besides the built-in ones, by name. */
  readonly valueTypes?: Readonly<Record<string, ValueTypeFactory>>
  /** Largest blob in bytes that is stored inside its record. Default 5,000. */
  readonly inlineBlobBytesMax?: number
  /**
   * Blob stores with their size limits, smallest first; the last takes all larger blobs. Default:
   * one table of the database for all blobs.
   */
  readonly blobStores?: readonly BlobRoute[]
  /** Lease of a scanner in milliseconds, renewed by each use. Default 60 s. */
  readonly scannerLeaseMilliseconds?: number
  /** Limit of open scanners per owner. Default 1,000. */
  readonly scannersMax?: number
  /** Hooks in the order of their calls. */
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
