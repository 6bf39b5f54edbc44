import fc from 'fast-check'
import t from 'tap'
import { bucketMicroseconds, LatencyHistogram } from '../../../src/base/latency-histogram.js'

void t.test('an empty histogram says 0', (t) => {
  const histogram = new LatencyHistogram()
  t.equal(histogram.quantile(0.5), 0)
  t.equal(histogram.maxNanoseconds, 0)
  t.end()
})

void t.test('quantiles are at most a sixteenth too high, and never too low', (t) => {
  const duration = fc.oneof(
    fc.nat(100),
    fc.nat(100_000),
    fc.nat(2 ** 31 - 1),
    fc.integer({ min: 2 ** 31, max: 2 ** 40 }),
  )
  fc.assert(
    fc.property(
      fc.array(duration, { minLength: 1 }),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (durations, part) => {
        const histogram = new LatencyHistogram()
        for (const one of durations) histogram.record(one)
        const sorted = [...durations].sort((a, b) => a - b)
        const exact = sorted[Math.max(1, Math.ceil(part * sorted.length)) - 1]
        const found = histogram.quantile(part)
        return found >= exact && found <= exact + Math.max(exact / 16, 0)
      },
    ),
  )
  t.end()
})

void t.test('count, sum and longest are exact', (t) => {
  const histogram = new LatencyHistogram()
  for (const one of [5, -1, 2 ** 33, 7]) histogram.record(one)
  t.equal(histogram.count, 4)
  t.equal(histogram.sumNanoseconds, 2 ** 33 + 12)
  t.equal(histogram.maxNanoseconds, 2 ** 33)
  t.equal(histogram.quantile(1), 2 ** 33)
  t.end()
})

void t.test('buckets count durations up to their bounds', (t) => {
  const histogram = new LatencyHistogram()
  t.strictSame(new Set(histogram.buckets()), new Set([0]))
  for (const microseconds of [1, 9, 20, 900, 2e7]) histogram.record(microseconds * 1000)
  const counts = histogram.buckets()
  const upTo = (bound: number): number | undefined => counts[bucketMicroseconds.indexOf(bound)]
  t.strictSame([upTo(10), upTo(25), upTo(500), upTo(1000), upTo(10_000_000)], [2, 3, 3, 4, 4])
  t.end()
})
