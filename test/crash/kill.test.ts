/**
 * SIGKILL at random moments, on real files and with worker threads.
 *
 * CELLAR_KILL_ROUNDS: kills, default 50. CELLAR_KILL_SECONDS: limit of time, default 15 unless
 * rounds are given. CELLAR_SEED: the seed.
 */
import t from 'tap'
import { seed } from '../unit/version/fixtures.js'
import { KillTest } from './kill-runner.js'
import { generatorOf } from './recovery.js'

const roundsGiven = process.env.CELLAR_KILL_ROUNDS
const rounds = Number(roundsGiven ?? 50)
const secondsMax = Number(
  process.env.CELLAR_KILL_SECONDS ?? (roundsGiven === undefined ? 15 : Infinity),
)

void t.test(`nothing acknowledged is lost when the process is killed (seed ${seed})`, async (t) => {
  const random = generatorOf(seed, 1)
  const deadline = Date.now() + secondsMax * 1000
  const test = new KillTest()
  try {
    for (let round = 1; round <= rounds && Date.now() < deadline; round++) {
      await test.round(seed + round, 120 + random() * random() * 900)
    }
  } finally {
    const { counts } = test
    t.comment(
      Object.entries(counts as unknown as Record<string, number>)
        .map(([name, count]) => `${name} ${Math.round(count)}`)
        .join(', '),
    )
    test.remove()
  }
  t.ok(test.counts.acknowledged > 1000, `${test.counts.acknowledged} operations were acknowledged`)
  t.ok(test.counts.rounds > 5, `${test.counts.rounds} kills`)
  t.ok(test.counts.openMillisecondsMax < 5000, 'an open takes less than five seconds')
})
