/**
 * One flipped bit of every byte, and every length, of log and manifest: after a clean close, a kill
 * and a stop of the machine. `npm run crash -- --kind damage` does every bit of many
 * databases on real files.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { SimulatedDisk } from '../../doubles/simulated-disk.js'
import type { Stop } from './damage-oracle.js'
import { DamageTest, load, openLoaded } from './damage-runner.js'
import { generatorOf } from '../recovery.js'

const seed = Number(process.env.CELLAR_SEED ?? 1)
const directory = '/db'

for (const stop of ['closed', 'killed', 'machine stopped'] satisfies Stop[]) {
  void t.test(`every damaged place has the stated outcome: ${stop} (seed ${seed})`, async (t) => {
    const original = new SimulatedDisk()
    const database = await openLoaded(directory, original)
    const loaded = await load(database, generatorOf(seed), 3)
    const image = stop === 'closed' ? original : original.kill()
    await database.close()
    const test = new DamageTest(image, directory, stop, loaded)
    const room = (at: number): boolean => at < 64 || at % 4093 === 0
    await test.run({ bitsOf: (at) => [at & 7], lengths: true, room })
    const { refused, cut, opened } = test.counts
    t.comment(`${refused} refused, ${cut} cut, ${opened} opened`)
    t.ok(refused > 500)
    t.equal(cut > 20, stop !== 'closed')
    t.equal(opened > 0, stop !== 'closed')
  })
}
