/**
 * One list of random operations under every set of options: all say the same, and what the model
 * says.
 *
 * CELLAR_OPTION_RUNS: how many lists. CELLAR_SEED: the seed of the first.
 *
 * @runs campaign
 */
import t from 'tap'
import { lengthOf } from '../helpers/length.js'
import { seed } from '../unit/storage/version/fixtures.js'
import { checkOptions, type OptionCounts } from './option-runs.js'
import { optionSets, policySets } from './option-sets.js'

const runs = lengthOf('CELLAR_OPTION_RUNS', 1, 20)

t.setTimeout(900_000)

void t.test(`${runs} lists of operations under all options (seed ${seed})`, async (t) => {
  t.ok(Object.keys({ ...optionSets, ...policySets }).length >= 26)
  const counts: OptionCounts = { rounds: 0, sets: 0, operations: 0 }
  for (let each = seed; each < seed + runs; each++) {
    const wrong = await checkOptions(each, counts)
    t.equal(wrong, undefined, `npm run crash -- --kind options --seed ${each}`)
  }
  t.comment(JSON.stringify(counts))
})
