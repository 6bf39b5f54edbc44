/**
 * Histories of records over HTTP have an order, although the server is killed and started again.
 *
 * CELLAR_HTTP_HISTORIES: how many. CELLAR_SEED: the first seed.
 *
 * @runs campaign
 */
import t from 'tap'
import { lengthOf } from '../../helpers/length.js'
import { withMembers } from '../../helpers/planted.js'
import { seed } from '../../unit/storage/version/fixtures.js'
import { checkHttpHistory, type HttpCounts } from './http-runner.js'
import type { HistoryStore } from './history.js'

const runs = lengthOf('CELLAR_HTTP_HISTORIES', 1, 12)

t.setTimeout(900_000)

function newCounts(): HttpCounts {
  return { rounds: 0, histories: 0, calls: 0, unknown: 0, kills: 0 }
}

/** A client that takes a refused condition for an acknowledged write. */
function careless(store: HistoryStore): HistoryStore {
  return withMembers(store, {
    compareAndSet: async (row, expected, value) => {
      await store.compareAndSet(row, expected, value)
      return true
    },
  })
}

void t.test('a client that takes refusals for writes is found', async (t) => {
  // Not every history shows such a write: that depends on which client is quicker.
  const counts = newCounts()
  let tried = 1
  while (tried < 20 && (await checkHttpHistory(tried, counts, careless)) === undefined) tried++
  t.ok(tried < 20, `found by history ${tried}`)
})

void t.test(`${runs} histories over HTTP have an order (seed ${seed})`, async (t) => {
  const counts = newCounts()
  for (let each = seed; each < seed + runs; each++) {
    const wrong = await checkHttpHistory(each, counts)
    t.equal(wrong, undefined, `npm run crash -- --kind histories-http --seed ${each}`)
  }
  t.comment(JSON.stringify(counts))
  t.ok(counts.calls > 20 * runs, 'calls were answered')
})
