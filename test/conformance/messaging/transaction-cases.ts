/** What transactions see, and the calls of the manager. */
import assert from 'node:assert/strict'
import { hasCode } from '../../../src/api/index.js'
import {
  Transaction,
  type TransactionManager,
  type VisibilityLevel,
} from '../../../src/systems/transactions/index.js'
import { pruneUpperBound } from '../../../src/systems/transactions/transaction-snapshot.js'
import { failsWith } from '../../suites/kit.js'
import { type Fixture, type MessagingCase } from './case.js'

const notInProgress = 'ERR_TRANSACTION_NOT_IN_PROGRESS'
const conflict = 'ERR_TRANSACTION_CONFLICT'
const hidden = [150n, 180n, 210n, 90n, 110n, 190n, 201n, 221n, 231n, 95n, 120n, 205n, 215n, 300n]

function fixtureTransaction(
  visibilityLevel: VisibilityLevel,
  checkpoints: readonly bigint[],
): Transaction {
  return new Transaction({
    transactionId: 200n,
    readPointer: 100n,
    writePointer: checkpoints.at(-1) ?? 200n,
    invalids: [90n, 110n, 190n, 201n, 221n, 231n],
    inProgress: [95n, 120n, 150n, 205n, 215n, 300n],
    checkpointWritePointers: checkpoints,
    visibilityLevel,
  })
}

function sees(transaction: Transaction, visible: readonly bigint[], invisible: readonly bigint[]) {
  for (const pointer of visible) assert.ok(transaction.isVisible(pointer), `sees ${pointer}`)
  for (const pointer of [...hidden, ...invisible]) {
    assert.ok(!transaction.isVisible(pointer), `does not see ${pointer}`)
  }
}

const visibilityCases: readonly MessagingCase[] = [
  {
    name: 'SNAPSHOT sees what committed before it and all its checkpoints',
    run: async () => {
      const own = fixtureTransaction('SNAPSHOT', [220n, 250n])
      sees(own, [80n, 99n, 100n, 200n, 220n, 250n], [])
    },
  },
  {
    name: 'SNAPSHOT without checkpoints sees its own writes',
    run: async () => sees(fixtureTransaction('SNAPSHOT', []), [80n, 99n, 100n, 200n], [220n]),
  },
  {
    name: 'SNAPSHOT_EXCLUDE_CURRENT sees its writes up to the newest checkpoint',
    run: async () => {
      const own = fixtureTransaction('SNAPSHOT_EXCLUDE_CURRENT', [220n, 250n])
      sees(own, [80n, 100n, 200n, 220n], [250n])
    },
  },
  {
    name: 'SNAPSHOT_EXCLUDE_CURRENT without checkpoints sees none of its writes',
    run: async () => sees(fixtureTransaction('SNAPSHOT_EXCLUDE_CURRENT', []), [80n, 100n], [200n]),
  },
  {
    name: 'SNAPSHOT_ALL sees as SNAPSHOT',
    run: async () => {
      const own = fixtureTransaction('SNAPSHOT_ALL', [220n, 250n])
      sees(own, [80n, 99n, 100n, 200n, 220n, 250n], [])
    },
  },
]

async function commitsChange(manager: TransactionManager, ...keys: string[]): Promise<Transaction> {
  const transaction = await manager.startShort()
  await manager.canCommit(transaction, keys)
  await manager.commit(transaction)
  return transaction
}

async function timeouts(fixture: Fixture): Promise<void> {
  const manager = await fixture.manager({ timeoutMilliseconds: 2000 })
  const short = await manager.startShort()
  let checkpointed = await manager.startShort()
  checkpointed = await manager.checkpoint(checkpointed)
  const long = [await manager.startLong(), await manager.startLong()]
  for (let i = 0; i < 10; i++) await commitsChange(manager, `key ${i}`)
  assert.equal(manager.statistics().committedSets, 10)
  fixture.clock.milliseconds += 5000
  assert.equal(await manager.cleanUp(), 2)
  const next = await manager.startShort()
  const invalid = [short.transactionId, checkpointed.transactionId, checkpointed.writePointer]
  assert.deepEqual([...next.invalids], invalid)
  assert.deepEqual(
    [...next.inProgress],
    long.map(({ transactionId }) => transactionId),
  )
  await manager.canCommit(next, ['new'])
  await manager.commit(next)
  assert.equal(manager.statistics().committedSets, 0, 'nothing that runs could conflict')
  await failsWith(notInProgress, () => manager.canCommit(short, ['x']))
  await manager.abort(short)
  assert.equal(manager.statistics().invalid, 2)
  await manager.abort(checkpointed)
  assert.equal(manager.statistics().invalid, 0)
  for (let i = 0; i < 10; i++) await commitsChange(manager, `later ${i}`)
  assert.equal(manager.statistics().committedSets, 0, 'long transactions retain no sets')
  await manager.commit(long[0])
  await manager.abort(long[1])
  assert.deepEqual([...(await manager.startShort()).invalids], [long[1].transactionId])
}

