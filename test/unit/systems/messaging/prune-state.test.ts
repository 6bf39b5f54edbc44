/**
 * What is remembered of prunings. The last test runs random histories of transactions, flushes and
 * compactions and checks that no transaction is given up whose data is still positive. CELLAR_SEED
 * repeats a run.
 *
 * @runs long
 */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import type { StoreJobOutcome } from '../../../../src/entries/index.js'
import { messagingPruning } from '../../../../src/systems/messaging/prune-observer.js'
import { PruneState, type StoreName } from '../../../../src/systems/transactions/index.js'
import type { TransactionSnapshot } from '../../../../src/systems/transactions/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'
import { Simulation } from './prune-simulation.js'
import { contextOf, jobOf, outcomeOf, runHook } from './prune-support.js'

const storeOf = (table: string): StoreName => ({ table, family: 'd' })

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)
/** The ids of one second. */
const n = 1_000_000_000n
const times = { lifetimeMilliseconds: 10_000, graceMilliseconds: 0 }

/** A state, and a function that runs a job over no cells with a snapshot of the transactions. */
async function observed(): Promise<{
  state: PruneState
  job: (
    kind: 'flush' | 'minor' | 'major',
    now: number,
    snapshot: TransactionSnapshot | undefined,
    changes?: Partial<StoreJobOutcome>,
  ) => void
}> {
  const state = await PruneState.open(times)
  let current: TransactionSnapshot | undefined = undefined
  const { observer } = messagingPruning({
    rows: 'message',
    tables: ['messages'],
    topics: () => [],
    transactions: () => current,
    state,
  })
  return {
    state,
    job: (kind, now, snapshot, changes) => {
      current = snapshot
      const job = jobOf(kind, now)
      const { report } = runHook([], { kind, now, context: observer!.jobContext!(job) as never })
      const outcome = outcomeOf([report], { entriesRead: 1, ...changes })
      if (kind === 'flush') observer!.postFlush!(job, outcome)
      else observer!.postCompact!(job, outcome)
    },
  }
}

function snapshotOf(invalid: bigint[], inProgress: bigint[] = []): TransactionSnapshot {
  return { readPointer: 1000n * n, invalid, inProgress }
}

void t.test('133 only major compactions with a snapshot record a bound', async (t) => {
  const { state, job } = await observed()
  const recorded = (): bigint | undefined => state.read(storeOf('messages')).rewritten?.bound
  job('minor', 1, snapshotOf([50n]))
  t.equal(recorded(), undefined)
  job('major', 2, snapshotOf([50n]))
  t.equal(recorded(), 50n)
  job('major', 3, snapshotOf([50n]))
  t.equal(recorded(), 50n)
  job('major', 4, undefined)
  t.equal(recorded(), 50n)
  job('minor', 5, snapshotOf([150n], [105n]))
  t.equal(recorded(), 50n)
  job('major', 6, snapshotOf([150n], [105n]))
  t.equal(recorded(), 104n)
  t.strictSame(state.read(storeOf('other')), {
    rewritten: undefined,
    flushedTime: undefined,
    bound: -1n,
  })
})

void t.test('131 a bound is never above the inactive bound', async (t) => {
  const { state, job } = await observed()
  job('flush', 120_000, snapshotOf([40n * n]))
  job('major', 120_000, snapshotOf([40n * n, 200n * n]))
  t.equal(state.bound([storeOf('messages')]), 110n * n - 1n)
  job('flush', 220_000, snapshotOf([40n * n]))
  job('major', 220_000, snapshotOf([], [78n * n + 1n]))
  t.equal(state.bound([storeOf('messages')]), 110n * n - 1n, 'bounds do not fall')
  job('flush', 320_000, snapshotOf([40n * n]))
  job('major', 320_000, snapshotOf([], [178n * n + 1n]))
  t.equal(state.bound([storeOf('messages')]), 178n * n)
})

void t.test('a rewrite counts when a flush has emptied the memory of that time', async (t) => {
  const { state, job } = await observed()
  job('major', 120_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), -1n)
  job('flush', 119_999, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), -1n)
  job('flush', 120_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), 40n * n)
})

void t.test('a flush without a snapshot takes back what is not confirmed', async (t) => {
  const { state, job } = await observed()
  job('major', 120_000, snapshotOf([40n * n]))
  job('flush', 121_000, undefined)
  job('flush', 122_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), -1n)
  job('major', 122_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), 40n * n)
  job('flush', 123_000, undefined)
  t.equal(state.bound([storeOf('messages')]), 40n * n, 'what was confirmed stays')
})

void t.test('134 empty and new tables do not block, unknown ones do', async (t) => {
  const { state, job } = await observed()
  job('flush', 120_000, snapshotOf([40n * n]))
  job('major', 120_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), 40n * n)
  t.equal(state.bound([storeOf('messages'), storeOf('fresh')]), -1n)
  state.noteEmpty(storeOf('fresh'), 30_000)
  t.equal(
    state.bound([storeOf('messages'), storeOf('fresh')]),
    20n * n - 1n,
    'nothing older can be in it',
  )
  state.noteEmpty(storeOf('fresh'), 125_000)
  t.equal(state.bound([storeOf('messages'), storeOf('fresh')]), 40n * n)
  t.equal(state.bound([storeOf('fresh')]), 115n * n - 1n)
  t.equal(state.bound([]), -1n)
})

