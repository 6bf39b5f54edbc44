/** Transactional tables, what their jobs drop, and the invalid list's pruning. */
import assert from 'node:assert/strict'
import type { FamilyOptions, Table } from '../../../src/api/index.js'
import {
  idsPerMillisecond,
  PruneState,
  Transaction,
  transactionalFamily,
  TransactionalTable,
  TransactionContext,
  transactionProcessor,
  TransactionPruningService,
  TransactionVisibilityFilter,
  type PruningPlugin,
  type StoreName,
  type VisibilitySnapshot,
} from '../../../src/systems/transactions/index.js'
import { failsWith } from '../../suites/kit.js'
import { tx, type Fixture, type MessagingCase } from './case.js'

const storeOf = (table: string): StoreName => ({ table, family: 'f' })

const hour = 3_600_000

async function table(fixture: Fixture, families: Record<string, FamilyOptions>): Promise<Table> {
  return fixture.database.createTable('t', { families })
}

async function processor(
  fixture: Fixture,
  transactions: () => VisibilitySnapshot | undefined,
  state?: PruneState,
): Promise<void> {
  const options = state === undefined ? { transactions } : { transactions, state }
  await fixture.suite.jobs!.register(
    fixture.database,
    transactionProcessor({ tables: ['t'], ...options }),
  )
}

async function put(t: Table, row: string, column: string, value: string, timestamp: bigint) {
  await t.put({ row, cells: { [column]: value }, timestamp })
}

/** The timestamps of all cells, by row. */
async function rawCells(t: Table): Promise<Map<string, bigint[]>> {
  const found = new Map<string, bigint[]>()
  for await (const result of t.scan({ raw: true, versions: 'all' })) {
    found.set(
      result.row!.toString(),
      result.cells().map((cell) => cell.timestampExact),
    )
  }
  return found
}

/** The rows that a transaction sees, with the timestamps of their cells. */
async function seen(
  t: Table,
  transaction: Transaction,
  ttlMilliseconds: Record<string, number> = {},
): Promise<[string, bigint[]][]> {
  const filter = new TransactionVisibilityFilter(transaction, { ttlMilliseconds })
  const rows: [string, bigint[]][] = []
  for await (const result of t.scan({ versions: 'all', filter })) {
    rows.push([result.row!.toString(), result.cells().map((cell) => cell.timestampExact)])
  }
  return rows
}

