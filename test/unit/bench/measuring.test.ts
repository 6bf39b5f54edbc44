/** Latencies, checksum, median: what figures are made of. */
import t from 'tap'
import { Checksum } from '../../../bench/harness/draws/checksum.js'
import {
  newLatencies,
  percentilesOf,
  recordLatency,
} from '../../../bench/harness/report/latencies.js'
import { seededRandom } from '../../../bench/harness/draws/random.js'
import { median, summarize, type Measured } from '../../../bench/harness/report/summarize.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 301)

void t.test('percentiles are within 0.1 % of the sorted durations', (t) => {
  const random = seededRandom(seed)
  const latencies = newLatencies()
  const durations = Array.from({ length: 20_000 }, () => Math.floor(2 ** (random.fraction() * 40)))
  for (const nanoseconds of durations) recordLatency(latencies, nanoseconds / 1e6)
  durations.sort((one, other) => one - other)
  const { p50us, p99us, p999us, maxUs } = percentilesOf(latencies)
  const found = [p50us, p99us, p999us, maxUs]
  for (const [at, part] of [0.5, 0.99, 0.999, 1].entries()) {
    const exact = durations[Math.ceil(part * durations.length) - 1] / 1000
    t.ok(Math.abs(found[at] - exact) <= exact / 1000 + 0.001, `${part}: ${exact}, seed ${seed}`)
  }
  t.end()
})

void t.test('a histogram may be empty, and takes durations of nothing', (t) => {
  const latencies = newLatencies()
  t.same(percentilesOf(latencies), { p50us: 0, p99us: 0, p999us: 0, maxUs: 0 })
  recordLatency(latencies, 0)
  recordLatency(latencies, -3)
  t.equal(percentilesOf(latencies).maxUs, 0.001)
  t.end()
})

void t.test('a checksum sees every kind of wrong answer', (t) => {
  const hexOf = (fill: (checksum: Checksum) => void): string => {
    const checksum = new Checksum()
    fill(checksum)
    return checksum.hex
  }
  const value = Buffer.from('a value of some length, longer than any sample of it is wide')
  const changed = Buffer.from(value)
  changed[changed.length - 1] ^= 1
  const answers = [
    hexOf(() => undefined),
    hexOf((checksum) => checksum.addNumber(0)),
    hexOf((checksum) => checksum.addNumber(1)),
    hexOf((checksum) => checksum.addNumber(2 ** 40)),
    hexOf((checksum) => checksum.addRow([undefined])),
    hexOf((checksum) => checksum.addRow([Buffer.alloc(0)])),
    hexOf((checksum) => checksum.addRow([value, undefined])),
    hexOf((checksum) => checksum.addRow([undefined, value])),
    hexOf((checksum) => checksum.addRow([changed, undefined])),
    hexOf((checksum) => checksum.addRow([value.subarray(1), undefined])),
    hexOf((checksum) => checksum.addAll(value)),
    hexOf((checksum) => checksum.addAll(changed)),
  ]
  t.equal(new Set(answers).size, answers.length)
  for (const answer of answers) t.match(answer, /^[0-9a-f]{8}$/)
  for (let at = 0; at < value.length; at++) {
    const other = Buffer.from(value)
    other[at] ^= 0x10
    const isSeen = hexOf((checksum) => checksum.addAll(other)) !== answers[10]
    if (!isSeen) t.fail(`byte ${at} does not count`)
  }
  t.end()
})

void t.test('the median is the middle one', (t) => {
  t.equal(median([3, 1, 2]), 2)
  t.equal(median([4, 1, 2, 3]), 2)
  t.equal(median([7]), 7)
  t.end()
})

void t.test('repetitions become one record with median and spread', (t) => {
  const measured = [4, 1, 2].map((seconds): Measured => {
    return {
      suite: 's',
      engine: 'e',
      durability: 'buffered',
      records: 10,
      outcome: {
        workload: 'w',
        isMeasured: true,
        operations: 100,
        seconds,
        p50us: seconds * 10,
        bytesOnDisk: 4096,
        bytesGiven: 50,
        bytesWritten: 100 * seconds,
        checksum: 'c',
        extra: { delay: seconds },
      },
    }
  })
  const records = summarize(measured)
  t.equal(records.length, 1)
  t.match(records[0], {
    workload: 'w',
    operations: 100,
    seconds: 2,
    opsPerSecond: 50,
    p50us: 20,
    writeAmplification: 4,
    bytesOnDisk: 4096,
    repeats: 3,
    spread: { low: 25, high: 100 },
    extra: { delay: 2 },
  })
  t.equal(records[0].p99us, undefined, 'what was not measured is absent')
  t.end()
})