async function checkpoints(fixture: Fixture): Promise<void> {
  const manager = await fixture.manager()
  const first = await manager.startShort()
  const second = await manager.startShort()
  const third = await manager.startShort()
  const third2 = await manager.checkpoint(third)
  await commitsChange(manager, 'between')
  const second2 = await manager.checkpoint(second)
  await commitsChange(manager, 'between again')
  const first2 = await manager.checkpoint(first)
  const pointers = [first, second, third, third2, second2, first2].map((each) => each.writePointer)
  const excluded = async (): Promise<bigint[]> => {
    const transaction = await manager.startShort()
    const { inProgress, invalids } = transaction
    for (const list of [[...inProgress], [...invalids]]) {
      assert.deepEqual(list, [...list].sort(compare), 'ascending')
    }
    const found = pointers.filter((pointer) => !transaction.isVisible(pointer))
    await manager.abort(transaction)
    return found
  }
  assert.deepEqual(await excluded(), pointers)
  await manager.abort(first2)
  const ofSecond = [second.writePointer, second2.writePointer]
  const ofThird = [third.writePointer, third2.writePointer]
  assert.deepEqual((await excluded()).sort(compare), [...ofSecond, ...ofThird].sort(compare))
  await manager.invalidate(second.transactionId)
  assert.deepEqual((await excluded()).sort(compare), [...ofSecond, ...ofThird].sort(compare))
  await manager.commit(third2)
  assert.deepEqual((await excluded()).sort(compare), ofSecond.sort(compare))
}

function compare(a: bigint, b: bigint): number {
  return a < b ? -1 : a > b ? 1 : 0
}