void t.test(
  '134 a flush or compaction that leaves nothing records the table as empty',
  async (t) => {
    const state = await PruneState.open(times)
    const { observer } = messagingPruning({
      rows: 'message',
      tables: ['messages'],
      topics: () => [],
      state,
    })
    observer!.postFlush!(jobOf('flush', 50_000), outcomeOf([], { storeIsEmpty: true }))
    t.equal(state.bound([storeOf('messages')]), 40n * n - 1n)
    observer!.postCompact!(jobOf('minor', 60_000), outcomeOf([], { storeIsEmpty: true }))
    t.equal(state.bound([storeOf('messages')]), 50n * n - 1n)
  },
)

void t.test('an invalid pointer that stays keeps its transaction in the list', async (t) => {
  const state = await PruneState.open(times)
  const { observer } = messagingPruning({
    rows: 'message',
    tables: ['messages'],
    topics: () => [],
    state,
  })
  const left = (report: { pointerLeft?: bigint }): ReturnType<typeof outcomeOf> => {
    const { report: made } = runHook([], { now: 0, context: contextOf({}, [40n * n]) })
    return outcomeOf([made, { ...made, ...report }], { entriesRead: 1 })
  }
  observer!.postFlush!(jobOf('flush', 120_000), left({}))
  observer!.postCompact!(jobOf('major', 120_000), left({ pointerLeft: 30n * n }))
  t.equal(state.bound([storeOf('messages')]), 30n * n - 1n)
  observer!.postCompact!(jobOf('major', 130_000), left({}))
  observer!.postFlush!(jobOf('flush', 131_000), left({ pointerLeft: 30n * n }))
  observer!.postFlush!(jobOf('flush', 132_000), left({}))
  t.equal(state.bound([storeOf('messages')]), 30n * n - 1n)
})

void t.test('cells that the hook was not asked about make no bound', async (t) => {
  const { state, job } = await observed()
  const protectedCells = { hookNotAsked: 1 }
  job('flush', 120_000, snapshotOf([40n * n]))
  job('major', 120_000, snapshotOf([40n * n]), protectedCells)
  t.equal(state.read(storeOf('messages')).rewritten, undefined)
  job('major', 190_000, snapshotOf([40n * n]))
  job('flush', 200_000, snapshotOf([40n * n]), protectedCells)
  job('flush', 201_000, snapshotOf([40n * n]))
  t.equal(state.bound([storeOf('messages')]), -1n)
})

void t.test('the state survives a restart in a table, and is read as it was written', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('tms.prune', { families: { d: {} } })
  await table.put({ row: 'damaged', cells: { 'd:s': '{"bound":' } })
  const state = await PruneState.open({ ...times, table })
  state.noteFlush(storeOf('messages'), 120_000)
  state.noteRewrite(
    storeOf('messages'),
    120_000,
    1_489_707_864_000_000_001n,
    state.epoch(storeOf('messages')),
  )
  state.noteEmpty(storeOf('fresh'), 50_000)
  state.noteFlush(storeOf('flushed'), 7)
  await state.settled()
  await test.reopen()
  const again = await PruneState.open({ ...times, table: test.database.table('tms.prune') })
  for (const name of ['messages', 'fresh', 'flushed', 'absent', 'damaged']) {
    t.strictSame(again.read(storeOf(name)), state.read(storeOf(name)), name)
  }
  t.equal(again.bound([storeOf('messages')]), 110n * n - 1n)
  await test.close()
})

void t.test('133 a table of state that cannot be written fails nothing', async (t) => {
  const test = await TestDatabase.open()
  const table = await test.database.createTable('tms.prune', { families: { d: {} } })
  const errors: unknown[] = []
  const state = await PruneState.open({ ...times, table, onError: (error) => errors.push(error) })
  await test.database.dropTable('tms.prune')
  state.noteEmpty(storeOf('messages'), 50_000)
  await state.settled()
  t.match(errors, [{ code: 'ERR_TABLE_NOT_FOUND' }])
  t.equal(state.bound([storeOf('messages')]), 40n * n - 1n)
  await test.close()
})

void t.test('times that are no milliseconds are refused', async (t) => {
  for (const wrong of [-1, 0.5, NaN, '5' as unknown as number]) {
    for (const name of ['lifetimeMilliseconds', 'graceMilliseconds']) {
      await t.rejects(PruneState.open({ [name]: wrong }), { code: 'ERR_INVALID_ARGUMENT' })
    }
  }
})

void t.test('no transaction is given up while its data is positive anywhere', async (t) => {
  let forgotten = 0
  for (let run = 0; run < 40; run++) {
    const simulation = await Simulation.start(seededRandom(seed + run))
    const complaint = simulation.run(400)
    if (!t.equal(complaint, undefined, `seed ${seed + run}`)) return
    forgotten += simulation.forgotten
    t.ok(simulation.finish(), 'in the end all invalid transactions are forgotten')
  }
  t.ok(forgotten > 100, `${forgotten} transactions were forgotten on the way`)
})
