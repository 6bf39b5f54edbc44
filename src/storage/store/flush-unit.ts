/**
 * What reaches the disk together: memtables that were frozen in one moment.
 *
 * Most units have one member. A mutation that is not in the log and spans several stores ties
 * their active memtables together: they are frozen together, and one edit names the SSTables of
 * all of them. So a crash leaves such a mutation whole or not at all.
 */
import type { MemtableSlot } from './memtable-slot.js'
import type { Store } from './store.js'

/** A frozen memtable and its store. */
export interface FlushMember {
  readonly store: Store
  readonly slot: MemtableSlot
}

/** Memtables that are flushed by one edit; see the file header. */
export class FlushUnit {
  readonly members: readonly FlushMember[]
  /** True while the edit that names the SSTables is on its way into the manifest. */
  isPublishing = false

  constructor(members: readonly FlushMember[]) {
    this.members = members
  }

  /** Bytes of the memtables. */
  get bytes(): number {
    return this.members.reduce((sum, { slot }) => sum + slot.memtable.bytesUsed, 0)
  }

  /** The members that are still wanted. */
  get live(): readonly FlushMember[] {
    return this.members.filter(({ store }) => !store.dropped)
  }

  /** Whether the memtables are still in memory only, and no edit names their SSTables. */
  get isPending(): boolean {
    return !this.isPublishing && this.live.some(({ store, slot }) => store.frozen.includes(slot))
  }
}

/**
 * Ties the active memtables of `stores[0, count)`: an unlogged mutation has cells in all of them.
 * REQUIRES that no memtable was frozen since the mutation went in.
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
