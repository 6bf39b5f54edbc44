/** Faults of the transaction system. */
import type { PlantedFault } from './planted-fault.js'

const isolation = ['test/unit/transactions/isolation.test.ts']

/** See `planted-fault.ts`. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'A read of named columns leaves out the deletions of their families',
    file: 'src/transactions/table-reads.ts',
    find: "added.push({ family, qualifier: '' })",
    replace: '',
    tests: isolation,
  },
  {
    name: 'Jobs take the first running transaction for the bound of what all see',
    file: 'src/transactions/manager-snapshot.ts',
    find: 'visibilityUpperBound: running.reduce(',
    replace:
      'visibilityUpperBound: running.length > 0 ? running[0].id - 1n : readPointer, was: running.reduce(',
    tests: isolation,
  },
  {
    name: 'The books of prunings are kept by table, not by family',
    file: 'src/transactions/prune-state.ts',
    find: 'return `${table}/${family}`',
    replace: 'return table',
    tests: isolation,
  },
  {
    name: 'By column, the deletion of a family has no column in its change set',
    file: 'src/transactions/transactional-table.ts',
    find: "families.length > 0 && this.#conflictLevel === 'COLUMN'",
    replace: 'families.length < 0',
    tests: isolation,
  },
  {
    name: 'A deletion goes in a major compaction while a snapshot protects what it covers',
    file: 'src/transactions/prune-job/processor-hook.ts',
    find: "kind === 'major' ? readPointOldest : -1",
    replace: "kind === 'major' ? Infinity : -1",
    tests: isolation,
  },
  {
    name: 'The deletion of a family hides what the same transaction writes behind it',
    file: 'src/transactions/visibility-filter.ts',
    find: 'isDeletion || timestamp < this.#familyDelete',
    replace: 'isDeletion || timestamp <= this.#familyDelete',
    tests: isolation,
  },
  {
    name: 'The deletion of a family leaves what the same transaction wrote before it',
    file: 'src/transactions/transaction-writes.ts',
    find: 'this.addDeletions(row, [...own, ...whole], pointer)',
    replace: 'this.addDeletions(row, whole, pointer)',
    tests: isolation,
  },
]
