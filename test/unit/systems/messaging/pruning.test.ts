/**
 * The prunings in a database: real flushes and compactions, inline and in worker threads. Numbers
 * are those of the specification's data-cleanup cases. CELLAR_SEED repeats the random history.
 *
 * @runs long
 */
import t, { type Test } from 'tap'
import { hasPool } from '../../../../src/storage/job/threads/worker-executor.js'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { runHistory } from './prune-history.js'
import { cellsOf, MessagingTables, pointersOf, start, V } from './messaging-tables.js'
import type { StoreName } from '../../../../src/systems/transactions/index.js'
import { lengthOf } from '../../../helpers/length.js'

const storeOf = (table: string): StoreName => ({ table, family: 'd' })

const seed = Number(process.env['CELLAR_SEED'] ?? 20261121)
const withoutPool = !hasPool() && 'piscina is not installed'

/** Tests that run on threads too; the long form takes all of them. */
let threadTests = lengthOf('CELLAR_PRUNING_THREAD_TESTS', 2, Infinity)

/** Runs a test with both executors. */
function both(name: string, body: (t: Test, tables: MessagingTables) => Promise<void>): void {
  void t.test(`${name} (inline)`, async (t) => {
    const tables = await MessagingTables.open('inline')
    await body(t, tables)
    await tables.close()
  })
  if (threadTests-- > 0) {
    void t.test(`${name} (worker)`, { skip: withoutPool }, async (t) => {
      const tables = await MessagingTables.open('worker', t.testdir())
      await body(t, tables)
      await tables.close()
    })
  }
}

both('73 a payload is there before its TTL and gone after it', async (t, tables) => {
  await tables.setTopic('n:t', 1, 3)
  await tables.store('n:t', 1, V(1))
  await tables.flush()
  await tables.compact()
  t.equal(cellsOf(tables.payloads).length, 1)
  tables.clock.milliseconds += 3000
  await tables.compact()
  t.equal(cellsOf(tables.payloads).length, 1, 'at exactly the TTL')
  tables.clock.milliseconds += 1
  await tables.flush()
  await tables.compact()
  t.equal(cellsOf(tables.payloads).length, 0)
})

both(
  '74 a message with pointer 100 is there before its TTL and gone after it',
  async (t, tables) => {
    await tables.setTopic('n:t', 1, 3)
    await tables.publish('n:t', 1, 0, { pointer: 100n, payload: 'data' })
    await tables.flush()
    await tables.compact()
    t.equal(cellsOf(tables.messages).length, 2)
    tables.clock.milliseconds += 3001
    await tables.publish('n:t', 1, 1, { pointer: 100n, payload: 'data' })
    await tables.publish('n:t', 1, 2, { pointer: 100n, payload: 'late' }, start)
    await tables.flush()
    t.equal(cellsOf(tables.messages).length, 4, 'a flush drops what is expired already')
    await tables.compact()
    t.equal(cellsOf(tables.messages).length, 2)
    t.strictSame(
      tables.pruned
        .filter(({ table }) => table === 'tms.message')
        .map(({ counts }) => counts.expired),
      [0, 0, 2, 2],
    )
  },
)

both(
  '76 the pointer of an invalid transaction is negated, the message stays',
  async (t, tables) => {
    await tables.setTopic('n:t', 1)
    await tables.publish('n:t', 1, 0, { pointer: V(3), payload: 'invalid' })
    await tables.publish('n:t', 1, 1, { pointer: V(4), payload: 'committed' })
    await tables.publish('n:t', 1, 2, { payload: 'plain' })
    await tables.publish('n:t', 1, 3, { pointer: -V(5), payload: 'rolled back' })
    await tables.publish('n:t', 1, 4, { pointer: V(7) })
    await tables.flush()
    t.strictSame(pointersOf(tables.messages), [V(3), V(4), -V(5), V(7)])
    const before = cellsOf(tables.messages)
    tables.snapshot = { readPointer: V(8), invalid: [V(7), V(3), V(5)], inProgress: [] }
    await tables.compact()
    t.strictSame(pointersOf(tables.messages), [-V(3), V(4), -V(5), -V(7)])
    const hex = (pointer: bigint): string =>
      BigInt.asUintN(64, pointer).toString(16).padStart(16, '0')
    const negated = before.map((cell) =>
      cell.replace(hex(V(3)), hex(-V(3))).replace(hex(V(7)), hex(-V(7))),
    )
    t.strictSame(cellsOf(tables.messages), negated, 'nothing else has changed')
    await tables.setTopic('n:t', -1)
    await tables.compact()
    t.strictSame(cellsOf(tables.messages), [], 'gone after the topic was deleted')
    t.strictSame(tables.errors, [])
  },
)

