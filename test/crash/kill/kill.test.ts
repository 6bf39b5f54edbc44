/**
 * SIGKILL at random moments, on real files and with worker threads.
 *
 * CELLAR_KILL_ROUNDS: kills, default 50. CELLAR_SEED: the seed.
 *
 * @runs campaign
 */
import t from 'tap'
import { seed } from '../../unit/storage/version/fixtures.js'
import { KillTest } from './kill-runner.js'
import { generatorOf } from '../recovery.js'
import { lengthOf } from '../../helpers/length.js'

const rounds = lengthOf('CELLAR_KILL_ROUNDS', 2, 50)

void t.test(`nothing acknowledged is lost when the process is killed (seed ${seed})`, async (t) => {
  const random = generatorOf(seed, 1)
  const test = new KillTest()
  try {
    for (let round = 1; round <= rounds; round++) {
      await test.round(seed + round, random() * random() * 600)
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
  t.equal(test.counts.rounds, rounds, 'kills')
  // Seven of eight children are killed after their first acknowledgement.
  t.ok(test.counts.acknowledged >= Math.floor((rounds * 7) / 8), 'operations were acknowledged')
})
