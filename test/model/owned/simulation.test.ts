/**
 * Owners of one log in all interleavings that a scheduler draws; see `simulation.ts`.
 *
 * CELLAR_OWNER_SEEDS: number of runs, default 300, in the long form 10,000. CELLAR_SEED: the
 * first one.
 *
 * @runs campaign
 */
import t from 'tap'
import { loadChecksums } from '../../../src/storage/codec/checksum.js'
import { lengthOf } from '../../helpers/length.js'
import { simulate, type Happened } from './simulation.js'

void t.test('no acknowledged batch is lost or doubled', async (t) => {
  await loadChecksums()
  const first = Number(process.env['CELLAR_SEED'] ?? 1)
  const seeds = lengthOf('CELLAR_OWNER_SEEDS', 300, 10_000)
  const total: Happened = {
    acknowledged: 0,
    takeovers: 0,
    deposed: 0,
    lost: 0,
    late: 0,
    killed: 0,
  }
  for (let seed = first; seed < first + seeds; seed++) {
    try {
      const happened = await simulate(seed)
      for (const name of Object.keys(total) as (keyof Happened)[]) total[name] += happened[name]
    } catch (error) {
      t.fail(`seed ${seed}: ${String(error)}`)
      return
    }
  }
  t.comment(JSON.stringify(total))
  if (seeds < 100) return
  for (const [name, count] of Object.entries(total)) t.ok(count >= seeds / 2, `${name}: ${count}`)
})
