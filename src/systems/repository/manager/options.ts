/** Options of the content repository, with their defaults. */
import {
  callback,
  checkArray,
  checked,
  checkFunction,
  checkObject,
  declareOptions,
  durabilityOption,
  implementation,
  integer,
  list,
  required,
  shown,
  systemClock,
  type Clock,
  type OptionsOf,
  type SettingsOf,
} from '../../../api/index.js'
import type { BlobRoute } from '../blobs/blobs.js'
import { invalidArgument } from '../errors.js'
import type { RepositoryHook } from '../records/record.js'
import type { ValueTypeFactory } from '../values/value-type.js'
import { ValueTypes } from '../values/value-types.js'

type Factories = Readonly<Record<string, ValueTypeFactory>>

type RandomBytes = (length: number) => Uint8Array

function checkPrefix(prefix: string, what: string): string {
  if (typeof prefix === 'string' && /^[A-Za-z0-9_][\w-]*$/.test(prefix)) return prefix
  throw invalidArgument(`${what} cannot be ${shown(prefix)}`)
}

function readValueTypes(given: Factories, what: string): ValueTypes {
  const factories = { ...checkObject(given, what) }
  for (const [name, factory] of Object.entries(factories)) {
    if (typeof factory === 'function') continue
    throw invalidArgument(`the value type ${name} is made by a function, got ${shown(factory)}`)
  }
  return new ValueTypes(factories)
}

function checkHook(hook: RepositoryHook): RepositoryHook {
  checkObject(hook, 'a hook')
  for (const name of ['beforeCreate', 'beforeUpdate', 'beforeDelete'] as const) {
    const call: unknown = Reflect.get(hook, name)
    checkFunction(call, `${name} of a hook`)
  }
  return hook
}

/** The declared options of a repository. */
export const repositoryOptions = declareOptions('a repository', {
  /** Prefix of the table names. Default 'repository'. */
  tablePrefix: checked(checkPrefix, 'repository'),
  /** Default: the clock of the machine. */
  clock: implementation<Clock>(['now'], systemClock),
  /** Source of random ids. Default: the operating system. */
  randomBytes: callback<RandomBytes>((length) => {
    return process.getBuiltinModule('node:crypto').randomBytes(length)
  }),
  /** Durability of record writes. Default 'SYNC_WAL'; 'FSYNC_WAL' waits for the disk. */
  durability: durabilityOption('SYNC_WAL'),
  /** Milliseconds during which a deleted record can be restored. Default 0: never. */
  undeleteMilliseconds: integer({ min: 0, default: 0 }),
  /** Value types besides the built-in ones, by name. */
  valueTypes: checked(readValueTypes, new ValueTypes()),
  /** Largest blob in bytes that is stored inside its record. Default 5,000. */
  inlineBlobBytesMax: integer({ min: 0, default: 5000 }),
  /**
   * Blob stores with their size limits, smallest first; the last takes all larger blobs. Default:
   * one table of the database for all blobs.
   */
  blobStores: checked(checkArray<BlobRoute>, []),
  /** Lease of a scanner in milliseconds, renewed by each use. Default 60 s. */
  scannerLeaseMilliseconds: integer({ min: 0, default: 60_000 }),
  /** Limit of open scanners per owner. Default 1,000. */
  scannersMax: integer({ min: 0, default: 1000 }),
  /** Hooks in the order of their calls. */
  hooks: list(required(checked(checkHook))),
})

/** Options of `RepositoryManager.open`. */
export interface RepositoryOptions extends OptionsOf<typeof repositoryOptions> {}

/** The options with their defaults. */
export type RepositorySettings = SettingsOf<typeof repositoryOptions>
