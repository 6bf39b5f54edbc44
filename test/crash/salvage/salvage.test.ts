/**
 * Verification, salvage and repair after a flipped bit, a cut or the loss of each kind of file, of
 * a closed and of a killed database. `CELLAR_SALVAGE_STEP` is the distance of the places in bytes.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { loadChecksums } from '../../../src/storage/codec/checksum.js'
import { lengthOf } from '../../helpers/length.js'
import { generatorOf } from '../recovery.js'
import { makeOriginal, SalvageTest, type Harm } from './salvage-runner.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 1)
const step = lengthOf('CELLAR_SALVAGE_STEP', 3001, 97)

for (const closes of [true, false]) {
  const how = closes ? 'closed' : 'killed'
  void t.test(
    `what is sound comes back, and the losses are listed: ${how} (seed ${seed})`,
    async (t) => {
      await loadChecksums()
      const random = generatorOf(seed, closes ? 1 : 2)
      const original = await makeOriginal(random, closes)
      const test = new SalvageTest(original)
      for (const [file, { length }] of original.files) {
        const harms: Harm[] = [{ kind: 'remove' }]
        for (const cut of new Set([0, 1, Math.floor(length / 2), length - 1])) {
          if (cut >= 0 && cut < length) harms.push({ kind: 'cut', length: cut })
        }
        // The empty room behind the log and the reserve are of no interest beyond a few places.
        const end = file.endsWith('.log') || file === 'RESERVE' ? Math.min(length, 16_000) : length
        for (
          let at = Math.floor(random() * step);
          at < end;
          at += 1 + Math.floor(random() * 2 * step)
        ) {
          harms.push({ kind: 'flip', at, bit: Math.floor(random() * 8) })
        }
        for (let i = 1; i <= 4; i++) {
          const at = length - 1 - Math.floor(random() * 150)
          if (at >= 0) harms.push({ kind: 'flip', at, bit: Math.floor(random() * 8) })
        }
        for (const harm of harms) {
          try {
            await test.check(file, harm)
          } catch (error) {
            t.fail((error as Error).message)
          }
        }
      }
      const { sound, lossless, losses, hopeless } = test.counts
      t.comment(`${sound} sound, ${lossless} lossless, ${losses} with losses, ${hopeless} hopeless`)
      t.ok(sound > 2 && losses > 20)
    },
  )
}
