/** The compaction debts of the stores: each is computed once for the files of a store. */
import type { CompactionDebt, PolicyInput } from '../../compaction/choice.js'
import { policyOf } from '../../store/family-policy.js'
import type { FamilySettings } from '../../store/family-settings.js'
import type { Store } from '../../store/store.js'
import type { OpenedParts } from '../engine.js'

interface KnownDebt {
  readonly levels: PolicyInput['levels']
  readonly settings: FamilySettings
  readonly debt: CompactionDebt
}

/** The debts of one engine's stores; see the file header. */
export class KnownDebts {
  private readonly parts: Pick<OpenedParts, 'versions'>
  private readonly known = new WeakMap<Store, KnownDebt>()

  constructor(parts: Pick<OpenedParts, 'versions'>) {
    this.parts = parts
  }

  /** How far the compactions of a store lag, by its policy. */
  of(store: Store): CompactionDebt {
    const levels = this.parts.versions.current.store(store.storeId)?.levels ?? [[]]
    const { settings } = store
    const known = this.known.get(store)
    if (known?.levels === levels && known.settings === settings) return known.debt
    const debt = policyOf(settings).debt({ levels })
    this.known.set(store, { levels, settings, debt })
    return debt
  }
}
