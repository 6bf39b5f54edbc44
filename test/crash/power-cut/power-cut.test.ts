/**
 * Power cuts: images before every operation of the file system, under every policy.
 *
 * CELLAR_SEED: the seed. CELLAR_CRASH_SECONDS: time for each of the three parts, default 5; what
 * does not fit is left out at random and counted. CELLAR_CRASH_SEEDS: images of each place and
 * random policy, default 3.
 *
 * @runs campaign
 */
import t from 'tap'
import { seed } from '../../unit/storage/version/fixtures.js'
import {
  ImageJudge,
  photographRecovery,
  photographScenario,
  runChain,
  shuffle,
  type CrashImage,
} from './power-cut-runner.js'
import { generatorOf } from '../recovery.js'
import { scenarios } from '../scenarios.js'
import { lengthOf } from '../../helpers/length.js'

const milliseconds = 1000 * lengthOf('CELLAR_CRASH_SECONDS', 1, 5)
const seedsPerPolicy = lengthOf('CELLAR_CRASH_SEEDS', 1, 3)

/** Images that are cut a second time; filled by the scenarios. */
const samples: CrashImage[] = []

for (const [index, scenario] of scenarios.entries()) {
  void t.test(`what is acknowledged survives: ${scenario.name} (seed ${seed})`, async (t) => {
    const deadline = Date.now() + milliseconds / scenarios.length
    const { images, places } = await photographScenario(scenario, seed, seedsPerPolicy)
    const judge = new ImageJudge()
    const random = generatorOf(seed, index)
    shuffle(images, random)
    await judge.judgeAll(images, Math.max(deadline, Date.now() + 200))
    samples.push(...images.slice(0, 40))
    const { distinct, skipped } = judge.counts
    t.comment(
      `${places} places, ${judge.counts.images} images, ${distinct} distinct, ${skipped} left out`,
    )
    t.strictSame(judge.failures.slice(0, 3), [], `${judge.failures.length} failures`)
  })
}

void t.test(`a second cut during the recovery loses nothing either (seed ${seed})`, async (t) => {
  const deadline = Date.now() + milliseconds
  const judge = new ImageJudge()
  let recoveries = 0
  for (const image of shuffle(samples, generatorOf(seed, 77))) {
    if (Date.now() > deadline || judge.failures.length > 0) break
    let images: readonly CrashImage[]
    try {
      images = await photographRecovery(image, seed)
    } catch {
      continue // The first test has reported it.
    }
    recoveries++
    await judge.judgeAll(images, deadline)
  }
  const { images, distinct } = judge.counts
  t.comment(`${recoveries} recoveries, ${images} images, ${distinct} distinct`)
  t.ok(recoveries > 0, 'some recoveries were interrupted')
  t.strictSame(judge.failures.slice(0, 3), [], `${judge.failures.length} failures`)
})

void t.test(`chains of random histories and cuts lose nothing (seed ${seed})`, async (t) => {
  const deadline = Date.now() + milliseconds
  let chains = 0
  let cuts = 0
  for (; Date.now() < deadline; chains++) {
    const result = await runChain(seed + chains, 5, 40)
    cuts += result.cuts
    if (result.failure !== undefined)
      t.fail(result.failure.origin, { found: result.failure.message })
    if (result.failure !== undefined) break
  }
  t.comment(`${chains} chains, ${cuts} cuts`)
  t.ok(chains > 0, 'chains were run')
})

void t.test('the judge notices what is lost and what is no prefix', async (t) => {
  const { images } = await photographScenario(scenarios[2], seed, 1)
  const lost = new ImageJudge()
  for (const image of images.slice(-8)) {
    const { expectation } = image
    const tooMuch = {
      ...expectation,
      interruption: 'power cut' as const,
      fsynced: expectation.issued,
    }
    await lost.judge({ ...image, expectation: tooMuch })
  }
  t.match(lost.failures[0]?.message, /lost: the state is that after change \d+/)
  const hole = new ImageJudge()
  const last = images.at(-1)!
  last.workload.texts.fill('another state')
  await hole.judge(last)
  t.match(hole.failures[0]?.message, /hole: the state is that of no prefix/)
})
