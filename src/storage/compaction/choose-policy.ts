/**
 * Makes a policy from its name and the options that a family stores. Every policy drops expired
 * files first. A policy that may merge any neighbours makes merges that reads have paid for last.
 * Every choice is checked before it is returned.
 */
import { invalidArgument } from '../../base/errors.js'
import { choiceByReads } from './by-reads.js'
import type { CompactionPolicy, PolicyInput, PolicyName } from './choice.js'
import { dateTieredOptions, dateTieredPolicy, type DateTieredOptions } from './date-tiered.js'
import { exploringOptions, exploringPolicy, type ExploringOptions } from './exploring.js'
import { expiredChoice, fifoOptions, fifoPolicy, type FifoOptions } from './fifo.js'
import { lazyLeveledOptions, lazyLeveledPolicy, type LazyLeveledOptions } from './lazy-leveled.js'
import { leveledOptions, leveledPolicy, type LeveledOptions } from './leveled.js'
import { checkedChoice } from './selection.js'
import { tieredOptions, tieredPolicy, type TieredOptions } from './tiered.js'

/** The options of each policy. */
export interface PolicyOptions {
  /** Of the policy `exploring`. */
  readonly exploring: ExploringOptions
  /** Of the policy `leveled`. */
  readonly leveled: LeveledOptions
  /** Of the policy `tiered`. */
  readonly tiered: TieredOptions
  /** Of the policy `lazy-leveled`. */
  readonly 'lazy-leveled': LazyLeveledOptions
  /** Of the policy `fifo`. */
  readonly fifo: FifoOptions
  /** Of the policy `date-tiered`. */
  readonly 'date-tiered': DateTieredOptions
}

const makers: Readonly<Record<PolicyName, (options: object) => CompactionPolicy>> = {
  exploring: (options) => exploringPolicy(exploringOptions.read(options)),
  leveled: (options) => leveledPolicy(leveledOptions.read(options)),
  tiered: (options) => tieredPolicy(tieredOptions.read(options)),
  'lazy-leveled': (options) => lazyLeveledPolicy(lazyLeveledOptions.read(options)),
  fifo: (options) => fifoPolicy(fifoOptions.read(options)),
  'date-tiered': (options) => dateTieredPolicy(dateTieredOptions.read(options)),
}

/** Policies that keep cells of different ages apart, so that whole files expire. */
const policiesByAge: ReadonlySet<PolicyName> = new Set(['fifo', 'date-tiered'])

/** The names of all policies. */
export const policyNames = Object.keys(makers) as readonly PolicyName[]

/**
 * Makes a policy; missing options get their defaults.
 *
 * @throws `ERR_INVALID_ARGUMENT` for an unknown name, an unknown option, or an option out of range.
 * The methods of the policy throw an `InvariantError` if a choice would be unsafe.
 */
export function choosePolicy<Name extends PolicyName>(
  name: Name,
  options: Partial<PolicyOptions[Name]> = {},
): CompactionPolicy {
  if (!Object.hasOwn(makers, name)) {
    throw invalidArgument(`compaction policy ${String(name)} is none of ${policyNames.join(', ')}`)
  }
  const policy = makers[name](options)
  return {
    choose: (input) => {
      let choice = expiredChoice(input)
      if (choice.kind !== 'drop') choice = policy.choose(input)
      const isIdle = choice.kind === 'nothing' && !choice.blocked
      if (isIdle && !policiesByAge.has(name)) choice = choiceByReads(policy, input)
      return checkedChoice(input, choice)
    },
    chooseMajor: (input, rows) => checkedChoice(input, policy.chooseMajor(input, rows)),
    debt: (input) => policy.debt(input),
  }
}

/** The settings of a family that a policy may require. */
export type PolicyFamily = Pick<PolicyInput, 'ttlMilliseconds' | 'minVersions'>

/**
 * Checks the definition of a family against its policy, as HBase checks a table descriptor.
 *
 * @throws `ERR_INVALID_ARGUMENT` if the policy is FIFO, and the family has no finite time to live
 * or keeps expired versions: then nothing would ever be removed.
 */
export function checkPolicyFamily(name: PolicyName, family: PolicyFamily): void {
  if (name !== 'fifo') return
  if (!Number.isFinite(family.ttlMilliseconds)) {
    throw invalidArgument('compaction policy fifo needs a finite time to live')
  }
  if (family.minVersions > 0) {
    throw invalidArgument('compaction policy fifo needs minimum versions of 0')
  }
}