both('76 a flush negates as well', async (t, tables) => {
  await tables.setTopic('n:t', 1)
  tables.snapshot = { readPointer: V(8), invalid: [V(3)], inProgress: [] }
  await tables.publish('n:t', 1, 0, { pointer: V(3), payload: 'invalid' })
  await tables.store('n:t', 1, V(3))
  await tables.flush()
  t.strictSame(pointersOf(tables.messages), [-V(3)])
  t.equal(cellsOf(tables.payloads).length, 1, 'payloads stay as they are')
})

both('10 ended generations go in flush, minor and major compaction', async (t, tables) => {
  await tables.setTopic('n:t', 1)
  for (const generation of [1, 2, 3, 4]) {
    await tables.publish('n:t', generation, 0, { payload: 'data' })
    await tables.store('n:t', generation, V(1))
    await tables.flush()
  }
  t.equal(cellsOf(tables.messages).length, 4)
  await tables.setTopic('n:t', -3)
  await tables.compact()
  t.equal(cellsOf(tables.messages).length, 1, 'the newer generation stays')
  t.equal(cellsOf(tables.payloads).length, 1)
  await tables.publish('n:t', 3, 0, { payload: 'data' })
  await tables.publish('n:t', 4, 1, { payload: 'data' })
  await tables.flush()
  t.equal(cellsOf(tables.messages).length, 2)
})

both('unknown topics, foreign rows and delete markers are not touched', async (t, tables) => {
  tables.snapshot = { readPointer: V(8), invalid: [V(3)], inProgress: [] }
  await tables.setTopic('n:a', 9, 1)
  await tables.metadata.put({ row: 'n:broken:', cells: { 'd:m': '{"generation":"x"}' } })
  for (const name of ['n:b', 'n:broken', 'n1:a', 'n:aa', 'n:a-']) {
    await tables.publish(name, 1, 0, { pointer: V(3), payload: 'data' }, 0)
    await tables.publish(name, 9, 0, { payload: 'data' }, 0)
  }
  await tables.messages.put({ row: 'n:a:short', cells: { 'd:t': Buffer.alloc(8), 'd:x': 'y' } })
  await tables.messages.put({ row: Buffer.from([0, 255, 1, 0]), cells: { 'd:p': 'z' } })
  await tables.messages.put({ row: 'n:a:short', cells: { 'd:p': 'z' }, ttlMilliseconds: 1_000_000 })
  await tables.messages.delete({ row: 'n:a:long', timestamp: 5 })
  const before = cellsOf(tables.messages)
  tables.clock.milliseconds += 100_000
  await tables.flush()
  t.strictSame(cellsOf(tables.messages), before)
  await tables.compact(false)
  t.strictSame(cellsOf(tables.messages), before)
  await tables.compact()
  const withoutMarkers = before.filter((cell) => !cell.includes(' Delete'))
  t.strictSame(cellsOf(tables.messages), withoutMarkers)
  t.equal(tables.pruned.at(-1)?.counts.unknownTopic, 15)
})

both('topics and transactions are asked for anew by each job', async (t, tables) => {
  await tables.setTopic('n:t', 1, 1000)
  await tables.publish('n:t', 1, 0, { pointer: V(3), payload: 'data' })
  await tables.publish('n:u', 1, 0, { pointer: V(4), payload: 'data' })
  await tables.flush()
  await tables.compact()
  tables.snapshot = { readPointer: V(8), invalid: [V(3)], inProgress: [] }
  await tables.compact()
  t.strictSame(pointersOf(tables.messages), [-V(3), V(4)])
  tables.snapshot = { readPointer: V(8), invalid: [V(3), V(4)], inProgress: [] }
  await tables.compact()
  t.strictSame(pointersOf(tables.messages), [-V(3), V(4)], 'the second topic is unknown')
  await tables.setTopic('n:u', 1)
  await tables.compact()
  t.strictSame(pointersOf(tables.messages), [-V(3), -V(4)])
  await tables.setTopic('n:u', 2)
  tables.clock.milliseconds += 100_000
  await tables.setTopic('n:t', 1, 10)
  await tables.compact()
  t.strictSame(cellsOf(tables.messages), [])
})

both('a rolled back message does not come back with a longer TTL', async (t, tables) => {
  await tables.setTopic('n:t', 1, 10)
  await tables.publish('n:t', 1, 0, { pointer: V(3), payload: 'data' }, start)
  await tables.flush()
  await tables.publish('n:t', 1, 0, { pointer: -V(3) }, start)
  tables.clock.milliseconds += 10_001
  await tables.flush()
  await tables.setTopic('n:t', 1, 1000)
  t.strictSame(pointersOf(tables.messages), [-V(3)])
  await tables.setTopic('n:t', 1, 10)
  await tables.compact()
  t.strictSame(cellsOf(tables.messages), [])
})

