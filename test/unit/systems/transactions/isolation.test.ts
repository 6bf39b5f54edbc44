/**
 * Random histories of snapshot isolation under flushes, compactions and prunings, beside a model.
 * CELLAR_SEED repeats the first history; CELLAR_ISOLATION_RUNS says how many there are.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { seededRandom } from '../../../../src/base/random.js'
import { lengthOf } from '../../../helpers/length.js'
import { IsolationHistory } from './isolation-history.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const runs = lengthOf('CELLAR_ISOLATION_RUNS', 60, 2000)

for (const level of ['ROW', 'COLUMN'] as const) {
  void t.test(
    `each transaction sees one state, with conflicts by ${level}`,
    { timeout: 1_800_000 },
    async (t) => {
      const total = { commits: 0, conflicts: 0, reads: 0, pruned: 0, jobs: 0 }
      for (let run = 0; run < runs / 2; run++) {
        const history = new IsolationHistory(seededRandom(seed + run), level)
        try {
          await history.run(150)
        } catch (error) {
          t.fail(`CELLAR_SEED=${seed + run}: ${String(error)}`)
          return
        }
        for (const name of Object.keys(total) as (keyof typeof total)[]) {
          total[name] += history.counts[name]
        }
      }
      t.comment(`${Math.ceil(runs / 2)} histories`)
      t.comment(JSON.stringify(total))
      for (const [name, count] of Object.entries(total)) t.ok(count > 0, `${name}: ${count}`)
    },
  )
}
