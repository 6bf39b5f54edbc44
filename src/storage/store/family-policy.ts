/** The compaction policy of a family, derived from its settings. */
import type { CompactionPolicy } from '../compaction/choice.js'
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
