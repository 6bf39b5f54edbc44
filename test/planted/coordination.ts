/** Faults of locks, elections and the adapter to ZooKeeper. */
import type { PlantedFault } from './planted-fault.js'

const fences = ['test/unit/systems/metastore/coordination/fences.test.ts']
const elections = ['test/unit/systems/metastore/coordination/elections.test.ts']

const fake = ['test/unit/systems/metastore/pulsar/zookeeper-fake.test.ts']

/** See the file header. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'an update of a lock writes whatever record is there',
    file: 'src/systems/metastore/coordination/own-record.ts',
    find: 'this.#stat = await this.#put(bytes, this.#expectation())',
    replace: 'this.#stat = await this.#put(bytes, undefined as never)',
    tests: fences,
  },
  {
    name: 'a release deletes the record of the successor',
    file: 'src/systems/metastore/coordination/own-record.ts',
    find: 'await this.#store.delete(this.path, this.#expectation())',
    replace: 'await this.#store.delete(this.path)',
    tests: fences,
  },
  {
    name: 'a leader that closes deletes the record of the next one',
    file: 'src/systems/metastore/coordination/leader-election.ts',
    find: 'wasLeading ? this.#record.remove() : undefined',
    replace: 'wasLeading ? this.#store.delete(this.path) : undefined',
    tests: fences,
  },
  {
    name: 'an expectation of a creation is one of the last write',
    file: 'src/systems/metastore/pulsar/store/planner.ts',
    find: 'const found = isCreation ? record.creationSequence : record.sequence',
    replace: 'const found = record.sequence',
    tests: fences,
  },
  {
    name: 'a lock in doubt goes on writing',
    file: 'src/systems/metastore/coordination/resource-lock.ts',
    find: 'if (this.isSuspect) this.#refuse(',
    replace: 'if (this.isSuspect && this.#hasEnded) this.#refuse(',
    tests: fences,
  },
  {
    name: 'a recognised owner takes the lock of a session that lives',
    file: 'src/systems/metastore/coordination/resource-lock.ts',
    find: ' && !(await store.isOwnerAlive(this.path))',
    replace: '',
    tests: fences,
  },
  {
    name: 'the record of an acquire in doubt stays',
    file: 'src/systems/metastore/coordination/lock-manager.ts',
    find: 'if (isInDoubt(error)) void this.#withdraw(path)',
    replace: '',
    tests: fences,
  },
  {
    name: 'two elections of one handle and path both take part',
    file: 'src/systems/metastore/coordination/leader-election.ts',
    find: 'if (participants.has(path)) {',
    replace: 'if (participants.size < 0) {',
    tests: elections,
  },
  {
    name: 'a session of ZooKeeper is given up while the server is away',
    file: 'src/systems/metastore/zookeeper/client.ts',
    find: 'this.#isLost = true\n    this.#listener',
    replace: 'this.#isLost = true\n    this.sessionId = 0n\n    this.#listener',
    tests: fake,
  },
  {
    name: 'the creation is not compared on ZooKeeper',
    file: 'src/systems/metastore/pulsar/zookeeper/zk-batch.ts',
    find: 'if (found.czxid === wanted) return',
    replace: 'if (found.czxid > 0) return',
    tests: fake,
  },
  {
    name: 'the deletions of a session of ZooKeeper are told before its loss',
    file: 'src/systems/metastore/pulsar/zookeeper/zk-store.ts',
    find: 'else if (endsOwn) {',
    replace: 'else if (endsOwn && this.#isLost) {',
    tests: fake,
  },
  {
    name: 'locks are not looked at when the session comes back',
    file: 'src/systems/metastore/coordination/lock-manager.ts',
    find: "else if (event === 'SessionReestablished' || lock.mustRevalidate || lock.isSuspect) {",
    replace: 'else if (lock.mustRevalidate) {',
    tests: fences,
  },
  {
    name: 'a loss during the look at a lock is forgotten',
    file: 'src/systems/metastore/coordination/own-record.ts',
    find: 'if (losses === this.#losses) this.isSuspect = false',
    replace: 'if (losses >= 0) this.isSuspect = false',
    tests: fences,
  },
  {
    name: 'a loss during an election is forgotten',
    file: 'src/systems/metastore/coordination/leader-election.ts',
    find: 'const state = await this.#record.confirm(() => this.#attempt(proposal))',
    replace: 'const state = await this.#attempt(proposal)\n        this.#record.isSuspect = false',
    tests: fences,
  },
  {
    name: 'a leader is believed after a reconnection',
    file: 'src/systems/metastore/coordination/leader-election.ts',
    find: 'else this.#electAgain()',
    replace: 'else this.#record.isSuspect = false',
    tests: elections,
  },
]
