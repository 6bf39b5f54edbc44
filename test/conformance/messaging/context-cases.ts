/** The order of calls and the failures of a transaction over participants. */
import assert from 'node:assert/strict'
import {
  TransactionContext,
  type Transaction,
  type TransactionManager,
  type TransactionParticipant,
} from '../../../src/systems/transactions/index.js'
import { failsWith } from '../../suites/kit.js'
import { type Fixture, type MessagingCase } from './case.js'

type Step = 'start' | 'check' | 'commit' | 'post' | 'rollback'

/** A participant that notes its calls, and fails where it is told to. */
class Recorder implements TransactionParticipant {
  readonly name: string
  readonly calls: Step[] = []
  readonly #fails: Partial<Record<Step, 'throw' | 'false'>>
  changes: string[] = []

  constructor(name: string, fails: Partial<Record<Step, 'throw' | 'false'>> = {}) {
    this.name = name
    this.#fails = fails
  }

  startTx(): void {
    this.#step('start')
  }

  getTxChanges(): Iterable<string> {
    this.#step('check')
    return this.changes
  }

  commitTx(): boolean {
    return this.#step('commit')
  }

  postTxCommit(): void {
    this.#step('post')
  }

  rollbackTx(): boolean {
    return this.#step('rollback')
  }

  #step(step: Step): boolean {
    this.calls.push(step)
    if (this.#fails[step] === 'throw') throw new Error(`${this.name} fails to ${step}`)
    return this.#fails[step] !== 'false'
  }
}

const complete: readonly Step[] = ['start', 'check', 'commit', 'post']
const failed = 'ERR_TRANSACTION_FAILED'

async function runs(
  fixture: Fixture,
  participants: readonly Recorder[],
): Promise<{ manager: TransactionManager; context: TransactionContext; started: Transaction }> {
  const manager = await fixture.manager()
  const context = new TransactionContext(manager, participants)
  return { manager, context, started: await context.start() }
}

type State = 'committed' | 'aborted' | 'invalidated' | 'running'

function stateOf(manager: TransactionManager, { transactionId }: Transaction): State {
  if (manager.isInProgress(transactionId)) return 'running'
  const { invalid } = manager.snapshot()
  if (invalid.includes(transactionId)) return 'invalidated'
  return manager.statistics().committed > 0 ? 'committed' : 'aborted'
}

/** The cases. */
export const contextCases: readonly MessagingCase[] = [
  {
    name: 'two participants commit',
    run: async (fixture) => {
      const both = [new Recorder('a'), new Recorder('b')]
      const { manager, context, started } = await runs(fixture, both)
      await context.finish()
      for (const { calls } of both) assert.deepEqual(calls, complete)
      assert.equal(stateOf(manager, started), 'committed')
    },
  },
  {
    name: 'a failure behind the commit undoes nothing',
    run: async (fixture) => {
      const both = [new Recorder('a', { post: 'throw' }), new Recorder('b')]
      const { manager, context, started } = await runs(fixture, both)
      await failsWith(failed, () => context.finish())
      for (const { calls } of both) assert.deepEqual(calls, complete)
      assert.equal(stateOf(manager, started), 'committed')
    },
  },
  {
    name: 'a rollback that fails makes the transaction invalid, and all are rolled back',
    run: async (fixture) => {
      for (const way of ['throw', 'false'] as const) {
        const both = [new Recorder('a', { commit: 'throw', rollback: way }), new Recorder('b')]
        const { manager, context, started } = await runs(fixture, both)
        const error = await failsWith(failed, () => context.finish())
        assert.match((error.cause as Error).message, /a fails to commit/)
        assert.deepEqual(both[0].calls, ['start', 'check', 'commit', 'rollback'])
        assert.deepEqual(both[1].calls, ['start', 'check', 'rollback'])
        assert.equal(stateOf(manager, started), 'invalidated')
        await fixture.endAll()
      }
    },
  },
  {
    name: 'a conflict before and at the commit',
    run: async (fixture) => {
      const first = new Recorder('a')
      first.changes = ['key']
      const { manager, context, started } = await runs(fixture, [first])
      const other = await manager.startShort()
      await manager.canCommit(other, ['key'])
      await manager.commit(other)
      await failsWith('ERR_TRANSACTION_CONFLICT', () => context.finish())
      assert.deepEqual(first.calls, ['start', 'check', 'rollback'], 'nothing was persisted')
      assert.ok(!manager.isInProgress(started.transactionId))
      assert.equal(manager.snapshot().invalid.length, 0)
      first.calls.length = 0
      await context.start()
      const third = await manager.startShort()
      await manager.canCommit(third, ['key'])
      first.commitTx = () => {
        first.calls.push('commit')
        return true
      }
      const commits = manager.commit(third)
      const finishing = context.finish()
      await commits
      await failsWith('ERR_TRANSACTION_CONFLICT', () => finishing)
      assert.equal(first.calls.at(-1), 'rollback')
      assert.equal(manager.snapshot().invalid.length, 0)
    },
  },
  {
    name: 'a participant that cannot start, and one that comes later',
    run: async (fixture) => {
      const both = [new Recorder('a', { start: 'throw' }), new Recorder('b')]
      const manager = await fixture.manager()
      const context = new TransactionContext(manager, both)
      await failsWith(failed, () => context.start())
      assert.deepEqual([both[0].calls, both[1].calls], [['start'], []])
      assert.equal(manager.statistics().aborted, 1)
      const early = new Recorder('c')
      const late = new Recorder('d')
      const other = new TransactionContext(manager, [early])
      await other.start()
      assert.equal(await other.add(late), true)
      assert.equal(await other.add(late), false)
      assert.throws(() => other.remove(late), { code: 'ERR_TRANSACTION_STATE' })
      await other.finish()
      assert.deepEqual(late.calls, complete)
      assert.equal(other.remove(late), true)
    },
  },
]
