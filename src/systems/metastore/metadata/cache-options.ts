/** The settings of a metadata cache, and the results that it keeps. */
import {
  callback,
  checked,
  declareOptions,
  implementation,
  number,
  type OptionsOf,
} from '../../../api/index.js'
import {
  backoffDefaults,
  backoffOptions,
  systemClock,
  systemRandom,
  type BackoffOptions,
} from '../kernel/backoff.js'
import type { LeaseClock } from '../kernel/lease-clock.js'
import type { Stat } from './types.js'

/** A value with its stat. */
export interface CacheGetResult<T> {
  /** The deserialized value. */
  readonly value: T
  /** Version, times and sequence of the record that was read. */
  readonly stat: Stat
}

/** The declaration of {@link MetadataCacheOptions}. */
export const cacheOptions = <T>() =>
  declareOptions('a metadata cache', {
    /** Age at which a value is reloaded in the background. Default five minutes; <= 0 = never. */
    refreshAfterMilliseconds: number({ min: -Infinity, default: 300_000 }),
    /** Age at which a value is no longer used. Default ten minutes; <= 0 = never. */
    expireAfterMilliseconds: number({ min: -Infinity, default: 600_000 }),
    /** Maximum bytes of all values and paths together. Default 64 MiB. */
    bytesMax: number({ min: 0, default: 64 * 1024 * 1024 }),
    /** Retries of `readModifyUpdate` after conflicts. `stopMilliseconds: 0` = no retries. */
    backoff: checked((given: BackoffOptions) => backoffOptions.read(given), backoffDefaults),
    /** Called after a reload in the background. */
    onReload: callback<(path: string, result: CacheGetResult<T> | undefined) => unknown>(),
    /** Clock and timers. Default: the system clock. */
    clock: implementation<LeaseClock>(['now'], systemClock),
    /** Numbers of at least 0 and below 1, for the backoff. Default: those of `node:crypto`. */
    random: callback<() => number>(systemRandom),
  })

/** The type of the declaration. */
export type DeclaredOptions<T> = ReturnType<typeof cacheOptions<T>>

/** Settings of a cache. */
export interface MetadataCacheOptions<T> extends OptionsOf<DeclaredOptions<T>> {}

/** The default settings of a cache. */
export const metadataCacheDefaults = Object.freeze(cacheOptions().read({}))
