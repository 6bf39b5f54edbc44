/** Faults of the transaction system. */
import type { PlantedFault } from './planted-fault.js'

const managerState = ['test/unit/systems/transactions/manager-state.test.ts']
const overHttp = ['test/unit/server/transactions.test.ts']
const atOnce = ['test/unit/systems/transactions/at-once.test.ts']
const isolation = ['test/unit/systems/transactions/isolation.test.ts']

/** See `planted-fault.ts`. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'A read of named columns leaves out the deletions of their families',
    file: 'src/systems/transactions/tables/table-reads.ts',
    find: "added.push({ family, qualifier: '' })",
    replace: '',
    tests: isolation,
    foundBy: 'transactions',
  },
  {
    name: 'Jobs take the first running transaction for the bound of what all see',
    file: 'src/systems/transactions/manager/manager-state.ts',
    find: 'visibilityUpperBound: running.reduce(',
    replace:
      'visibilityUpperBound: running.length > 0 ? running[0].id - 1n : this.readPointer, was: running.reduce(',
    tests: isolation,
  },
  {
    name: 'The books of prunings are kept by table, not by family',
    file: 'src/systems/transactions/manager/prune-state.ts',
    find: 'return `${table}/${family}`',
    replace: 'return table',
    tests: isolation,
  },
  {
    name: 'By column, the deletion of a family has no column in its change set',
    file: 'src/systems/transactions/tables/transactional-table.ts',
    find: "families.length > 0 && this.#settings.conflictLevel === 'COLUMN'",
    replace: 'families.length < 0',
    foundBy: 'transactions',
    tests: isolation,
  },
  {
    name: 'A deletion goes in a major compaction while a snapshot protects what it covers',
    file: 'src/systems/transactions/prune-job/processor-hook.ts',
    find: "kind === 'major' ? readPointOldest : -1",
    replace: "kind === 'major' ? Infinity : -1",
    tests: isolation,
    foundBy: 'transactions',
  },
  {
    name: 'The deletion of a family hides what the same transaction writes behind it',
    file: 'src/systems/transactions/tables/visibility-filter.ts',
    find: 'isDeletion || timestamp < this.#familyDelete',
    replace: 'isDeletion || timestamp <= this.#familyDelete',
    foundBy: 'transactions',
    tests: isolation,
  },
  {
    name: 'The deletion of a family leaves what the same transaction wrote before it',
    file: 'src/systems/transactions/tables/transaction-writes.ts',
    find: 'this.addDeletions(row, [...own, ...whole], pointer)',
    replace: 'this.addDeletions(row, whole, pointer)',
    tests: isolation,
    foundBy: 'transactions',
  },
  {
    name: 'The rows of forgotten change sets are lost with a commit that fails',
    file: 'src/systems/transactions/manager/state-log.ts',
    find: '      this.later(late)\n',
    replace: '',
    tests: managerState,
  },
  {
    name: 'A transaction is invalidated while its commit is being written',
    file: 'src/systems/transactions/manager/manager.ts',
    find: 'if (running === undefined || this.#state.finishing.has(transactionId)) return false',
    replace: 'if (running === undefined) return false',
    tests: managerState,
  },
  {
    name: 'A clean-up ends a transaction while its commit is being written',
    file: 'src/systems/transactions/manager/manager-state.ts',
    find: 'expiration <= now && !this.finishing.has(id)',
    replace: 'expiration <= now',
    tests: managerState,
  },
  {
    name: 'After a kill, a start does not know of the commits that were under way',
    file: 'src/systems/transactions/manager/change-sets.ts',
    find: 'id >= pointer && underWay.includes(commit.id)',
    replace: 'id < 0n && underWay.includes(commit.id)',
    tests: managerState,
  },
  {
    name: 'The stored row of a change set is forgotten under another pointer',
    file: 'src/systems/transactions/manager/manager-state.ts',
    find: 'forgotten.map(({ storedPointer, id })',
    replace: 'forgotten.map(({ pointer: storedPointer, id })',
    tests: managerState,
  },
  {
    name: 'A second manager may be opened for a table of state',
    file: 'src/comfort/claims.ts',
    find: 'if (names.has(name)) return undefined',
    replace: 'if (names.size > 99) return undefined',
    tests: managerState,
  },
  {
    name: 'A participant that refuses to start leaves those before it in the transaction',
    file: 'src/systems/transactions/context.ts',
    find: 'for (const each of started)',
    replace: 'for (const each of started.slice(started.length))',
    tests: atOnce,
  },
  {
    name: 'A table may be written to while its transaction commits',
    file: 'src/systems/transactions/tables/transactional-table.ts',
    find: 'running.isSealed = true',
    replace: 'running.isSealed = false',
    tests: atOnce,
  },
  {
    name: 'Writes that could not be moved to the table are lost from the commit',
    file: 'src/systems/transactions/tables/transaction-writes.ts',
    find: 'this.#buffer = [...writes, ...this.#buffer]',
    replace: '',
    tests: ['test/unit/systems/transactions/transactional-table.test.ts'],
  },
  {
    name: 'A start over HTTP is answered before it is in the log',
    file: 'src/systems/transactions/manager/manager.ts',
    find: 'await this.#log.commit([this.#state.pointersRow()])',
    replace: '',
    tests: overHttp,
  },
  {
    name: 'A commit whose answer was lost counts as failed',
    file: 'src/systems/transactions/http/client.ts',
    find: 'if (isDefinite(error) && !isLate) throw error',
    replace: 'throw error',
    tests: overHttp,
  },
  {
    name: 'A commit of which nobody knows is rolled back',
    file: 'src/systems/transactions/context.ts',
    find: 'hasCode(error, TransactionErrorCode.outcomeUnknown)',
    replace: 'error === undefined',
    tests: overHttp,
  },
  {
    name: 'Writes of a process without the manager are not in its table before the commit',
    file: 'src/systems/transactions/tables/transactional-table.ts',
    find: 'isRemote ? writes.persist() : writes.settled()',
    replace: 'writes.settled()',
    tests: overHttp,
  },
  {
    name: 'A frame of which nobody knows is rolled back',
    file: 'src/systems/transactions/manager/manager.ts',
    find: 'if (!this.#log.hasFailed) throw cause',
    replace: 'throw cause',
    tests: managerState,
  },
]