const managerCases: readonly MessagingCase[] = [
  {
    name: 'a change set has limits of keys and bytes',
    run: async (fixture) => {
      const manager = await fixture.manager({ changesMax: 50, changeBytesMax: 2048 })
      const transaction = await manager.startShort()
      const keys = (count: number): string[] => Array.from({ length: count }, (_, i) => `k${i}`)
      await manager.canCommit(transaction, keys(50))
      await failsWith('ERR_TRANSACTION_TOO_LARGE', () => manager.canCommit(transaction, keys(51)))
      const long = Array.from({ length: 8 }, (_, i) => `${i}`.repeat(256))
      await manager.canCommit(transaction, long)
      await failsWith('ERR_TRANSACTION_TOO_LARGE', () => {
        return manager.canCommit(transaction, [...long, 'x'])
      })
    },
  },
  {
    name: 'of two transactions that may commit, the second conflicts',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const [first, second] = [await manager.startShort(), await manager.startShort()]
      await manager.canCommit(first, ['c1', 'c2'])
      await manager.canCommit(second, ['c2', 'c3'])
      await manager.commit(first)
      await failsWith(conflict, () => manager.commit(second))
      assert.ok(manager.isInProgress(second.transactionId), 'it still runs')
    },
  },
  {
    name: 'a finished transaction cannot be used again',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const committed = await commitsChange(manager, 'a')
      await failsWith(notInProgress, () => manager.commit(committed))
      await failsWith(notInProgress, () => manager.canCommit(committed, ['b']))
      await manager.abort(committed)
      assert.equal(await manager.invalidate(committed.transactionId), false)
      const aborted = await manager.startShort()
      await manager.abort(aborted)
      await manager.abort(aborted)
      assert.equal(manager.statistics().invalid, 0)
      assert.ok((await manager.startShort()).isVisible(committed.transactionId))
    },
  },
  {
    name: 'ids that were never handed out',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const { transactionId } = await manager.startShort()
      for (const id of [transactionId - 1n, transactionId + 1n]) {
        const stranger = new Transaction({ transactionId: id, readPointer: 0n })
        await failsWith(notInProgress, () => manager.canCommit(stranger, ['a']))
        await failsWith(notInProgress, () => manager.commit(stranger))
        await manager.abort(stranger)
      }
    },
  },
  {
    name: 'a reset forgets all transactions, and ids still ascend',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const open = await manager.startShort()
      await commitsChange(manager, 'a')
      const committing = await manager.startShort()
      await manager.canCommit(committing, ['b'])
      await manager.invalidate((await manager.startShort()).transactionId)
      const { writePointer } = manager.snapshot()
      await manager.resetState()
      const { running, committed, committing: sets, invalid } = manager.snapshot()
      assert.deepEqual([running.length, committed.size, sets.size, invalid.length], [0, 0, 0, 0])
      assert.ok((await manager.startShort()).transactionId > writePointer)
      await failsWith(notInProgress, () => manager.commit(open))
    },
  },
  {
    name: 'invalid transactions are truncated by id and by time',
    run: async (fixture) => {
      const manager = await fixture.manager()
      const ids: bigint[] = []
      for (let i = 0; i < 3; i++) {
        const { transactionId } = await manager.startShort()
        await manager.invalidate(transactionId)
        ids.push(transactionId)
      }
      assert.equal(manager.statistics().invalid, 3)
      assert.equal(await manager.truncateInvalid([ids[0], ids[2]]), true)
      assert.equal(await manager.truncateInvalid([ids[0]]), false)
      const reader = await manager.startShort()
      assert.deepEqual([...reader.invalids], [ids[1]])
      fixture.clock.milliseconds += 1000
      const { milliseconds } = fixture.clock
      const truncate = (): Promise<boolean> => manager.truncateInvalidBefore(milliseconds)
      await failsWith('ERR_INVALID_TRUNCATE_TIME', truncate)
      await manager.invalidate(reader.transactionId)
      const late = await manager.startShort()
      await manager.invalidate(late.transactionId)
      await truncate()
      assert.deepEqual([...(await manager.startShort()).invalids], [late.transactionId])
    },
  },
  { name: 'checkpoints amid commits stay excluded', run: checkpoints },
  { name: 'timeouts, long transactions and retained sets', run: timeouts },
  {
    name: 'a conflict names the key, and the other client if that is retained',
    run: async (fixture) => {
      for (const clientRetention of ['OFF', 'ACTIVE', 'COMMITTED'] as const) {
        const manager = await fixture.manager({ clientRetention, table: clientRetention })
        const first = await manager.startShort({ client: 'first' })
        const second = await manager.startShort({ client: 'second' })
        await manager.canCommit(first, ['1', '2'])
        await manager.commit(first)
        const error = await failsWith(conflict, () => manager.canCommit(second, ['2', '3']))
        assert.ok(hasCode(error, conflict))
        assert.deepEqual(error.details, {
          transactionId: second.transactionId,
          key: '2',
          otherClient: clientRetention === 'COMMITTED' ? 'first' : undefined,
        })
      }
    },
  },
  {
    name: 'the bound up to which invalid transactions may be forgotten',
    run: async () => {
      const bound = (read: bigint, invalid: bigint[], inProgress: bigint[]): bigint =>
        pruneUpperBound({ readPointer: read, invalid, inProgress })
      assert.equal(bound(100n, [10n, 30n], [80n, 90n]), 30n)
      assert.equal(bound(100n, [10n, 95n], [80n, 90n]), 79n)
      assert.equal(bound(100n, [10n], []), 10n)
      assert.equal(bound(100n, [], [60n]), 59n)
      assert.equal(bound(100n, [], [50n]), 49n)
      assert.equal(bound(100n, [], []), 99n)
      assert.equal(Transaction.allVisibleLatest.readPointer, 2n ** 63n - 1n)
    },
  },
]

/** The cases. */
export const transactionCases: readonly MessagingCase[] = [...visibilityCases, ...managerCases]
