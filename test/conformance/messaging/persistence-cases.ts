/** The state of transactions across a restart. */
import assert from 'node:assert/strict'
import type { ManagerSnapshot, Transaction } from '../../../src/systems/transactions/index.js'
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

/** The cases. */
export const persistenceCases: readonly MessagingCase[] = [
  {
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
    name: 'of six rounds of commits what running transactions need is kept: the last three',
    run: async (fixture) => {
      let manager = await fixture.manager()
      let old: Transaction | undefined
      for (let round = 1; round <= 6; round++) {
        if (round === 4) old = await manager.startShort()
        const transaction = await manager.startShort()
        await manager.canCommit(transaction, [`round ${round}`])
        await manager.commit(transaction)
      }
      // The record of what is forgotten is part of the next commit.
      await manager.commit(await manager.startShort())
      await fixture.reopen()
      manager = await fixture.manager()
      const kept = [...manager.snapshot().committed.values()].flat()
      assert.deepEqual(kept, ['round 4', 'round 5', 'round 6'])
      await manager.commit(old!)
      await manager.commit(await manager.startShort())
      await fixture.reopen()
      assert.equal((await fixture.manager()).snapshot().committed.size, 0)
      const rows = fixture.database.table('tx.state').scan()
      assert.equal((await rows.nextBatch(10)).length, 1, 'the pointers alone are left')
      rows.close()
    },
  },
  {
    name: 'of a log whose last frame is torn all changes before it are found again',
    needs: 'reopenTorn',
    run: async (fixture) => {
      for (const perFrame of [1, 5]) {
        const manager = await fixture.manager({ durability: 'FSYNC_WAL' })
        for (let i = 0; i < perFrame; i++) await manager.startShort()
        await manager.commit(await manager.startShort())
        fixture.clock.milliseconds += 3_600_000
        // All of them become invalid in one frame.
        assert.equal(await manager.cleanUp(), perFrame)
        await fixture.reopenTorn()
        const torn = await fixture.manager()
        const before = torn.snapshot()
        assert.deepEqual([before.running.length, before.invalid.length], [perFrame, 0])
        await torn.cleanUp()
        await fixture.reopen()
        const whole = await fixture.manager()
        const { running, invalid } = whole.snapshot()
        assert.deepEqual([running.length, invalid.length], [0, perFrame])
        await whole.truncateInvalid(invalid)
        await whole.close()
      }
    },
  },
]