const filterCases: readonly MessagingCase[] = [
  {
    name: 'a read passes over cells of running and invalid transactions',
    run: async (fixture) => {
      const t = await table(fixture, { f: transactionalFamily() })
      for (let id = 1n; id <= 6n; id++) await put(t, 'row', `f:own${id}`, 'x', id)
      const reader = tx(5n, 6n, [4n], [3n])
      assert.deepEqual(await seen(t, reader), [['row', [1n, 2n, 5n, 6n]]])
      for (let id = 1n; id <= 6n; id++) await put(t, 'one', 'f:q', 'x', id)
      const visible = (own: bigint): Promise<[string, bigint[]][]> =>
        seen(t, tx(5n, own, [4n], [3n]))
      assert.deepEqual((await visible(6n))[0], ['one', [6n]])
      assert.deepEqual((await visible(7n))[0], ['one', [5n]], 'the newest that it sees')
      assert.deepEqual((await seen(t, tx(4n, 7n, [4n], [3n])))[0], ['one', [2n]])
    },
  },
  {
    name: 'each family has its own TTL, for plain timestamps too',
    run: async (fixture) => {
      const families = { a: transactionalFamily(), b: transactionalFamily() }
      const t = await table(fixture, { ...families, c: transactionalFamily() })
      const now = BigInt(fixture.clock.milliseconds)
      const pointer = (age: bigint): bigint => (now - age) * idsPerMillisecond
      for (const age of [0n, 1n, 10n, 11n, 30n, 31n, 5000n]) {
        const row = `${age}`.padStart(4, '0')
        for (const family of ['a', 'b', 'c']) {
          await put(t, `tx ${row}`, `${family}:q`, 'x', pointer(age))
          await put(t, `plain ${row}`, `${family}:q`, 'x', now - age)
        }
      }
      const reader = tx(now * idsPerMillisecond, now * idsPerMillisecond, [], [])
      const filter = new TransactionVisibilityFilter(reader, {
        ttlMilliseconds: { a: 10, b: 30, c: 0 },
      })
      const found = new Map<string, string>()
      for await (const result of t.scan({ versions: 'all', filter })) {
        const names = result.cells().map(({ family }) => family)
        found.set(result.row!.toString(), names.join(''))
      }
      for (const kind of ['tx', 'plain']) {
        const byAge = [...found].filter(([row]) => row.startsWith(kind)).map(([, names]) => names)
        assert.deepEqual(byAge, ['abc', 'abc', 'abc', 'bc', 'bc', 'c', 'c'], kind)
      }
    },
  },
  {
    name: 'the deletion of a family hides older cells only',
    run: async (fixture) => {
      const t = await table(fixture, { f: transactionalFamily() })
      await put(t, 'row', 'f:a', 'old', 5n)
      await put(t, 'row', 'f:', '', 6n)
      await put(t, 'row', 'f:b', 'new', 7n)
      assert.deepEqual(await seen(t, tx(9n, 10n, [], [])), [['row', [7n]]])
      assert.deepEqual(await seen(t, tx(5n, 10n, [], [])), [['row', [5n]]])
      assert.deepEqual(await seen(t, tx(9n, 10n, [6n], [])), [['row', [5n, 7n]]], 'invalid')
    },
  },
  {
    name: 'a transaction older than the largest lifetime writes nothing',
    run: async (fixture) => {
      await table(fixture, { f: transactionalFamily() })
      const manager = await fixture.manager({ lifetimeMilliseconds: 25 * hour })
      const own = new TransactionalTable(fixture.database, 't', {
        checkLifetime: (pointer) => manager.checkLifetime(pointer),
      })
      const now = BigInt(fixture.clock.milliseconds)
      own.startTx(tx(1n, (now - 26n * BigInt(hour)) * idsPerMillisecond, [], []))
      const late = (): Promise<void> => own.put({ row: 'r', cells: { 'f:q': 'x' } })
      await failsWith('ERR_TRANSACTION_TOO_OLD', late)
      await failsWith('ERR_TRANSACTION_TOO_OLD', () => own.delete({ row: 'r' }))
      await own.rollbackTx()
      const context = new TransactionContext(manager, [own])
      await context.start()
      await own.put({ row: 'r', cells: { 'f:q': 'x' } })
      await context.finish()
      await context.start()
      assert.equal((await own.get({ row: 'r' })).value('f:q')?.toString(), 'x')
      await context.abort()
    },
  },
]

