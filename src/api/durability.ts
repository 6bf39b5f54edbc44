/** The durability of mutations: reads the option, and compares two levels. */
import { shown } from '../base/arguments.js'
import { invalidArgument } from '../base/errors.js'
import { choice, type Option } from '../base/options.js'

/** How durable a mutation is before it is acknowledged (HBase: Durability). */
export type DurabilityOption = 'USE_DEFAULT' | 'SKIP_WAL' | 'ASYNC_WAL' | 'SYNC_WAL' | 'FSYNC_WAL'

/** How durable a mutation is before it is acknowledged, without the default of a table. */
export type Durability = Exclude<DurabilityOption, 'USE_DEFAULT'>

const strengths: Readonly<Record<Durability, number>> = {
  SKIP_WAL: 0,
  ASYNC_WAL: 1,
  SYNC_WAL: 2,
  FSYNC_WAL: 3,
}

const durabilities: readonly DurabilityOption[] = [
  'USE_DEFAULT',
  'SKIP_WAL',
  'ASYNC_WAL',
  'SYNC_WAL',
  'FSYNC_WAL',
]

/** The option `durability` of a system; `missing` is its default. */
export function durabilityOption(
  missing: DurabilityOption,
): Option<DurabilityOption, DurabilityOption> {
  return choice(durabilities, missing)
}

/** The stronger of two levels of durability. */
export function stronger(a: Durability, b: Durability): Durability {
  return strengths[a] >= strengths[b] ? a : b
}

/** The durability that an operation asks for, else `fallback`. Throws `ERR_INVALID_ARGUMENT`. */
export function parseDurability(
  asked: DurabilityOption | undefined,
  fallback: Durability,
): Durability {
  if (asked === undefined || asked === 'USE_DEFAULT') return fallback
  if (typeof asked === 'string' && Object.hasOwn(strengths, asked)) return asked
  const known = Object.keys(strengths).join(', ')
  throw invalidArgument(`unknown durability ${shown(asked)}; it is one of ${known}`)
}
