/**
 * The order of calls that wait, for a call of very many rows.
 *
 * @runs long
 */
import t from 'tap'
import { WaitingCalls } from '../../../../src/storage/engine/write/waiting-calls.js'

/** More than a function may have arguments. */
const rowsMany = 200_000

void t.test('a call of very many rows has a follower for each of them', (t) => {
  const calls = new WaitingCalls()
  const rows = new Set(Array.from({ length: rowsMany }, (_, i) => `${i}`))
  const first = calls.add(rows, 1, () => undefined)
  let ran = 0
  for (const row of rows) {
    const call = calls.add(new Set([row]), 1, () => undefined)
    calls.whenTurn(call, () => {
      ran++
      calls.done(call)
    })
  }
  t.equal(ran, 0)
  calls.done(first)
  t.equal(ran, rowsMany)
  t.equal(calls.count, 0)
  t.equal(calls.argumentBytes, 0)
  t.end()
})

void t.test('a call of very many rows waits for each of them, and so does a blocking one', (t) => {
  const calls = new WaitingCalls()
  const rows = new Set(Array.from({ length: rowsMany }, (_, i) => `${i}`))
  let finished = 0
  const add = (of: ReadonlySet<string>): void => {
    const call = calls.add(of, 1, () => {
      finished++
      calls.done(call)
    })
  }
  for (const row of rows) add(new Set([row]))
  add(rows)
  calls.finishSync(new Set(['0']))
  t.equal(finished, rowsMany + 1)
  t.equal(calls.count, 0)
  t.end()
})
