/**
 * Concurrent compare-and-set, increments, atomic batches and scans, over lives that end by a close,
 * a kill, a power cut or a failing call, have an order; and the checker finds those that have none.
 *
 * CELLAR_HISTORY_RUNS: how many histories. CELLAR_SEED: the first seed.
 *
 * @runs campaign
 */
import t from 'tap'
import { lengthOf } from '../../helpers/length.js'
import { hasOrder, type Timed } from '../../helpers/linearizability.js'
import { seed } from '../../unit/storage/version/fixtures.js'
import { historyModel, rowNames, type Answer, type Call, type Happening } from './history-model.js'
import { plants } from './plants.js'
import { checkHistory, newCounts } from './runner.js'

const runs = lengthOf('CELLAR_HISTORY_RUNS', 30, 1000)

t.setTimeout(900_000)

const crashAt = (time: number): Timed<Happening> => {
  return { operation: { call: { kind: 'crash' } }, start: time, end: time }
}
function done(start: number, end: number, call: Call, answer: Answer): Timed<Happening> {
  return { operation: { call, answer }, start, end }
}
function unknown(start: number, end: number, call: Call): Timed<Happening> {
  return { operation: { call, answer: 'unknown' }, start, end, mayBeAbsent: true }
}
const put = (value: string): Call => ({ kind: 'put', row: 'a:1', value })
const get: Call = { kind: 'get', row: 'a:1' }
const shows = (value: string | undefined): Answer => [{ value, count: 0 }]

function isPossible(...happenings: readonly Timed<Happening>[]): boolean {
  return hasOrder(historyModel, happenings)
}

void t.test('a write of unknown outcome may or may not have happened', (t) => {
  const tried = unknown(1, 10, put('x'))
  t.ok(isPossible(tried, crashAt(11), done(12, 13, get, shows('x'))))
  t.ok(isPossible(tried, crashAt(11), done(12, 13, get, shows(undefined))))
  t.ok(isPossible(tried, done(2, 3, get, shows('x')), crashAt(11), done(12, 13, get, shows('x'))))
  const seen = done(2, 3, get, shows('x'))
  t.ok(isPossible(tried, seen, crashAt(11), done(12, 13, get, shows(undefined))), 'not durable yet')
  t.notOk(isPossible(tried, seen, done(4, 5, get, shows(undefined))), 'taken back without an end')
  const late = [done(12, 13, get, shows(undefined)), done(14, 15, get, shows('x'))]
  t.notOk(isPossible(tried, crashAt(11), ...late), 'happened after the end of its process')
  t.end()
})

void t.test('an end of the process takes back nothing that was acknowledged', (t) => {
  const written = done(1, 2, put('x'), true)
  t.ok(isPossible(written, crashAt(3), done(4, 5, get, shows('x'))))
  t.notOk(isPossible(written, crashAt(3), done(4, 5, get, shows(undefined))))
  const later: Call = { kind: 'put', row: 'b:1', value: 'y' }
  const tried = unknown(1, 10, put('x'))
  const all = { kind: 'scan', rows: ['a:1', 'b:1'] } as const
  const hole: Answer = [
    { value: undefined, count: 0 },
    { value: 'y', count: 0 },
  ]
  const seen = done(2, 3, get, shows('x'))
  const after = [done(4, 5, later, true), crashAt(11), done(12, 13, all, hole)]
  t.notOk(isPossible(tried, seen, ...after), 'a hole before an acknowledged write')
  t.ok(isPossible(tried, ...after), 'which nobody has seen')
  t.end()
})

void t.test('what cannot have happened is refused', (t) => {
  const batch: Call = { kind: 'batch', rows: ['a:1', 'b:1'], expected: undefined, value: 'x' }
  const scan: Call = { kind: 'scan', rows: rowNames.slice(0, 3) }
  const nothing = { value: undefined, count: 0 }
  const half: Answer = [{ value: 'x', count: 0 }, nothing, nothing]
  t.notOk(isPossible(done(1, 5, batch, true), done(2, 3, scan, half)), 'half of a batch')
  const increment: Call = { kind: 'increment', row: 'a:1', amount: 1 }
  t.ok(isPossible(done(1, 4, increment, 2), done(2, 3, increment, 1)))
  t.notOk(isPossible(done(1, 4, increment, 1), done(2, 3, increment, 1)), 'a lost increment')
  const swap: Call = { kind: 'compareAndSet', row: 'a:1', expected: undefined, value: 'x' }
  t.notOk(isPossible(done(1, 4, swap, true), done(2, 3, swap, true)), 'two winners')
  t.end()
})

for (const [name, plant] of Object.entries(plants)) {
  void t.test(`found: ${name}`, async (t) => {
    for (let each = 1; each <= 20; each++) {
      const wrong = await checkHistory(each, newCounts(), plant)
      if (wrong === undefined) continue
      t.match(wrong, /^\d+ of \d+ steps\n/, `in history ${each}`)
      return
    }
    t.fail('not found')
  })
}

void t.test(`${runs} histories have an order (seed ${seed})`, async (t) => {
  const counts = newCounts()
  for (let each = seed; each < seed + runs; each++) {
    const wrong = await checkHistory(each, counts)
    t.equal(wrong, undefined, `CELLAR_SEED=${each} CELLAR_HISTORY_RUNS=1`)
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.unknown > 0 && counts.failures > 0, 'calls failed')
})
