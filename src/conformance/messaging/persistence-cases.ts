/** Cases 113 to 121: the state of transactions across a restart. */
import assert from 'node:assert/strict'
import type { ManagerSnapshot } from '../../transactions/index.js'
import type { MessagingCase } from './case.js'

/** A snapshot as plain data, without the time at which it was taken. */
function plain(snapshot: ManagerSnapshot): unknown {
  const { readPointer, writePointer, invalid, inProgress, running, committing, committed } =
    snapshot
  return {
    readPointer,
    writePointer,
    invalid: [...invalid],
    inProgress: [...inProgress],
    running,
    committing: [...committing].sort(byId),
    committed: [...committed].sort(byId).map(([pointer, keys]) => [pointer, [...keys].sort()]),
  }
}

function byId([a]: readonly [bigint, unknown], [b]: readonly [bigint, unknown]): number {
  return a < b ? -1 : 1
}

/** Cases 113 to 121. */
export const persistenceCases: readonly MessagingCase[] = [
  {
    number: 113,
    name: 'a large state is found again: 500 running, 100 invalid, 100 committing, 1000 committed',
    run: async (fixture) => {
      const manager = await fixture.manager()
      for (let i = 0; i < 1600; i++) {
        const client = i % 3 === 0 ? `client ${i}` : undefined
        const transaction = i % 7 === 0 ? await manager.startLong() : await manager.startShort()
        if (i < 400) continue
        if (i < 500) await manager.canCommit(transaction, [`committing ${i}`, client ?? 'x'])
        else if (i < 600) await manager.invalidate(transaction.transactionId)
        else {
          await manager.canCommit(transaction, [`committed ${i}`])
          await manager.commit(transaction)
        }
        if (i % 50 === 0) fixture.clock.milliseconds += 1
      }
      const before = plain(manager.snapshot())
      await fixture.reopen()
      assert.deepEqual(plain((await fixture.manager()).snapshot()), before)
    },
  },
  {
    number: 115,
    name: 'committed and committing sets are found again and still conflict',
    run: async (fixture) => {
      let manager = await fixture.manager()
      const running = await manager.startShort()
      const committing = await manager.startShort()
      const committed = await manager.startShort()
      await manager.canCommit(committed, ['a', 'b'])
      await manager.commit(committed)
      await manager.canCommit(committing, ['c'])
      const before = plain(manager.snapshot())
      await fixture.reopen()
      manager = await fixture.manager()
      assert.deepEqual(plain(manager.snapshot()), before)
      await assert.rejects(manager.canCommit(running, ['b']), {
        code: 'ERR_TRANSACTION_CONFLICT',
      })
      await manager.commit(committing)
      await assert.rejects(manager.canCommit(running, ['c']), {
        code: 'ERR_TRANSACTION_CONFLICT',
      })
    },
  },
  {
    number: 116,
    name: 'old snapshots and logs are removed',
    leftOut: 'the state lies in the rows of a table: there are no snapshot or log files of its own',
  },
  {
    number: 118,
    name: 'truncations of the invalid list are found again',
    run: async (fixture) => {
      let manager = await fixture.manager()
      const ids: bigint[] = []
      for (let i = 0; i < 4; i++) {
        if (i === 2) fixture.clock.milliseconds += 2000
        const { transactionId } = await manager.startShort()
        await manager.invalidate(transactionId)
        ids.push(transactionId)
      }
      await manager.truncateInvalid([ids[0], ids[2]])
      await manager.truncateInvalidBefore(fixture.clock.milliseconds)
      await fixture.reopen()
      manager = await fixture.manager()
      assert.deepEqual([...manager.snapshot().invalid], [ids[3]])
    },
  },
  {
    number: 119,
    name: 'ids ascend behind a restart, also with a clock that stepped back',
    run: async (fixture) => {
      let manager = await fixture.manager()
      const before = await manager.startShort()
      await fixture.reopen()
      fixture.clock.milliseconds -= 3_600_000
      manager = await fixture.manager()
      const after = await manager.startShort()
      assert.ok(after.transactionId > before.transactionId)
      assert.ok(after.inProgress.has(before.transactionId), 'it is still running')
      await manager.commit(before)
      assert.ok((await manager.startShort()).isVisible(before.transactionId))
    },
  },
  {
    number: 121,
    name: 'old formats of snapshots and edits are read',
    leftOut: 'there is one format so far; files of Tephra are not read',
  },
]
