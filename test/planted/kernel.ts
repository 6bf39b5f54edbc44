/** Faults in the store side of Pulsar's metadata: groups, feed, sessions, moves, clusters. */
import type { PlantedFault } from './planted-fault.js'

const pulsar = 'src/systems/metastore/pulsar'
const unit = 'test/unit/systems/metastore/pulsar'
const groups = [`${unit}/groups.test.ts`]
const migration = [`${unit}/migration.test.ts`]
const clusters = ['test/model/metadata-clusters.test.ts']

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'reads show what a failed commit has left',
    file: `${pulsar}/store/commit-writer.ts`,
    find: 'this.#doubt = before',
    replace: 'before.close()',
    tests: [`${unit}/doubt.test.ts`],
  },
  {
    name: 'a read beside a commit that fails is not read again',
    file: `${pulsar}/store/commit-writer.ts`,
    find: 'if (!this.isInDoubt) return found',
    replace: 'return found',
    tests: [`${unit}/doubt.test.ts`],
  },
  {
    name: 'a write that the database refuses fails its whole group',
    file: 'src/systems/metastore/kernel/group-commit.ts',
    find: 'if (isRefusal(error) && calls.length > 1) {',
    replace: 'if (isRefusal(error) && calls.length > 99) {',
    tests: [...groups, 'test/unit/systems/metastore/store.test.ts'],
  },
  {
    name: 'a row whose write failed is read at once',
    file: 'src/systems/metastore/bookkeeper/tables/row-commits.ts',
    find: 'this.#doubtful.set(id, { rows, key: key!, version: versions.get(id)! })',
    replace: '',
    tests: ['test/unit/systems/metastore/store.test.ts'],
  },
  {
    name: 'watchers hear of a write in doubt, whether it was applied or not',
    file: 'src/systems/metastore/bookkeeper/tables/row-commits.ts',
    find: 'if (stored.get(id) !== version) continue',
    replace: '',
    tests: ['test/unit/systems/metastore/store.test.ts'],
  },
  {
    name: 'a record that is too large is overwritten before anybody asks the database',
    file: `${pulsar}/store/working-state.ts`,
    find: 'this.#checkCell(path, depthBytes, recordColumn, record.cell)',
    replace: '',
    tests: groups,
    foundBy: 'metadata-groups',
  },
  {
    name: 'other writes come between the commits of one removal',
    file: `${pulsar}/store/store-core.ts`,
    find: 'return await this.#commitGroup(group)',
    replace: 'return void this.#commitGroup(group)',
    tests: groups,
  },
  {
    name: 'a long commit has the events of its last row alone',
    file: `${pulsar}/store/feed-rows.ts`,
    find: 'this.#open?.sequence === sequence ? this.#open : { sequence, events: [] }',
    replace: '{ sequence, events: [] }',
    tests: groups,
    foundBy: 'metadata-groups',
  },
  {
    name: 'a session loses its row with the first part of its records',
    file: `${pulsar}/store/store-core.ts`,
    find: 'const value = isWhole ? undefined : uint64(endingTimeout)',
    replace: 'const value = undefined\n  void isWhole\n  void uint64(endingTimeout)',
    tests: groups,
  },
  {
    name: 'an expectation is kept by reference',
    file: 'src/systems/metastore/metadata/arguments.ts',
    find: "if (isValid && name === 'sequence') return { sequence: number as number }",
    replace: "if (isValid && name === 'sequence') return expected as { sequence: number }",
    tests: groups,
  },
  {
    name: 'timeouts go by the wall clock',
    file: 'src/systems/metastore/kernel/lease-clock.ts',
    find: 'if (clock.elapsed !== undefined) return clock.elapsed()',
    replace: 'if (clock.elapsed !== undefined) return clock.now()',
    tests: [`${unit}/clocks.test.ts`],
  },
  {
    name: 'a dead coordinator is not noticed',
    file: `${pulsar}/clusters/migration.ts`,
    find: '  return giveUp(source, state, expected)\n',
    replace: '  return expected !== undefined\n',
    tests: migration,
  },
  {
    name: 'a coordinator that was taken for dead ends the move',
    file: `${pulsar}/clusters/migration.ts`,
    find: 'JSON.stringify(state), expected)).version',
    replace: 'JSON.stringify(state))).version',
    tests: migration,
  },
  {
    name: 'a second attempt copies over the first',
    file: `${pulsar}/clusters/migration.ts`,
    find: "    await target.deleteRecursive('/')\n",
    replace: '',
    tests: migration,
  },
  {
    name: 'of two writes of one millisecond each cluster keeps its own',
    file: `${pulsar}/clusters/stamps.ts`,
    find: '(one.time === other.time && one.cluster > other.cluster)',
    replace: '(one.time === other.time && one.cluster === other.cluster)',
    tests: clusters,
  },
  {
    name: 'a write that knows a later one has an earlier stamp',
    file: `${pulsar}/clusters/synchronized-store.ts`,
    find: 'before === undefined ? 0 : before.time + 1',
    replace: 'before === undefined ? 0 : 1',
    tests: clusters,
    foundBy: 'metadata-clusters',
  },
  {
    name: 'a view takes a load that is older than a removal',
    file: 'src/systems/metastore/coordination/table-view.ts',
    find: 'if (this.#underWay > 0) this.#removedAt.set(key, sequence)',
    replace: 'if (this.#underWay < 0) this.#removedAt.set(key, sequence)',
    tests: [`${unit}/listening.test.ts`],
  },
]
