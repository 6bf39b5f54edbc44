/**
 * How a column family names its compaction policy, and how the manifest stores that. In HBase it is
 * `hbase.hstore.defaultengine.compactionpolicy.class` of the table.
 */
import { invalidArgument } from '../../base/errors.js'
import type { PolicyName } from './choice.js'
import { choosePolicy, type PolicyOptions } from './choose-policy.js'

/** A policy, with the options that differ from its defaults. */
export type CompactionSetting = {
  readonly [Name in PolicyName]: {
    /** Name of the policy. */
    readonly policy: Name
  } & Partial<PolicyOptions[Name]>
}[PolicyName]

/** The policy of a family that names none; docs/decisions.md has the reason. */
export const defaultCompaction: CompactionSetting = { policy: 'lazy-leveled' }

/**
 * Checks the setting of a user: the name of a policy, or an object with `policy` and its options.
 *
 * @throws `ERR_INVALID_ARGUMENT`
 */
export function parseCompaction(value: unknown): CompactionSetting {
  if (typeof value === 'string') return parseCompaction({ policy: value })
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalidArgument('compaction must be the name of a policy or an object with its options')
  }
  const { policy, ...options } = value as CompactionSetting
  choosePolicy(policy, options)
  const given = Object.entries(options).filter(([, option]) => option !== undefined)
  return Object.freeze({ policy, ...Object.fromEntries(given) })
}

/** Encodes a setting as JSON; Infinity becomes a string. */
export function encodeCompaction(setting: CompactionSetting): Record<string, unknown> {
  const entries = Object.entries(setting) as [string, unknown][]
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value === Infinity ? 'Infinity' : value]),
  )
}

/** Decodes the result of {@link encodeCompaction}. */
export function decodeCompaction(stored: Record<string, unknown>): CompactionSetting {
  const entries = Object.entries(stored)
  return parseCompaction(
    Object.fromEntries(
      entries.map(([name, value]) => [name, value === 'Infinity' ? Infinity : value]),
    ),
  )
}
