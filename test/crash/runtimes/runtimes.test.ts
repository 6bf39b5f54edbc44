/**
 * Several runtimes on one directory; see runtimes-runner.ts for how to name others.
 *
 * @runs alone, campaign
 */
import t from 'tap'
import { generatorOf } from '../recovery.js'
import { containedRuntime, otherRuntimes, RuntimesTest, thisRuntime } from './runtimes-runner.js'
import { lengthOf } from '../../helpers/length.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261122)
const others = otherRuntimes()
const rounds = lengthOf('CELLAR_RUNTIMES_ROUNDS', 1, 2)

for (const runtime of [thisRuntime, ...others]) {
  void t.test(
    `${thisRuntime.name} and ${runtime.name} exclude each other, seed ${seed}`,
    async (t) => {
      const test = new RuntimesTest()
      t.teardown(() => test.remove())
      const random = generatorOf(seed)
      for (let round = 0; round < rounds; round++) await test.round(thisRuntime, runtime, random)
      t.match(test.counts, { rounds, opened: 2 * rounds, refused: 2 * rounds })
      t.ok(test.counts.rows > 0)
    },
  )
}

const container = containedRuntime()
const noContainer = container === undefined && 'unshare cannot make namespaces here'
void t.test(
  'openers in different containers exclude each other, and a killed one is seen',
  { skip: noContainer },
  async (t) => {
    const test = new RuntimesTest()
    t.teardown(() => test.remove())
    const random = generatorOf(seed)
    await test.round(thisRuntime, container!, random)
    for (let round = 1; round < rounds; round++) await test.round(container!, container!, random)
    t.equal(test.counts.rounds, rounds)
  },
)

const none = 'CELLAR_OTHER_RUNTIMES names no other Node, Bun or Deno'
const skip = others.length < 1 && none
void t.test('other runtimes exclude each other', { skip }, async (t) => {
  const test = new RuntimesTest()
  t.teardown(() => test.remove())
  const random = generatorOf(seed)
  for (const [i, first] of others.entries()) {
    for (const second of others.slice(i + 1)) await test.round(first, second, random)
  }
  t.equal(test.counts.rounds, (others.length * (others.length - 1)) / 2)
})