const jobCases: readonly MessagingCase[] = [
  {
    name: 'a flush keeps what may still be seen, and of the rest the newest',
    needs: 'jobs',
    run: async (fixture) => {
      const t = await table(fixture, { f: transactionalFamily({}, 3 * hour) })
      const now = fixture.clock.milliseconds
      const V = (i: number): bigint => BigInt(now - (7 - i) * hour) * idsPerMillisecond
      await processor(fixture, () => ({
        readPointer: V(6) - 1n,
        visibilityUpperBound: V(6) - 1n,
        inProgress: [V(6)],
        invalid: [V(3), V(5), V(7)],
      }))
      for (let row = 1; row <= 8; row++) {
        for (let i = 1; i <= row; i++) await put(t, `${row}`, 'f:q', `${i}`, V(i))
      }
      await fixture.suite.jobs!.flush(fixture.database)
      assert.deepEqual(
        [...(await rawCells(t))],
        [
          ['4', [V(4)]],
          ['5', [V(4)]],
          ['6', [V(6), V(4)]],
          ['7', [V(6), V(4)]],
          ['8', [V(8), V(6), V(4)]],
        ],
      )
    },
  },
  {
    name: 'deletions stay in flushes and go in major compactions',
    needs: 'jobs',
    run: async (fixture) => {
      const t = await table(fixture, { f: transactionalFamily() })
      const manager = await fixture.manager()
      await processor(fixture, () => manager.snapshot())
      const own = new TransactionalTable(fixture.database, 't')
      const context = new TransactionContext(manager, [own])
      await context.start()
      for (let i = 0; i < 5; i++) await own.put({ row: 'r', cells: { [`f:${i}`]: 'x' } })
      await context.finish()
      await context.start()
      await own.delete({ row: 'r', columns: ['f:1', 'f:3'] })
      await context.finish()
      const visible = async (): Promise<number> => {
        await context.start()
        const { size } = await own.get({ row: 'r' })
        await context.abort()
        return size
      }
      assert.equal(await visible(), 3)
      await fixture.suite.jobs!.flush(fixture.database)
      assert.equal(await visible(), 3)
      assert.equal((await rawCells(t)).get('r')?.length, 5, 'the deletions and what they left')
      await fixture.suite.jobs!.compact(fixture.database, 't', true)
      assert.equal(await visible(), 3)
      assert.equal((await rawCells(t)).get('r')?.length, 3)
    },
  },
  {
    name: 'the invalid list is pruned to the smallest bound of all stores',
    run: async (fixture) => {
      const n = 1_000_000_000n
      let list = [40n, 50n, 60n, 70n].map((second) => second * n)
      const asked: bigint[] = []
      const completed: bigint[] = []
      const plugin = (...bounds: bigint[]): PruningPlugin => ({
        fetchPruneUpperBound: (_time, inactive) => {
          asked.push(inactive)
          return bounds.shift()!
        },
        pruneComplete: (_time, largest) => void completed.push(largest),
      })
      const service = new TransactionPruningService({
        clock: fixture.clock,
        manager: {
          lifetimeMilliseconds: 10_000,
          pruneInvalid: async (bound) => {
            const gone = list.filter((pointer) => pointer <= bound)
            list = list.filter((pointer) => pointer > bound)
            return { pruned: gone.length, largest: gone.at(-1) }
          },
        },
        plugins: [plugin(60n * n, 80n * n), plugin(70n * n, 77n * n)],
      })
      fixture.clock.milliseconds = 120_000
      assert.equal(await service.run(), 3)
      fixture.clock.milliseconds = 220_000
      list = [60n, 75n, 78n, 100n, 110n, 120n].map((second) => second * n)
      assert.equal(await service.run(), 2)
      const [first, second] = [110n * n - 1n, 210n * n - 1n]
      assert.deepEqual(asked, [first, first, second, second])
      assert.deepEqual(completed, [60n * n, 60n * n, 75n * n, 75n * n])
    },
  },
  {
    name: 'major compactions record bounds; others, and unknown transactions, do not',
    needs: 'jobs',
    run: async (fixture) => {
      const t = await table(fixture, { f: transactionalFamily() })
      const state = await PruneState.open({ lifetimeMilliseconds: 0, graceMilliseconds: 0 })
      let snapshot: VisibilitySnapshot | undefined = undefined
      await processor(fixture, () => snapshot, state)
      const jobs = fixture.suite.jobs!
      const compact = (): Promise<void> => jobs.compact(fixture.database, 't', true)
      const write = async (): Promise<void> => {
        for (let i = 0; i < 2; i++) {
          await put(t, `${i}`, 'f:q', 'x', 200n)
          await jobs.flush(fixture.database)
        }
      }
      const bound = (): bigint | undefined => state.read(storeOf('t')).rewritten?.bound
      await write()
      await compact()
      assert.equal(bound(), undefined, 'nothing is known of the transactions')
      snapshot = { readPointer: 300n, visibilityUpperBound: 300n, inProgress: [], invalid: [50n] }
      await write()
      assert.equal(bound(), undefined, 'flushes record none')
      await compact()
      assert.equal(bound(), 50n)
      await write()
      await compact()
      assert.equal(bound(), 50n)
      snapshot = {
        readPointer: 300n,
        visibilityUpperBound: 104n,
        inProgress: [105n],
        invalid: [150n],
      }
      await write()
      assert.equal(bound(), 50n)
      await compact()
      assert.equal(bound(), 104n)
    },
  },
  {
    name: 'an empty table blocks the pruning until a flush finds it empty',
    needs: 'jobs',
    run: async (fixture) => {
      await table(fixture, { f: transactionalFamily() })
      const state = await PruneState.open({ lifetimeMilliseconds: 0, graceMilliseconds: 0 })
      const manager = await fixture.manager()
      await processor(fixture, () => manager.snapshot(), state)
      assert.equal(state.bound([storeOf('t')]), -1n)
      await fixture.suite.jobs!.flush(fixture.database)
      const inactive = BigInt(fixture.clock.milliseconds) * idsPerMillisecond - 1n
      assert.equal(state.bound([storeOf('t')]), inactive)
      assert.equal(state.bound([]), -1n, 'a table that was dropped is not asked')
    },
  },
]

/** The cases. */
export const processorCases: readonly MessagingCase[] = [...filterCases, ...jobCases]
