/** The compaction policy of a family, derived from its settings, and the debt by that policy. */
import type { CompactionDebt, CompactionPolicy, PolicyInput } from '../compaction/choice.js'
import { choosePolicy } from '../compaction/choose-policy.js'
import type { FamilySettings } from './family-settings.js'

const policies = new WeakMap<FamilySettings, CompactionPolicy>()

/** The policy that the settings name. REQUIRES checked settings. */
export function policyOf(settings: FamilySettings): CompactionPolicy {
  let policy = policies.get(settings)
  if (policy === undefined) {
    policy = makePolicy(settings)
    policies.set(settings, policy)
  }
  return policy
}

function makePolicy(settings: FamilySettings): CompactionPolicy {
  const { compaction, keepDeletedCells, timeToPurgeDeletesMilliseconds } = settings
  const { policy, ...options } = compaction
  const keepsMarkers = keepDeletedCells !== 'FALSE' || timeToPurgeDeletesMilliseconds > 0
  // Rewriting a file to drop markers is useless if the family keeps markers.
  const keeps = policy === 'leveled' && keepsMarkers
  return choosePolicy(policy, keeps ? { ...options, tombstoneRatioMin: Infinity } : options)
}

interface KnownDebt {
  readonly settings: FamilySettings
  readonly debt: CompactionDebt
}

const debts = new WeakMap<PolicyInput['levels'], KnownDebt>()

/** How far the compactions of a family lag: computed once for its files and settings. */
export function debtOf(settings: FamilySettings, levels: PolicyInput['levels']): CompactionDebt {
  const known = debts.get(levels)
  if (known?.settings === settings) return known.debt
  const debt = policyOf(settings).debt({ levels })
  debts.set(levels, { settings, debt })
  return debt
}