both('133 the bound of the last major compaction is recorded and survives', async (t, tables) => {
  await tables.setTopic('n:t', 1)
  tables.snapshot = { readPointer: V(8), invalid: [V(3), V(1)], inProgress: [V(5)] }
  await tables.publish('n:t', 1, 0, { pointer: V(3), payload: 'data' })
  await tables.flush()
  await tables.publish('n:t', 1, 1, { pointer: V(4), payload: 'data' })
  await tables.flush()
  const rewritten = (): bigint | undefined =>
    tables.state.read(storeOf('tms.message')).rewritten?.bound
  await tables.compact(false)
  t.equal(rewritten(), undefined, 'not by a minor one')
  const now = tables.clock.milliseconds
  await tables.compact()
  t.equal(rewritten(), V(3))
  t.equal(tables.state.read(storeOf('tms.message')).flushedTime, now)
  t.ok(
    tables.state.bound([storeOf('tms.message')]) < V(1),
    'not yet: the transactions may still write',
  )
  await tables.reopen()
  t.equal(rewritten(), V(3))
  tables.clock.milliseconds += 100 * 3_600_000
  tables.snapshot = { readPointer: V(9), invalid: [V(3), V(1)], inProgress: [V(8)] }
  await tables.publish('n:t', 1, 2, { pointer: V(4), payload: 'data' })
  await tables.flush()
  await tables.compact()
  t.equal(tables.state.bound([storeOf('tms.message')]), V(3))
  t.equal(tables.state.bound([storeOf('tms.message'), storeOf('tms.other')]), -1n)
})

both('a major compaction of some rows records no bound', async (t, tables) => {
  tables.snapshot = { readPointer: V(8), invalid: [V(3)], inProgress: [] }
  for (const name of ['n:a', 'n:b']) {
    await tables.setTopic(name, 1)
    await tables.publish(name, 1, 0, { payload: 'data' })
    await tables.flush()
  }
  const rewritten = (): bigint | undefined =>
    tables.state.read(storeOf('tms.message')).rewritten?.bound
  await tables.database.compact('tms.message', { startRow: 'n:a', stopRow: 'n:b' })
  t.equal(rewritten(), undefined)
  await tables.compact()
  t.equal(rewritten(), V(3))
})

both('cells that an open snapshot sees stay, and make no bound', async (t, tables) => {
  await tables.setTopic('n:t', 2)
  tables.snapshot = { readPointer: V(8), invalid: [V(3)], inProgress: [] }
  await tables.publish('n:t', 1, 0, { payload: 'ended' })
  await tables.publish('n:t', 2, 0, { pointer: V(3), payload: 'invalid' })
  const before = cellsOf(tables.messages)
  const view = tables.database.snapshot()
  await tables.flush()
  await tables.compact()
  t.strictSame(cellsOf(tables.messages), before)
  t.equal(tables.state.read(storeOf('tms.message')).rewritten, undefined)
  view.close()
  await tables.compact()
  t.strictSame(pointersOf(tables.messages), [-V(3)])
  t.equal(cellsOf(tables.messages).length, 2)
  t.equal(tables.state.read(storeOf('tms.message')).rewritten?.bound, V(3))
})

both('a metadata table that is truncated makes all topics unknown', async (t, tables) => {
  await tables.setTopic('n:t', 2)
  await tables.publish('n:t', 1, 0, { payload: 'first' })
  await tables.flush()
  t.equal(cellsOf(tables.messages).length, 0)
  await tables.database.truncateTable('tms.meta')
  await tables.publish('n:t', 1, 0, { payload: 'second' })
  await tables.flush()
  t.equal(cellsOf(tables.messages).length, 1)
  await tables.setTopic('n:t', 2)
  await tables.compact()
  t.equal(cellsOf(tables.messages).length, 0)
})

both('a dropped metadata table fails no job', async (t, tables) => {
  await tables.setTopic('n:t', 2)
  await tables.database.dropTable('tms.meta')
  await tables.publish('n:t', 1, 0, { payload: 'data' })
  await tables.flush()
  await tables.compact()
  t.equal(cellsOf(tables.messages).length, 1)
})

void t.test(
  'random histories follow the model, with the same files in both executors',
  async (t) => {
    const histories = []
    for (const executor of ['inline', 'worker'] as const) {
      if (executor === 'worker' && withoutPool !== false) continue
      const directory = t.testdir({ [executor]: {} })
      const tables = await MessagingTables.open(executor, join(directory, executor))
      t.equal(await runHistory(tables, seed, 400), undefined, `${executor}, seed ${seed}`)
      t.ok(tables.pruned.some(({ counts }) => counts.negated > 0 && counts.expired > 0))
      await tables.close()
      const names = readdirSync(join(directory, executor)).filter((name) => name.endsWith('.sst'))
      histories.push(
        names.map((name) => [
          name,
          readFileSync(join(directory, executor, name)).toString('base64'),
        ]),
      )
    }
    t.ok(histories[0].length > 0)
    t.strictSame(histories.at(-1), histories[0])
  },
)
