/**
 * A unit of flushing: memtables that were frozen together.
 *
 * Most units have one member. A mutation that spans several stores and is not in the log ties their
 * active memtables. These are frozen together, and one edit names the SSTables of all of them. So
 * after a crash either all or none of such a mutation is durable.
 */
import type { MemtableSlot } from './memtable-slot.js'
import type { Store } from './store.js'

/** A frozen memtable and its store. */
export interface FlushMember {
  readonly store: Store
  readonly slot: MemtableSlot
}

export class FlushUnit {
  readonly members: readonly FlushMember[]
  /** True while the edit that names the SSTables is being written to the manifest. */
  isPublishing = false

  constructor(members: readonly FlushMember[]) {
    this.members = members
  }

  /** Total bytes of the memtables. */
  get bytes(): number {
    return this.members.reduce((sum, { slot }) => sum + slot.memtable.bytesUsed, 0)
  }

  /** The members whose stores are not dropped. */
  get live(): readonly FlushMember[] {
    return this.members.filter(({ store }) => !store.dropped)
  }

  /** Whether the memtables are in memory only, and no edit names their SSTables yet. */
  get isPending(): boolean {
    return !this.isPublishing && this.live.some(({ store, slot }) => store.frozen.includes(slot))
  }
}

/**
 * Ties the active memtables of `stores[0, count)`, because an unlogged mutation has cells in all of
 * them. REQUIRES that none of them was frozen since the insertion of the mutation.
 */
export function tieStores(stores: readonly Store[], count: number): void {
  const known = stores[0].tied
  let isTied = known !== undefined
  for (let i = 1; i < count; i++) if (stores[i].tied !== known) isTied = false
  if (isTied || count < 2) return
  const all = new Set<Store>()
  for (let i = 0; i < count; i++) {
    for (const store of stores[i].tied ?? [stores[i]]) all.add(store)
  }
  for (const store of all) store.tied = all
}
