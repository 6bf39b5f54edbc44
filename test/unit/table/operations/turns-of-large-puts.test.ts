/**
 * Large puts give the event loop its turn: their bytes count, not only their number. What waits for
 * that is counted, keeps its order, and is no longer counted once it is done.
 */
import t, { type Test } from 'tap'
import type { Put } from '../../../../src/entries/index.js'
import { TestDatabase } from '../../../helpers/test-database.js'

const mebibyte = 1024 * 1024
/** Far more bytes than a turn takes. */
const count = 24
/** A turn takes 4 MiB, the put that fills it included. */
const inTurnMax = 5

async function open(t: Test): Promise<TestDatabase> {
  const options = { memtableBytesMax: 64 * mebibyte, flushBytes: 48 * mebibyte }
  const test = await TestDatabase.open({ options })
  t.teardown(() => test.close())
  await test.database.createTable('t', { families: { f: { versions: count } } })
  await nextTurn()
  return test
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

function large(row: string, first: number): Put {
  const value = Buffer.alloc(mebibyte, first)
  return { row, cells: { 'f:v': value } }
}

/** First bytes of the versions of a row, the oldest first. */
function versionsOf(test: TestDatabase, row: string): number[] {
  const result = test.database.table('t').getSync({ row, versions: count })
  return [...result.cells()].map(({ value }) => value[0]).reverse()
}

void t.test('puts that are called together', async (t) => {
  const test = await open(t)
  const table = test.database.table('t')
  const puts = Array.from({ length: count }, (_, i) => table.put(large('r', i)))
  const { waitingCalls, waitingArgumentBytes, stalls } = test.database.statistics()
  t.ok(count - waitingCalls <= inTurnMax, `${waitingCalls} of ${count} wait for another turn`)
  t.ok(waitingArgumentBytes >= waitingCalls * mebibyte, 'their arguments are counted')
  t.equal(stalls, 0, 'not for memory')
  await Promise.all(puts)
  const expected = Array.from({ length: count }, (_, i) => i)
  t.same(versionsOf(test, 'r'), expected, 'applied in the order of the calls')
  const after = test.database.statistics()
  t.equal(after.waitingCalls, 0)
  t.equal(after.waitingArgumentBytes, 0)
})

void t.test('puts that are awaited one after the other', async (t) => {
  const test = await open(t)
  const table = test.database.table('t')
  let inTurn = 0
  let most = 0
  for (let i = 0; i < count; i++) {
    setImmediate(() => (inTurn = 0))
    await table.put(large(`r${i}`, i))
    most = Math.max(most, ++inTurn)
  }
  t.ok(most <= inTurnMax, `${most} puts in one turn`)
})

void t.test('a list of puts', async (t) => {
  const test = await open(t)
  const list = Array.from({ length: count }, (_, i) => large('r', i))
  const done = test.database.table('t').putList(list)
  t.equal(test.database.statistics().waitingCalls, 1, 'the list waits for another turn')
  const { length } = versionsOf(test, 'r')
  t.ok(length <= inTurnMax, `${length} puts of the list in the turn of the call`)
  await done
  t.equal(versionsOf(test, 'r').length, count)
  t.equal(test.database.statistics().waitingArgumentBytes, 0)
})

void t.test('a synchronous put comes behind those that wait', async (t) => {
  const test = await open(t)
  const table = test.database.table('t')
  const puts = Array.from({ length: count - 1 }, (_, i) => table.put(large('r', i)))
  table.putSync(large('r', count - 1))
  t.equal(test.database.statistics().waitingCalls, 0)
  t.same(
    versionsOf(test, 'r'),
    Array.from({ length: count }, (_, i) => i),
  )
  await Promise.all(puts)
})

void t.test('small puts do not wait', async (t) => {
  const test = await open(t)
  const table = test.database.table('t')
  const puts = Array.from({ length: 5000 }, (_, i) =>
    table.put({ row: `r${i}`, cells: { 'f:v': 'x'.repeat(100) } }),
  )
  t.equal(test.database.statistics().waitingCalls, 0)
  await Promise.all(puts)
})
